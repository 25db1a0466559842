"""Joint laws: force along a combination of joints at the end of a step.

x = (c, ċ, memories, dt), displacement and rate at the end of the step; out = (force, next memories), with as many
memories as the law has, none or more; jac = (∂force/∂c, ∂force/∂ċ), the change of memories over the step included.
"""

from grouser._kernels.law import law


@law
def spring(par, x, out, jac):
    """Spring and damper. par = (stiffness, damping)."""
    out[0] = -par[0] * x[0] - par[1] * x[1]
    jac[0] = -par[0]
    jac[1] = -par[1]


@law
def stops(par, x, out, jac):
    """A spring and damper beyond two stops, that never pull. par = (lower, upper, stiffness, damping).

    The damper sets in over the first milliradian or millimetre, so that the force does not jump.
    """
    beyond = 0.0
    if x[0] < par[0]:
        beyond = x[0] - par[0]
    elif x[0] > par[1]:
        beyond = x[0] - par[1]
    depth = abs(beyond)
    ramp = min(depth / 1e-3, 1.0)
    force = -par[2] * beyond - par[3] * ramp * x[1]
    pulls = force * beyond > 0.0
    if depth == 0.0 or pulls:
        out[0] = 0.0
        jac[0] = 0.0
        jac[1] = 0.0
    else:
        out[0] = force
        sign = 1.0 if beyond > 0.0 else -1.0
        jac[0] = -par[2] - (par[3] * x[1] * sign / 1e-3 if depth < 1e-3 else 0.0)
        jac[1] = -par[3] * ramp
