"""Rotations: matrices, Euler angles for people, quaternions for the state.

T (A.9)–(A.13), with element (2, 3) of (A.9) corrected. R = Rz(yaw) Ry(pitch) Rx(roll), ISO 8855. Every
function takes any leading axes. A matrix R_a_b turns coordinates in frame b into coordinates in frame a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import Checker, FloatArray
from grouser.errors import GrouserError

__all__ = ["from_quaternion", "from_rpy", "to_quaternion", "to_rpy"]

_checked = Checker(GrouserError)


def from_rpy(roll: ArrayLike, pitch: ArrayLike, yaw: ArrayLike) -> FloatArray:
    """Matrix of roll, pitch, yaw [rad]; shape (..., 3, 3), leading axes as the angles broadcast."""
    roll, pitch, yaw = np.broadcast_arrays(
        _checked.real(roll, "roll"), _checked.real(pitch, "pitch"), _checked.real(yaw, "yaw")
    )
    sr, cr = np.sin(roll), np.cos(roll)
    sp, cp = np.sin(pitch), np.cos(pitch)
    sy, cy = np.sin(yaw), np.cos(yaw)
    R = np.empty((*roll.shape, 3, 3))
    R[..., 0, 0] = cy * cp
    R[..., 0, 1] = cy * sp * sr - sy * cr
    R[..., 0, 2] = cy * sp * cr + sy * sr
    R[..., 1, 0] = sy * cp
    R[..., 1, 1] = sy * sp * sr + cy * cr
    R[..., 1, 2] = sy * sp * cr - cy * sr  # (A.9) prints −sψ sφ here
    R[..., 2, 0] = -sp
    R[..., 2, 1] = cp * sr
    R[..., 2, 2] = cp * cr
    return R


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
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    R = np.empty((*q.shape[:-1], 3, 3))
    R[..., 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    R[..., 0, 1] = 2.0 * (x * y - w * z)
    R[..., 0, 2] = 2.0 * (x * z + w * y)
    R[..., 1, 0] = 2.0 * (x * y + w * z)
    R[..., 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    R[..., 1, 2] = 2.0 * (y * z - w * x)
    R[..., 2, 0] = 2.0 * (x * z - w * y)
    R[..., 2, 1] = 2.0 * (y * z + w * x)
    R[..., 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    return R


def to_quaternion(R: ArrayLike) -> FloatArray:
    """Unit quaternion (..., 4), order w x y z, w ≥ 0, of a rotation matrix (..., 3, 3).

    Divides by the largest of the four entries (Shepperd 1978), so no rotation is a bad one.
    """
    R = _matrices(R)
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x_w, y_w, z_w = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    x_y, x_z, y_z = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    # Row k is 4 q_k q: proportional to q, and longest where q_k is largest.
    rows = np.stack(
        [
            np.stack([1.0 + a + b + c, x_w, y_w, z_w], axis=-1),
            np.stack([x_w, 1.0 + a - b - c, x_y, x_z], axis=-1),
            np.stack([y_w, x_y, 1.0 - a + b - c, y_z], axis=-1),
            np.stack([z_w, x_z, y_z, 1.0 - a - b + c], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    positive: FloatArray = np.where(q[..., :1] < 0.0, -q, q)
    return positive


def _matrices(R: ArrayLike) -> FloatArray:
    R = _checked.real(R, "rotation matrix")
    if R.shape[-2:] != (3, 3):
        raise GrouserError(f"a rotation matrix has shape (..., 3, 3), this has shape {R.shape}")
    return R
