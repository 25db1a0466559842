"""From the manifest to the topics of a robot: which messages are subscribed, and what of them goes to the chain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from grouser.errors import LogError
from grouser.logs.manifest import Manifest, Signal
from grouser.node import messages
from grouser.node.fields import Message, fields_of
from grouser.node.joints import JointFeed, Joints
from grouser.node.poses import CommandFeed, FixFeed, HeadingFeed, ImuFeed, PoseFeed

__all__ = ["Feed", "Topic", "topics_of"]

TYPES: tuple[type[Message], ...] = (
    messages.JointState, messages.Imu, messages.NavSatFix, messages.Odometry, messages.PoseStamped, messages.Twist,
    messages.TwistStamped, messages.PoseWithCovarianceStamped, messages.Float64,
)  # fmt: skip
"""Messages that are read; the first that has all fields which the manifest names of a topic is its type."""
AXES = ("x", "y", "z")
GPS = ("latitude", "longitude", "altitude", "status")
ATTITUDES = (("qw", "qx", "qy", "qz"), ("roll", "pitch", "yaw"), ("heading",))


class Feed(Protocol):
    """Gives one kind of signal of a topic's messages to a chain."""

    def __call__(self, robot: Any, message: Any, t: float) -> None: ...


@dataclass(frozen=True)
class Topic:
    """A topic that a node listens to."""

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


def topics_of(
    manifest: Manifest, joints: Sequence[str], *, datum: tuple[float, float, float] | None = None
) -> list[Topic]:
    """The topics of a manifest, for a vehicle with these joints. datum: origin of GPS fixes from an earlier run."""
    signals = {**manifest.signals(), **manifest.pose_signals()}
    by_topic: dict[str, dict[str, Signal]] = defaultdict(dict)
    for key, signal in signals.items():
        if signal.topic is None:
            raise LogError(
                f'{manifest.file}, {key}: names {signal.source} of a CSV; a node needs a topic: topic = "/joint_states"'
            )
        if key.split(".")[0] not in ("labels", "segments", "attitude", "commands"):  # not for the chain on board
            by_topic[signal.topic][key] = signal
    feeds: dict[str, list[Feed]] = defaultdict(list)
    _add_joints(manifest, by_topic, joints, feeds)
    _add_imu(manifest, by_topic, feeds)
    _add_pose(manifest, by_topic, feeds, datum)
    command = {key: one for key, one in signals.items() if key.startswith("body_command.")}
    if command:
        topic = _one_topic(manifest, command)
        feeds[topic].append(CommandFeed(command["body_command.speed"], command["body_command.turn"]))
    made = []
    for name, found in feeds.items():
        kind = _type(manifest, name, by_topic[name])
        stamped = manifest.time.stamp == "header" and any(one.name == "header" for one in fields_of(kind))
        made.append(Topic(_rooted(name), kind, tuple(found), stamped))
    return made


def _add_joints(
    manifest: Manifest, by_topic: dict[str, dict[str, Signal]], joints: Sequence[str], feeds: dict[str, list[Feed]]
) -> None:
    tables = ("rates", "angles", "currents")
    mine = {
        topic: {key: one for key, one in found.items() if key.split(".")[0] in tables}
        for topic, found in by_topic.items()
    }
    mine = {topic: found for topic, found in mine.items() if found}
    whole = Joints(len(joints), len(mine))
    for k, (topic, found) in enumerate(mine.items()):
        for key in found:
            if key.split(".", 1)[1] not in joints:
                raise LogError(f"{manifest.file}, {key}: the vehicle has no such joint; joints are {', '.join(joints)}")
        feeds[topic].append(JointFeed(whole, k, found, list(joints)))


def _add_imu(manifest: Manifest, by_topic: dict[str, dict[str, Signal]], feeds: dict[str, list[Feed]]) -> None:
    given = {
        key: one for found in by_topic.values() for key, one in found.items() if key.startswith(("gyro.", "accel"))
    }
    if not given:
        return
    wanted = [f"{table}.{axis}" for table in ("gyro", "acceleration") for axis in AXES]
    if missing := [key for key in wanted if key not in given]:
        raise LogError(
            f"{manifest.file}: has {', '.join(sorted(given))} without {', '.join(missing)}; an IMU on board has all six"
        )
    topic = _one_topic(manifest, given)
    feeds[topic].append(ImuFeed([given[key] for key in wanted]))


def _add_pose(
    manifest: Manifest, by_topic: dict[str, dict[str, Signal]], feeds: dict[str, list[Feed]], datum: Any
) -> None:
    table = manifest.pose
    if table is None:
        return
    given = {key.split(".")[1]: one for key, one in manifest.pose_signals().items()}
    attitude = next(names for names in ATTITUDES if all(name in given for name in names[-1:]))
    turned = {name: given[name] for name in attitude if name in given}
    if table.is_gps:
        fix = {name: given[name] for name in GPS if name in given}
        where = datum or (None if table.datum is None else (table.datum[0], table.datum[1], table.datum[2]))
        feeds[_one_topic(manifest, fix)].append(FixFeed(fix, manifest.mounting(), where))
        feeds[_one_topic(manifest, turned)].append(HeadingFeed(turned, manifest.mounting()))
        return
    place = {name: given[name] for name in AXES if name in given}
    topic = _one_topic(manifest, {**place, **turned})
    feeds[topic].append(PoseFeed(place, turned, manifest.mounting(), topic))


def _one_topic(manifest: Manifest, signals: dict[str, Signal]) -> str:
    topics = {str(one.topic) for one in signals.values()}
    if len(topics) > 1:
        raise LogError(
            f"{manifest.file}: {', '.join(signals)} come from {', '.join(sorted(topics))}; on board they must come from"
            " one topic"
        )
    return topics.pop()


def _type(manifest: Manifest, topic: str, signals: dict[str, Signal]) -> type[Message]:
    for kind in TYPES:
        if all(_has(kind, one) for one in signals.values()):
            return kind
    paths = ", ".join(sorted({str(one.field) for one in signals.values()}))
    raise LogError(
        f"{manifest.file}: no message with {paths}, as of topic {topic}, is read; those that are read:"
        f" {', '.join(kind.NAME for kind in TYPES)}"
    )


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


def _rooted(topic: str) -> str:
    return topic if topic.startswith("/") else f"/{topic}"
