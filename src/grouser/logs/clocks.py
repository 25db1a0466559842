"""Clocks and frames of the topics of a log: stamps against the time of recording, order, gaps, frames."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import LogError
from grouser.logs.bags import messages, rows_topic, stamp_of, topics
from grouser.logs.frames import part, plain
from grouser.logs.manifest import Manifest
from grouser.logs.mounts import tf_topics
from grouser.logs.report import counted
from grouser.logs.signals import default_gap

OTHER_CLOCK = 10.0
"""Stamps of two topics that are farther apart [s] than this, of messages recorded at one time, are of two clocks."""
FIRST = 5
"""Messages of a topic from which its clock is found."""
JUMP = 1.0
"""A step of a topic's stamps against the time of recording [s] that is a jump of its clock."""


@dataclass(frozen=True, kw_only=True)
class TopicClock:
    """Rate, delay, jitter and order of the stamps of one topic."""

    topic: str
    messages: int
    """Their number."""
    rate: float | None
    """One over the median time between stamps [Hz]; None for fewer than two."""
    offset: float | None
    """Median of time of recording less stamp [s]: the delay, or the difference of two clocks; None without stamps."""
    jitter: float | None
    """Half of what lies between the 5 % and the 95 % quantile of that difference [s]."""
    out_of_order: float
    """Share of messages with an earlier stamp than one recorded before."""
    latest: float
    """The largest such difference [s]."""
    duplicates: int
    """Messages with the stamp of another one."""
    zeros: int
    """Messages whose stamp is zero; the time of recording is taken for them."""
    jumps: int
    """Jumps of its clock by more than a second against that of the record."""
    gaps: int
    """Holes between stamps longer than 5 periods and 0.25 s."""
    longest_gap: float
    """[s]; 0 without any."""
    frames: tuple[str, ...]
    """frame_id of its headers, and child_frame_id of an odometry behind an arrow."""

    def remarks(self) -> list[str]:
        """Anomalies, one sentence each."""
        found = {
            f"{self.zeros} stamps are zero; the time of recording is taken for them": self.zeros,
            f"its clock jumped {self.jumps} times by more than {JUMP:g} s against that of the record": self.jumps,
            f"{self.duplicates} messages have the stamp of another one": self.duplicates,
            f"{counted(self.gaps, 'gap')}, the longest {self.longest_gap:.2f} s": self.gaps,
            f"messages come up to {self.latest:.3f} s after newer ones": self.latest > 0.0,
            "its headers are in several frames": len(self.frames) > 1,
        }
        if self.offset is not None and abs(self.offset) > OTHER_CLOCK:
            found["its stamps are of another clock than the record"] = True
        return [said for said, there in found.items() if there]

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and text, as JSON takes them."""
        return asdict(self)


def refuse_two(topic: str, offset: float, other: str, first: float) -> None:
    """Refuse two topics of two clocks, by their times of recording less their stamps [s]."""
    if abs(offset - first) > OTHER_CLOCK:
        said = f"is stamped {offset:.6g} s before it was recorded, and topic {other} {first:.6g} s"
        raise LogError(f'topic {topic}: {said}: they have two clocks; use stamp = "record" in [time]')


def check_clocks(path: Path, manifest: Manifest) -> None:
    """Refuse a bag whose rows and other topics are stamped by two clocks, by the first messages of each."""
    if manifest.time.stamp != "header":
        return
    near, signals = rows_topic(manifest), {**manifest.signals(), **manifest.pose_signals()}
    wanted = [near, *(str(one.topic) for one in signals.values())]
    if manifest.pose is not None and manifest.pose.frame is not None:
        wanted += tf_topics(topics(path), near)[1]
    offsets = {}
    for topic in dict.fromkeys(wanted):
        first = list(islice(messages(path, [topic]), FIRST))
        # Of tf, the first of its links has the header.
        late = [t - stamp_of(next(iter(part(one, "transforms", ())), one), t) for _, t, one in first]
        offsets[topic] = float(np.median(late)) if late else 0.0
        refuse_two(topic, offsets[topic], near, offsets[near])


class ClockWatch:
    """Collects stamps while messages pass by."""

    def __init__(self, *, use_header: bool = True) -> None:
        """use_header: whether events are stamped by headers; then topics of different clocks are refused."""
        self._use_header = use_header
        self._stamps: dict[str, _Stamps] = {}
        self._first: tuple[str, float] | None = None

    def see(self, topic: str, recorded: float, message: Any) -> None:
        """A message of a topic, recorded at a time [s]."""
        found = self._stamps.setdefault(topic, _Stamps())
        stamp, header = stamp_of(message, recorded, zeros=True), part(message, "header")
        if header is not None:
            found.has_header = True
            if len(found.frames) < MOST_FRAMES:
                frame, child = plain(part(header, "frame_id")), plain(part(message, "child_frame_id"))
                found.frames.setdefault(f"{frame} → {child}" if child else frame)
        if stamp == 0.0 and recorded != 0.0:
            found.zeros += 1
            stamp = recorded
        elif len(found.stamps) == found.zeros and header is not None:  # the first stamp of its clock
            self._first = self._first or (topic, recorded - stamp)
            if self._use_header:
                refuse_two(topic, recorded - stamp, *self._first)
        found.stamps.append(stamp)
        found.recorded.append(recorded)

    def table(self) -> list[TopicClock]:
        """A row for each topic, in the order they came."""
        return [found.row(topic) for topic, found in self._stamps.items()]


MOST_FRAMES = 20
"""Frames of one topic that are kept."""


class _Stamps:
    """Stamps of one topic."""

    def __init__(self) -> None:
        self.stamps, self.recorded = array("d"), array("d")
        self.frames: dict[str, None] = {}
        self.zeros, self.has_header = 0, False

    def row(self, topic: str) -> TopicClock:
        stamps, recorded = np.array(self.stamps), np.array(self.recorded)
        behind = np.maximum.accumulate(stamps) - stamps
        ordered = np.sort(stamps)
        steps = np.diff(ordered)
        period = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 0.0
        holes = steps[steps > default_gap(period)]
        offset = recorded - stamps
        low, middle, high = np.quantile(offset, [0.05, 0.5, 0.95]).tolist()
        stamped = self.has_header and self.zeros < len(stamps)
        return TopicClock(
            topic=topic, messages=len(stamps), rate=1.0 / period if period > 0.0 else None,
            offset=middle if stamped else None, jitter=0.5 * (high - low) if stamped else None,
            out_of_order=float(np.mean(behind > 0.0)), latest=float(behind.max()),
            duplicates=int(np.count_nonzero(steps == 0.0)), zeros=self.zeros,
            jumps=int(np.count_nonzero(np.abs(np.diff(offset)) > JUMP)), gaps=len(holes),
            longest_gap=float(holes.max()) if len(holes) else 0.0,
            frames=tuple(frame for frame in self.frames if frame),
        )  # fmt: skip
