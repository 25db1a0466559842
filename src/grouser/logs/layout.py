"""The layout of a CSV file: delimiter, heading, line of units, decimal commas, remarks; by its first lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.manifest import Csv
from grouser.logs.table import column_names, is_number, text_of
from grouser.logs.units import bare, is_counts, unit_word

LOOKED = 1 << 16
"""Bytes of the file that are read."""
ROWS = 300
"""Rows whose numbers are kept."""
MARKS = ("#", "%", "//")
"""Beginnings of remarks."""
OTHER_UNITS = ("pix", "px", "pixel", "v", "w", "%", "1", "-", "bool", "enum", "count")
"""Units that no signal has, but that a line of units may hold."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The likely layout of a CSV file."""

    names: tuple[str, ...]
    """The heading, or 0, 1, … without one."""
    csv: Csv
    """Delimiter, heading and the like."""
    units: tuple[str, ...] = ()
    """The cells of the line of units."""
    sample: dict[str, FloatArray] = field(default_factory=dict)
    """The first numbers of each column."""

    @property
    def header(self) -> bool:
        """Whether there is a heading."""
        return bool(self.csv.header)

    def unit_of(self, name: str) -> str:
        """The unit of a column by the line of units; empty where there is none."""
        at = self.names.index(name)
        return self.units[at] if at < len(self.units) else ""


def layout(path: Path) -> Layout:
    """The layout under which most of the first lines are numbers."""
    first = column_names(path)  # refuses what is no text
    with path.open("rb") as stream:
        begin = stream.read(LOOKED).removeprefix(b"\xef\xbb\xbf")
    text = text_of(begin.rpartition(b"\n")[0] if len(begin) >= LOOKED // 2 else begin)  # its last line may be cut
    lines = [line.rstrip("\r") for line in text.split("\n")]
    comment = next((mark for line in lines[:1] for mark in MARKS if line.lstrip().startswith(mark)), "#")
    remarks = [line for line in lines if line.lstrip().startswith(comment)]
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith(comment)]
    delimiter, decimal = _separators(rows)
    table = [_cells(row, delimiter) for row in rows]
    is_data = [_is_data(row, decimal) for row in table]
    csv = partial(Csv.model_construct, delimiter=delimiter, decimal=decimal, comment=comment)  # a draft, not checked
    if not any(is_data):
        return Layout(names=tuple(table[0] if rows else first), csv=csv(decimal="."))
    n = is_data.index(True)
    heading, data = table[:n], [row for row, good in zip(table[n:], is_data[n:], strict=True) if good][:ROWS]
    width = len(data[0])
    names = [str(k) for k in range(width)]
    if not heading:
        above = _cells(remarks[-1].lstrip()[len(comment) :].strip(), delimiter) if remarks else []
        in_comment = len(above) == width and not _is_data(above, decimal)
        names = above if in_comment else names
        header = "comment" if in_comment else False
        return Layout(names=tuple(names), csv=csv(header=header), sample=_sample(names, data, decimal))
    units_at = next((k for k, row in enumerate(heading) if len(heading) > 1 and _says_units(row)), None)
    named = [k for k, row in enumerate(heading) if k != units_at and abs(len(row) - width) <= 1]
    # A line of words, "Set robot speed", may stand above one of short names.
    names_at = min(named, key=lambda k: (sum(" " in cell.strip() for cell in heading[k]), -k)) if named else n - 1
    names = heading[names_at]
    found = csv(
        header=n if n > 1 else True,
        names_line=None if names_at == n - 1 else names_at + 1,
        units_line=None if units_at is None else units_at + 1,
    )
    units = () if units_at is None else tuple(heading[units_at])
    return Layout(names=tuple(names), csv=found, units=units, sample=_sample(names, data, decimal))


def _separators(rows: list[str]) -> tuple[str, str]:
    """Delimiter and decimal mark under which the last of some rows hold most numbers and least other text."""
    tail, best, found = rows[-40:], -1e9, (",", ".")
    for decimal in ".,":
        for delimiter in ",;\t ":
            if decimal == delimiter:
                continue
            cells = [cell for row in tail for cell in _cells(row, delimiter) if cell]
            numbers = sum(is_number(_plain(cell, decimal)) for cell in cells)
            score = 2 * numbers - len(cells)
            if score > best:
                best, found = score, (delimiter, decimal)
    if best <= 0 and rows:  # words alone: as many columns as can be
        return max(",;\t ", key=lambda one: len(_cells(rows[0], one))), "."
    return found


def _cells(row: str, delimiter: str) -> list[str]:
    cells = row.split() if delimiter == " " else row.split(delimiter)
    return [cell.strip().strip('"').strip() for cell in cells]


def _plain(cell: str, decimal: str) -> str:
    return cell if decimal == "." or "." in cell else cell.replace(",", ".")


def _is_data(row: list[str], decimal: str) -> bool:
    given = [cell for cell in row if cell]
    return bool(given) and 2 * sum(is_number(_plain(cell, decimal)) for cell in given) > len(given)


def _says_units(row: list[str]) -> bool:
    given = [bare(cell) for cell in row if bare(cell)]
    known = [cell for cell in given if unit_word(cell) or is_counts(cell) or cell.lower() in OTHER_UNITS]
    return len(given) >= 2 and len(known) > 0.7 * len(given) and len(set(given)) < len(given)


def _sample(names: list[str], data: list[list[str]], decimal: str) -> dict[str, FloatArray]:
    """Numbers of each column; NaN for what is none."""
    found = {}
    for k, name in enumerate(names):
        cells = [_plain(row[k], decimal) if k < len(row) else "" for row in data]
        found[name] = np.array([float(cell) if is_number(cell) else np.nan for cell in cells])
    return found
