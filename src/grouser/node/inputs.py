"""From the manifest to the topics of a robot: which messages are subscribed, and what of them goes to the chain.

Signals of the joints and the IMU are those of the manifest's tables, as for logs; other odometry, GPS, compass and
commands are those of its table [robot], or of [pose] and [body_command] where they are topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grouser.errors import LogError
from grouser.logs.manifest import Manifest, Signal
from grouser.node import messages
from grouser.node.fields import Message, fields_of
from grouser.node.joints import JointFeed, Joints
from grouser.node.poses import CommandFeed, FixFeed, HeadingFeed, ImuFeed, Mounting, PoseFeed
from grouser.rotation import from_rpy

__all__ = ["Feed", "Topic", "topics_of"]

POSES: tuple[type[Message], ...] = (
    messages.Odometry, messages.PoseWithCovarianceStamped, messages.PoseStamped,
)  # fmt: skip
TYPES: tuple[type[Message], ...] = (
    messages.JointState, messages.Imu, messages.NavSatFix, *POSES, messages.Twist, messages.TwistStamped,
    messages.Float64, messages.QuaternionStamped,
)  # fmt: skip
"""Messages that are read. A topic is subscribed with each type that has all fields which the manifest names of it:
publisher and subscriber find each other by topic and type."""
JOINTS = ("rates", "angles", "currents")
AXES = ("x", "y", "z")
QUATERNION = ("qw", "qx", "qy", "qz")


class Feed(Protocol):
    """Gives one kind of signal of a topic's messages to a chain."""

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Give what a message of time t [s] says."""


@dataclass(frozen=True)
class Topic:
    """A topic that a node listens to, with one type of messages."""

    name: str
    """As `/joint_states`."""
    type: type[Message]
    feeds: tuple[Feed, ...]
    stamped: bool
    """Whether the time is that of the message's header; else that of arrival."""

    def time(self, message: Any, arrived: float) -> float:
        """Time of a message [s]."""
        if self.stamped:
            stamp: float = message.header.stamp.seconds
            if stamp != 0.0:  # drivers without a clock leave it empty
                return stamp
        return arrived


