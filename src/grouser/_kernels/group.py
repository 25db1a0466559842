"""Motion on the group SE(3): the body's pose moves by the exponential of its twist, exactly for a constant twist."""

from grouser._compile.jit import inlined, kernel
from grouser._kernels.rotation import cross, exponential, left_jacobian, product, put, put_quaternion, rotate, vector


@inlined
def move(q, v, dt, out):
    """State `out` reached from q with the joint-space velocity v held for dt; out may be q itself.

    Replaces the sum of (2.39): pose · exp(twist dt), joints + rates dt.
    """
    turn = (v[0] * dt, v[1] * dt, v[2] * dt)
    step = rotate(q, left_jacobian(turn, (v[3] * dt, v[4] * dt, v[5] * dt)))
    put_quaternion(product(q, exponential(turn)), out)
    out[4] = q[4] + step[0]
    out[5] = q[5] + step[1]
    out[6] = q[6] + step[2]
    for j in range(6, v.size):
        out[j + 1] = q[j + 1] + v[j] * dt


@kernel
def bracket(u, x, out):
    """Lie bracket [u, x] = (ω_u × ω_x, ω_u × v_x + v_u × ω_x) of two twists (ω, v), the ×_m of T (B.14)."""
    turn = cross(u, x)
    a = cross(u, vector(x, 3))
    b = cross(vector(u, 3), x)
    put(turn, out, 0)
    out[3] = a[0] + b[0]
    out[4] = a[1] + b[1]
    out[5] = a[2] + b[2]


@kernel
def correct_slope(u, h, v, out, work):
    """Slope of the exponential coordinates at h u where the twist is v: v + ½[hu, v] + [hu, [hu, v]]/12.

    Runge–Kutta–Munthe-Kaas; the terms left out are of the fifth order.
    """
    bracket(u, v, work[0])
    bracket(u, work[0], work[1])
    for i in range(6):
        out[i] = v[i] + 0.5 * h * work[0, i] + h * h / 12.0 * work[1, i]
    for i in range(6, v.size):
        out[i] = v[i]
