"""Friction of a ball that slides: Coulomb's, against its slip velocity, smooth through rest."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.contact.entries import F_X, F_Y, F_Z, R_OMEGA, ROW_X, ROW_Y, ROW_Z, V_X, V_Y

SLIDE_SPEED = 0.01
"""Slip speed at which friction has 1/√2 of its full value [m/s]; a ball that is pushed less creeps more slowly."""


@kernel
def slide(friction, x, y, out, jac):
    """(f_x, f_y) = −μ f_z (v_x, v_y)/√(v² + v_0²) of the slip velocity (x, y), with f_z as a law left it for no slip.

    The derivatives by v_x, v_y, v_z, Rω and Δz follow; those by v_z and Δz are those of f_z.
    """
    rate = 1.0 / math.sqrt(x * x + y * y + SLIDE_SPEED * SLIDE_SPEED)
    pull = friction * out[F_Z] * rate
    along = pull * rate * rate
    out[F_X] = -pull * x
    out[F_Y] = -pull * y
    jac[ROW_X + V_X] = along * x * x - pull
    jac[ROW_X + V_Y] = along * x * y
    jac[ROW_Y + V_X] = along * x * y
    jac[ROW_Y + V_Y] = along * y * y - pull
    for k in (2, 4):
        jac[k] = -friction * rate * x * jac[ROW_Z + k]
        jac[ROW_Y + k] = -friction * rate * y * jac[ROW_Z + k]
    jac[ROW_X + R_OMEGA] = 0.0
    jac[ROW_Y + R_OMEGA] = 0.0
    for k in (0, 1, 3):  # f_z is that without slip
        jac[ROW_Z + k] = 0.0
