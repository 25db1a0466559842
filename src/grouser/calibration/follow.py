"""Calibration from a log that is still being written: whole lines, a block at a time, cleaned as `read_log` does."""

from __future__ import annotations

import copy
import hashlib
import io
import itertools
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from grouser.calibration.online import Update
from grouser.calibration.stream import StreamingCalibrator
from grouser.errors import LogError
from grouser.logs import signals
from grouser.logs.log import IntArray, Log
from grouser.logs.manifest import Manifest
from grouser.logs.plausible import check_joints, find_problems, refuse, travelled
from grouser.logs.raw import Raw, raw_csv
from grouser.logs.read import log_of
from grouser.logs.report import Tally, key_place
from grouser.logs.rows import STRAY, judge
from grouser.logs.signals import default_gap
from grouser.logs.table import LONGEST_LINE, is_row

FIRST_LINES = 50
"""Lines of the first block, from which the rate of the log follows."""
BLOCK = 1.0
"""Time of the blocks after it [s], and so the time between updates."""
AHEAD = 1.0
"""Time after a line until it is final [s]: later poses show whether a pose is stray."""
BACK = 20.0
"""Time before a line that is needed to judge it [s]."""
MOST_BACK = 3000
"""Most lines in memory."""
LINE = "labels.line"
ENOUGH = 5.0
"""Travel [m] after which the units of rates and poses are compared, once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Place:
    """Where in the file a follower is; with the calibrator's state, all that must be stored."""

    offset: int = 0
    """Byte at which the lines in memory begin."""
    line: int = 1
    """Number of the line there, from 1."""
    ahead: int = 0
    """Lines from there to the end of the last block that was read."""
    used: int = 0
    """Last line whose sample the calibrator took."""
    counted: int = 0
    """Last line whose rejection was counted."""
    period: float = 0.0
    """Time between rows in the first block [s]; 0 before it was read."""
    units_checked: bool = False
    """Whether rates and poses were found to agree."""
    begun: str = ""
    """SHA-256 of the first block, which identifies the log."""


