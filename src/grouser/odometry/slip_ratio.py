"""Slip as a ratio and as a velocity: L (5.1), (5.2), (6.4).

One sign in the code: slip velocity = true − odometry, so driving slip points against the motion. L's is the negative.
Slip ratios keep L's sign: positive when wheels turn faster than the ground passes (slipping), negative when they turn
slower (skidding).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import check

THRESHOLD = 0.02
"""Speed [m/s] at and below which there is no slip ratio, L (6.4)."""


def wheel_slip(rim_speed: ArrayLike, speed: ArrayLike, *, threshold: float = THRESHOLD) -> FloatArray:
    """s = (R ω − v)/(R ω) of L (5.1), of rim speeds R ω and speeds v of wheel centres along the wheel [m/s].

    Zero where the rim is not faster than the threshold. 1 is a wheel that turns on the spot, 0 one that rolls; a braked
    wheel is negative, without bound.
    """
    rim, v = np.broadcast_arrays(np.asarray(rim_speed, dtype=np.float64), np.asarray(speed, dtype=np.float64))
    fast = np.abs(rim) > _threshold(threshold)
    result: FloatArray = np.where(fast, (rim - v) / np.where(fast, rim, 1.0), 0.0)
    return result


def slip_velocity(odometry: ArrayLike, true: ArrayLike) -> FloatArray:
    """Slip twist of the body, true less odometry, (…, 6) or (…, 3); the negative of L (5.2)."""
    a, b = np.asarray(odometry, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if a.shape != b.shape:
        raise OdometryError(f"odometry, true: have shapes {a.shape} and {b.shape}; they must be alike")
    result: FloatArray = b - a
    return result


def body_slip(slip: ArrayLike, odometry: ArrayLike, *, threshold: float = THRESHOLD) -> FloatArray:
    """|s| of L (6.4): speed of slip over speed by odometry, linear velocities (…, 3) or (…, 2) [m/s]; ≥ 0.

    Zero where the odometry is not faster than the threshold.
    """
    size, speed = _norms(slip, odometry)
    fast = speed > _threshold(threshold)
    result: FloatArray = np.where(fast, size / np.where(fast, speed, 1.0), 0.0)
    return result


def travel_slip(slip: ArrayLike, odometry: ArrayLike, *, threshold: float = THRESHOLD) -> FloatArray:
    """Slip along the way the odometry goes, with sign: > 0 slips, < 0 skids; as `body_slip` otherwise."""
    s, v = check.real(slip, "slip"), check.real(odometry, "odometry")
    _, speed = _norms(s, v)
    fast = speed > _threshold(threshold)
    result: FloatArray = np.where(fast, -(s * v).sum(axis=-1) / np.where(fast, speed, 1.0) ** 2, 0.0)
    return result


def _norms(slip: ArrayLike, odometry: ArrayLike) -> tuple[FloatArray, FloatArray]:
    s, v = check.real(slip, "slip"), check.real(odometry, "odometry")
    if s.shape != v.shape or s.ndim == 0:
        raise OdometryError(f"slip, odometry: have shapes {s.shape} and {v.shape}; they must be alike, (…, 3)")
    return np.linalg.norm(s, axis=-1), np.linalg.norm(v, axis=-1)


def _threshold(value: float) -> float:
    result = check.number(value, "threshold")
    if result < 0.0:
        raise OdometryError(f"threshold: {result:g} m/s must be at least 0")
    return result
