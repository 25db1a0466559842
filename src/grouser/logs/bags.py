"""ROS 1 and ROS 2 bags and MCAP files: their messages one after the other, and their topics as the rows of a log.

The topic of the first rate gives the rows and the clock. Values of other topics are taken at its times: linear
between two messages that are no gap apart, commands and labels held. Poses keep their own times, those of the topic of
the position; a heading from another topic is taken at these.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray, listed, nearest
from grouser.errors import LogError
from grouser.logs.bag_files import Message, open_bag
from grouser.logs.frames import part
from grouser.logs.log import IntArray
from grouser.logs.manifest import Manifest
from grouser.logs.raw import LATEST, Raw, bounded, unwrapped
from grouser.logs.report import Tally, key_place
from grouser.logs.signal_table import TURN, Signal
from grouser.logs.signals import between, default_gap, same_signs

LATE = 1.0
"""A message with a stamp that much earlier [s] than one before it is not late: the clock jumped."""
SELDOM = 1000
"""Messages from one report of progress to the next."""
HELD = ("commands", "body_command", "labels", "segments")
"""Tables whose values hold until the next message."""
PART = re.compile(r"([^\[\].]+)((?:\[\d{1,6}\])*)")
PLACES = ("pose.x", "pose.y", "pose.z", "pose.latitude", "pose.longitude", "pose.altitude")
QUATERNION = ("pose.qw", "pose.qx", "pose.qy", "pose.qz")
_NONE = object()


def topics(path: Path) -> dict[str, str]:
    """The topics of a bag and the type of their messages."""
    return contents(path)[0]


def contents(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """The topics of a bag and the type of their messages, and remarks on the file."""
    with open_bag(path) as bag:
        return {topic: kind for topic, (kind, _) in bag.topics.items()}, bag.remarks


def messages(
    path: Path, topics: Collection[str], progress: Callable[[int], None] | None = None, remarks: list[str] | None = None
) -> Iterator[Message]:
    """The messages of some topics in the order they were recorded, one at a time; a damaged file is a `LogError`.

    `topics` may be a mapping to what asks for each, for messages. `progress` gets about the bytes read so far,
    and `remarks` those on the file.
    """
    with open_bag(path) as bag:
        there = bag.topics
        if remarks is not None:
            remarks += bag.remarks
        for topic in topics:
            if topic not in there:
                hint, known = nearest(topic, list(there)), listed(sorted(there), most=40)
                asked = f" ({topics[topic]} of the manifest)" if isinstance(topics, Mapping) else ""
                raise LogError(f"{path.name}: has no topic {topic!r:.80}{asked}; {hint}its topics are {known}")
        size = sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))
        total = sum(there[topic][1] for topic in topics)
        for done, message in enumerate(bag.messages(topics)):
            if progress is not None and done % SELDOM == 0 and total:
                progress(size * min(done, total) // total)
            yield message


class Series(NamedTuple):
    """The messages of a topic as numbers."""

    time: FloatArray
    """[s], shape (n,)."""
    line: IntArray
    """Number of each message, from 1."""
    columns: dict[str, FloatArray]
    """Key of the manifest → numbers in SI units."""
    reordered: bool
    """Whether messages that came late were put in the order of their stamps."""


def raw_bag(path: Path, manifest: Manifest, progress: Callable[[int], None] | None = None) -> Raw:
    """The topics of a bag that the manifest names, message by message; `progress` gets the bytes read so far."""
    signals, poses = manifest.signals(), manifest.pose_signals()
    readers: dict[str, list[FieldReader]] = {}
    for key, signal in {**signals, **poses}.items():
        if signal.topic is None:
            raise LogError(f"{manifest.file}, {key_place(key)}: names a column, but {path.name} is a bag")
        readers.setdefault(signal.topic, []).append(FieldReader(key, signal, path.name))
    base, pose_topic = rows_topic(manifest), _pose_topic(manifest)
    # Arrays of plain numbers: a list would hold an object for each, four times as large.
    times = {topic: array("d") for topic in readers}
    came_after = array("q")
    asked_by = {topic: key_place(some[0].key) for topic, some in readers.items()}
    remarks: list[str] = []
    n_others = 0
    other_joints: list[str] = []
    for topic, recorded, message in messages(path, asked_by, progress, remarks):
        if topic == base and not any(reader.is_in(message) for reader in readers[topic]):
            # Of another publisher, an arm: no row, across which rates could not be taken.
            n_others, other_joints = n_others + 1, list(part(message, "name") or ())
            continue
        times[topic].append(stamp_of(message, recorded) if manifest.time.stamp == "header" else recorded)
        for reader in readers[topic]:
            reader.values.append(reader.number(message))
        if topic == pose_topic:
            # After the row that came last; a pose in the base topic belongs to its own row.
            came_after.append(len(times[base]) - 1)
    if not times[base]:
        joint = f" with joint {readers[base][0].signal.joint!r:.60}; it has {listed(other_joints, most=40)}"
        raise LogError(f"{path.name}: topic {base} has no messages{joint if n_others else ''}")
    if n_others:
        remarks.append(f"{n_others} messages of {base} hold other joints")
    found = {topic: _series(times[topic], some) for topic, some in readers.items()}
    rows = found[base]
    pose_time, pose_row = np.empty(0), np.array(came_after, dtype=np.int64)
    if pose_topic is not None:
        pose_time = found[pose_topic].time
        if rows.reordered or found[pose_topic].reordered:
            pose_row = np.searchsorted(rows.time, pose_time, side="right") - 1

    def at(time: FloatArray, topic: str | None, key: str, signal: Signal) -> FloatArray:
        other = found[str(signal.topic)]
        return other.columns[key] if signal.topic == topic else _at(time, other, key, signal, manifest)

    return Raw(
        rows=len(rows.time), line=rows.line, time=rows.time, tally=Tally(path.name, "message"), remarks=tuple(remarks),
        signals={key: at(rows.time, base, key, one) for key, one in signals.items()},
        pose_row=pose_row, pose_time=pose_time,
        pose={key: at(pose_time, pose_topic, key, one) for key, one in poses.items()},
    )  # fmt: skip


def _series(times: array[float], readers: list[FieldReader]) -> Series:
    time, line = bounded(np.array(times), LATEST), np.arange(1, len(times) + 1, dtype=np.int64)
    columns = {
        one.key: unwrapped(bounded(np.array(one.values)), one.signal.wraps) * one.signal.factor(one.key)
        for one in readers
    }
    order = _by_stamp(time)
    if order is None:
        return Series(time, line, columns, False)
    return Series(time[order], line[order], {key: column[order] for key, column in columns.items()}, True)


def _by_stamp(time: FloatArray) -> IntArray | None:
    """The order of the stamps, where messages came in another; None where they did not, or the clock jumped back."""
    if not len(time) or not np.isfinite(time).all():
        return None
    latest = float(np.max(np.maximum.accumulate(time) - time))
    return np.argsort(time, kind="stable") if 0.0 < latest < LATE else None


class FieldReader:
    """One field of a topic's messages."""

    def __init__(self, key: str, signal: Signal, file: str) -> None:
        self.key = key
        self.signal = signal
        self.where = f"{file}, topic {signal.topic}"
        self.values = array("d")
        self.path: list[str | int] = []
        for step in str(signal.field).split("."):
            match = PART.fullmatch(step)
            if match is None:
                raise LogError(f"{key}: field {signal.field!r:.80} is not a path such as twist.twist.linear.x")
            self.path.append(match[1])
            self.path += [int(number) for number in re.findall(r"\d+", match[2])]
        self._get = attrgetter(str(signal.field)) if all(isinstance(step, str) for step in self.path) else None
        self._known: Any = None  # whose fields were checked
        self._joint = 0  # where the joint was last

    def number(self, message: Any) -> float:
        """The field's value; NaN where the joint or the entry is not in this message."""
        if self._get is not None and type(message) is self._known is not dict:
            value = self._get(message)
        else:
            value = message
            for step in self.path:
                value = self._step(value, step)
                if value is None:
                    return math.nan
        if self.signal.joint is not None:
            value = self._of_joint(message, value)
        self._known = type(message)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise LogError(f"{self.where}: field {self.signal.field} is not a number but {value!r:.60}") from None

    def is_in(self, message: Any) -> bool:
        """Whether the message has the signal's joint, if it has one; others may publish other joints in its topic."""
        return self.signal.joint is None or self.signal.joint in (part(message, "name") or ())

    def _of_joint(self, message: Any, values: Any) -> Any:
        """The entry of the joint; its index is looked up again only where another joint is there."""
        joint = self.signal.joint
        names = message.name if type(message) is self._known is not dict else self._step(message, "name")
        if names is None:
            return math.nan
        if not (self._joint < len(names) and names[self._joint] == joint):
            if joint not in names:
                return math.nan
            self._joint = list(names).index(joint)
        return values[self._joint] if self._joint < len(values) else math.nan

    def _step(self, value: Any, name: str | int) -> Any:
        if isinstance(name, int):
            return value[name] if hasattr(value, "__len__") and name < len(value) else None
        if isinstance(value, dict):
            found, known = value.get(name, _NONE), list(value)
        else:
            known = [one for one in getattr(value, "__dataclass_fields__", ()) if not one.startswith("__")]
            found = getattr(value, name) if name in known else _NONE
        if found is _NONE:
            here = ", ".join(str(one)[:40] for one in known[:40]) or "none, it is a value"
            raise LogError(f"{self.where}: field {self.signal.field} has no {name!r:.60}; fields there are {here}")
        return found


