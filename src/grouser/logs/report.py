"""The report of a log: rows, rejected samples by reason, gaps, rates, contradictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

MOST_PLACES = 5
"""Places kept per reason; the count is always complete."""
MOST_GAPS = 100
"""Gaps kept in the list; `n_gaps` is always complete."""


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """Samples or poses left out for one reason."""

    count: int
    """Their number."""
    first: tuple[str, ...]
    """Places of the first few: "drive.csv line 17"."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A hole in the log; a new segment begins after it."""

    start: float
    """Time stamp of the last sample before it [s]."""
    duration: float
    """[s]; negative where the clock jumped back."""
    reason: str
    """"no samples", "clock jumped back" or "outage"."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A fault of a log or its manifest: a unit, a sign, a sensor that stopped."""

    key: str
    """Of the manifest: "rates.FL", "sensor.lag"."""
    severity: Literal["error", "warning"]
    """After an error the log is refused, for nothing can be learned from it; after a warning the rest is used."""
    message: str
    """The contradiction and its place."""
    remedy: str
    """The likely correction."""

    @property
    def place(self) -> str:
        """The key as it stands in the file, for people: [rates] FL."""
        return key_place(*self.key.split(", "))

    def __str__(self) -> str:
        return f"{self.place}: {self.message}{',' if self.message.endswith('?') else ';'} {self.remedy}"


def error(key: str, message: str, remedy: str) -> Problem:
    """A problem that refuses the log."""
    return Problem(key=key, severity="error", message=message, remedy=remedy)


def warning(key: str, message: str, remedy: str) -> Problem:
    """A problem with which the rest of the log is used."""
    return Problem(key=key, severity="warning", message=message, remedy=remedy)


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Those that refuse the log."""
    return [one for one in problems if one.severity == "error"]


def rate_keys(wheels: Iterable[str]) -> str:
    """The key of a problem of some wheels' rates."""
    return ", ".join(f"rates.{wheel}" for wheel in wheels)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Counts and problems of the files of a log."""

    files: tuple[str, ...] = ()
    """Names of the files read."""
    file_segments: tuple[int, ...] = ()
    """Number of segments of each file; in the report of a part of a log, those of the whole log."""
    rows: int = 0
    """Rows (messages of the first rate's topic) in the files, headings and blank lines not counted."""
    samples: int = 0
    """Rows that became samples of the log."""
    poses: int = 0
    """Fresh poses kept."""
    segments: int = 0
    """Number of segments."""
    period: float = 0.0
    """Median time between samples [s]."""
    pose_period: float = 0.0
    """Median time between fresh poses [s]; 0 without poses."""
    rejected: dict[str, Rejection] = field(default_factory=dict)
    """Samples left out, by reason."""
    rejected_poses: dict[str, Rejection] = field(default_factory=dict)
    """Poses left out, by reason; poses that repeat the last one are not counted."""
    cells: dict[str, Rejection] = field(default_factory=dict)
    """Text where a number belongs, by column; the value is missing, which may or may not cost the sample."""
    gaps: tuple[Gap, ...] = ()
    """The first holes that began a new segment."""
    n_gaps: int = 0
    """Their total number."""
    problems: tuple[Problem, ...] = ()
    """Wrong units, signs and the like, errors first."""
    remarks: tuple[str, ...] = ()
    """Remarks, one sentence each: frames from tf, a file that was cut short."""

    @property
    def n_rejected(self) -> int:
        """Samples left out, for any reason."""
        return sum(one.count for one in self.rejected.values())

    def lines(self) -> list[str]:
        """The findings for people, one a line."""
        lines = [f"{self.rows} rows read, {self.samples} samples in {counted(self.segments, 'segment')}"]
        lines += self.remarks
        groups = {"cell": self.cells, "sample": self.rejected, "pose": self.rejected_poses}
        for what, group in groups.items():
            word = "unreadable" if what == "cell" else "rejected"
            lines += [f"{counted(one.count, what)} {word}: {why} ({_places(one)})" for why, one in group.items()]
        lines += [f"gap after t = {gap.start:.3f} s: {gap.duration:.3f} s ({gap.reason})" for gap in self.gaps[:5]]
        if self.n_gaps > 5:
            lines.append(f"{self.n_gaps} gaps in all")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and text, as JSON takes them."""
        return asdict(self)


class Tally:
    """Rejections of one file while it is being read."""

    def __init__(self, file: str, what: str = "line") -> None:
        self.file, self.what = file, what
        self.rows: dict[str, Rejection] = {}
        """By reason."""
        self.cells: dict[str, Rejection] = {}
        """Cells of rows that may still be used."""

    def add(self, reason: str, lines: NDArray[np.int64] | Iterable[int], *, cells: bool = False) -> None:
        """Count rows, given by their line numbers, under a reason; or only `cells` of rows that may still be used."""
        lines = np.atleast_1d(np.asarray(lines, dtype=np.int64))
        if lines.size:
            first = tuple(f"{self.file} {self.what} {line}" for line in lines[:MOST_PLACES].tolist())
            _count(self.cells if cells else self.rows, reason, Rejection(count=lines.size, first=first))


def _count(total: dict[str, Rejection], reason: str, more: Rejection) -> None:
    so_far = total.get(reason, Rejection(count=0, first=()))
    first = (so_far.first + more.first)[:MOST_PLACES]
    total[reason] = Rejection(count=so_far.count + more.count, first=first)


def merged(several: Iterable[dict[str, Rejection]]) -> dict[str, Rejection]:
    """The rejections in several files as one."""
    total: dict[str, Rejection] = {}
    for rejected in several:
        for reason, one in rejected.items():
            _count(total, reason, one)
    return total


def _places(one: Rejection) -> str:
    """The places for people; each file's name appears once."""
    said, last = [], ""
    for place in one.first:
        file, _, number = place.rpartition(" ")
        said.append(number if file == last else place)
        last = file
    return ", ".join(said) + (", …" if one.count > len(one.first) else "")


def key_place(*keys: str) -> str:
    """Keys of one table as they stand in the file, for people: [rates] FL, BL."""
    names = [key.partition(".") for key in keys]
    return f"[{names[0][0]}] {', '.join(name for _, _, name in names)}".strip()


def counted(number: int, what: str) -> str:
    """A number of things, for people."""
    return f"{number} {what}{'' if number == 1 else 's'}"
