"""Messages of an IMU, of other odometry, of GPS, compass and commands to the chain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.logs.geodesy import Datum, enu
from grouser.logs.manifest import Signal

__all__ = ["CommandFeed", "FixFeed", "HeadingFeed", "ImuFeed", "Mounting", "PoseFeed"]

NOT_MEASURED = -1.0
"""First value of a covariance in sensor_msgs/Imu that says: not measured."""


@dataclass(frozen=True, eq=False)
class Mounting:
    """Position and axes of a sensor on the body, and the lag of its stamps."""

    arm: FloatArray
    """Its position in the body frame, (3,) [m]."""
    R_body_sensor: FloatArray
    """Its axes, (3, 3)."""
    lag: float = 0.0
    """A value stamped t was true at t − lag [s]."""


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
    """sensor_msgs/Imu: turn rate and specific force in body axes."""

    def __init__(self, signals: Sequence[Signal], R_body_imu: FloatArray | None) -> None:
        """gyro x, y, z, acceleration x, y, z; axes of the IMU, None: those of the body."""
        self._numbers = _Numbers(signals, ["gyro"] * 3 + ["acceleration"] * 3)
        self._lag = signals[0].lag
        self._R = R_body_imu

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a sample of time t [s]; one that the message says is not measured is left out."""
        if NOT_MEASURED in (message.angular_velocity_covariance[0], message.linear_acceleration_covariance[0]):
            return
        values = self._numbers.of(message)
        gyro, force = values[:3], values[3:]
        if self._R is not None:
            gyro, force = self._R @ gyro, self._R @ force
        robot.imu(t - self._lag, gyro, force)


class _Attitude:
    """R_world_body from the attitude of a sensor."""

    def __init__(self, signals: Mapping[str, Signal], mounting: Mounting) -> None:
        self._names = list(signals)
        self._numbers = _Numbers(list(signals.values()), [f"pose.{name}" for name in signals])
        self._R_sensor_body = mounting.R_body_sensor.T

    def of(self, message: Any) -> FloatArray | None:
        """None where a quaternion is not one."""
        values = self._numbers.of(message)
        if self._names[0] == "qw":
            size = float(np.linalg.norm(values))
            if not 0.5 < size < 2.0:
                return None
            R = rotation.from_quaternion(values / size)
        else:
            angles = dict(zip(self._names, values.tolist(), strict=True))
            yaw = 0.5 * math.pi - angles["heading"] if "heading" in angles else angles["yaw"]
            R = rotation.from_rpy(angles.get("roll", 0.0), angles.get("pitch", 0.0), yaw)
        return np.asarray(R @ self._R_sensor_body)


class PoseFeed:
    """Another odometry: nav_msgs/Odometry, geometry_msgs/PoseStamped or PoseWithCovarianceStamped."""

    def __init__(
        self,
        place: Mapping[str, Signal],
        turned: Mapping[str, Signal],
        mounting: Mounting,
        source: str,
        *,
        scale: float | None = None,
    ) -> None:
        """Signals of position and attitude by name, mounting, name in the chain.

        scale: of the covariance in the messages, which is then that of a step; None: the chain's own holds.
        """
        self._place = _Numbers([place.get(axis) for axis in "xyz"], ["pose.x"] * 3)
        self._attitude = _Attitude(turned, mounting)
        self._mounting, self._source, self._scale = mounting, source, scale

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give the pose of the body at time t [s]."""
        R = self._attitude.of(message)
        if R is None:
            return
        position = self._place.of(message) - R @ self._mounting.arm
        covariance = None
        if self._scale is not None:
            covariance = self._scale * _body_covariance(message.pose.covariance, R)
        robot.pose(t - self._mounting.lag, position, rotation.to_quaternion(R), covariance, source=self._source)


def _body_covariance(rows: FloatArray, R_world_body: FloatArray) -> FloatArray:
    """(rotation, translation) in body axes, from (translation, rotation) in those of the world, (36,) by rows."""
    matrix = np.reshape(rows, (6, 6))[np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])]
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = R_world_body.T
    return np.asarray(both @ matrix @ both.T)


class FixFeed:
    """sensor_msgs/NavSatFix: position of the antenna east, north and up of the datum."""

    def __init__(self, datum: Datum | None, *, scale: float, noise: Sequence[float], lag: float = 0.0) -> None:
        """datum, None: the first fix. scale: of the covariance in messages; noise [m] where they have none."""
        self.datum = datum
        """Latitude, longitude [deg], height [m] of the origin."""
        self._scale, self._noise, self._lag = scale, np.diag(np.square(noise)), lag

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a fix of time t [s]; none where the receiver has none."""
        place = np.array([message.latitude, message.longitude, message.altitude])
        if message.status.status < 0 or not abs(place[0]) <= 90.0 or not abs(place[1]) <= 360.0:
            return
        if not math.isfinite(place[2]):
            place[2] = 0.0 if self.datum is None else self.datum[2]
        if self.datum is None:
            self.datum = float(place[0]), float(place[1]), float(place[2])
        position = enu(place[0:1], place[1:2], place[2:3], self.datum)[0]
        covariance = self._scale * np.reshape(message.position_covariance, (3, 3))
        if not message.position_covariance_type or not (np.diag(covariance) > 0.0).all():
            covariance = self._noise
        robot.gps(t - self._lag, position, covariance)


class HeadingFeed:
    """Yaw of a compass, of two antennas, or of an IMU's orientation."""

    def __init__(self, turned: Mapping[str, Signal], mounting: Mounting, *, noise: float, turn: float = 0.0) -> None:
        """The signals of the attitude by name; noise: one sigma [rad]; turn: added to the yaw [rad]."""
        self._attitude = _Attitude(turned, mounting)
        self._lag, self._noise, self._turn = mounting.lag, noise, turn

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a heading of time t [s]."""
        R = self._attitude.of(message)
        if R is not None:
            robot.heading(t - self._lag, float(rotation.to_rpy(R)[2]) + self._turn, self._noise)


class CommandFeed:
    """geometry_msgs/Twist or TwistStamped: commanded speed and turn rate."""

    def __init__(self, speed: Signal, turn: Signal) -> None:
        """Their signals."""
        self._numbers = _Numbers([speed, turn], ["body_command.speed", "body_command.turn"])

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give a command of time t [s]."""
        speed, turn = self._numbers.of(message)
        robot.command(t, float(speed), float(turn))
