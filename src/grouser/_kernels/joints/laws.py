"""Joint laws: force along a combination of joints at the end of a step.

x = (c, ċ, memories, dt), displacement and rate at the end of the step; out = (force, next memories), with as many
memories as the law has, none or more; jac = (∂force/∂c, ∂force/∂ċ), the change of memories over the step included.
"""

from grouser._kernels.law import law

DISPLACEMENT, RATE = range(2)
"""Entries of x, and of jac."""
FORCE = 0
"""Entry of out."""
STIFFNESS, DAMPING = range(2)
LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = range(4)
"""Entries of par of `spring` and of `stops`."""
RAMP = 1e-3
"""Depth [rad or m] over which the damper of a stop sets in."""


@law
def spring(par, x, out, jac):
    """Spring and damper. par = (stiffness, damping)."""
    out[FORCE] = -par[STIFFNESS] * x[DISPLACEMENT] - par[DAMPING] * x[RATE]
    jac[DISPLACEMENT] = -par[STIFFNESS]
    jac[RATE] = -par[DAMPING]


@law
def stops(par, x, out, jac):
    """A spring and damper beyond two stops, that never pull. par = (lower, upper, stiffness, damping).

    The damper sets in over the first milliradian or millimetre, so that the force does not jump.
    """
    beyond = 0.0
    if x[DISPLACEMENT] < par[LOWER]:
        beyond = x[DISPLACEMENT] - par[LOWER]
    elif x[DISPLACEMENT] > par[UPPER]:
        beyond = x[DISPLACEMENT] - par[UPPER]
    depth = abs(beyond)
    ramp = min(depth / RAMP, 1.0)
    force = -par[STOP_STIFFNESS] * beyond - par[STOP_DAMPING] * ramp * x[RATE]
    pulls = force * beyond > 0.0
    if depth == 0.0 or pulls:
        out[FORCE] = 0.0
        jac[DISPLACEMENT] = 0.0
        jac[RATE] = 0.0
    else:
        out[FORCE] = force
        sign = 1.0 if beyond > 0.0 else -1.0
        jac[DISPLACEMENT] = -par[STOP_STIFFNESS] - (par[STOP_DAMPING] * x[RATE] * sign / RAMP if depth < RAMP else 0.0)
        jac[RATE] = -par[STOP_DAMPING] * ramp
