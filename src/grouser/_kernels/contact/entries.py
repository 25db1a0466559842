"""Where a contact law finds the state of the contact in x, and where it puts forces in out and derivatives in jac."""

V_X, V_Y, V_Z, R_OMEGA, DZ, KEPT = range(6)
"""Of x: velocity of the contact point [m/s], Rω [m/s], Δz [m], and for soils with ruts the kept sinkage [m]."""
F_X, F_Y, F_Z, TORQUE = range(4)
"""Of out: force on the wheel [N] and its moment about the axle [N m]."""
BY = 5
"""Length of a row of jac: of the derivative of out[i] by x[k] the place is BY · i + k."""
ROW_X, ROW_Y, ROW_Z, ROW_TORQUE = range(0, 4 * BY, BY)
"""Where the rows of jac begin."""
