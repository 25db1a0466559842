"""Rotations and the group SE₂(3) for the fusion filter: quaternions w x y z, matrices 3×3 in scratch."""

import math

from grouser._compile.jit import inlined, kernel


@inlined
def matrix(q, at, R):
    """R (3, 3) of the quaternion at q[at]."""
    w = q[at]
    x = q[at + 1]
    y = q[at + 2]
    z = q[at + 3]
    R[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    R[0, 1] = 2.0 * (x * y - w * z)
    R[0, 2] = 2.0 * (x * z + w * y)
    R[1, 0] = 2.0 * (x * y + w * z)
    R[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    R[1, 2] = 2.0 * (y * z - w * x)
    R[2, 0] = 2.0 * (x * z - w * y)
    R[2, 1] = 2.0 * (y * z + w * x)
    R[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@kernel
def product(a, a_at, b, b_at, out, at):
    """Quaternion product a b, made a unit one; out may be a or b."""
    aw = a[a_at]
    ax = a[a_at + 1]
    ay = a[a_at + 2]
    az = a[a_at + 3]
    bw = b[b_at]
    bx = b[b_at + 1]
    by = b[b_at + 2]
    bz = b[b_at + 3]
    w = aw * bw - ax * bx - ay * by - az * bz
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    out[at] = w * size
    out[at + 1] = x * size
    out[at + 2] = y * size
    out[at + 3] = z * size


@kernel
def exponential(x, y, z, out, at):
    """Quaternion of a rotation vector [rad]."""
    square = x * x + y * y + z * z
    if square < 1e-8:
        half = 0.5 - square / 48.0
        out[at] = 1.0 - square / 8.0
    else:
        angle = math.sqrt(square)
        half = math.sin(0.5 * angle) / angle
        out[at] = math.cos(0.5 * angle)
    out[at + 1] = half * x
    out[at + 2] = half * y
    out[at + 3] = half * z


@kernel
def logarithm(q, at, out, to):
    """Rotation vector of the quaternion at q[at], within ±π."""
    w = q[at]
    x = q[at + 1]
    y = q[at + 2]
    z = q[at + 3]
    if w < 0.0:
        w = -w
        x = -x
        y = -y
        z = -z
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-9:
        factor = 2.0
    else:
        factor = 2.0 * math.atan2(sine, w) / sine
    out[to] = factor * x
    out[to + 1] = factor * y
    out[to + 2] = factor * z


@inlined
def series(square):
    """(1 − cos θ)/θ², (θ − sin θ)/θ³, (cos θ − 1 + θ²/2)/θ⁴ of θ²: coefficients of ∫exp and ∬exp."""
    if square < 1e-4:
        a = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        b = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
        c = 1.0 / 24.0 - square * (1.0 / 720.0 - square / 40320.0)
    else:
        angle = math.sqrt(square)
        a = (1.0 - math.cos(angle)) / square
        b = (angle - math.sin(angle)) / (square * angle)
        c = (math.cos(angle) - 1.0 + 0.5 * square) / (square * square)
    return a, b, c


@kernel
def act(xi, at, v, v_at, xi_v, work):
    """Exp of ξ on one vector of SE₂(3): v ← Exp(θ) v + J(θ) ξ_v, with θ at xi[at], ξ_v at xi[xi_v]."""
    x = xi[at]
    y = xi[at + 1]
    z = xi[at + 2]
    a, b, _ = series(x * x + y * y + z * z)
    exponential(x, y, z, work, 0)
    w = work[0]
    ex = work[1]
    ey = work[2]
    ez = work[3]
    px = v[v_at]
    py = v[v_at + 1]
    pz = v[v_at + 2]
    tx = ey * pz - ez * py + w * px
    ty = ez * px - ex * pz + w * py
    tz = ex * py - ey * px + w * pz
    sx = xi[xi_v]
    sy = xi[xi_v + 1]
    sz = xi[xi_v + 2]
    cx = y * sz - z * sy
    cy = z * sx - x * sz
    cz = x * sy - y * sx
    v[v_at] = px + 2.0 * (ey * tz - ez * ty) + sx + a * cx + b * (y * cz - z * cy)
    v[v_at + 1] = py + 2.0 * (ez * tx - ex * tz) + sy + a * cy + b * (z * cx - x * cz)
    v[v_at + 2] = pz + 2.0 * (ex * ty - ey * tx) + sz + a * cz + b * (x * cy - y * cx)


@kernel
def turn(xi, at, q, q_at, work):
    """q ← Exp(θ) q with θ at xi[at]."""
    exponential(xi[at], xi[at + 1], xi[at + 2], work, 0)
    product(work, 0, q, q_at, q, q_at)
