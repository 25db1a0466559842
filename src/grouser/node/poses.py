"""Messages of an IMU, of other odometry, of GPS, compass and commands to the chain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.logs.geodesy import Datum, enu
from grouser.logs.log import Sensor
from grouser.logs.manifest import Signal

__all__ = ["CommandFeed", "FixFeed", "HeadingFeed", "ImuFeed", "PoseFeed"]

NOT_MEASURED = -1.0
"""First value of a covariance in sensor_msgs/Imu that says: not measured."""


class _Numbers:
    """Values of some fields of a message, in SI units; 0 for a signal that is not given."""

    def __init__(self, signals: Sequence[Signal | None], keys: Sequence[str]) -> None:
        given = [(k, one) for k, one in enumerate(signals) if one is not None]
        self._at = [k for k, _ in given]
        self._get = [attrgetter(str(one.field)) for _, one in given]
        self._factor = np.array([one.factor(keys[k]) for k, one in given])
        self._values = np.zeros(len(signals))

    def of(self, message: Any) -> FloatArray:
        values = self._values.copy()
        values[self._at] = self._factor * [get(message) for get in self._get]
        return values


class ImuFeed:
    """sensor_msgs/Imu: turn rate and specific force in body axes, as the manifest maps them."""

    def __init__(self, signals: Sequence[Signal]) -> None:
        """gyro x, y, z, acceleration x, y, z."""
        self._numbers = _Numbers(signals, ["gyro"] * 3 + ["acceleration"] * 3)
        self._lag = signals[0].lag
        self._scale = np.array([one.factor("gyro" if k < 3 else "acceleration") for k, one in enumerate(signals)])

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a sample of time t [s]; one that the message says is not measured is left out."""
        if NOT_MEASURED in (message.angular_velocity_covariance[0], message.linear_acceleration_covariance[0]):
            return
        values = self._numbers.of(message)
        robot.imu(t - self._lag, values[:3], values[3:])


def _rotation(names: Sequence[str], values: FloatArray, mounted: FloatArray) -> FloatArray | None:
    """R_world_body from the attitude of a sensor; None where a quaternion is zero."""
    if names[0] == "qw":
        size = float(np.linalg.norm(values))
        if not 0.5 < size < 2.0:
            return None
        R = rotation.from_quaternion(values / size)
    elif names[0] == "heading":
        R = rotation.from_rpy(0.0, 0.0, 0.5 * math.pi - values[0])
    else:
        R = rotation.from_rpy(
            *(dict(zip(names, values, strict=True)).get(name, 0.0) for name in ("roll", "pitch", "yaw"))
        )
    return np.asarray(R @ mounted.T)


class PoseFeed:
    """Another odometry: nav_msgs/Odometry, geometry_msgs/PoseStamped or PoseWithCovarianceStamped."""

    def __init__(self, place: dict[str, Signal], turned: dict[str, Signal], sensor: Sensor, source: str) -> None:
        """Signals of position and attitude by name, the mounting of its frame, and its name in the chain."""
        self._place = _Numbers([place.get(axis) for axis in "xyz"], ["pose.x"] * 3)
        self._names = list(turned)
        self._turned = _Numbers(list(turned.values()), [f"pose.{name}" for name in turned])
        self._sensor, self._source = sensor, source
        self._mounted = rotation.from_rpy(0.0, 0.0, sensor.yaw)
        self._arm = np.array([sensor.x, sensor.y, sensor.z])

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give the pose of the body at time t [s]."""
        R = _rotation(self._names, self._turned.of(message), self._mounted)
        if R is not None:
            position = self._place.of(message) - R @ self._arm
            robot.pose(t - self._sensor.lag, position, rotation.to_quaternion(R), source=self._source)


class FixFeed:
    """sensor_msgs/NavSatFix: position of the antenna east, north and up of the datum."""

    def __init__(self, signals: dict[str, Signal], sensor: Sensor, datum: Datum | None) -> None:
        """The signals by name; the datum, None: the first fix."""
        names = ("latitude", "longitude", "altitude", "status")
        self._numbers = _Numbers([signals.get(name) for name in names], [f"pose.{name}" for name in names])
        self._sensor = sensor
        self.datum = datum
        """Latitude, longitude [deg], height [m] of the origin."""

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a fix of time t [s]; none where the receiver has none."""
        latitude, longitude, height, status = self._numbers.of(message)
        if status < 0 or message.status.status < 0 or not abs(latitude) <= 90.0 or not abs(longitude) <= 360.0:
            return
        height = height if math.isfinite(height) else 0.0
        if self.datum is None:
            self.datum = latitude, longitude, height
        place = enu(np.array([latitude]), np.array([longitude]), np.array([height]), self.datum)[0]
        covariance = np.array(message.position_covariance).reshape(3, 3)
        if not message.position_covariance_type or not (np.diag(covariance) > 0.0).all():
            covariance = np.diag([1.0, 1.0, 4.0]) * self._sensor.position_noise**2
        robot.gps(t - self._sensor.lag, place, covariance)


class HeadingFeed:
    """Yaw of a compass, of two antennas, or of an IMU's orientation."""

    def __init__(self, turned: dict[str, Signal], sensor: Sensor) -> None:
        """The signals of the attitude by name, and the mounting."""
        self._names = list(turned)
        self._turned = _Numbers(list(turned.values()), [f"pose.{name}" for name in turned])
        self._sensor = sensor
        self._mounted = rotation.from_rpy(0.0, 0.0, sensor.yaw)

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a heading of time t [s]."""
        R = _rotation(self._names, self._turned.of(message), self._mounted)
        if R is not None:
            robot.heading(t - self._sensor.lag, float(rotation.to_rpy(R)[2]), self._sensor.yaw_noise)


class CommandFeed:
    """geometry_msgs/Twist or TwistStamped: commanded speed and turn rate."""

    def __init__(self, speed: Signal, turn: Signal) -> None:
        """Their signals."""
        self._numbers = _Numbers([speed, turn], ["body_command.speed", "body_command.turn"])

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a command of time t [s]."""
        speed, turn = self._numbers.of(message)
        robot.command(t, speed, turn)
