"""Columns of numbers whose length is not known before the end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.logs.log import IntArray

__all__ = ["Growing"]

FIRST = 1 << 14
"""Rows there is room for at the start."""


class Growing:
    """Columns and the lines their rows stand in. Room that is not yet used costs no memory on Linux."""

    def __init__(self, columns: int) -> None:
        """So many columns, no rows."""
        self._columns = [np.empty(FIRST) for _ in range(columns)]
        self._line: IntArray = np.empty(FIRST, dtype=np.int64)
        self._n = 0

    def append(self, values: FloatArray, line: IntArray) -> None:
        """Rows to come after those there are: values (columns, rows), line (rows,)."""
        n, end = self._n, self._n + len(line)
        if end > len(self._line):
            room = max(end, 3 * len(self._line) // 2)
            self._line = _moved(self._line, n, room)
            for k in range(len(self._columns)):  # one after another: only one is ever held twice
                self._columns[k] = _moved(self._columns[k], n, room)
        self._line[n:end] = line
        for column, part in zip(self._columns, values, strict=True):
            column[n:end] = part
        self._n = end

    def columns(self) -> list[FloatArray]:
        """The columns as far as they are filled, shape (n,) each."""
        return [column[: self._n] for column in self._columns]

    def line(self) -> IntArray:
        """The line of each row, shape (n,)."""
        return self._line[: self._n]


def _moved(values: NDArray[Any], n: int, room: int) -> NDArray[Any]:
    """The first n values in an array that has more room."""
    moved = np.empty(room, dtype=values.dtype)
    moved[:n] = values[:n]
    return moved
