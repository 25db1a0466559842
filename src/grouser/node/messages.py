"""The ROS 2 messages that a node reads and writes, as dataclasses.

`encode` gives the bytes that DDS and Zenoh carry, `decode` reads them. Fields and units are ROS's: SI, radians,
quaternions x y z w, covariances by rows (position first, then rotation).
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from grouser.node import fields as ros
from grouser.node.cdr import MessageError as MessageError
from grouser.node.cdr import decode as decode
from grouser.node.cdr import encode as encode
from grouser.node.fields import TYPES as TYPES
from grouser.node.fields import Message


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


class Header(Message, package="std_msgs"):
    """Stamp, and the frame that the data are in."""

    stamp: Time = Time()
    frame_id: ros.String = ""


class String(Message, package="std_msgs"):
    """Text."""

    data: ros.String = ""


class Bool(Message, package="std_msgs"):
    """Yes or no."""

    data: ros.Bool = False


class Float64(Message, package="std_msgs"):
    """A number."""

    data: ros.Float64 = 0.0


class Vector3(Message, package="geometry_msgs"):
    """A direction, speed or turn rate."""

    x: ros.Float64 = 0.0
    y: ros.Float64 = 0.0
    z: ros.Float64 = 0.0


class Point(Message, package="geometry_msgs"):
    """A position [m]."""

    x: ros.Float64 = 0.0
    y: ros.Float64 = 0.0
    z: ros.Float64 = 0.0


class Quaternion(Message, package="geometry_msgs"):
    """A rotation; the identity by default."""

    x: ros.Float64 = 0.0
    y: ros.Float64 = 0.0
    z: ros.Float64 = 0.0
    w: ros.Float64 = 1.0


class QuaternionStamped(Message, package="geometry_msgs"):
    """A rotation with stamp and frame."""

    header: Header = Header()
    quaternion: Quaternion = Quaternion()


class Pose(Message, package="geometry_msgs"):
    """Position [m] and rotation."""

    position: Point = Point()
    orientation: Quaternion = Quaternion()


class PoseStamped(Message, package="geometry_msgs"):
    """A pose with stamp and frame."""

    header: Header = Header()
    pose: Pose = Pose()


class PoseWithCovariance(Message, package="geometry_msgs"):
    """A pose and its covariance: x, y, z [m], rotation about x, y, z [rad]."""

    pose: Pose = Pose()
    covariance: ros.Matrix6 = np.zeros(36)


class PoseWithCovarianceStamped(Message, package="geometry_msgs"):
    """A pose and its covariance with stamp and frame."""

    header: Header = Header()
    pose: PoseWithCovariance = PoseWithCovariance()


class Twist(Message, package="geometry_msgs"):
    """Velocity [m/s] and turn rate [rad/s]."""

    linear: Vector3 = Vector3()
    angular: Vector3 = Vector3()


class TwistStamped(Message, package="geometry_msgs"):
    """A twist with stamp and frame."""

    header: Header = Header()
    twist: Twist = Twist()


class TwistWithCovariance(Message, package="geometry_msgs"):
    """A twist and its covariance: linear first."""

    twist: Twist = Twist()
    covariance: ros.Matrix6 = np.zeros(36)


class Transform(Message, package="geometry_msgs"):
    """Pose of a child frame in its parent."""

    translation: Vector3 = Vector3()
    rotation: Quaternion = Quaternion()


class TransformStamped(Message, package="geometry_msgs"):
    """A transform from `header.frame_id`, the parent, to `child_frame_id`."""

    header: Header = Header()
    child_frame_id: ros.String = ""
    transform: Transform = Transform()


class TFMessage(Message, package="tf2_msgs"):
    """Transforms of one moment."""

    transforms: list[TransformStamped] = field(default_factory=list)


class Odometry(Message, package="nav_msgs"):
    """Pose in `header.frame_id`, twist in `child_frame_id`."""

    header: Header = Header()
    child_frame_id: ros.String = ""
    pose: PoseWithCovariance = PoseWithCovariance()
    twist: TwistWithCovariance = TwistWithCovariance()


class JointState(Message, package="sensor_msgs"):
    """Joints by name: angle [rad], rate [rad/s], torque [N m]; a list may be empty."""

    header: Header = Header()
    name: ros.Strings = field(default_factory=list)
    position: ros.Floats = np.zeros(0)
    velocity: ros.Floats = np.zeros(0)
    effort: ros.Floats = np.zeros(0)


class Imu(Message, package="sensor_msgs"):
    """Orientation, turn rate [rad/s], specific force [m/s²]; a covariance of -1 first: not measured."""

    header: Header = Header()
    orientation: Quaternion = Quaternion()
    orientation_covariance: ros.Matrix3 = np.zeros(9)
    angular_velocity: Vector3 = Vector3()
    angular_velocity_covariance: ros.Matrix3 = np.zeros(9)
    linear_acceleration: Vector3 = Vector3()
    linear_acceleration_covariance: ros.Matrix3 = np.zeros(9)


class NavSatStatus(Message, package="sensor_msgs"):
    """Kind of fix: -1 is none."""

    status: ros.Int8 = 0
    service: ros.UInt16 = 0


class NavSatFix(Message, package="sensor_msgs"):
    """Latitude, longitude [°], altitude [m], covariance east, north, up [m²]; type 0: unknown."""

    header: Header = Header()
    status: NavSatStatus = NavSatStatus()
    latitude: ros.Float64 = 0.0
    longitude: ros.Float64 = 0.0
    altitude: ros.Float64 = 0.0
    position_covariance: ros.Matrix3 = np.zeros(9)
    position_covariance_type: ros.UInt8 = 0


class KeyValue(Message, package="diagnostic_msgs"):
    """One named value."""

    key: ros.String = ""
    value: ros.String = ""


class DiagnosticStatus(Message, package="diagnostic_msgs"):
    """State of one part; level 0 is ok, 1 a warning, 2 an error, 3 stale."""

    level: ros.Byte = 0
    name: ros.String = ""
    message: ros.String = ""
    hardware_id: ros.String = ""
    values: list[KeyValue] = field(default_factory=list)


class DiagnosticArray(Message, package="diagnostic_msgs"):
    """States of several parts."""

    header: Header = Header()
    status: list[DiagnosticStatus] = field(default_factory=list)
