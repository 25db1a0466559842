"""Motion on the group SE(3): the body's pose moves by the exponential of its twist, exactly for a constant twist."""

import math

from grouser._compile.jit import inlined, kernel


@inlined
def move(q, v, dt, out):
    """State `out` reached from q with the joint-space velocity v held for dt; out may be q itself.

    Replaces the sum of (2.39): pose · exp(twist dt), joints + rates dt.
    """
    wx = v[0] * dt
    wy = v[1] * dt
    wz = v[2] * dt
    vx = v[3] * dt
    vy = v[4] * dt
    vz = v[5] * dt
    square = wx * wx + wy * wy + wz * wz
    # half = sin(θ/2)/θ, a = (1 − cos θ)/θ², b = (θ − sin θ)/θ³
    if square < 1e-4:
        half = 0.5 - square * (1.0 / 48.0 - square / 3840.0)
        real = 1.0 - square * (1.0 / 8.0 - square * (1.0 / 384.0 - square / 46080.0))
        a = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        b = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    else:
        angle = math.sqrt(square)
        half = math.sin(0.5 * angle) / angle
        real = math.cos(0.5 * angle)
        a = (1.0 - math.cos(angle)) / square
        b = (angle - math.sin(angle)) / (square * angle)
    cx = wy * vz - wz * vy
    cy = wz * vx - wx * vz
    cz = wx * vy - wy * vx
    px = vx + a * cx + b * (wy * cz - wz * cy)
    py = vy + a * cy + b * (wz * cx - wx * cz)
    pz = vz + a * cz + b * (wx * cy - wy * cx)
    w = q[0]
    x = q[1]
    y = q[2]
    z = q[3]
    # p + R p_step with R v = v + 2 r × (r × v + w v)
    tx = y * pz - z * py + w * px
    ty = z * px - x * pz + w * py
    tz = x * py - y * px + w * pz
    out[4] = q[4] + px + 2.0 * (y * tz - z * ty)
    out[5] = q[5] + py + 2.0 * (z * tx - x * tz)
    out[6] = q[6] + pz + 2.0 * (x * ty - y * tx)
    ex = half * wx
    ey = half * wy
    ez = half * wz
    nw = w * real - x * ex - y * ey - z * ez
    nx = w * ex + x * real + y * ez - z * ey
    ny = w * ey - x * ez + y * real + z * ex
    nz = w * ez + x * ey - y * ex + z * real
    size = 1.0 / math.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
    out[0] = nw * size
    out[1] = nx * size
    out[2] = ny * size
    out[3] = nz * size
    for j in range(6, v.size):
        out[j + 1] = q[j + 1] + v[j] * dt


@kernel
def bracket(u, x, out):
    """Lie bracket [u, x] of two twists (ω, v), the ×_m of T (B.14)."""
    out[0] = u[1] * x[2] - u[2] * x[1]
    out[1] = u[2] * x[0] - u[0] * x[2]
    out[2] = u[0] * x[1] - u[1] * x[0]
    out[3] = u[1] * x[5] - u[2] * x[4] + u[4] * x[2] - u[5] * x[1]
    out[4] = u[2] * x[3] - u[0] * x[5] + u[5] * x[0] - u[3] * x[2]
    out[5] = u[0] * x[4] - u[1] * x[3] + u[3] * x[1] - u[4] * x[0]


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
