"""An estimate as ROS messages: odometry and transform in the frames of REP-105."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.node.messages import (
    Header,
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    TFMessage,
    Time,
    Transform,
    TransformStamped,
    Twist,
    TwistWithCovariance,
    Vector3,
)
from grouser.robot.estimate import RobotEstimate

__all__ = ["odometry_message", "transform_message"]

LEAST = 1e-9
"""Smallest variance that is sent [SI]; robot_localization takes a zero for a mistake and replaces it by this."""


def odometry_message(estimate: RobotEstimate, frame: str, child: str) -> Odometry:
    """nav_msgs/Odometry: pose of `child` in `frame`, twist in `child`, both with covariance."""
    return Odometry(
        Header(Time.of(estimate.time), frame),
        child,
        PoseWithCovariance(
            Pose(Point(*_floats(estimate.position)), _quaternion(estimate)), _covariance(estimate.ros_pose_covariance())
        ),
        TwistWithCovariance(
            Twist(Vector3(*_floats(estimate.twist[3:])), Vector3(*_floats(estimate.twist[:3]))),
            _covariance(estimate.ros_twist_covariance()),
        ),
    )


def transform_message(estimate: RobotEstimate, frame: str, child: str) -> TFMessage:
    """tf2_msgs/TFMessage: the same pose as a transform."""
    transform = Transform(Vector3(*_floats(estimate.position)), _quaternion(estimate))
    return TFMessage([TransformStamped(Header(Time.of(estimate.time), frame), child, transform)])


def _quaternion(estimate: RobotEstimate) -> Quaternion:
    w, x, y, z = _floats(estimate.quaternion)
    return Quaternion(x, y, z, w)


def _floats(values: Any) -> list[float]:
    return [float(one) for one in values]


def _covariance(rows: FloatArray) -> FloatArray:
    """A covariance as it is sent: symmetric to the last bit, no zero on its diagonal."""
    matrix = np.reshape(rows, (6, 6))
    matrix = 0.5 * (matrix + matrix.T)
    at = np.arange(6)
    matrix[at, at] = np.maximum(matrix[at, at], LEAST)
    return matrix.ravel()