class _Wanted:
    """Feeds by topic and type."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._feeds: dict[tuple[str, type[Message]], list[Feed]] = defaultdict(list)

    def add(self, signals: Mapping[str, Signal], feed: Feed) -> None:
        """A feed that reads these signals, which come from one topic."""
        topics = {str(one.topic) for one in signals.values()}
        if len(topics) > 1:
            raise LogError(
                f"{self.manifest.file}: {', '.join(signals)} come from {', '.join(sorted(topics))}; on board they must"
                " come from one topic"
            )
        topic = topics.pop()
        kinds = [kind for kind in TYPES if all(_has(kind, one) for one in signals.values())]
        if not kinds:
            paths = ", ".join(sorted({str(one.field) for one in signals.values()}))
            raise LogError(
                f"{self.manifest.file}: no message with {paths}, as of topic {topic}, is read; those that are read:"
                f" {', '.join(kind.NAME for kind in TYPES)}"
            )
        for kind in kinds:
            self._feeds[topic if topic.startswith("/") else f"/{topic}", kind].append(feed)

    def topics(self) -> list[Topic]:
        """All of them."""
        by_header = self.manifest.time.stamp == "header"
        return [
            Topic(name, kind, tuple(feeds), by_header and any(one.name == "header" for one in fields_of(kind)))
            for (name, kind), feeds in self._feeds.items()
        ]


def topics_of(manifest: Manifest, joints: Sequence[str], *, datum: Sequence[float] | None = None) -> list[Topic]:
    """The topics of a manifest, for a vehicle with these joints. datum: origin of GPS fixes of an earlier run."""
    wanted = _Wanted(manifest)
    for key, signal in manifest.signals().items():
        if signal.topic is None and key.split(".")[0] in (*JOINTS, "gyro", "acceleration", "body_command"):
            raise LogError(
                f'{manifest.file}, {key}: names {signal.source} of a CSV; a node needs a topic = "/joint_states"'
            )
    _add_joints(wanted, joints)
    _add_imu(wanted)
    _add_odometry(wanted)
    _add_gps(wanted, datum)
    _add_heading(wanted)
    _add_command(wanted)
    return wanted.topics()


def _of(manifest: Manifest, *tables: str) -> dict[str, Signal]:
    return {key: one for key, one in manifest.signals().items() if key.split(".")[0] in tables}


def _paths(topic: str, prefix: str, fields: Mapping[str, str]) -> dict[str, Signal]:
    """Signals of the fields of a usual message, by name."""
    return {name: Signal(topic=topic, field=f"{prefix}{path}") for name, path in fields.items()}


def _quaternion(topic: str, prefix: str) -> dict[str, Signal]:
    return _paths(topic, prefix, {name: name[1:] for name in QUATERNION})


def _add_joints(wanted: _Wanted, joints: Sequence[str]) -> None:
    by_topic: dict[str, dict[str, Signal]] = defaultdict(dict)
    for key, one in _of(wanted.manifest, *JOINTS).items():
        if key.split(".", 1)[1] not in joints:
            raise LogError(f"{wanted.manifest.file}, {key}: the vehicle has no such joint; joints: {', '.join(joints)}")
        by_topic[str(one.topic)][key] = one
    whole = Joints(len(joints), len(by_topic))
    for k, signals in enumerate(by_topic.values()):
        wanted.add(signals, JointFeed(whole, k, signals, list(joints)))


def _add_imu(wanted: _Wanted) -> None:
    manifest = wanted.manifest
    given = _of(manifest, "gyro", "acceleration")
    names = [f"{table}.{axis}" for table in ("gyro", "acceleration") for axis in AXES]
    missing = [key for key in names if key not in given]
    if given and missing:
        raise LogError(
            f"{manifest.file}: has {', '.join(given)} without {', '.join(missing)}; an IMU on board has all six"
        )
    if given:
        wanted.add(given, ImuFeed([given[key] for key in names], manifest.robot.R_body_imu))


def _pose_mounting(manifest: Manifest) -> Mounting:
    sensor = manifest.mounting()
    return Mounting(np.array([sensor.x, sensor.y, sensor.z]), from_rpy(0.0, 0.0, sensor.yaw), sensor.lag)


def _pose_parts(manifest: Manifest) -> tuple[dict[str, Signal], dict[str, Signal]]:
    """Signals of [pose]: position, attitude, by name."""
    given = {key.split(".")[1]: one for key, one in manifest.pose_signals().items()}
    turned = QUATERNION if "qw" in given else ("heading",) if "heading" in given else ("roll", "pitch", "yaw")
    return {name: given[name] for name in AXES if name in given}, {
        name: given[name] for name in turned if name in given
    }


def _add_odometry(wanted: _Wanted) -> None:
    manifest, visual = wanted.manifest, wanted.manifest.robot.visual
    if manifest.pose_use == "relative" or (visual is not None and visual.relative):
        raise LogError(f"{manifest.file}: motions since the message before are read from logs only; a node reads poses")
    if manifest.pose is not None and manifest.pose_use == "pose":
        place, turned = _pose_parts(manifest)
        both = {**place, **turned}
        wanted.add(both, PoseFeed(place, turned, _pose_mounting(manifest), str(next(iter(both.values())).topic)))
    if visual is None:
        return
    R = visual.R_body_sensor
    mounting = Mounting(np.array(visual.position or (0.0, 0.0, 0.0)), np.eye(3) if R is None else R)
    for prefix in ("pose.pose.", "pose."):
        place = _paths(visual.topic, f"{prefix}position.", {axis: axis for axis in AXES})
        turned = _quaternion(visual.topic, f"{prefix}orientation.")
        scale = visual.covariance_scale if prefix == "pose.pose." else None  # a PoseStamped has no covariance
        wanted.add({**place, **turned}, PoseFeed(place, turned, mounting, visual.topic, scale=scale))


def _add_gps(wanted: _Wanted, datum: Sequence[float] | None) -> None:
    manifest, gps = wanted.manifest, wanted.manifest.robot.gps
    from_pose = manifest.pose is not None and manifest.pose.is_gps and manifest.pose_use == "gps"
    topic = gps.topic if gps is not None and gps.topic is not None else None
    if topic is None and from_pose:
        topic = manifest.pose_signals()["pose.latitude"].topic
    if topic is None:
        return
    known = [datum, *(one.datum for one in (gps, manifest.pose) if one is not None)]
    given = next((one for one in known if one is not None), None)
    origin = None if given is None else (float(given[0]), float(given[1]), float(given[2]))
    noise = (3.0, 3.0, 6.0) if gps is None else gps.noise
    feed = FixFeed(origin, scale=1.0 if gps is None else gps.covariance_scale, noise=noise)
    wanted.add(_paths(topic, "", {"latitude": "latitude", "longitude": "longitude", "altitude": "altitude"}), feed)


def _add_heading(wanted: _Wanted) -> None:
    manifest, heading = wanted.manifest, wanted.manifest.robot.heading
    if heading is None:
        if manifest.pose is not None and manifest.pose_use == "gps":
            turned = _pose_parts(manifest)[1]
            mounting = _pose_mounting(manifest)
            wanted.add(turned, HeadingFeed(turned, mounting, noise=manifest.mounting().yaw_noise))
        return
    mounting = Mounting(np.zeros(3), np.eye(3))
    if heading.topic is not None:
        for prefix in ("orientation.", "quaternion."):
            turned = _quaternion(heading.topic, prefix)
            feed = HeadingFeed(turned, mounting, noise=heading.noise, turn=-heading.declination)
            wanted.add(turned, feed)
        return
    label = manifest.labels.get(str(heading.label))
    if label is None or label.topic is None:
        raise LogError(f"{manifest.file}, table [robot.heading]: label {heading.label!r:.60} is no topic of [labels]")
    turned = {heading.kind: label.model_copy(update={"unit": heading.unit})}
    wanted.add(turned, HeadingFeed(turned, mounting, noise=heading.noise, turn=-heading.declination))


def _add_command(wanted: _Wanted) -> None:
    given = {key.split(".")[1]: one for key, one in _of(wanted.manifest, "body_command").items()}
    if given:
        wanted.add(given, CommandFeed(given["speed"], given["turn"]))
        return
    topic = wanted.manifest.robot.topics.command
    if topic is not None:
        for prefix in ("", "twist."):
            given = _paths(topic, prefix, {"speed": "linear.x", "turn": "angular.z"})
            wanted.add(given, CommandFeed(given["speed"], given["turn"]))


def _has(kind: type[Message], signal: Signal) -> bool:
    """Whether a message class has the signal's field."""
    if (signal.joint is not None) != (kind is messages.JointState):
        return False
    inside: Any = kind
    for part in str(signal.field).split("."):
        known = {} if inside is None else {one.name: one.message for one in fields_of(inside)}
        if part not in known:
            return False
        inside = known[part]
    return inside is None
