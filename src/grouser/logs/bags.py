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
from typing import Any

import numpy as np

from grouser.checks import FloatArray, listed, nearest
from grouser.errors import LogError
from grouser.logs.bag_files import Message, open_bag
from grouser.logs.frames import part
from grouser.logs.log import IntArray
from grouser.logs.manifest import Manifest
from grouser.logs.raw import LATEST, Raw, bounded, unwrapped
from grouser.logs.report import Tally, key_place
from grouser.logs.signal_table import Signal
from grouser.logs.signals import default_gap

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
    """The topics of a bag and the type of their messages, and what is to be said of the file."""
    with open_bag(path) as bag:
        return {topic: kind for topic, (kind, _) in bag.topics.items()}, bag.remarks


def messages(
    path: Path, topics: Collection[str], progress: Callable[[int], None] | None = None, said: list[str] | None = None
) -> Iterator[Message]:
    """The messages of some topics in the order they were recorded, one at a time; a damaged file is a `LogError`.

    `topics` may be a mapping to what asks for each, for messages. `progress` gets about the bytes read so far,
    and `said` what is to be said of the file.
    """
    with open_bag(path) as bag:
        there = bag.topics
        if said is not None:
            said += bag.remarks
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


def raw_bag(path: Path, manifest: Manifest, progress: Callable[[int], None] | None = None) -> Raw:
    """The topics of a bag that the manifest names, message by message; `progress` gets the bytes read so far."""
    signals, poses = manifest.signals(), manifest.pose_signals()
    readers: dict[str, FieldReader] = {}
    by_topic: dict[str, list[FieldReader]] = {}
    for key, signal in {**signals, **poses}.items():
        if signal.topic is None:
            table, name = key.split(".", 1)
            raise LogError(f"{manifest.file}, table [{table}], {name}: names a column, but {path.name} is a bag")
        readers[key] = FieldReader(key, signal, path.name)
        by_topic.setdefault(signal.topic, []).append(readers[key])
    base, pose_topic = rows_topic(manifest), _pose_topic(manifest)
    # Arrays of plain numbers: a list would hold an object for each, four times as large.
    times = {topic: array("d") for topic in by_topic}
    pose_row = array("q")
    asked_by = {topic: key_place(some[0].key) for topic, some in by_topic.items()}
    said: list[str] = []
    others, strange = 0, []
    for topic, recorded, message in messages(path, asked_by, progress, said):
        if topic == base and not any(reader.is_in(message) for reader in by_topic[topic]):
            others, strange = (
                others + 1,
                list(part(message, "name") or ()),
            )  # of another publisher, an arm: no row, across which rates could not be taken
            continue
        times[topic].append(stamp_of(message, recorded) if manifest.time.stamp == "header" else recorded)
        for reader in by_topic[topic]:
            reader.values.append(reader.number(message))
        if topic == pose_topic:
            # After the row that came last; a pose in the base topic belongs to its own row.
            pose_row.append(len(times[base]) - 1)
    time = bounded(np.array(times[base]), LATEST)
    if len(time) == 0:
        named = (
            f" with joint {by_topic[base][0].signal.joint!r:.60}; it has {listed(strange, most=40)}" if others else ""
        )
        raise LogError(f"{path.name}: topic {base} has no messages{named}")
    if others:
        said.append(f"{others} messages of {base} hold other joints")
    columns = {
        key: unwrapped(bounded(np.array(r.values)), r.signal.wraps) * r.signal.factor(key) for key, r in readers.items()
    }
    line = np.arange(1, len(time) + 1, dtype=np.int64)
    if (order := _by_stamp(time)) is not None:
        time, line = time[order], line[order]
        columns |= {key: columns[key][order] for key, one in {**signals, **poses}.items() if one.topic == base}
    for key, signal in signals.items():
        if signal.topic != base:
            other = bounded(np.array(times[str(signal.topic)]), LATEST)
            columns[key] = _at(time, other, columns[key], key, signal, manifest)
    pose_time = bounded(np.array(times[pose_topic]), LATEST) if pose_topic else np.empty(0)
    came_after: IntArray = np.array(pose_row, dtype=np.int64)
    if (by_stamp := _by_stamp(pose_time)) is not None or order is not None:
        if by_stamp is not None and pose_topic != base:
            columns |= {key: columns[key][by_stamp] for key, one in poses.items() if one.topic == pose_topic}
        pose_time = time if pose_topic == base else pose_time if by_stamp is None else pose_time[by_stamp]
        came_after = np.searchsorted(time, pose_time, side="right") - 1
    elsewhere = {key: _smooth(key, columns) for key, signal in poses.items() if signal.topic != pose_topic}
    for key, values in elsewhere.items():
        other = bounded(np.array(times[str(poses[key].topic)]), LATEST)
        columns[key] = _at(pose_time, other, values, key, poses[key], manifest)
    return Raw(
        rows=len(time), line=line, time=time,
        signals={key: columns[key] for key in signals}, tally=Tally(path.name, "message"),
        pose_row=came_after, pose={key: columns[key] for key in poses},
        pose_time=pose_time, remarks=tuple(said),
    )  # fmt: skip


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
        """Whether the message has the joint, if one is asked for; others may publish other joints in the same topic."""
        return self.signal.joint is None or self.signal.joint in (part(message, "name") or ())

    def _of_joint(self, message: Any, values: Any) -> Any:
        """The entry of the joint; its place is looked up again only where another joint stands there."""
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


def _smooth(key: str, columns: dict[str, FloatArray]) -> FloatArray:
    """An angle or a part of a quaternion without its jumps to an equal value, so that it can be interpolated."""
    values = columns[key]
    if key in ("pose.yaw", "pose.heading", "pose.roll", "pose.pitch"):
        result = values.copy()
        known = np.isfinite(values)
        result[known] = np.unwrap(values[known])
        return result
    if key in QUATERNION:
        four = np.stack([columns[one] for one in QUATERNION])
        flips = np.append(False, np.sum(four[:, 1:] * four[:, :-1], axis=0) < 0.0)
        return np.where(np.cumsum(flips[: len(values)]) % 2 == 1, -values, values)
    return values


def _at(
    time: FloatArray, other: FloatArray, values: FloatArray, key: str, signal: Signal, manifest: Manifest
) -> FloatArray:
    """Values of another topic at the times of the rows; NaN where that topic has a gap."""
    if signal.kind == "increment":
        raise LogError(f"{manifest.file}, {key}: counts must come in the topic of the rows, {rows_topic(manifest)}")
    known_at = np.isfinite(other)
    other, first = np.unique(other[known_at], return_index=True)
    values = values[known_at][first]
    if len(other) < 2:
        return np.full(len(time), np.nan)
    longest = manifest.segments.longest_gap or default_gap(float(np.median(np.diff(other))))
    at = np.searchsorted(other, time, side="right") - 1
    before, after = np.maximum(at, 0), np.minimum(at + 1, len(other) - 1)
    if key.split(".", 1)[0] in HELD:
        return np.where(at >= 0, values[before], np.nan)
    between = (after > before) & (other[after] - other[before] <= longest)
    good = (at >= 0) & (between | (time == other[before]))
    return np.where(good, np.interp(time, other, values), np.nan)
