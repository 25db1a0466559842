"""Friction of a ball that slides: Coulomb's, against its slip velocity, smooth through rest."""

import math

from grouser._compile.jit import kernel

SLIDE_SPEED = 0.01
"""Slip speed at which friction has 1/√2 of its full value [m/s]; a ball that is pushed less creeps more slowly."""


@kernel
def slide(friction, x, y, out, jac):
    """(f_x, f_y) = −μ f_z (v_x, v_y)/√(v² + v_0²) of the slip velocity (x, y), with f_z as a law left it for no slip.

    The derivatives by v_x, v_y, v_z, Rω and Δz follow; those by v_z and Δz are those of f_z.
    """
    rate = 1.0 / math.sqrt(x * x + y * y + SLIDE_SPEED * SLIDE_SPEED)
    pull = friction * out[2] * rate
    along = pull * rate * rate
    out[0] = -pull * x
    out[1] = -pull * y
    jac[0] = along * x * x - pull
    jac[1] = along * x * y
    jac[5] = along * x * y
    jac[6] = along * y * y - pull
    for k in (2, 4):
        jac[k] = -friction * rate * x * jac[10 + k]
        jac[5 + k] = -friction * rate * y * jac[10 + k]
    jac[3] = 0.0
    jac[8] = 0.0
    for k in (0, 1, 3):  # f_z is that without slip
        jac[10 + k] = 0.0
