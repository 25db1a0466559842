"""The state at the end of a step of dynamics, T (2.86)."""

from grouser._compile.jit import kernel
from grouser._kernels.rotation import exponential, product, put_quaternion, rotate, vector


@kernel
def integrate(q, v, u, dt, lead, out):
    """State `out` reached from q within dt, as the velocity goes from v to u; out may be q itself.

    Joints and orientation move with u, or with the mean of v and u if `lead` is ½ (midpoint). The body's origin moves
    in a straight line, so that a vehicle which slides freely and turns keeps its way: with the mean of its velocities
    in the axes of the step's start, but along the body's z axis, where the ground is stiff, with the new one.
    """
    new = 1.0 - lead
    turn = (
        dt * (lead * v[0] + new * u[0]),
        dt * (lead * v[1] + new * u[1]),
        dt * (lead * v[2] + new * u[2]),
    )
    rotation = exponential(turn)
    end = rotate(rotation, vector(u, 3))
    mean = (0.5 * (v[3] + end[0]), 0.5 * (v[4] + end[1]), lead * v[5] + new * end[2])
    step = rotate(q, mean)
    put_quaternion(product(q, rotation), out)
    for i in range(3):
        out[4 + i] = q[4 + i] + dt * step[i]
    for j in range(6, v.size):
        out[j + 1] = q[j + 1] + dt * (lead * v[j] + new * u[j])
