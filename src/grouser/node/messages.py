"""The ROS 2 messages that a node reads and writes, as plain dataclasses.

`encode` gives the bytes that DDS and Zenoh carry, `decode` reads them. Fields and units are ROS's: SI, radians,
quaternions x y z w, covariances by rows (position first, then rotation).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from grouser.node import fields as ros
from grouser.node.cdr import MessageError, decode, encode
from grouser.node.fields import TYPES, Message

__all__ = [
    "TYPES", "Bool", "DiagnosticArray", "DiagnosticStatus", "Float64", "Header", "Imu", "JointState", "KeyValue",
    "Message", "MessageError", "NavSatFix", "NavSatStatus", "Odometry", "Point", "Pose", "PoseStamped",
    "PoseWithCovariance", "PoseWithCovarianceStamped", "Quaternion", "QuaternionStamped", "String", "TFMessage", "Time",
    "Transform",
    "TransformStamped", "Twist", "TwistStamped", "TwistWithCovariance", "Vector3", "decode", "encode",
]  # fmt: skip


@dataclass(slots=True, eq=False)
class Time(Message, package="builtin_interfaces"):
    """A stamp: seconds and nanoseconds since the epoch."""

    sec: ros.Int32 = 0
    nanosec: ros.UInt32 = 0

    @classmethod
    def of(cls, seconds: float) -> Time:
        """The stamp of a time [s]."""
        whole, part = divmod(round(seconds * 1e9), 1_000_000_000)
        return cls(whole, part)

    @property
    def seconds(self) -> float:
        """The time [s]; exact to .3 µs in this century."""
        return self.sec + self.nanosec * 1e-9


@dataclass(slots=True, eq=False)
class Header(Message, package="std_msgs"):
    """Stamp, and the frame that the data are in."""

    stamp: Time = field(default_factory=Time)
    frame_id: ros.String = ""


@dataclass(slots=True, eq=False)
class String(Message, package="std_msgs"):
    """Text."""

    data: ros.String = ""


@dataclass(slots=True, eq=False)
class Bool(Message, package="std_msgs"):
    """Yes or no."""

    data: ros.Bool = False


@dataclass(slots=True, eq=False)
class Float64(Message, package="std_msgs"):
    """A number."""

    data: ros.Float64 = 0.0


@dataclass(slots=True, eq=False)
class Vector3(Message, package="geometry_msgs"):
    """A direction, speed or turn rate."""

    x: ros.Float64 = 0.0
    y: ros.Float64 = 0.0
    z: ros.Float64 = 0.0


@dataclass(slots=True, eq=False)
class Point(Message, package="geometry_msgs"):
    """A position [m]."""

    x: ros.Float64 = 0.0
    y: ros.Float64 = 0.0
    z: ros.Float64 = 0.0


@dataclass(slots=True, eq=False)
class Quaternion(Message, package="geometry_msgs"):
    """A rotation; the identity by default."""

    x: ros.Float64 = 0.0
    y: ros.Float64 = 0.0
    z: ros.Float64 = 0.0
    w: ros.Float64 = 1.0


@dataclass(slots=True, eq=False)
class QuaternionStamped(Message, package="geometry_msgs"):
    """A rotation with stamp and frame."""

    header: Header = field(default_factory=Header)
    quaternion: Quaternion = field(default_factory=Quaternion)


@dataclass(slots=True, eq=False)
class Pose(Message, package="geometry_msgs"):
    """Position [m] and rotation."""

    position: Point = field(default_factory=Point)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass(slots=True, eq=False)
class PoseStamped(Message, package="geometry_msgs"):
    """A pose with stamp and frame."""

    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


@dataclass(slots=True, eq=False)
class PoseWithCovariance(Message, package="geometry_msgs"):
    """A pose and its covariance: x, y, z [m], rotation about x, y, z [rad]."""

    pose: Pose = field(default_factory=Pose)
    covariance: ros.Matrix6 = field(default_factory=lambda: np.zeros(36))


@dataclass(slots=True, eq=False)
class PoseWithCovarianceStamped(Message, package="geometry_msgs"):
    """A pose and its covariance with stamp and frame."""

    header: Header = field(default_factory=Header)
    pose: PoseWithCovariance = field(default_factory=PoseWithCovariance)


@dataclass(slots=True, eq=False)
class Twist(Message, package="geometry_msgs"):
    """Velocity [m/s] and turn rate [rad/s]."""

    linear: Vector3 = field(default_factory=Vector3)
    angular: Vector3 = field(default_factory=Vector3)


@dataclass(slots=True, eq=False)
class TwistStamped(Message, package="geometry_msgs"):
    """A twist with stamp and frame."""

    header: Header = field(default_factory=Header)
    twist: Twist = field(default_factory=Twist)


@dataclass(slots=True, eq=False)
class TwistWithCovariance(Message, package="geometry_msgs"):
    """A twist and its covariance: linear first."""

    twist: Twist = field(default_factory=Twist)
    covariance: ros.Matrix6 = field(default_factory=lambda: np.zeros(36))


@dataclass(slots=True, eq=False)
class Transform(Message, package="geometry_msgs"):
    """Pose of a child frame in its parent."""

    translation: Vector3 = field(default_factory=Vector3)
    rotation: Quaternion = field(default_factory=Quaternion)


@dataclass(slots=True, eq=False)
class TransformStamped(Message, package="geometry_msgs"):
    """A transform from `header.frame_id`, the parent, to `child_frame_id`."""

    header: Header = field(default_factory=Header)
    child_frame_id: ros.String = ""
    transform: Transform = field(default_factory=Transform)


@dataclass(slots=True, eq=False)
class TFMessage(Message, package="tf2_msgs"):
    """Transforms of one moment."""

    transforms: list[TransformStamped] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Odometry(Message, package="nav_msgs"):
    """Pose in `header.frame_id`, twist in `child_frame_id`."""

    header: Header = field(default_factory=Header)
    child_frame_id: ros.String = ""
    pose: PoseWithCovariance = field(default_factory=PoseWithCovariance)
    twist: TwistWithCovariance = field(default_factory=TwistWithCovariance)


@dataclass(slots=True, eq=False)
class JointState(Message, package="sensor_msgs"):
    """Joints by name: angle [rad], rate [rad/s], torque [N m]; a list may be empty."""

    header: Header = field(default_factory=Header)
    name: ros.Strings = field(default_factory=list)
    position: ros.Floats = field(default_factory=lambda: np.zeros(0))
    velocity: ros.Floats = field(default_factory=lambda: np.zeros(0))
    effort: ros.Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(slots=True, eq=False)
class Imu(Message, package="sensor_msgs"):
    """Orientation, turn rate [rad/s], specific force [m/s²]; a covariance of -1 first: not measured."""

    header: Header = field(default_factory=Header)
    orientation: Quaternion = field(default_factory=Quaternion)
    orientation_covariance: ros.Matrix3 = field(default_factory=lambda: np.zeros(9))
    angular_velocity: Vector3 = field(default_factory=Vector3)
    angular_velocity_covariance: ros.Matrix3 = field(default_factory=lambda: np.zeros(9))
    linear_acceleration: Vector3 = field(default_factory=Vector3)
    linear_acceleration_covariance: ros.Matrix3 = field(default_factory=lambda: np.zeros(9))


@dataclass(slots=True, eq=False)
class NavSatStatus(Message, package="sensor_msgs"):
    """Kind of fix: -1 is none."""

    status: ros.Int8 = 0
    service: ros.UInt16 = 0


@dataclass(slots=True, eq=False)
class NavSatFix(Message, package="sensor_msgs"):
    """Latitude, longitude [°], altitude [m], covariance east, north, up [m²]; type 0: unknown."""

    header: Header = field(default_factory=Header)
    status: NavSatStatus = field(default_factory=NavSatStatus)
    latitude: ros.Float64 = 0.0
    longitude: ros.Float64 = 0.0
    altitude: ros.Float64 = 0.0
    position_covariance: ros.Matrix3 = field(default_factory=lambda: np.zeros(9))
    position_covariance_type: ros.UInt8 = 0


@dataclass(slots=True, eq=False)
class KeyValue(Message, package="diagnostic_msgs"):
    """One named value."""

    key: ros.String = ""
    value: ros.String = ""


@dataclass(slots=True, eq=False)
class DiagnosticStatus(Message, package="diagnostic_msgs"):
    """State of one part; level 0 is ok, 1 a warning, 2 an error, 3 stale."""

    level: ros.Byte = 0
    name: ros.String = ""
    message: ros.String = ""
    hardware_id: ros.String = ""
    values: list[KeyValue] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class DiagnosticArray(Message, package="diagnostic_msgs"):
    """States of several parts."""

    header: Header = field(default_factory=Header)
    status: list[DiagnosticStatus] = field(default_factory=list)
