"""Slip as a ratio, L (5.1), (6.4), and the force on the body per mass in the driving plane, which slip depends on.

One sign in the code: slip velocity = true − odometry, so driving slip points against the motion. L's is the negative.
Slip ratios keep L's sign: positive when wheels turn faster than the ground passes (slipping), negative when they turn
slower (skidding).

Force: gravity less acceleration, so f_z < 0 on a vehicle that stands upright, f_x < 0 uphill, and f_y/f_z > 0 with its
left side up. The driving plane is that of the wheels: with bogies it is turned from the body by their mean angle.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import check

THRESHOLD = 0.02  # Speed [m/s] at and below which there is no slip ratio, L (6.4)


def wheel_slip(rim_speed: ArrayLike, speed: ArrayLike, *, threshold: float = THRESHOLD) -> FloatArray:
    """s = (R ω − v)/(R ω) of L (5.1), of rim speeds R ω and speeds v of wheel centres along the wheel [m/s].

    Zero where the rim is not faster than the threshold. 1 is a wheel that turns on the spot, 0 one that rolls; a braked
    wheel is negative, without bound.
    """
    rim = np.asarray(rim_speed, dtype=np.float64)
    return ratio(rim - np.asarray(speed, dtype=np.float64), rim, check.not_negative(threshold, "threshold"))


def body_slip(slip: ArrayLike, odometry: ArrayLike, *, threshold: float = THRESHOLD) -> FloatArray:
    """|s| of L (6.4): speed of slip over speed by odometry, linear velocities (…, 3) or (…, 2) [m/s]; ≥ 0.

    Zero where the odometry is not faster than the threshold.
    """
    return ratio(*_norms(slip, odometry), check.not_negative(threshold, "threshold"))


def travel_slip(slip: ArrayLike, odometry: ArrayLike, *, threshold: float = THRESHOLD) -> FloatArray:
    """Slip along the way the odometry goes, with sign: > 0 slips, < 0 skids; as `body_slip` otherwise."""
    _, speed = _norms(slip, odometry)
    direction = ratio(odometry, speed[..., None], check.not_negative(threshold, "threshold"))
    return ratio(-(np.asarray(slip) * direction).sum(axis=-1), speed, threshold)


def ratio(part: ArrayLike, whole: FloatArray, threshold: ArrayLike) -> FloatArray:
    """part/whole where |whole| is above a threshold, else 0."""
    fast = np.abs(whole) > threshold
    return np.where(fast, np.asarray(part) / np.where(fast, whole, 1.0), 0.0)


def _norms(slip: ArrayLike, odometry: ArrayLike) -> tuple[FloatArray, FloatArray]:
    s, v = check.real(slip, "slip"), check.real(odometry, "odometry")
    if s.shape != v.shape or s.ndim == 0:
        raise OdometryError(f"slip, odometry: have shapes {s.shape} and {v.shape}; they must be equal, (…, 3)")
    return np.linalg.norm(s, axis=-1), np.linalg.norm(v, axis=-1)


def imu_force(acceleration: ArrayLike, *, bogies: tuple[float, float] = (0.0, 0.0)) -> FloatArray:
    """Force per mass (3,) [m/s²] from an accelerometer's reading (3,) in body axes, L (5.11).

    Accelerometers read specific force, +9.81 m/s² upwards at rest, so the force is minus the reading. bogies: angles of
    front and rear about the body's x axis [rad]; zero without bogies.
    """
    return _in_plane(-check.array(acceleration, "acceleration", (3,)), bogies)


def quasi_static_force(
    attitude: ArrayLike,
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    omega: ArrayLike = (0.0, 0.0, 0.0),
    *,
    bogies: tuple[float, float] = (0.0, 0.0),
    gravity: float = GRAVITY,
) -> FloatArray:
    """Force per mass (3,) [m/s²], g − ω × v in body axes, L (5.12): much less noisy than the IMU's.

    attitude: (roll, pitch) [rad], pitch nose down; velocity [m/s] and omega [rad/s] of the body, those of the odometry.
    """
    roll, pitch = check.array(attitude, "attitude", (2,))
    v, w = check.array(velocity, "velocity", (3,)), check.array(omega, "omega", (3,))
    g = check.positive(gravity, "gravity")
    # Third row of R_world_body: world z in body axes.
    up = np.array([-math.sin(pitch), math.cos(pitch) * math.sin(roll), math.cos(pitch) * math.cos(roll)])
    return _in_plane(-g * up - np.cross(w, v), bogies)


def _in_plane(force: FloatArray, bogies: tuple[float, float]) -> FloatArray:
    """R_x((ρ_F + ρ_R)/2)ᵀ f."""
    front, rear = check.array(bogies, "bogies", (2,))
    mean = 0.5 * (front + rear)
    c, s = math.cos(mean), math.sin(mean)
    return np.array([force[0], c * force[1] + s * force[2], c * force[2] - s * force[1]])
