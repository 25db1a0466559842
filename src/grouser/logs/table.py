"""A CSV file read as columns of numbers, a block at a time.

Every line is one row, whatever is in it: a quote that is never closed, a short row or a word where a number
belongs costs that row or that number and no other.
"""

from __future__ import annotations

import datetime
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from csv import Error as CsvError
from csv import reader
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray, nearest
from grouser.errors import LogError
from grouser.logs.log import IntArray
from grouser.logs.manifest import Csv
from grouser.logs.report import Tally

Column = str | int
"""A column by name, or by index from 0."""
BLOCK = 1 << 20
"""Bytes read at a time."""
LONG = 1 << 24
"""Bytes after which the rest is read by a compiled kernel: loading that takes as long as reading this much without."""
LONGEST_LINE = 1 << 20
"""Bytes."""
MOST_ROWS = 20_000_000
MOST_COLUMNS = 10_000
MISSING = {b"", b"null", b"none", b"na", b"n/a", b"nan", b"-nan", b"-"}
"""Cells without a number, in lower case."""


class Table(NamedTuple):
    """Some columns of a CSV file."""

    columns: dict[Column, FloatArray]
    """Column asked for → its numbers, shape (n,); NaN where the cell is empty or is not a number."""
    line: IntArray
    """Line of the file each row stands in, counted from 1, shape (n,)."""
    rows: int
    """Rows in the file, rejected ones included."""
    units: dict[Column, str]
    """Column asked for → the text of its unit; empty without a line of units."""


def read_table(
    path: Path, wanted: Iterable[Column], csv: Csv, tally: Tally, *, dated: Column | None = None,
    progress: Callable[[int], None] | None = None, asked_by: Mapping[Column, str] | None = None,
) -> Table:  # fmt: skip
    """The wanted columns; what is wrong with single rows goes to the tally, anything else is a `LogError`.

    `progress` gets the bytes read so far; `asked_by` says for messages where the manifest names a column. Cells of the
    column `dated` may be dates and times, which become seconds.
    """
    wanted = list(dict.fromkeys(wanted))
    blocks = _remarks_marked(_blocks(path), csv.comment)
    names, units, rest = _heading(path.name, blocks, csv)
    blocks = blocks if rest is None else chain([rest], blocks)
    if csv.decimal == ",":
        blocks = ((start, text.replace(b",", b"."), whole) for start, text, whole in blocks)
    asked = asked_by or {}
    places = {column: _index(column, names, path.name, bool(csv.header), asked.get(column, "")) for column in wanted}
    first = {at: column for column, at in reversed(places.items())}  # one may be asked for by name and by index
    rows_of = RowReader({column: at for at, column in first.items()}, names, csv.delimiter, tally, dated)
    line, columns = array("q"), [array("d") for _ in first]  # which grow in place
    rows = done = 0
    for start, text, whole in blocks:
        if not whole:
            # It may end inside a number, so even a full row of it cannot be trusted.
            tally.add("cut off: the last line of the file does not end", [start])
            rows += 1
            continue
        values, place, n = (rows_of.plain if done < LONG or csv.delimiter == " " else rows_of.compiled)(start, text)
        rows += n
        if rows > MOST_ROWS:
            raise LogError(f"{path.name}: has more than {MOST_ROWS} rows; split it into several files")
        line.frombytes(place.tobytes())
        for column, numbers in zip(columns, values, strict=True):
            column.frombytes(numbers.tobytes())
        done += len(text)
        if progress is not None:
            progress(done)
    if rows == 0:
        raise LogError(f"{path.name}: is empty{' except for its heading' if csv.header else ''}")
    read = {at: np.frombuffer(column) for at, column in zip(first, columns, strict=True)}
    said = {column: units[at] for column, at in places.items() if at < len(units)}
    return Table({column: read[at] for column, at in places.items()}, np.frombuffer(line, np.int64), rows, said)


Read = tuple[FloatArray, IntArray, int]
"""Numbers of the full rows (wanted, rows), the lines they stand in, and how many rows there are, full or not."""


