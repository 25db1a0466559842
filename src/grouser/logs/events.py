"""Signals of a robot as events: the content of each message of a bag or a live topic, its stamp and its arrival.

The order is that of arrival, which need not be that of the stamps. Events are named after the methods of
`grouser.Robot` that take them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grouser.errors import LogError
from grouser.logs.bags import FieldReader, stamp_of
from grouser.logs.fixes import NO_FIX, Datum, enu, fix_covariance, is_fix
from grouser.logs.frames import ATTITUDE, attitude_of, body_pose, part, ros_pose, sensed_pose, step_covariance, wxyz
from grouser.logs.joint_events import JointMessages
from grouser.logs.log import Sensor
from grouser.logs.manifest import Manifest
from grouser.logs.report import key_place
from grouser.logs.signal_table import Signal
from grouser.rotation import from_quaternion, from_rpy, to_quaternion, to_rpy

if TYPE_CHECKING:
    from grouser.logs.mounts import Mounts


class Event(NamedTuple):
    """One signal of a robot."""

    kind: str
    """joints, imu, gps, heading, pose, relative_pose or command: the method of `grouser.Robot` that takes it."""
    t: float
    """Stamp [s], with the lag of the manifest removed; of a relative pose that of its end."""
    arrived: float
    """When it came [s], on the clock of the record."""
    values: tuple[Any, ...]
    """Arguments of the method after the time."""


Taker = Callable[[float, float, Any], Event | None]
"""Makes an event, or none, of the time of a message [s], its arrival [s] and itself."""


class Roles(NamedTuple):
    """Topics whose messages are read as a whole."""

    imu: str | None
    gps: str | None
    visual: str | None
    heading: str | None
    command: str | None


def roles_of(manifest: Manifest) -> Roles:
    """Topics of the messages that are read as a whole, as the manifest says."""
    robot, signals = manifest.robot, manifest.signals()
    imu = next((str(one.topic) for key, one in signals.items() if key.startswith(("gyro.", "acceleration."))), None)
    gps = robot.gps.topic if robot.gps is not None else None
    if gps is None and manifest.pose_use == "gps" and manifest.pose is not None and manifest.pose.latitude is not None:
        gps = manifest.pose.latitude.topic
    return Roles(
        imu, gps, robot.visual.topic if robot.visual else None, robot.heading.topic if robot.heading else None,
        robot.topics.command,
    )  # fmt: skip


class EventReader:
    """Turns messages into events, one after the other, as they come."""

    def __init__(
        self, manifest: Manifest, joints: Sequence[str], mounts: Mounts, *, datum: Datum | None = None
    ) -> None:
        """joints: of the vehicle, in its order. datum: origin of GPS positions; None: the manifest's, or the first
        fix."""
        self.manifest, self.mounts = manifest, mounts
        given = manifest.robot.gps.datum if manifest.robot.gps is not None else None
        if given is None and manifest.pose is not None:
            given = manifest.pose.datum
        self.datum = datum or (None if given is None else (given[0], given[1], given[2]))
        self.left_out: dict[str, int] = {}
        """Messages that gave no event, by reason."""
        roles = roles_of(manifest)
        self._by_header, self._is_imu = manifest.time.stamp == "header", roles.imu == roles.heading
        self._takers: dict[str, list[Taker]] = {}
        self.asked_by: dict[str, str] = {}
        """The key of the manifest that names each topic."""
        of_joints = JointMessages(manifest, joints)
        for topic in of_joints.topics:
            self._add(topic, partial(_joints, of_joints, topic), "[rates]")
        self._add(roles.imu, _Imu(self) if roles.imu else None, "[gyro]")
        self._add(roles.gps, self._fix, "[robot.gps] topic" if manifest.robot.gps else "[pose] latitude")
        self._add(roles.visual, _Visual(self) if roles.visual else None, "[robot.visual] topic")
        self._add(roles.heading, self._orientation, "[robot.heading] topic")
        self._add_pose()
        self._add_label()
        command = {key: one for key, one in manifest.signals().items() if key.startswith("body_command.")}
        if command:
            numbers = _Numbers(command)
            self._add(numbers.topic, partial(_commanded, numbers), "[body_command]")
        self._add(roles.command, _twist, "[robot.topics] command")

    def time(self, arrived: float, message: Any) -> float:
        """Time of a message [s]: the stamp of its header, or its arrival where the manifest or the header says so."""
        return stamp_of(message, arrived) if self._by_header else arrived

    def take(self, topic: str, arrived: float, message: Any, t: float | None = None) -> list[Event]:
        """Events of a message of a topic that arrived at a time [s]; t: its `time`, where it is known already."""
        t = self.time(arrived, message) if t is None else t
        events = (taker(t, arrived, message) for taker in self._takers.get(topic, ()))
        return [event for event in events if event is not None]

    def _add(self, topic: str | None, taker: Taker | None, asked_by: str) -> None:
        if topic is not None and taker is not None:
            self._takers.setdefault(topic, []).append(taker)
            self.asked_by.setdefault(topic, asked_by)

    def _drop(self, reason: str) -> None:
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def _fix(self, t: float, arrived: float, message: Any) -> Event | None:
        """A sensor_msgs/NavSatFix as a position of the antenna, east, north, up of the datum."""
        latitude, longitude, height = (
            float(part(message, name, np.nan)) for name in ("latitude", "longitude", "altitude")
        )
        has_height = not math.isnan(height)
        if not has_height:
            height = 0.0 if self.datum is None else self.datum[2]
        if not is_fix(latitude, longitude, height, part(part(message, "status"), "status", 0)):
            self._drop(NO_FIX)
            return None
        if self.datum is None:
            self.datum = latitude, longitude, height
        position = enu(np.array([latitude]), np.array([longitude]), np.array([height]), self.datum)[0]
        covariance = fix_covariance(message, self.manifest.robot.gps)
        lag = self.manifest.sensor.lag if self.manifest.pose_use == "gps" else 0.0  # of [pose], if that is the GPS
        n = 3 if has_height else 2
        return Event("gps", t - lag, arrived, (position[:n], covariance[:n, :n]))

    def _orientation(self, t: float, arrived: float, message: Any) -> Event | None:
        """Yaw of a sensor_msgs/Imu or a QuaternionStamped."""
        given = part(message, "orientation", part(message, "quaternion"))
        known = part(message, "orientation_covariance", (0.0,))
        q = np.zeros(4) if given is None else wxyz(given)
        if not np.isfinite(q).all() or not q.any() or float(known[0]) == -1.0:
            self._drop("no orientation: it is not measured, or no quaternion")
            return None
        R = from_quaternion(q) @ (self.mounts.imu.R_body_sensor.T if self._is_imu else np.eye(3))
        return heading_event(self.manifest, t, arrived, float(to_rpy(R)[2]))

    def _add_label(self) -> None:
        table = self.manifest.robot.heading
        if table is None or table.label is None:
            return
        signal = heading_label(self.manifest)
        reader, factor = FieldReader(f"labels.{table.label}", signal, self.manifest.file), heading_factor(self.manifest)

        def take(t: float, arrived: float, message: Any) -> Event | None:
            angle = factor * reader.number(message)
            return heading_event(self.manifest, t - signal.lag, arrived, angle) if math.isfinite(angle) else None

        self._add(signal.topic, take, "[robot.heading] label")

    def _add_pose(self) -> None:
        """Poses of [pose] that are no reference: of another odometry, or headings of a GPS pose."""
        manifest, use = self.manifest, self.manifest.pose_use
        if manifest.pose is None or use == "reference":
            return
        where = f"{manifest.file}, table [pose]"
        if manifest.pose.frame is not None:
            raise LogError(f"{where}: frame is a pose by tf, which is a reference; it cannot be used as an odometry")
        wanted = ATTITUDE if use == "gps" else ("x", "y", "z", *ATTITUDE)
        found = {key: one for key, one in manifest.pose_signals().items() if key.split(".")[1] in wanted}
        if not found or (use == "gps" and manifest.robot.heading is not None):
            return
        topics = sorted({str(one.topic) for one in found.values()})
        if use != "gps" and len(topics) > 1:
            said = f"takes position and attitude from {', '.join(topics)}; as {use!r} they must be one topic"
            raise LogError(f"{where}: {said}")
        numbers, poses = _Numbers(found), PoseEvents(manifest.mounting(), use)

        def take(t: float, arrived: float, message: Any) -> Event | None:
            values = numbers.values(message)
            if values is None:
                return None
            return poses.event(t, arrived, {key.removeprefix("pose."): value for key, value in values.items()})

        self._add(numbers.topic, take, "[pose] heading" if use == "gps" else "[pose]")


def heading_event(manifest: Manifest, t: float, arrived: float, angle: float) -> Event:
    """Of an angle [rad] that [robot.heading] names."""
    table = manifest.robot.heading
    assert table is not None
    yaw = 0.5 * np.pi - angle if table.kind == "heading" else angle
    return Event("heading", t, arrived, (yaw - table.declination, table.noise))


def heading_label(manifest: Manifest) -> Signal:
    """The signal of [labels] that [robot.heading] names."""
    table = manifest.robot.heading
    assert table is not None
    if table.label not in manifest.labels:
        known = ", ".join(manifest.labels) or "none"
        raise LogError(
            f"{manifest.file}, table [robot], heading: [labels] has no {table.label!r:.60}; labels are {known}"
        )
    return manifest.labels[table.label]


def heading_factor(manifest: Manifest) -> float:
    """Radians per number of that label."""
    table, signal = manifest.robot.heading, heading_label(manifest)
    return signal.factor("labels.heading") * (np.pi / 180.0 if table is not None and table.unit == "deg" else 1.0)


def _twist(t: float, arrived: float, message: Any) -> Event | None:
    """A geometry_msgs/Twist or TwistStamped as the commanded speed and turn rate."""
    twist = part(message, "twist", message)
    values = float(part(part(twist, "linear"), "x", np.nan)), float(part(part(twist, "angular"), "z", np.nan))
    return Event("command", t, arrived, values) if np.isfinite(values).all() else None


def _joints(joints: JointMessages, topic: str, t: float, arrived: float, message: Any) -> Event | None:
    """A message of joints, if its topic makes events."""
    found = joints.take(topic, t, message)
    return None if found is None else Event("joints", found[0], arrived, found[1])


class _Numbers:
    """Some signals of the messages of one topic."""

    def __init__(self, signals: Mapping[str, Signal]) -> None:
        self._read = {key: (FieldReader(key, one, "the log"), one.factor(key)) for key, one in signals.items()}
        first = next(iter(signals.values()))
        self.topic, self.lag = first.topic, first.lag

    def values(self, message: Any) -> dict[str, float] | None:
        """By key, in SI units; None where one of them is missing."""
        found = {key: factor * reader.number(message) for key, (reader, factor) in self._read.items()}
        return found if all(map(math.isfinite, found.values())) else None


def _commanded(numbers: _Numbers, t: float, arrived: float, message: Any) -> Event | None:
    """The commanded speed and turn rate of [body_command]."""
    values = numbers.values(message)
    return None if values is None else Event("command", t - numbers.lag, arrived, tuple(values.values()))


class _Imu:
    """Turn rates and specific force in body axes; axes that the manifest leaves out are not measured."""

    def __init__(self, reader: EventReader) -> None:
        manifest, signals = reader.manifest, reader.manifest.signals()
        keys = [f"{table}.{axis}" for table in ("gyro", "acceleration") for axis in "xyz"]
        given = [key for key in keys if key in signals]
        if len({signals[key].topic for key in given}) > 1 or len({signals[key].lag for key in given}) > 1:
            said = f"{key_place(*given)} must come from one topic with one lag, as one IMU measures them"
            raise LogError(f"{manifest.file}: {said}")
        self._numbers = _Numbers({key: signals[key] for key in given})
        self._complete = given == keys
        R = reader.mounts.imu.R_body_sensor
        self._R_sensor_body = None if (np.eye(3) == R).all() else R.T
        self._drop = reader._drop

    def __call__(self, t: float, arrived: float, message: Any) -> Event | None:
        for name in ("angular_velocity_covariance", "linear_acceleration_covariance"):
            covariance = part(message, name)
            if covariance is not None and len(covariance) and covariance[0] == -1.0:
                self._drop("no IMU sample: its covariance says that rates or acceleration are not measured")
                return None
        values = self._numbers.values(message)
        if values is None or not self._complete:
            self._drop("no IMU sample: not all six values are there and finite")
            return None
        both = np.array(list(values.values())).reshape(2, 3)
        if self._R_sensor_body is not None:
            both = both @ self._R_sensor_body
        return Event("imu", t - self._numbers.lag, arrived, (both[0], both[1]))


class _Visual:
    """Poses of another odometry, of the body; or its motion since the message before."""

    def __init__(self, reader: EventReader) -> None:
        table = reader.manifest.robot.visual
        assert table is not None
        self._table, self._drop = table, reader._drop
        self._R, self._p = reader.mounts.visual.R_body_sensor, reader.mounts.visual.p_body_sensor
        self._last: float | None = None

    def __call__(self, t: float, arrived: float, message: Any) -> Event | None:
        found = ros_pose(message)
        if found is None:
            self._drop("visual odometry without a pose: not finite, or no quaternion")
            return None
        R, p, matrix = found
        position, R_body = body_pose(R, p, self._R, self._p, relative=self._table.relative)
        covariance = None
        if self._table.covariance_scale is not None and matrix is not None:
            covariance = self._table.covariance_scale * step_covariance(matrix, R, self._R, self._p)
        if not self._table.relative:
            return Event("pose", t, arrived, (position, to_quaternion(R_body), covariance, self._table.topic))
        last, self._last = self._last, t
        if last is None or covariance is None:
            if last is not None:
                self._drop("motion of visual odometry without a covariance: give covariance_scale in [robot.visual]")
            return None
        return Event("relative_pose", t, arrived, (last, position, to_quaternion(R_body), covariance))


class PoseEvents:
    """Poses of [pose] as events: of another odometry, motions since the pose before, or headings of a GPS pose."""

    def __init__(self, sensor: Sensor, use: str) -> None:
        """use: "pose", "relative" or "gps"."""
        self._sensor, self._use = sensor, use
        self._last: float | None = None

    def event(
        self, t: float, arrived: float, found: Mapping[str, float], yaw_noise: float | None = None
    ) -> Event | None:
        """Of a stamp [s] and signals of [pose] by name; yaw_noise: one sigma [rad], else that of the sensor."""
        sensor, relative = self._sensor, self._use == "relative"
        t -= sensor.lag
        if self._use == "gps":
            R = attitude_of(found) @ from_rpy(0.0, 0.0, -sensor.yaw)
            return Event("heading", t, arrived, (float(to_rpy(R)[2]), yaw_noise or sensor.yaw_noise))
        before, self._last = self._last, t
        position, quaternion, covariance = sensed_pose(found, sensor, relative=relative)
        if not relative:
            return Event("pose", t, arrived, (position, quaternion, None, "pose"))
        values = (before, position, quaternion, covariance)
        return None if before is None else Event("relative_pose", t, arrived, values)