def stamp_of(message: Any, recorded: float, *, zeros: bool = False) -> float:
    """The stamp in a message's header [s], or the time of recording if it has none.

    A stamp of zero is none either, of a driver without a clock, unless `zeros` are asked for.
    """
    stamp = part(part(message, "header"), "stamp")
    whole, rest = part(stamp, "sec"), part(stamp, "nanosec")
    try:
        t = float(whole) + 1e-9 * float(part(stamp, "nsec", 0) if rest is None else rest)
    except (TypeError, ValueError):
        return recorded
    return recorded if t == 0.0 and not zeros else t


def rows_topic(manifest: Manifest) -> str:
    """The topic whose messages are the rows: of the first rate, else of a command."""
    signals = manifest.signals()
    tables = ("rates", "commands", "body_command")  # load_manifest asks for one of them
    return next(str(signals[key].topic) for table in tables for key in signals if key.startswith(f"{table}."))


def _pose_topic(manifest: Manifest) -> str | None:
    """The topic of positions, whose messages are the poses; None without poses."""
    poses = manifest.pose_signals()
    places = {str(poses[key].topic) for key in PLACES if key in poses}
    if len(places) > 1:
        said = f"names {len(places)} topics for its position, which is one message of one topic"
        raise LogError(f"{manifest.file}, table [pose]: {said}")
    return next(iter(places), None)