class RowReader:
    """Reads the wanted columns of blocks of lines."""

    def __init__(
        self, index: Mapping[Column, int], names: Sequence[str], delimiter: str, tally: Tally,
        dated: Column | None = None,
    ) -> None:  # fmt: skip
        """index: where each wanted column stands among the names. dated: see `read_table`."""
        self._index, self._width, self._delimiter = index, len(names), delimiter
        self._tally, self._dated = tally, dated
        self._ended = names[-1] == ""
        """The heading ends in a delimiter."""

    def plain(self, start: int, text: bytes) -> Read:
        """Rows of a block of lines, of which the first is number `start`."""
        lines = text.split(b"\n")
        return self._rows(np.arange(start, start + len(lines), dtype=np.int64), lines)

    def compiled(self, start: int, text: bytes) -> Read:
        """The same read by a kernel, and what that leaves over by Python; the numbers are the same bit for bit."""
        from grouser._kernels.logs.csv_rows import parse_rows

        n = text.count(b"\n") + 1
        slot = np.full(self._width, -1, dtype=np.int64)
        slot[list(self._index.values())] = np.arange(len(self._index))
        values, begin, hard = np.empty((len(self._index), n)), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
        parse_rows(np.frombuffer(text, np.uint8), ord(self._delimiter), slot, values, begin, hard)
        place = np.arange(start, start + n, dtype=np.int64)
        if not hard.any():
            return values, place, n
        odd = np.flatnonzero(hard)
        end = np.append(begin[1:] - 1, len(text))
        lines = [text[i:j] for i, j in zip(begin[odd].tolist(), end[odd].tolist(), strict=True)]
        left, kept, rows = self._rows(place[odd], lines)
        values[:, kept - start] = left
        hard[kept - start] = False
        return values[:, ~hard], place[~hard], n - len(odd) + rows

    def _rows(self, place: IntArray, lines: list[bytes]) -> Read:
        """Lines that stand at some places of the file."""
        cells = [_split(line, self._delimiter) for line in lines]
        rows = np.array([is_row(line) for line in lines], dtype=np.bool_)
        for k, row in enumerate(cells):  # a delimiter at the end of the rows or of the heading alone
            if len(row) == self._width + 1 and not row[-1].strip():
                cells[k] = row[:-1]
            elif len(row) == self._width - 1 and self._ended:
                cells[k] = [*row, b""]
        full = np.array([len(row) == self._width for row in cells], dtype=np.bool_)
        self._tally.add("the row has too few or too many columns", place[rows & ~full])
        good = np.flatnonzero(rows & full)
        cells, place = [cells[i] for i in good], place[good]
        result = np.full((len(self._index), len(cells)), np.nan)
        for out, (column, at) in zip(result, self._index.items(), strict=True):
            try:
                out[:] = [float(row[at]) for row in cells]
            except ValueError:
                words = []
                for k, row in enumerate(cells):
                    cell = row[at].strip().strip(b'"')
                    if is_number(cell):
                        out[k] = float(cell)
                    elif column == self._dated and (seconds := instant(cell)) is not None:
                        out[k] = seconds
                    elif cell.lower() not in MISSING:
                        words.append(k)
                self._tally.add(f"text in number column {column}", place[words], cells=True)
        return result, place, int(rows.sum())


def column_names(path: Path) -> list[str]:
    """The cells of a CSV file's first line."""
    return _heading(path.name, _blocks(path), Csv())[0]


def _remarks_marked(blocks: Iterator[Block], comment: str) -> Iterator[Block]:
    """The blocks with remarks that begin with #, as all below expects."""
    if comment == "#":
        return blocks
    mark = re.compile(rb"^[ \t]*" + re.escape(comment.encode()), re.MULTILINE)
    return ((start, mark.sub(b"#", text), whole) for start, text, whole in blocks)


Block = tuple[int, bytes, bool]
"""Number of the first line, the lines with a newline between, and whether the last one ends."""


def _blocks(path: Path) -> Iterator[Block]:
    """The lines of a file; an unended last line comes alone at the end."""
    number, tail = 1, b""
    try:
        with path.open("rb") as stream:
            first = stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
            for data in chain([first], iter(lambda: stream.read(BLOCK), b"")):
                text, newline, tail = (tail + data).rpartition(b"\n")
                if first.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise LogError(f"{path.name}: is UTF-16; save it as UTF-8")
                if b"\0" in data:
                    raise LogError(f"{path.name}: is not text; a CSV file, a .bag, .db3 or .mcap is read")
                if len(tail) > LONGEST_LINE:
                    raise LogError(f"{path.name}: line {number} is longer than {LONGEST_LINE} bytes; this is not a CSV")
                if newline:
                    yield number, text, True
                    number += text.count(b"\n") + 1
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror or error})") from None
    if tail.strip():
        yield number, tail, False


