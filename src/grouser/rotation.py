"""Rotations: matrices, Euler angles for people, quaternions for the state.

T (A.9)–(A.13), with element (2, 3) of (A.9) corrected. R = Rz(yaw) Ry(pitch) Rx(roll), ISO 8855. Every
function takes any leading axes. A matrix R_a_b turns coordinates in frame b into coordinates in frame a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import Checker, FloatArray
from grouser.errors import GrouserError

__all__ = ["about", "from_quaternion", "from_rpy", "skew", "to_quaternion", "to_rpy", "wrapped", "yaw_of"]

_checked = Checker(GrouserError)


def from_rpy(roll: ArrayLike, pitch: ArrayLike, yaw: ArrayLike) -> FloatArray:
    """Matrix of roll, pitch, yaw [rad]; shape (..., 3, 3), leading axes as the angles broadcast."""
    named = {"roll": roll, "pitch": pitch, "yaw": yaw}
    roll, pitch, yaw = np.broadcast_arrays(*(_checked.real(angle, name) for name, angle in named.items()))
    (sr, sp, sy), (cr, cp, cy) = np.sin((roll, pitch, yaw)), np.cos((roll, pitch, yaw))
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),  # (A.9) prints −sψ sφ in the last entry
        (-sp, cp * sr, cp * cr),
    )
    return _matrix(rows)


def to_rpy(R: ArrayLike) -> FloatArray:
    """Roll, pitch, yaw [rad] of a rotation matrix (..., 3, 3); shape (..., 3), pitch within ±π/2.

    Yaw is taken from R Rx(−roll) rather than from (A.13), so the three angles rebuild R also at pitch =
    ±π/2, where only yaw ∓ roll is determined.
    """
    R = _matrices(R)
    roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
    sr, cr = np.sin(roll), np.cos(roll)
    yaw = np.arctan2(sr * R[..., 0, 2] - cr * R[..., 0, 1], cr * R[..., 1, 1] - sr * R[..., 1, 2])
    return np.stack([roll, pitch, yaw], axis=-1)


def from_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Matrix (..., 3, 3) of a quaternion (..., 4) in the order w x y z; any length but zero."""
    q = _checked.real(quaternion, "quaternion")
    if q.ndim == 0 or q.shape[-1] != 4:
        raise GrouserError(f"a quaternion has 4 entries w x y z on its last axis, this has shape {q.shape}")
    largest = np.max(np.abs(q), axis=-1, keepdims=True, initial=0.0)
    if not np.all(np.isfinite(largest)) or np.any(largest == 0.0):
        raise GrouserError("a quaternion must be finite and not all zeros")
    q = q / largest  # squares of very large or very small entries would overflow or vanish
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return _matrix(rows)


def to_quaternion(R: ArrayLike) -> FloatArray:
    """Unit quaternion (..., 4), order w x y z, w ≥ 0, of a rotation matrix (..., 3, 3).

    Divides by the largest of the four entries (Shepperd 1978), so no rotation is a bad one.
    """
    R = _matrices(R)
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x_w, y_w, z_w = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    x_y, x_z, y_z = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    # Row k is 4 q_k q: proportional to q, and longest where q_k is largest.
    rows = _matrix(
        (
            (1.0 + a + b + c, x_w, y_w, z_w),
            (x_w, 1.0 + a - b - c, x_y, x_z),
            (y_w, x_y, 1.0 - a + b - c, y_z),
            (z_w, x_z, y_z, 1.0 - a - b + c),
        )
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    positive: FloatArray = np.where(q[..., :1] < 0.0, -q, q)
    return positive


def skew(v: ArrayLike) -> FloatArray:
    """The matrix of v × for a vector (3,), shape (3, 3), in the unit of v."""
    x, y, z = np.asarray(v, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def about(axis: ArrayLike, angle: float) -> FloatArray:
    """Matrix (3, 3) of the rotation by an angle [rad] about a unit vector (3,): Rodrigues' formula."""
    K = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def yaw_of(quaternion: FloatArray) -> FloatArray:
    """Yaw [rad] of unit quaternions (..., 4), w x y z, shape (...): where the body's x axis points in the plan."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    return np.asarray(np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z)))


def upright(quaternion: FloatArray) -> FloatArray:
    """Cosine of the tilt of unit quaternions (..., 4), w x y z, shape (...): z of the body's z axis, 1 if level."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    return np.asarray(w * w - x * x - y * y + z * z)


def wrapped(angles: ArrayLike) -> FloatArray:
    """Angles [rad] within ±π."""
    return np.asarray(np.remainder(np.asarray(angles) + np.pi, 2.0 * np.pi) - np.pi)


def _matrix(rows: tuple[tuple[FloatArray, ...], ...]) -> FloatArray:
    """Matrices (..., n, n) from rows of entries (...)."""
    return np.ascontiguousarray(np.moveaxis(np.array(rows), (0, 1), (-2, -1)))


def _matrices(R: ArrayLike) -> FloatArray:
    R = _checked.real(R, "rotation matrix")
    if R.shape[-2:] != (3, 3):
        raise GrouserError(f"a rotation matrix has shape (..., 3, 3), this has shape {R.shape}")
    return R
