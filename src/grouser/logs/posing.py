"""Poses of sensors as poses of the body: from messages of ROS, and from the signals of [pose]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.frames import part, wxyz, xyz
from grouser.logs.log import Sensor
from grouser.rotation import from_quaternion, from_rpy, skew, to_quaternion

ROTATION_FIRST = np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])
"""Rows of a ROS covariance, position first, in our order."""
ATTITUDE = ("roll", "pitch", "yaw", "heading", "qw", "qx", "qy", "qz")
"""Names of signals of [pose] that say how the sensor is turned."""


def ros_pose(message: Any) -> tuple[FloatArray, FloatArray, FloatArray | None] | None:
    """R and p of an Odometry, PoseStamped, PoseWithCovarianceStamped or TransformStamped, and its covariance (6, 6) in
    ROS order; None where it has no usable pose."""
    outer = part(message, "pose", part(message, "transform"))
    inner = part(outer, "pose", outer)
    place, turned = (
        part(inner, a, part(inner, b)) for a, b in (("position", "translation"), ("orientation", "rotation"))
    )
    if place is None or turned is None:
        return None
    p, q = xyz(place), wxyz(turned)
    if not (np.isfinite(p).all() and np.isfinite(q).all() and q.any()):
        return None
    given = part(outer, "covariance")
    matrix = None if given is None else np.array(given, dtype=np.float64).reshape(6, 6)
    return from_quaternion(q), p, matrix


def body_pose(
    R: FloatArray, p: FloatArray, R_body_sensor: FloatArray, p_body_sensor: FloatArray, *, relative: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Position and rotation of the body from those of a sensor in its world: T_wb = T_ws T_sb.

    relative: from the motion of the sensor, in its axes before: T_bs T T_sb.
    """
    R_turned = R @ R_body_sensor.T
    position = p - R_turned @ p_body_sensor
    if relative:
        return p_body_sensor + R_body_sensor @ position, R_body_sensor @ R_turned
    return position, R_turned


def step_covariance(
    matrix: FloatArray, R: FloatArray, R_body_sensor: FloatArray, p_body_sensor: FloatArray
) -> FloatArray:
    """Covariance (6, 6) of (rotation, translation) of the body in its axes, from that of ROS, axes of the world.

    Errors of the body are Ad(T_bs) times those of the sensor.
    """
    A = np.zeros((6, 6))
    turn = R_body_sensor @ R.T
    A[:3, :3] = A[3:, 3:] = turn
    A[3:, :3] = skew(p_body_sensor) @ turn
    return np.asarray(A @ matrix[ROTATION_FIRST] @ A.T)


def attitude_of(found: Mapping[str, float]) -> FloatArray:
    """R_world_sensor of the signals of [pose], by name [rad]."""
    if "qw" in found:
        return from_quaternion([found[name] for name in ("qw", "qx", "qy", "qz")])
    yaw = 0.5 * np.pi - found["heading"] if "heading" in found else found["yaw"]
    return from_rpy(found.get("roll", 0.0), found.get("pitch", 0.0), yaw)


def sensed_pose(
    found: Mapping[str, float], sensor: Sensor, *, relative: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position (3,), quaternion (4,) of the body and the sensor's covariance (6, 6), rotation first, from signals of
    [pose] by name."""
    p = np.array([found.get(name, 0.0) for name in ("x", "y", "z")])
    R_mounted, lever = from_rpy(0.0, 0.0, sensor.yaw), np.array([sensor.x, sensor.y, sensor.z])
    position, R = body_pose(attitude_of(found), p, R_mounted, lever, relative=relative)
    sigma = [sensor.attitude_noise, sensor.attitude_noise, sensor.yaw_noise, *[sensor.position_noise] * 3]
    return position, to_quaternion(R), np.diag(np.square(sigma))
