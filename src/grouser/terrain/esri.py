"""ESRI ASCII grids: a header of names and numbers, then heights row by row from the north."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np

from grouser.checks import FloatArray, shown
from grouser.errors import TerrainError
from grouser.files import check_file
from grouser.terrain.grid import MOST_NODES
from grouser.terrain.ground import checked
from grouser.terrain.source import Source, read_guessing
from grouser.terrain.window import Rows, Wanted, means

NO_DATA = -9999.0
"""No-data value of an ESRI grid whose header has none."""
AT_ONCE = 8_000_000
"""Bytes of text that are read together."""
LONGEST_HEADER = 10_000
"""Bytes."""


def read_ascii(path: Path) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values (nx, ny) of an ESRI ASCII grid, NaN without data, and x, y [m] of the middles of its cells, rising."""
    check_file(path, TerrainError)
    found, _ = read_ascii_heights(path, Wanted(), MOST_NODES)
    return found.heights[::-1].T, found.x, found.y


def read_ascii_heights(path: Path, wanted: Wanted, most: int) -> tuple[Rows, Source]:
    """Heights [m] of an ESRI ASCII grid, or of a window of it, and their source."""
    with path.open("rb") as stream:
        header, start = _header(_ascii(stream.read(LONGEST_HEADER), 0, path), path)
        columns, rows = (checked.count(_field(header, name, path), f"{path}: {name}") for name in ("ncols", "nrows"))
        if columns < 2 or rows < 2 or columns * rows > most:
            raise TerrainError(f"{path}: {columns} columns × {rows} rows; from 2 × 2 to {most} nodes are read")
        cell = checked.number(_field(header, "cellsize", path), f"{path}: cellsize", low=1e-6, high=1e6)
        # The first node along each axis: given, or half a cell from the given corner.
        first = [
            _field(header, f"{axis}llcenter", path)
            if f"{axis}llcenter" in header
            else _field(header, f"{axis}llcorner", path) + 0.5 * cell
            for axis in "xy"
        ]
        window = wanted.window(path, ((first[0], cell, columns), (first[1], cell, rows)), most)
        stream.seek(start)
        values = _values(stream, start, path, columns * rows, wanted)
    missing = header.get("nodata_value", NO_DATA) if wanted.nodata is None else wanted.nodata
    values[values == missing] = np.nan
    kept, guess = read_guessing(lambda guess: guess.clear(values.copy()))
    step = wanted.step
    all_rows = kept.reshape(rows, columns)
    part = all_rows[window.row : window.row + window.rows * step, window.column : window.column + window.columns * step]
    source = guess.source(path.name, columns * rows, missing, stored="text", step=step, whole=window.whole)
    return Rows(means(part, step), window.x, window.y), source


def _values(stream: IO[bytes], start: int, path: Path, count: int, wanted: Wanted) -> FloatArray:
    """All numbers after the header, of which there must be so many."""
    out = np.empty(count)
    total, done, found, rest = path.stat().st_size, start, 0, b""
    while True:
        block = stream.read(AT_ONCE)
        done += len(block)
        text = rest + block
        # What follows the last blank may be the beginning of a number.
        cut = max(text.rfind(blank) for blank in (b" ", b"\n", b"\t", b"\r")) + 1 if block else len(text)
        numbers = _numbers(_ascii(text[:cut], done - len(text), path), path)
        out[found : found + numbers.size] = numbers[: max(count - found, 0)]
        found, rest = found + numbers.size, text[cut:]
        wanted.report(done, total)
        if not block:
            break
    if found != count:
        raise TerrainError(f"{path}: {found} heights; its header needs columns × rows = {count}")
    return out


def _ascii(data: bytes, at: int, path: Path) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise TerrainError(f"{path}: byte {at + error.start} is not ASCII text; an ESRI grid is plain text") from None


def _header(text: str, path: Path) -> tuple[dict[str, float], int]:
    """The header's fields in lower case, and where the heights begin."""
    fields: dict[str, float] = {}
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        words = text[start:end].split()
        if words and not words[0][0].isalpha():
            break
        if words:
            name = words[0].lower()
            try:
                (value,) = words[1:]
                fields[name] = float(value)
            except ValueError:
                if name in ("nan", "inf"):
                    break
                raise TerrainError(
                    f"{path}: header {shown(text[start:end])} must be a name and a number, as 'cellsize 0.5'"
                ) from None
        start = end + 1
    return fields, start


def _field(header: dict[str, float], name: str, path: Path) -> float:
    if name not in header:
        raise TerrainError(f"{path}: its header has no {name}; it needs ncols, nrows, xllcorner, yllcorner, cellsize")
    return checked.number(header[name], f"{path}: {name}")


def _numbers(text: str, path: Path) -> Any:
    if not text.strip():
        return np.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise TerrainError(f"{path}: a height is not a number; heights are numbers with spaces between") from None
