"""Contact law of soil whose shear strength falls with the speed of slip: a soil law between its strong and weak self.

x and out are those of `contact/laws.py`. Force and torque are linear in strength, f = f₀ + m(v) (f₁ − f₀), with f₁ of
the soil at full strength, f₀ of the soil with none, and m = m_∞ + (1 − m_∞) exp(−v/v₀), v the speed of slip in the
ground plane.
"""

import math

import numpy as np
from numba import carray

from grouser._kernels.contact.soil import COHESION, TAN_PHI
from grouser._kernels.law import call_law, law

LAW, FULL, NONE, RESIDUAL, SPEED = range(5)
"""Address of the soil's law, addresses of its parameters at full and at no strength, m_∞, v₀ [m/s]."""
STRENGTH = [COHESION, TAN_PHI]
"""Of the soil's parameters, those of its shear strength."""


@law
def wedged(par, x, out, jac):
    """Force and Jacobian; smooth but at rest, where the speed of slip has a corner that v² + (v₀/100)² rounds off."""
    inputs = carray(x, (5,))
    f_1, j_1 = carray(out, (4,)), carray(jac, (20,))
    f_0, j_0 = np.empty(4), np.empty(20)
    call_law(int(par[LAW]), int(par[FULL]), inputs, f_1, j_1)
    call_law(int(par[LAW]), int(par[NONE]), inputs, f_0, j_0)
    corner = 0.01 * par[SPEED]
    speed = math.sqrt(x[0] * x[0] + x[1] * x[1] + corner * corner)
    loose = (1.0 - par[RESIDUAL]) * math.exp(-(speed - corner) / par[SPEED])
    m = par[RESIDUAL] + loose
    slope = -loose / (par[SPEED] * speed)
    for i in range(4):
        shear = f_1[i] - f_0[i]
        for k in range(5):
            j_1[5 * i + k] = j_0[5 * i + k] + m * (j_1[5 * i + k] - j_0[5 * i + k])
        j_1[5 * i] += shear * slope * x[0]
        j_1[5 * i + 1] += shear * slope * x[1]
        f_1[i] = f_0[i] + m * shear
