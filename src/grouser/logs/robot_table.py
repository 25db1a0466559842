"""The table [robot] of a manifest: what the chain on board needs beyond the signals of a log.

`grouser fuse` reads it for logs, and `grouser node` for a live robot. Positions are in the body frame, x forward, y
left, z up.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from grouser.checks import FloatArray, nearest
from grouser.errors import LogError
from grouser.logs.signal_table import Finite, NotNegative, Positive, Table, Vector
from grouser.rotation import from_quaternion, from_rpy

Quaternion = Annotated[list[Finite], Field(min_length=4, max_length=4)]
Use = Literal["reference", "gps", "pose", "relative"]
"""Use of the poses of a log by the chain."""
HORIZONTAL, VERTICAL = 3.0, 6.0
"""One sigma of a fix of a plain receiver [m]."""


class _Mounted(Table):
    """A sensor on the body."""

    position: Vector | None = None
    """In the body frame [m]; left out: from tf, else the origin."""
    rpy: Vector | None = None
    """Roll, pitch, yaw of its axes in the body frame [rad]; left out: from tf, else those of the body."""
    quaternion: Quaternion | None = None
    """Instead of rpy: w, x, y, z."""

    @model_validator(mode="after")
    def _one_rotation(self) -> _Mounted:
        _check_rotation(self.rpy, self.quaternion, "")
        return self

    @property
    def R_body_sensor(self) -> FloatArray | None:
        """Its axes in the body frame, (3, 3); None where it is not given."""
        return _rotation(self.rpy, self.quaternion)


class Visual(_Mounted):
    """Another odometry, such as visual odometry: nav_msgs/Odometry, PoseStamped, PoseWithCovarianceStamped, or a
    TransformStamped."""

    topic: str
    """Its topic."""
    relative: bool = False
    """Whether a message is the motion since the message before; otherwise a pose in a world of its own."""
    covariance_scale: Positive | None = None
    """Factor on the covariance in its messages, which is then that of the step since the message before, axes of the
    world as ROS has it. Left out: messages are not asked, `noise` holds."""
    noise: Annotated[list[NotNegative], Field(min_length=4, max_length=4)] | None = None
    """One sigma of a step: translation [m] and its share of the way, rotation [rad] and its share of the turn; left
    out: that of `grouser.robot.RobotSettings.visual`."""


class Gps(Table, BaseModel):
    """Fixes of a GPS receiver, sensor_msgs/NavSatFix. Without topic the table is for a [pose] that is GPS."""

    topic: str | None = None
    """Its topic."""
    datum: Vector | None = None
    """Latitude, longitude [deg], height above the ellipsoid [m] of the origin; left out: that of [pose], else the first
    fix."""
    covariance_scale: Positive = 1.0
    """Factor on the covariance in its messages: receivers often give too small a one."""
    noise: Annotated[list[Positive], Field(min_length=3, max_length=3)] = [HORIZONTAL, HORIZONTAL, VERTICAL]
    """One sigma of east, north, up [m] where a message gives none (position_covariance_type 0)."""


class Heading(Table):
    """A compass, magnetometer, two antennas: the yaw of the body."""

    topic: str | None = None
    """Topic of a sensor_msgs/Imu or geometry_msgs/QuaternionStamped, whose orientation is used."""
    label: str | None = None
    """Instead of topic: a signal of [labels]."""
    unit: Literal["rad", "deg"] = "rad"
    """Of the label."""
    kind: Literal["yaw", "heading"] = "yaw"
    """yaw: counter-clockwise from x (east). heading: clockwise from north, as compasses give it."""
    declination: Finite = 0.0
    """Of the magnetic field [rad], east positive: true heading = magnetic heading + declination."""
    noise: Positive = 0.05
    """One sigma [rad]."""

    @model_validator(mode="after")
    def _one_source(self) -> Heading:
        if (self.topic is None) == (self.label is None):
            raise ValueError("needs either topic (of orientations) or label (a signal of [labels])")
        return self


class Topics(Table):
    """Frames, and topics of `grouser node` that are no signals of the log."""

    odom: str = "odom"
    """Out: nav_msgs/Odometry."""
    tf: bool = True
    """Out: whether the transform from odom_frame to base_frame is published too."""
    diagnostics: str = "/diagnostics"
    """Out: diagnostic_msgs/DiagnosticArray."""
    monitor: str = "monitor"
    """Out: alarms."""
    command: str | None = None
    """In: geometry_msgs/Twist or TwistStamped, the commanded motion of the body."""
    odom_frame: str = "odom"
    """World of the estimate."""
    base_frame: str = "base_link"
    """Body of the vehicle; tf chains of sensors end there."""


class RobotTable(Table, BaseModel):
    """The table [robot]."""

    imu_position: Vector | None = None
    """Of the IMU [m]; left out: from tf, else the origin."""
    imu_rpy: Vector | None = None
    """Roll, pitch, yaw of the IMU's axes in the body frame [rad]; left out: from tf, else those of the body. Bags and
    live topics only: columns of a CSV are in body axes."""
    imu_quaternion: Quaternion | None = None
    """Instead of imu_rpy: w, x, y, z."""
    antenna: Vector | None = None
    """Of the GPS antenna [m]; left out: that of [sensor] where [pose] is GPS, else from tf, else the origin."""
    delay: Annotated[float, Field(gt=0.0, le=60.0, allow_inf_nan=False)] = 0.5
    """A signal that comes later than this after newer ones is not replayed [s]."""
    pose: Use | None = None
    """Use of [pose]: "reference", only compared with; "gps", fixes of a position; "pose", poses of another odometry,
    whose steps are used; "relative", motions since the pose before. Left out: "gps" where it is latitude and
    longitude, else "reference"."""
    noise: dict[str, Finite | list[Finite]] = {}
    """Settings of the filter by their names in `grouser.fusion.FusionSettings`: gyro_noise, slip, gate, …"""
    visual: Visual | None = None
    gps: Gps | None = None
    heading: Heading | None = None
    topics: Topics = Topics()

    @model_validator(mode="after")
    def _one_rotation(self) -> RobotTable:
        _check_rotation(self.imu_rpy, self.imu_quaternion, "imu_")
        if "imu_position" in self.noise:
            raise ValueError("imu_position stands in [robot], not in [robot.noise]")
        return self

    @property
    def R_body_imu(self) -> FloatArray | None:
        """Axes of the IMU in the body frame, (3, 3); None where it is not given."""
        return _rotation(self.imu_rpy, self.imu_quaternion)

    def settings(self, kind: type, file: str) -> dict[str, Any]:
        """The fields of [robot.noise] for a dataclass of settings, checked by name; `file` is for messages."""
        names = [field.name for field in dataclasses.fields(kind)]
        for name in self.noise:
            if name not in names:
                known = f"{nearest(name, names)}fields here are {', '.join(names)}"
                raise LogError(f"{file}, table [robot.noise], field {name[:60]}: is not a setting; {known}")
        return {name: tuple(value) if isinstance(value, list) else value for name, value in self.noise.items()}


TABLES: dict[str, type[BaseModel]] = {
    "robot": RobotTable, "robot.visual": Visual, "robot.gps": Gps, "robot.heading": Heading, "robot.topics": Topics,
}  # fmt: skip
"""Tables of a manifest that are written here."""


def _check_rotation(rpy: list[float] | None, quaternion: list[float] | None, prefix: str) -> None:
    if rpy is not None and quaternion is not None:
        raise ValueError(f"has both {prefix}rpy and {prefix}quaternion; give one")
    if rpy is not None and max(map(abs, rpy)) > 2.0 * math.pi:
        raise ValueError(f"{prefix}rpy {rpy} is more than a turn; it is in rad, so 180° is 3.1416")
    if quaternion is not None and not any(quaternion):
        raise ValueError(f"{prefix}quaternion is zero, which is no rotation; use w, x, y, z")


def _rotation(rpy: list[float] | None, quaternion: list[float] | None) -> FloatArray | None:
    if quaternion is not None:
        return from_quaternion(quaternion)
    return None if rpy is None else from_rpy(*rpy)
