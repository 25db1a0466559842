"""One file's numbers before they are judged: rows of inputs, and poses that fall on or between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.log import IntArray
from grouser.logs.manifest import Manifest
from grouser.logs.report import Tally, key_place
from grouser.logs.signal_table import CLOCK, Signal
from grouser.logs.table import read_table

BAGS = (".bag", ".db3", ".mcap")
"""Suffixes of bags."""
LARGEST = 1e30
"""A larger number in a file is garbage; what is made of smaller ones does not overflow."""
LATEST = 1e12
"""A larger time stamp [s] is garbage."""


def is_bag(path: Path) -> bool:
    """Whether a path looks like a bag: by the end of its name, or a folder that rosbag2 wrote."""
    if path.is_dir():
        from grouser.logs.bag_files import is_bag_folder

        return is_bag_folder(path)
    return path.suffix.lower() in BAGS


@dataclass(frozen=True, eq=False, kw_only=True)
class Raw:
    """The numbers of a file, in SI units and in its own order."""

    rows: int
    """Rows in the file, unreadable ones included."""
    line: IntArray
    """Line (CSV) or message number of each row, shape (n,)."""
    time: FloatArray
    """[s], shape (n,)."""
    signals: dict[str, FloatArray]
    """Key of the manifest ("rates.FL") → numbers, shape (n,); counts and positions not yet made rates."""
    pose_row: IntArray
    """The row at or after which each pose came, shape (m,)."""
    pose_time: FloatArray
    """[s], shape (m,)."""
    pose: dict[str, FloatArray]
    """Key of the manifest ("pose.x") → numbers, shape (m,)."""
    tally: Tally
    """Rejections so far, and the name of the file."""
    remarks: tuple[str, ...] = ()
    """Remarks, one sentence each."""
    imu_by: str = ""
    """Source of the mounting of the IMU; empty where it was not given."""


def bounded(values: FloatArray, largest: float = LARGEST) -> FloatArray:
    """The values, NaN for those no sensor gives."""
    good = np.abs(values) <= largest
    return values if good.all() else np.where(good, values, np.nan)


def raw_csv(path: Path, manifest: Manifest, progress: Callable[[int], None] | None = None) -> Raw:
    """The columns of a CSV file that the manifest names; `progress` gets the bytes read so far."""
    if manifest.time.column is None:
        raise LogError(f'{manifest.file}, table [time], field column: is missing; it names the clock: column = "t"')
    found: dict[str, Any] = {}
    for key, signal in {**manifest.signals(), **manifest.pose_signals()}.items():
        if signal.column is None:
            raise LogError(f"{manifest.file}, {key_place(key)}: names a topic, but {path.name} is a CSV")
        found[key] = signal.column
    tally, wanted = Tally(path.name), [manifest.time.column, *found.values()]
    places = {column: f"{key_place(key)} of {manifest.file}" for key, column in reversed(found.items())}
    places[manifest.time.column] = f"[time] column of {manifest.file}"
    dated = manifest.time.column if manifest.time.unit == "s" else None
    dated = manifest.time.column if manifest.time.unit == "s" else None
    read = read_table(path, wanted, manifest.csv, tally, dated=dated, progress=progress, asked_by=places)
    columns = {name: bounded(column) for name, column in read.columns.items()}
    units = None
    if read.units:
        from grouser.logs.units import Units

        units = Units(read.units, manifest, path.name)
    clock = manifest.time.unit if units is None else units.of_time()
    time = bounded(_scaled(columns[manifest.time.column], CLOCK[clock]), LATEST)

    def numbers(signals: Mapping[str, Signal]) -> dict[str, FloatArray]:
        return {
            key: _scaled(
                unwrapped(columns[found[key]], signal.wraps),
                signal.factor(key, None if units is None else units.of(key, signal)),
            )
            for key, signal in signals.items()
        }

    return Raw(
        rows=read.rows, line=read.line, time=time, signals=numbers(manifest.signals()), tally=tally,
        pose_row=np.arange(len(time), dtype=np.int64), pose_time=time, pose=numbers(manifest.pose_signals()),
        remarks=() if units is None else units.remarks,
    )  # fmt: skip


def unwrapped(column: FloatArray, wraps: float | None) -> FloatArray:
    """Counts of a counter that wraps, made continuous; a step is the shorter way round."""
    if wraps is None:
        return column
    result = column.copy()
    known = np.flatnonzero(np.isfinite(column))
    result[known] = np.unwrap(column[known], period=wraps)
    return result


def _scaled(column: FloatArray, factor: float) -> FloatArray:
    """The column in another unit; without a copy where the unit is the same, to save memory."""
    return column if factor == 1.0 else column * factor
