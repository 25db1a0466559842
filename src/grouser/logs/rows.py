"""The rows of a file that are samples, in segments; the rest is dropped and counted, each for one reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import signals
from grouser.logs.clean import BoolArray, default_gap, in_order, number_segments
from grouser.logs.log import IntArray
from grouser.logs.raw import Raw
from grouser.logs.units import TIME

if TYPE_CHECKING:
    from grouser.logs.manifest import Manifest

__all__ = ["Rows", "usable_rows"]

INPUTS = ("rates", "angles", "attitude")
"""Tables without which a sample cannot be used; in the others a missing value stays NaN."""
SHORTEST_PERIOD, LONGEST_PERIOD = 1e-4, 10.0
"""[s]; a clock that ticks faster or slower is taken to be in another unit."""


class Rows:
    """The rows still in; each step below drops some or parts the segments further."""

    def __init__(self, raw: Raw, manifest: Manifest) -> None:
        self.raw = raw
        self.manifest = manifest
        self.row: IntArray = np.arange(len(raw.time), dtype=np.int64)
        """Where each stands in the file."""
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

    @property
    def bounds(self) -> IntArray:
        """First row of each segment, and the number of rows at the end."""
        return np.flatnonzero(np.diff(self.segment, prepend=-1, append=-1)).astype(np.int64)

    def inputs(self) -> dict[str, FloatArray]:
        """The signals a sample must have."""
        return {key: column for key, column in self.values.items() if key.split(".", 1)[0] in INPUTS}


def usable_rows(raw: Raw, manifest: Manifest, pose_jumps: IntArray) -> Rows:
    """The samples of a file; at the rows `pose_jumps` the pose sensor lost its place, so a new segment begins."""
    rows = Rows(raw, manifest)
    rows.drop(~np.isfinite(rows.time), "the time stamp is not a number")
    begins = _begin_anew(rows)
    rows.part(np.isin(rows.row, pose_jumps))
    _put_in_order(rows, begins)
    longest = manifest.segments.longest_gap or default_gap(_period(rows))
    rows.segment = number_segments(rows.time, rows.segment, longest)
    _make_rates(rows)
    _drop_incomplete(rows)
    _drop_impossible(rows)
    _take_out_outages(rows)
    rows.segment = number_segments(rows.time, rows.segment, longest)
    _take_out_lags(rows)
    length = np.diff(rows.bounds)
    rows.drop(np.repeat(length < 2, length), "alone: a gap before it and a gap after it")
    rows.segment = number_segments(rows.time, rows.segment, longest)
    return rows


def _begin_anew(rows: Rows) -> BoolArray:
    """Rows at which the segment column changes; from there on the clock may begin anew."""
    key = "segments.column"
    if key not in rows.values:
        return np.zeros(len(rows.row), np.bool_)
    rows.drop(~np.isfinite(rows.values[key]), "the segment column is not a number")
    begins = signals.changes(rows.values.pop(key)[:, None])
    if len(begins):
        begins[0] = False
    rows.part(begins)
    return begins


def _put_in_order(rows: Rows, begins: BoolArray) -> None:
    repeats, late, jumps = in_order(rows.time, begins)
    rows.part(jumps)
    late = late[~repeats]
    rows.drop(repeats, "the time stamp repeats that of the row above")
    rows.drop(late, "out of order: the time stamp lies before that of the row above")


def _period(rows: Rows) -> float:
    """Median time between rows [s]; a clock in another unit shows here."""
    steps = np.diff(rows.time)[np.diff(rows.segment) == 0]
    if steps.size == 0:
        return 0.0
    period = float(np.median(steps))
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        given = rows.manifest.time.unit
        fits = [unit for unit in TIME if 2e-3 <= period * TIME[unit] / TIME[given] <= 2.0]
        hint = f"; is its unit {' or '.join(fits)}?" if fits else ";"
        clock = rows.manifest.time.column
        raise LogError(
            f"{rows.raw.file}: the rows come {period:g} s apart by time column {clock!r} in {given}, which no log of a"
            f" drive does{hint} set unit in table [time] of {rows.manifest.file}"
        )
    return period


def _make_rates(rows: Rows) -> None:
    for key, signal in rows.manifest.signals().items():
        if signal.kind == "increment":
            rows.values[key] = signals.rates_from_increments(rows.values[key], rows.time, rows.segment)
        elif signal.kind == "position":
            rows.values[key] = signals.rates_from_positions(rows.values[key], rows.time, rows.segment)


def _drop_incomplete(rows: Rows) -> None:
    for key in rows.inputs():
        rows.drop(~np.isfinite(rows.values[key]), f"{_name(rows, key)} is missing or not finite")
    for key, column in rows.values.items():
        if not np.all(np.isfinite(column)):
            rows.values[key] = np.where(np.isfinite(column), column, np.nan)


def _drop_impossible(rows: Rows) -> None:
    limit = rows.manifest.limits.joint_rate
    for key in rows.inputs():
        if key.startswith("rates."):
            rows.drop(np.abs(rows.values[key]) > limit, f"{_name(rows, key)} is above limits.joint_rate = {limit:g}")
        else:
            rows.drop(np.abs(rows.values[key]) > 1e6, f"{_name(rows, key)} is above 1e6, which no angle is")


def _take_out_outages(rows: Rows) -> None:
    for number, outage in enumerate(rows.manifest.outages, start=1):
        during = (rows.time >= outage.start) & (rows.time <= outage.stop)
        keys = [key for key in rows.values if outage.signal in ("all", key.split(".", 1)[0], key.split(".", 1)[1])]
        if not keys and outage.signal != "pose":
            table = f"{rows.manifest.file}, table [outages], entry {number}, field signal"
            tables = list(dict.fromkeys(key.split(".", 1)[0] for key in rows.values))
            raise LogError(f"{table}: {outage.signal!r:.60} is not a signal of this log; try all, pose, {_all(tables)}")
        if any(key in rows.inputs() for key in keys):
            rows.outage[rows.row[during]] = True
            rows.part(np.diff(during, prepend=False))
            rows.drop(during, f"in outage {number} of the manifest ({outage.signal})")
        else:
            for key in keys:
                rows.values[key] = np.where(during, np.nan, rows.values[key])


def _take_out_lags(rows: Rows) -> None:
    lagging = {key: s for key, s in rows.manifest.signals().items() if s.lag and key in rows.values}
    bounds = rows.bounds
    for key, signal in lagging.items():
        rows.values[key] = signals.unlag(rows.values[key], rows.time, bounds, signal.lag)
    for key, signal in lagging.items():
        if key in rows.inputs():
            reason = f"no value of {_name(rows, key)} yet or any more at its lag of {signal.lag:g} s"
            rows.drop(np.isnan(rows.values[key]), reason)


def _name(rows: Rows, key: str) -> str:
    return f"{key} ({rows.manifest.signals()[key].source})"


def _all(names: list[str]) -> str:
    return ", ".join(names) or "none"