def _continuous(key: str, columns: Mapping[str, FloatArray]) -> FloatArray:
    """A signal; an angle or a part of a quaternion without its jumps to an equal value, so that it can be interpolated.

    columns: all of its topic.
    """
    values = columns[key]
    if key in ("pose.yaw", "pose.heading", "pose.roll", "pose.pitch"):
        return unwrapped(values, TURN)
    if key in QUATERNION and set(QUATERNION) <= set(columns):
        four = np.stack([columns[one] for one in QUATERNION], axis=1)
        return same_signs(four)[:, QUATERNION.index(key)]
    return values


def _at(time: FloatArray, topic: Series, key: str, signal: Signal, manifest: Manifest) -> FloatArray:
    """Values of another topic at the times of the rows; NaN where that topic has a gap."""
    if signal.kind == "increment":
        raise LogError(f"{manifest.file}, {key}: counts must come in the topic of the rows, {rows_topic(manifest)}")
    known_at = np.isfinite(topic.time)
    known, first = np.unique(topic.time[known_at], return_index=True)
    values = _continuous(key, topic.columns)[known_at][first]
    if len(known) < 2:
        return np.full(len(time), np.nan)
    if key.split(".", 1)[0] in HELD:
        at = np.searchsorted(known, time, side="right") - 1
        return np.where(at >= 0, values[np.maximum(at, 0)], np.nan)
    longest = manifest.segments.longest_gap or default_gap(float(np.median(np.diff(known))))
    return between(values[:, None], known, time, longest)[:, 0]
