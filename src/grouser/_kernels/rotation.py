"""Rotations for all kernels: unit quaternions (w, x, y, z), rotation vectors [rad] and 3×3 matrices.

Vectors and quaternions are given as anything that has an index (arrays, fields of records, tuples) and are returned as
tuples, which are free where the function is inlined. R turns body into world coordinates, T (A.9)–(A.13).
"""

import math

from grouser._compile.jit import inlined, kernel


@inlined
def vector(a, at):
    """The three entries of a from an index on."""
    return a[at], a[at + 1], a[at + 2]


@inlined
def column(R, j):
    """Column j of R (3, n)."""
    return R[0, j], R[1, j], R[2, j]


@inlined
def put(v, out, at):
    """out[at : at + 3] ← v."""
    out[at] = v[0]
    out[at + 1] = v[1]
    out[at + 2] = v[2]


@inlined
def cross(a, b):
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def dot(a, b):
    """a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def scale(factor, a):
    """factor a."""
    return factor * a[0], factor * a[1], factor * a[2]


@inlined
def add(a, factor, b):
    """a + factor b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@inlined
def skew(v, out):
    """out (3, 3) ← [v]×, so that out u = v × u."""
    out[0, 0] = 0.0
    out[0, 1] = -v[2]
    out[0, 2] = v[1]
    out[1, 0] = v[2]
    out[1, 1] = 0.0
    out[1, 2] = -v[0]
    out[2, 0] = -v[1]
    out[2, 1] = v[0]
    out[2, 2] = 0.0


@inlined
def times(R, v):
    """R v."""
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@inlined
def times_transposed(R, v):
    """Rᵀ v."""
    return (
        R[0, 0] * v[0] + R[1, 0] * v[1] + R[2, 0] * v[2],
        R[0, 1] * v[0] + R[1, 1] * v[1] + R[2, 1] * v[2],
        R[0, 2] * v[0] + R[1, 2] * v[1] + R[2, 2] * v[2],
    )


@inlined
def conjugate(q):
    """Quaternion of the inverse rotation."""
    return q[0], -q[1], -q[2], -q[3]


@inlined
def rotate(q, v):
    """R(q) v = v + 2 r × (r × v + w v) with q = (w, r)."""
    r = (q[1], q[2], q[3])
    return add(v, 2.0, cross(r, add(cross(r, v), q[0], v)))


@inlined
def rotate_back(q, v):
    """R(q)ᵀ v."""
    return rotate(conjugate(q), v)


@inlined
def product(a, b):
    """Quaternion of R(a) R(b), of unit length."""
    w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return w * size, x * size, y * size, z * size


@inlined
def put_quaternion(q, out):
    """out[0:4] ← q."""
    out[0] = q[0]
    out[1] = q[1]
    out[2] = q[2]
    out[3] = q[3]


@inlined
def exponential(r):
    """Quaternion of a rotation vector."""
    square = dot(r, r)
    if square < 1e-4:
        half = 0.5 - square * (1.0 / 48.0 - square / 3840.0)
        real = 1.0 - square * (1.0 / 8.0 - square * (1.0 / 384.0 - square / 46080.0))
    else:
        angle = math.sqrt(square)
        half = math.sin(0.5 * angle) / angle
        real = math.cos(0.5 * angle)
    return real, half * r[0], half * r[1], half * r[2]


@inlined
def logarithm(q):
    """Rotation vector of a quaternion, within ±π."""
    sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    factor = 2.0
    if sine >= 1e-9:
        factor = 2.0 * math.atan2(sine, abs(q[0])) / sine
    if q[0] < 0.0:
        factor = -factor
    return factor * q[1], factor * q[2], factor * q[3]


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


@inlined
def left_jacobian(r, v):
    """J(r) v = v + a r × v + b r × (r × v): the way of a body that moves by v while it turns by r."""
    a, b, _ = series(dot(r, r))
    once = cross(r, v)
    return add(add(v, a, once), b, cross(r, once))


@inlined
def inverse_left_jacobian(r, v):
    """J(r)⁻¹ v = v − ½ r × v + k r × (r × v)."""
    square = dot(r, r)
    a, b, _ = series(square)
    k = 1.0 / 12.0 if square < 1e-6 else (1.0 - 0.5 * (1.0 - square * b) / a) / square
    once = cross(r, v)
    return add(add(v, -0.5, once), k, cross(r, once))


@inlined
def matrix(q, R):
    """R (3, 3) ← matrix of the unit quaternion in q[0:4]."""
    w = q[0]
    x = q[1]
    y = q[2]
    z = q[3]
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
def euler_angles(R):
    """Roll, pitch, yaw of R = Rz Ry Rx, T (A.10)–(A.13)."""
    return (
        math.atan2(R[2, 1], R[2, 2]),
        math.atan2(-R[2, 0], math.sqrt(R[2, 1] * R[2, 1] + R[2, 2] * R[2, 2])),
        math.atan2(R[1, 0], R[0, 0]),
    )


@kernel
def set_attitude(q, roll, pitch, yaw):
    """q[0:4] ← quaternion of R = Rz Ry Rx."""
    cr = math.cos(0.5 * roll)
    sr = math.sin(0.5 * roll)
    cp = math.cos(0.5 * pitch)
    sp = math.sin(0.5 * pitch)
    cy = math.cos(0.5 * yaw)
    sy = math.sin(0.5 * yaw)
    q[0] = cy * cp * cr + sy * sp * sr
    q[1] = cy * cp * sr - sy * sp * cr
    q[2] = cy * sp * cr + sy * cp * sr
    q[3] = sy * cp * cr - cy * sp * sr
