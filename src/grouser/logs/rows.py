"""The usable part of one file: samples in unbroken segments and fresh poses; the rest is counted by reason.

Rows keep their order; each that is dropped is counted for one reason. A segment ends where the clock jumps, where
nothing was logged for too long, or where the log itself says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import signals
from grouser.logs.log import BoolArray, IntArray, Poses, period
from grouser.logs.manifest import Manifest
from grouser.logs.poses import fresh_poses, placed
from grouser.logs.raw import Raw
from grouser.logs.report import Gap, Tally
from grouser.logs.signal_table import CLOCK

INPUTS = ("rates", "angles", "attitude")
"""Tables without which a sample cannot be used; in the others a missing value stays NaN."""
SHORTEST_PERIOD, LONGEST_PERIOD = 1e-4, 10.0
"""[s]; a clock that ticks faster or slower is taken to be in another unit."""
STRAY = 10
"""Rows behind the clock, after which it is the clock that jumped back and not the rows that came late."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The usable part of one file; fields as in `Log`."""

    rows: int
    tally: Tally
    pose_tally: Tally
    time: FloatArray
    segment: IntArray
    signals: dict[str, FloatArray]
    poses: Poses
    gaps: list[Gap]
    remarks: tuple[str, ...] = ()
    imu_by: str = ""

    @property
    def n_segments(self) -> int:
        """Number of unbroken stretches."""
        return int(self.segment[-1]) + 1 if len(self.segment) else 0


def judge(raw: Raw, manifest: Manifest) -> Judged:
    """Samples and poses of a file, and what was left out.

    The columns of `raw` are emptied: a long log fits in memory only once.
    """
    fresh = fresh_poses(raw, manifest)
    raw.pose.clear()
    rows = usable_rows(raw, manifest, fresh.jumps)
    return Judged(
        rows=raw.rows, tally=raw.tally, pose_tally=fresh.tally, time=rows.time, segment=rows.segment,
        signals=rows.values, poses=placed(fresh, rows), gaps=_gaps(rows),
        remarks=raw.remarks, imu_by=raw.imu_by,
    )  # fmt: skip


class Rows:
    """The rows still in; each step below drops some or parts the segments further."""

    def __init__(self, raw: Raw, manifest: Manifest) -> None:
        self.raw = raw
        self.manifest = manifest
        self.row: IntArray = np.arange(len(raw.time), dtype=np.int64)
        """Row of each in the file."""
        self.time: FloatArray = raw.time
        self.values: dict[str, FloatArray] = dict(raw.signals)
        self.window = raw.signals.get("segments.column")
        """The segment column of all rows of the file."""
        raw.signals.clear()  # or columns would stay that were replaced here
        self.segment: IntArray = np.zeros(len(raw.time), dtype=np.int64)
        self.outage: BoolArray = np.zeros(len(raw.time), np.bool_)
        """Rows of the file, all of them, that an outage of an input took out."""

    def drop(self, bad: BoolArray, reason: str) -> None:
        """Leave rows out, for a reason."""
        if not bad.any():
            return
        self.raw.tally.add(reason, self.raw.line[self.row[bad]])
        good = ~bad
        self.row, self.time, self.segment = self.row[good], self.time[good], self.segment[good]
        same: dict[int, list[str]] = {}
        for key, column in self.values.items():
            same.setdefault(id(column), []).append(key)
        for keys in same.values():  # one after another, so that only one is ever held twice
            part = self.values[keys[0]][good]
            self.values.update(dict.fromkeys(keys, part))

    def part(self, new: BoolArray) -> None:
        """Begin a new segment at some rows."""
        self.segment = self.segment + np.cumsum(new, dtype=np.int64)

    def number_segments(self, longest_gap: float) -> None:
        """Number segments again; one also begins where the hole in time [s] is longer than allowed."""
        new = np.zeros(len(self.time), np.bool_)
        new[1:] = (np.diff(self.segment) != 0) | (np.diff(self.time) > longest_gap)
        self.segment = np.cumsum(new, dtype=np.int64)

    def inputs(self) -> dict[str, FloatArray]:
        """The signals a sample must have."""
        return {key: column for key, column in self.values.items() if key.split(".", 1)[0] in INPUTS}


def usable_rows(raw: Raw, manifest: Manifest, pose_jumps: IntArray) -> Rows:
    """The samples of a file; at the rows `pose_jumps` the pose sensor lost its place, so a new segment begins."""
    rows = Rows(raw, manifest)
    rows.drop(~np.isfinite(rows.time), "the time stamp is neither a number nor a date and time by ISO 8601")
    begins = _begin_anew(rows)
    rows.part(np.isin(rows.row, pose_jumps))
    repeats, late, jumps = _in_order(rows.time, begins)
    rows.part(jumps)
    rows.drop(repeats, "the time stamp repeats that of the row above")
    rows.drop(late[~repeats], "out of order: the time stamp lies before that of the row above")
    longest = manifest.segments.longest_gap or signals.default_gap(_period(rows))
    rows.number_segments(longest)
    _make_rates(rows)
    _drop_unusable(rows)
    _take_out_outages(rows)
    rows.number_segments(longest)
    _take_out_lags(rows)
    rows.drop(np.bincount(rows.segment)[rows.segment] < 2, "alone: a gap before it and a gap after it")
    rows.number_segments(longest)
    return rows


def _begin_anew(rows: Rows) -> BoolArray:
    """Rows at which the segment column changes; the clock may restart there."""
    key = "segments.column"
    if key not in rows.values:
        return np.zeros(len(rows.row), np.bool_)
    rows.drop(~np.isfinite(rows.values[key]), "the segment column is not a number")
    begins = signals.changes(rows.values.pop(key)[:, None])
    if len(begins):
        begins[0] = False
    rows.part(begins)
    return begins


