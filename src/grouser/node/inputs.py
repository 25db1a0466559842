"""Topics and types of messages that a node subscribes, from the manifest.

Their content is read by `grouser.logs.events`, as for logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from grouser.errors import LogError
from grouser.logs.events import EventReader, heading_label, roles_of
from grouser.logs.frames import ATTITUDE
from grouser.logs.manifest import Manifest
from grouser.logs.mounts import mounts_of
from grouser.logs.signal_table import Signal
from grouser.node import messages
from grouser.node.fields import Field, Message, fields_of

POSES: tuple[type[Message], ...] = (
    messages.Odometry, messages.PoseWithCovarianceStamped, messages.PoseStamped, messages.TransformStamped,
)  # fmt: skip
TYPES: tuple[type[Message], ...] = (
    messages.JointState, messages.Imu, messages.NavSatFix, *POSES, messages.Twist, messages.TwistStamped,
    messages.Float64, messages.QuaternionStamped,
)  # fmt: skip
"""Messages that are read. A topic is subscribed with each type that has all fields which the manifest names of it:
publisher and subscriber find each other by topic and type."""
WHOLE: dict[str, tuple[type[Message], ...]] = {
    "gps": (messages.NavSatFix,), "visual": POSES, "heading": (messages.Imu, messages.QuaternionStamped),
    "command": (messages.Twist, messages.TwistStamped),
}  # fmt: skip
"""Types of messages that are read as a whole, by role of the topic."""
READ = ("rates", "angles", "currents", "gyro", "acceleration", "body_command")
"""Tables of the manifest whose signals go to the chain."""
IMU = tuple(f"{table}.{axis}" for table in ("gyro", "acceleration") for axis in "xyz")


class Topic(NamedTuple):
    """A topic that a node listens to, with one type of messages."""

    name: str
    """As `/joint_states`."""
    type: type[Message]
    given: str
    """Its name in the manifest, perhaps without the slash."""


class Inputs:
    """Topics of a node, and the reader of their messages."""

    def __init__(self, manifest: Manifest, joints: Sequence[str], *, datum: Sequence[float] | None = None) -> None:
        """For a vehicle with these joints. datum: origin of GPS fixes of an earlier run."""
        signals = _signals(manifest)
        origin = None if datum is None else (float(datum[0]), float(datum[1]), float(datum[2]))
        self.mounts = mounts_of(manifest)
        """Mounting of the sensors, from the manifest: tf is not read live."""
        self.reader = EventReader(manifest, joints, self.mounts, datum=origin)
        """Converts messages to signals."""
        self.topics = [
            Topic(rooted(topic), kind, topic)
            for topic in self.reader.asked_by
            for kind in _types(manifest, topic, [one for one in signals.values() if one.topic == topic])
        ]
        """One for each type that a topic may have."""


def rooted(topic: str) -> str:
    """The name of a topic with its slash."""
    return topic if topic.startswith("/") else f"/{topic}"


def _signals(manifest: Manifest) -> dict[str, Signal]:
    """Signals of single fields that go to the chain, by key; a sentence where they cannot."""
    found = {key: one for key, one in manifest.signals().items() if key.split(".")[0] in READ}
    if manifest.pose_use != "reference":
        gps, heading = manifest.pose_use == "gps", manifest.robot.heading is not None
        found |= {
            key: one
            for key, one in manifest.pose_signals().items()
            if not gps or (key.split(".")[1] in ATTITUDE and not heading)
        }
    if manifest.robot.heading is not None and manifest.robot.heading.label is not None:
        found[f"labels.{manifest.robot.heading.label}"] = heading_label(manifest)
    for key, one in found.items():
        if one.topic is None:
            said = f'names {one.source} of a CSV; a node needs a topic = "/joint_states"'
            raise LogError(f"{manifest.file}, {key}: {said}")
    given, missing = [key for key in IMU if key in found], [key for key in IMU if key not in found]
    if given and missing:
        said = f"has {', '.join(given)} without {', '.join(missing)}; an IMU on board has all six"
        raise LogError(f"{manifest.file}: {said}")
    return found


def _types(manifest: Manifest, topic: str, signals: Sequence[Signal]) -> list[type[Message]]:
    """Types of messages that have all fields which the manifest names of a topic."""
    roles = roles_of(manifest)._asdict()
    whole = [kinds for role, kinds in WHOLE.items() if roles[role] == topic]
    found = [
        kind for kind in TYPES if all(_has(kind, one) for one in signals) and all(kind in kinds for kinds in whole)
    ]
    if not found:
        paths = ", ".join(sorted({str(one.field) for one in signals}))
        said = f"no message with {paths}, as of topic {topic}, is read; those that are read"
        raise LogError(f"{manifest.file}: {said}: {', '.join(kind.NAME for kind in TYPES)}")
    return found


def _has(kind: type[Message], signal: Signal) -> bool:
    """Whether a message class has the signal's field, and it is a number."""
    if signal.joint is not None and kind is not messages.JointState:
        return False
    inside: Any = kind
    one: Field | None = None
    bracket = ""
    for step in str(signal.field).split("."):
        name, bracket, _ = step.partition("[")
        one = None if inside is None else next((field for field in fields_of(inside) if field.name == name), None)
        if one is None:
            return False
        inside = one.message
    if one is None or one.number is None:
        return False
    return (one.count is not None) == (bool(bracket) or signal.joint is not None)
