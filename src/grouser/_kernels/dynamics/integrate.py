"""The state at the end of a step of dynamics, T (2.86)."""

from grouser._compile.jit import kernel
from grouser._kernels.rotation import add, cross, dot, exponential, product, put_quaternion, rotate, scale, vector


@kernel
def integrate(q, v, u, dt, lead, flies, out):
    """State `out` reached from q within dt, as the velocity goes from v to u; out may be q itself.

    Joints, orientation and origin move with u, or with the mean of v and u if `lead` is ½; so does the orientation of
    a vehicle that flies, which keeps its momentum in world axes. The origin moves in a straight line, as that of a
    vehicle which slides or flies while it turns: along the new velocity, in the axes of the step's start. What of the
    change of velocity is just the turning of u with the body, as where wheels hold the vehicle on a circle, counts
    half: the chord of an arc.
    """
    new = 1.0 - lead
    old = 0.5 if flies else lead
    turn = add(scale(dt * (1.0 - old), u), dt * old, v)
    rotation = exponential(turn)
    end = rotate(rotation, vector(u, 3))
    change = add(end, -1.0, vector(v, 3))
    mean = add(end, -lead, change)
    if lead == 0.0:
        turning = cross(turn, vector(u, 3))
        size = dot(turning, turning)
        if size > 0.0:
            share = min(max(dot(change, turning) / size, 0.0), 1.0)
            mean = add(end, -0.5 * share, turning)
    step = rotate(q, mean)
    put_quaternion(product(q, rotation), out)
    for i in range(3):
        out[4 + i] = q[4 + i] + dt * step[i]
    for j in range(6, v.size):
        out[j + 1] = q[j + 1] + dt * (lead * v[j] + new * u[j])
