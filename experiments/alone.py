"""Each input of the fusion alone: the baselines of the fusion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation
from grouser.checks import FloatArray
from grouser.fusion.sensor_log import SensorLog


def wheels_alone(
    log: SensorLog,
    attitude: FloatArray,
    *,
    position: ArrayLike = (0.0, 0.0, 0.0),
    yaw: float = 0.0,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> tuple[FloatArray, FloatArray]:
    """Times (n,) and positions (n, 3) from the wheels' velocity and yaw rate, with given roll and pitch (n, 2) [rad].

    `point`: whose velocity the wheels measure (see `FusionSettings.wheel_point`). Samples that are far from their
    neighbours are left out, as any odometry would.
    """
    t, twist = log.wheel_time, _without_jumps(log.wheel_twist)
    step = np.diff(t)
    rate = 0.5 * (twist[1:, 2] + twist[:-1, 2])
    roll, pitch = attitude.T
    turned = step * rate * np.cos(0.5 * (roll[1:] + roll[:-1])) / np.cos(0.5 * (pitch[1:] + pitch[:-1]))
    R = rotation.from_rpy(roll, pitch, yaw + np.concatenate([[0.0], np.cumsum(turned)]))
    velocity = np.einsum("nij,nj->ni", R, twist[:, 3:] * np.array(log.observed[3:], dtype=float))
    lever = np.asarray(point, dtype=np.float64)
    moved = np.cumsum(0.5 * (velocity[1:] + velocity[:-1]) * step[:, None], axis=0)
    below = np.asarray(position, dtype=np.float64) + R[0] @ lever + np.concatenate([np.zeros((1, 3)), moved])
    return t, below - R @ lever


def poses_alone(
    log: SensorLog, *, position: ArrayLike = (0.0, 0.0, 0.0), quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0)
) -> tuple[FloatArray, FloatArray]:
    """Times (n,) and positions (n, 3) from the relative poses put one behind the other; what they miss is lost."""
    p, R = np.array(position, dtype=np.float64), rotation.from_quaternion(quaternion)
    turns = rotation.from_quaternion(log.pose_quaternion)
    out = np.empty((len(turns) + 1, 3))
    out[0] = p
    for k, turn in enumerate(turns):
        p = p + R @ log.pose_position[k]
        R = R @ turn
        out[k + 1] = p
    return np.concatenate([log.pose_from[:1], log.pose_to]), out


def _without_jumps(twist: FloatArray, most: float = 0.3) -> FloatArray:
    """Samples further than `most` from the median of five are replaced by it."""
    padded = np.pad(twist, ((2, 2), (0, 0)), mode="edge")
    median = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5, axis=0), axis=-1)
    cleaned: FloatArray = np.where(np.abs(twist - median).max(axis=1, keepdims=True) > most, median, twist)
    return cleaned
