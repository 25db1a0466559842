"""Actuator law of PI rate control, one of whose motors is switched off for a while, again and again.

x and out are those of `actuation/laws.py`; memories are ∫e dt and the time, one each a joint.
"""

import math

from grouser._kernels.law import law

COUNT, MOTOR, START, OFF, PERIOD, GAIN, INTEGRAL = range(7)
"""Number of joints, the one that is switched, when first [s], for how long [s], how often [s], K_p, K_i of all."""


@law
def switched(par, x, out, jac):
    """τ = K_p e + K_i ∫e dt, e = command − rate; none of the motor while it is off, whose ∫e dt then stands still."""
    n = int(par[COUNT])
    dt = x[5 * n]
    for i in range(n * n):
        jac[i] = 0.0
    for a in range(n):
        now = x[4 * n + a] + dt
        since = now - par[START] - 1e-9  # time is a sum of steps: rounding may not switch a step early
        off = a == int(par[MOTOR]) and since > 0.0 and since - par[PERIOD] * math.floor(since / par[PERIOD]) < par[OFF]
        error = x[a] - x[n + a]
        out[a] = 0.0
        out[n + a] = x[3 * n + a]
        if not off:
            out[n + a] += error * dt
            out[a] = par[GAIN] * error + par[INTEGRAL] * out[n + a]
            jac[a * n + a] = -par[GAIN] - par[INTEGRAL] * dt
        out[2 * n + a] = now
