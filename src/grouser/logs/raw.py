"""One file's numbers before they are judged: rows of inputs, and poses that fall on or between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import units
from grouser.logs.log import IntArray
from grouser.logs.report import Tally
from grouser.logs.table import read_table

if TYPE_CHECKING:
    from grouser.logs.manifest import Manifest

__all__ = ["Raw", "bounded", "raw_csv"]

LARGEST = 1e30
"""A larger number in a file is garbage; what is made of smaller ones does not overflow."""
LATEST = 1e12
"""A larger time stamp [s] is garbage."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Raw:
    """What a file holds, in SI units and in its own order."""

    file: str
    """Name for messages."""
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
    """What was rejected so far."""


def bounded(values: FloatArray, largest: float = LARGEST) -> FloatArray:
    """The values, NaN for those no sensor gives."""
    good = np.abs(values) <= largest
    return values if good.all() else np.where(good, values, np.nan)


def raw_csv(path: Path, manifest: Manifest, progress: Callable[[int], None] | None = None) -> Raw:
    """The columns of a CSV file that the manifest names; `progress` is told the bytes read so far."""
    if manifest.time.column is None:
        raise LogError(f'{manifest.file}, table [time], field column: is missing; it names the clock: column = "t"')
    signals, pose = manifest.signals(), manifest.pose_signals()
    for key, signal in {**signals, **pose}.items():
        if signal.column is None:
            table, name = key.split(".", 1)
            raise LogError(f"{manifest.file}, table [{table}], {name}: names a topic, but {path.name} is a CSV")
    tally = Tally(path.name)
    table_read = read_table(
        path,
        [manifest.time.column, *(s.column for s in {**signals, **pose}.values() if s.column is not None)],
        header=manifest.csv.header,
        delimiter=manifest.csv.delimiter,
        tally=tally,
        progress=progress,
    )
    columns = {name: bounded(column) for name, column in table_read.columns.items()}
    time = bounded(_times(columns[manifest.time.column], units.TIME[manifest.time.unit]), LATEST)

    def scaled(key: str) -> FloatArray:
        signal = signals.get(key) or pose[key]
        assert signal.column is not None
        return _times(columns[signal.column], units.factor(key, signal))

    return Raw(
        file=path.name,
        rows=table_read.rows,
        line=table_read.line,
        time=time,
        signals={key: scaled(key) for key in signals},
        pose_row=np.arange(len(time), dtype=np.int64),
        pose_time=time,
        pose={key: scaled(key) for key in pose},
        tally=tally,
    )


def _times(column: FloatArray, factor: float) -> FloatArray:
    """The column in another unit; as it is where the unit is the same, for a long log is best held once."""
    return column if factor == 1.0 else column * factor