class LogFollower:
    """Feeds a growing CSV file to a calibrator; its updates do not depend on how the file grew."""

    def __init__(self, path: str | os.PathLike[str], manifest: Manifest, calibrator: StreamingCalibrator) -> None:
        """The file may still be empty, but must be there."""
        self.path = Path(path)
        self.calibrator = calibrator
        calibrator.longest_gap = math.inf  # the follower ends stretches
        check_joints(manifest, calibrator.motion.vehicle)
        if wrapped := [key for key, one in manifest.signals().items() if one.wraps is not None]:
            raise LogError(
                f"{manifest.file}, {key_place(*wrapped[:1])}: wraps is for a log that is read at once; leave it out, or"
                " wait for the end of the log"
            )
        if manifest.pose is not None and manifest.pose.yaw_from is not None:
            raise LogError(
                f"{manifest.file}, table [pose], yaw_from: a heading from motion needs the drive before and after it;"
                " a log that is still being written needs yaw or heading"
            )
        if not self.path.is_file():
            raise LogError(f"{self.path}: {'is not a file' if self.path.exists() else 'there is no such file'}")
        self.place = Place()
        self.rejected: dict[str, int] = {}
        """Rows left out, by reason."""
        self.manifest = manifest
        """Which columns are which signals."""
        self._lag = max((abs(signal.lag) for signal in manifest.signals().values()), default=0.0)
        self._lines: list[bytes] = []
        """Lines in memory, from that of the place on."""
        self._resumed = False
        self._size = 0
        """Bytes of the file when it was last looked at."""

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    def advance(self) -> Iterator[Update]:
        """Learn from all blocks that are complete by now; after each update `place` and the calibrator agree.

        A file that was cut off or replaced since is a `LogError`.
        """
        self._check_same()
        yield from self._resume()
        while self._read(self._lines_of_next()):
            yield from self._step(self._settled())
            self._forget()
            self._check_same()

    def finish(self) -> tuple[LogFollower, list[Update]]:
        """A follower that also used the rest of the file, as the end of the log, and the updates of that.

        This one does not move, so that it can continue if the file grows.
        """
        end = copy.copy(self)
        end.calibrator, end.rejected, end._lines = self.calibrator.copy(), dict(self.rejected), list(self._lines)
        learnt = list(end.advance())
        end._read(None)
        learnt += list(end._step(end._last_line()))
        learnt += end.calibrator.end_stretch()
        if end.path.stat().st_size > end._end:
            end._reject("cut off: the last line of the file does not end", 1)
        return end, learnt

    def _check_same(self) -> None:
        """Refuse a file that was removed, truncated or replaced."""
        try:
            size = self.path.stat().st_size
        except OSError:
            raise LogError(f"{self.name}: is gone; it was removed or renamed while it was followed") from None
        if size < self._size:
            raise LogError(
                f"{self.name}: is shorter than it was, {size} bytes and not {self._size}; it was truncated or restarted"
                " while it was followed"
            )
        self._size = size
        if self.place.begun and self.fingerprint() != self.place.begun:
            raise LogError(f"{self.name}: does not begin as it did; it was replaced while it was followed")

    def _resume(self) -> Iterator[Update]:
        """Read the lines of the place again, and continue after the last line used."""
        if self._resumed:
            return
        self._resumed = True
        if not self.place.ahead:
            return
        if not self._read(self.place.ahead):
            raise LogError(f"{self.name}: is shorter than it was when the checkpoint was written")
        yield from self._step(self._settled())
        self._forget()

    def fingerprint(self) -> str:
        """SHA-256 of the first block of the file as it is now; empty if it is not complete."""
        found = self._lines_at(0, FIRST_LINES + self._heading)
        return "" if found is None else hashlib.sha256(b"".join(found)).hexdigest()

    def _rows(self, seconds: float) -> int:
        return math.ceil(seconds / max(self.place.period, 1e-4))

    def _lines_of_next(self) -> int:
        """Lines of the next block: fixed once the first is read, so that blocks end where they always end."""
        if not self._lines and self.place.line == 1:
            return FIRST_LINES + self._heading
        return min(max(self._rows(BLOCK), 5), 2000)

    def _settled(self) -> int:
        """Last line that later lines can no longer change."""
        return self._last_line() - self._rows(AHEAD + self._lag) - STRAY

    def _last_line(self) -> int:
        """The last line in memory."""
        return self.place.line - 1 + len(self._lines)

    @property
    def _end(self) -> int:
        """Byte after the last line in memory."""
        return self.place.offset + sum(map(len, self._lines))

    def _forget(self) -> None:
        """Drop lines that later ones do not need, and move the place to the first one left."""
        back = max(min(self._rows(BACK), MOST_BACK), self._rows(2.0 + self._lag))
        old = max(self._settled() - back - self.place.line, 0)
        offset = self.place.offset + sum(map(len, self._lines[:old]))
        del self._lines[:old]
        self.place = replace(self.place, offset=offset, line=self.place.line + old, ahead=len(self._lines))

    def _step(self, settled: int) -> Iterator[Update]:
        """Judge the lines in memory; the calibrator gets those that are settled."""
        self.place = replace(self.place, ahead=len(self._lines))
        raw, tally = self._parsed(), _Lines(self.name)
        if raw is None:
            return
        raw = replace(raw, tally=tally, signals={**raw.signals, LINE: raw.line.astype(np.float64)})
        segments = self.manifest.segments
        gap = segments.longest_gap or default_gap(self.place.period)
        fixed = self.manifest.model_copy(update={"segments": segments.model_copy(update={"longest_gap": gap})})
        judged = judge(replace(raw, signals=dict(raw.signals), pose=dict(raw.pose)), fixed)  # which uses columns up
        log = log_of([judged], fixed)
        self._count(raw, log, tally, settled)
        self._check_units(log)
        yield from self._feed(log, settled)

    def _check_units(self, log: Log) -> None:
        limits, vehicle = self.manifest.limits, self.calibrator.motion.vehicle
        if self.place.units_checked or not limits.check_units or len(log.poses) < 2 or len(log) < 2:
            return
        drive = travelled(log, vehicle)
        if max([drive.moved, *drive.rim.values()]) >= ENOUGH:
            refuse(log, self.manifest, find_problems(log, self.manifest, vehicle))
            self.place = replace(self.place, units_checked=True)

    def _feed(self, log: Log, settled: int) -> Iterator[Update]:
        """Samples and poses of the lines after the last one used, up to the settled one, in the order of the file."""
        if len(log) == 0:
            return
        line, pose_line = _lines_of(log)
        chosen = np.flatnonzero((line > self.place.used) & (line <= settled))
        begins = np.diff(log.segment, prepend=-1) != 0
        at = int(np.searchsorted(pose_line, self.place.used, side="right"))
        take = self.calibrator
        for k in chosen.tolist():
            learnt = take.end_stretch() if begins[k] else []
            rates, angles, commands = (
                {joint: column[k] for joint, column in columns.items()}
                for columns in (log.rates, log.angles, log.commands)
            )
            attitude = None if log.attitude is None else log.attitude[k]
            learnt += take.sample(log.time[k], rates, angles=angles, attitude=attitude, commands=commands)
            while at < len(pose_line) and pose_line[at] <= line[k]:
                learnt += take.pose(log.poses.time[at], log.poses.position[at], log.poses.attitude[at])
                at += 1
            self.place = replace(self.place, used=int(line[k]))
            yield from learnt

    def _count(self, raw: Raw, log: Log, tally: _Lines, settled: int) -> None:
        """Rows left out among the lines that are settled now and were not before."""
        low = self.place.counted
        if settled <= low:
            return
        left_out: dict[str, Iterable[int]] = dict(tally.lines)
        left_out["the row has too few or too many columns"] = set(self._row_lines()) - set(raw.line.tolist())
        if raw.pose and len(log):
            columns = [raw.pose["pose.fresh"]] if "pose.fresh" in raw.pose else list(raw.pose.values())
            fresh = set(raw.line[signals.changes(np.stack(columns, axis=1))].tolist())
            lost = fresh - set(_lines_of(log)[1].tolist())
            left_out["poses that could not be used"] = [n for n in lost if n > raw.line[0]]
        for reason, lines in left_out.items():
            self._reject(reason, sum(1 for n in lines if low < n <= settled))
        self.place = replace(self.place, counted=settled)

    def _reject(self, reason: str, count: int) -> None:
        if count:
            self.rejected[reason] = self.rejected.get(reason, 0) + count

    @property
    def _heading(self) -> int:
        """Number of lines down to the end of the heading."""
        return self._first_row()[1] if self.manifest.csv.lines else 0

    def _row_lines(self) -> list[int]:
        """Numbers of the lines in memory that are rows."""
        first, heading = self.place.line, self._heading
        return [n for n, line in enumerate(self._lines, start=first) if n > heading and is_row(line)]

    def _first_row(self) -> tuple[bytes, int]:
        """The text down to the end of the heading, or the first row without one, and its number of lines."""
        text, n, rows = b"", 0, 0
        with self.path.open("rb") as stream:
            for line in itertools.islice(stream, 1000):
                text, n = text + line, n + 1
                rows += is_row(line)
                if rows == max(1, self.manifest.csv.lines):
                    break
        return text, n

    def _lines_at(self, offset: int, count: int | None) -> list[bytes] | None:
        """`count` whole lines from a byte on, None if they are not written yet; no count: all whole lines."""
        found: list[bytes] = []
        with self.path.open("rb") as stream:
            stream.seek(offset)
            while count is None or len(found) < count:
                line = stream.readline(LONGEST_LINE + 1)
                if not line.endswith(b"\n"):
                    if len(line) > LONGEST_LINE:
                        raise LogError(f"{self.name}: a line is longer than {LONGEST_LINE} bytes; this is not a CSV")
                    return (found or None) if count is None else None
                found.append(line)
        return found

    def _read(self, count: int | None) -> bool:
        """Add the lines of the next block; whether there is one. The first sets the rate of the log."""
        lines = self._lines_at(self._end, count)
        if lines is None:
            return False
        self._lines += lines
        if self.place.period == 0.0:
            raw = self._parsed()
            steps = np.diff(raw.time) if raw is not None else np.zeros(0)
            steps = steps[np.isfinite(steps) & (steps > 0.0)]
            period = float(np.median(steps)) if steps.size else 1.0
            self.place = replace(self.place, period=period, begun=self.fingerprint())
        return True

    def _parsed(self) -> Raw | None:
        """Lines in memory as numbers; the first row of the file, put above them, gives the number of columns."""
        if not self._row_lines():
            return None
        first = self.place.line
        head, above = (b"", 0) if first == 1 else self._first_row()
        raw = raw_csv(cast(Path, _Text(self.name, head + b"".join(self._lines))), self.manifest)
        line = raw.line - above + first - 1
        own = slice(int(np.searchsorted(line, first)), None)
        signals, pose = ({key: column[own] for key, column in found.items()} for found in (raw.signals, raw.pose))
        time, row = raw.time[own], np.arange(len(line[own]), dtype=np.int64)
        return replace(raw, line=line[own], time=time, signals=signals, pose_row=row, pose_time=time, pose=pose)


class _Text:
    """Text that is read like a file."""

    def __init__(self, name: str, text: bytes) -> None:
        self.name, self._text = name, text

    def open(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._text)


class _Lines(Tally):
    """A tally that keeps every line."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.lines: dict[str, list[int]] = {}

    def add(self, reason: str, lines: Any, *, cells: bool = False) -> None:
        """Count rows, given by their line numbers, under a reason; or cells of rows, as in any tally."""
        if cells:
            super().add(reason, lines, cells=True)
        else:
            self.lines.setdefault(reason, []).extend(np.atleast_1d(np.asarray(lines, dtype=np.int64)).tolist())


def _lines_of(log: Log) -> tuple[IntArray, IntArray]:
    """The line of each sample, and that of each pose: of the sample with its time, or the next of its segment."""
    line = log.label["line"].astype(np.int64)
    found = np.empty(len(log.poses), dtype=np.int64)
    for k, (low, high) in enumerate(itertools.pairwise(log.segment_bounds.tolist())):
        mine = log.poses.segment == k
        at = low + np.searchsorted(log.time[low:high], log.poses.time[mine])
        found[mine] = line[np.minimum(at, high - 1)]
    return line, found