def _period(rows: Rows) -> float:
    """Median time between rows [s]; a clock in another unit shows here."""
    found = period(rows.time, rows.segment)
    if found > 0.0 and not SHORTEST_PERIOD <= found <= LONGEST_PERIOD:
        clock = rows.manifest.time
        fits = [unit for unit in CLOCK if 2e-3 <= found * CLOCK[unit] / CLOCK[clock.unit] <= 2.0]
        hint = f"; is its unit {' or '.join(fits)}?" if fits else ";"
        by = f"by time column {clock.column!r} in {clock.unit}, which no log of a drive does{hint}"
        said = f"the rows come {found:g} s apart {by} set unit in table [time] of {rows.manifest.file}"
        raise LogError(f"{rows.raw.tally.file}: {said}")
    return found


def _make_rates(rows: Rows) -> None:
    for key, signal in rows.manifest.signals().items():
        if signal.kind in ("increment", "position"):
            rows.values[key] = signals.differenced(rows.values[key], rows.time, rows.segment, signal.kind)


def _drop_unusable(rows: Rows) -> None:
    for key in rows.inputs():
        rows.drop(~np.isfinite(rows.values[key]), f"{_name(rows, key)} is missing or not finite")
    for key, column in rows.values.items():
        if not np.all(np.isfinite(column)):
            rows.values[key] = np.where(np.isfinite(column), column, np.nan)
    fastest = rows.manifest.limits.joint_rate
    for key in rows.inputs():
        is_rate = key.startswith("rates.")
        limit, said = (fastest, f"limits.joint_rate = {fastest:g}") if is_rate else (1e6, "1e6, which no angle is")
        rows.drop(np.abs(rows.values[key]) > limit, f"{_name(rows, key)} is above {said}")


def _take_out_outages(rows: Rows) -> None:
    for number, outage in enumerate(rows.manifest.outages, start=1):
        during = (rows.time >= outage.start) & (rows.time <= outage.stop)
        keys = [key for key in rows.values if outage.signal in ("all", key.split(".", 1)[0], key.split(".", 1)[1])]
        if not keys and outage.signal != "pose":
            table = f"{rows.manifest.file}, table [outages], entry {number}, field signal"
            known = ", ".join(["all", "pose", *dict.fromkeys(key.split(".", 1)[0] for key in rows.values)])
            raise LogError(f"{table}: {outage.signal!r:.60} is not a signal of this log; try {known}")
        if any(key in rows.inputs() for key in keys):
            rows.outage[rows.row[during]] = True
            rows.part(np.diff(during, prepend=False))
            rows.drop(during, f"in outage {number} of the manifest ({outage.signal})")
        else:
            for key in keys:
                rows.values[key] = np.where(during, np.nan, rows.values[key])


def _take_out_lags(rows: Rows) -> None:
    lagging = {key: s for key, s in rows.manifest.signals().items() if s.lag and key in rows.values}
    for key, signal in lagging.items():
        rows.values[key] = signals.unlag(rows.values[key], rows.time, rows.segment, signal.lag)
    for key, signal in lagging.items():
        if key in rows.inputs():
            reason = f"{_name(rows, key)} has no sample at t − lag, {signal.lag:g} s: its segment begins later or ends"
            rows.drop(np.isnan(rows.values[key]), reason)


def _name(rows: Rows, key: str) -> str:
    signal = rows.manifest.signals().get(key)
    return key if signal is None else f"{key} ({signal.source})"


def _in_order(time: FloatArray, begins: BoolArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Rows that repeat a time stamp, rows out of order, and rows at which the clock jumped back.

    Time [s] is finite; `begins` marks rows at which the log itself restarts; any time is right there.
    """
    repeats = np.zeros(len(time), np.bool_)
    repeats[1:] = (np.diff(time) == 0.0) & ~begins[1:]
    late, jumps = np.zeros_like(repeats), np.zeros_like(repeats)
    row = np.flatnonzero(~repeats)
    clock, free = time[row], begins[row]
    starts = np.append(np.flatnonzero(free), len(row))
    judged = 0
    for i in np.flatnonzero((np.diff(clock, prepend=-np.inf) < 0.0) & ~free).tolist():
        if i < judged:
            continue
        last = clock[i - 1]
        end = min(i + STRAY, int(starts[np.searchsorted(starts, i)]))
        ahead = np.flatnonzero(clock[i:end] > last)
        if ahead.size == 0:
            jumps[row[i]] = True
            judged = i + 1
        else:
            judged = i + int(ahead[0])
            behind = row[i:judged]
            repeats[behind[time[behind] == last]] = True
            late[behind[time[behind] < last]] = True
    return repeats, late, jumps


def _gaps(rows: Rows) -> list[Gap]:
    """The holes at which a segment ends, except those of the segment column."""
    gaps, window = [], rows.window
    for k in np.flatnonzero(np.diff(rows.segment)):
        here, there = rows.row[k], rows.row[k + 1]
        if window is not None and window[here] != window[there]:
            continue
        duration = float(rows.time[k + 1] - rows.time[k])
        step = float(rows.time[k] - rows.time[k - 1]) if k else 0.0
        if duration <= 0.0:
            reason = "clock jumped back"
        elif rows.outage[here:there].any():
            reason = "outage"
        elif there - here == 1 and duration <= 2.0 * step:
            reason = "pose jumped"
        else:
            reason = "no samples"
        gaps.append(Gap(start=float(rows.time[k]), duration=duration, reason=reason))
    return gaps