def _heading(file: str, blocks: Iterator[Block], csv: Csv) -> tuple[list[str], list[str], Block | None]:
    """Names and units of the columns, and what remains of the block in which the heading ends."""
    names: list[str] = []
    units: list[str] = []
    above, remark = 0, b""
    for start, text, whole in blocks:
        lines = text.split(b"\n")
        for i, line in enumerate(lines):
            if not is_row(line):
                remark = line if line.startswith(b"#") else remark
                continue
            width = _width(file, line, csv.delimiter)
            if above == csv.lines:
                if csv.header == "comment":
                    names = _cells(remark.strip().lstrip(b"#").strip(), csv.delimiter)
                names = names or [str(k) for k in range(width)]
                return names, units, (start + i, b"\n".join(lines[i:]), whole)
            above += 1
            if above == (csv.names_line or csv.lines):
                names = _cells(line, csv.delimiter)
            elif above == csv.units_line:
                units = _cells(line, csv.delimiter)
    if not names:
        raise LogError(f"{file}: is empty")
    return names, units, None


def _cells(line: bytes, delimiter: str) -> list[str]:
    """The texts of a heading."""
    return [text_of(cell.strip().strip(b'"').strip()) for cell in _split(line, delimiter)]


def text_of(data: bytes) -> str:
    """Text in UTF-8, or as Windows writes it in the west."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def instant(cell: bytes) -> float | None:
    """Seconds of a date and time by ISO 8601, in UTC unless it names a zone, or of a time of day; None for others."""
    text = text_of(cell.strip())
    try:
        if ":" in text[:3]:
            at = datetime.time.fromisoformat(text)
            return 3600.0 * at.hour + 60.0 * at.minute + at.second + 1e-6 * at.microsecond
        when = datetime.datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()
    except ValueError:
        return None


def _width(file: str, line: bytes, delimiter: str) -> int:
    """Number of columns of a line."""
    cells = len(_split(line, delimiter))
    if cells > MOST_COLUMNS:
        raise LogError(f"{file}: has {cells} columns, at most {MOST_COLUMNS} are accepted")
    return cells


def _index(column: Column, names: Sequence[str], file: str, header: bool, asked_by: str) -> int:
    """Index of a column."""
    name = f"{column!r:.60}{f' ({asked_by})' if asked_by else ''}"
    if isinstance(column, int):
        if column >= len(names):
            raise LogError(f"{file}: has no column {name}; it has {len(names)} columns, 0 to {len(names) - 1}")
        return column
    if not header:
        said = f"has no heading, so column {name} must be given by its index, 0 to {len(names) - 1}"
        raise LogError(f"{file}: {said}")
    if names.count(column) > 1:
        raise LogError(f"{file}: has {names.count(column)} columns named {name}; give the index of one, from 0")
    if column in names:
        return names.index(column)
    hint = nearest(column, names, cutoff=0.5)
    if all(is_number(name) for name in names):
        hint = "its first line holds numbers: if it has no heading, set header = false in table [csv]; "
    shown = ", ".join(name[:60] for name in names[:60]) + (", …" if len(names) > 60 else "")
    raise LogError(f"{file}: has no column {name}; {hint}its columns are {shown}")


def _split(line: bytes, delimiter: str) -> list[bytes]:
    if delimiter == " ":
        return line.split()
    if b'"' not in line:
        return line.split(delimiter.encode())
    try:
        row = next(reader([line.decode("latin-1")], delimiter=delimiter), [])
    except CsvError:
        return []
    return [cell.encode("latin-1") for cell in row]


def is_row(line: bytes) -> bool:
    """Neither blank nor a remark."""
    return bool(line) and not line.isspace() and not line.startswith(b"#")


def is_number(cell: bytes | str) -> bool:
    """Whether Python reads it as one."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
