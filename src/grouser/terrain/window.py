"""A window of a map: the nodes of a rectangle, and how many of them are averaged into one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grouser.checks import FloatArray
from grouser.errors import TerrainError
from grouser.terrain.ground import Bounds
from grouser.terrain.source import covers

Axis = tuple[float, float, int]
"""First coordinate, spacing [m] and count of nodes along an axis."""


class Rows(NamedTuple):
    """Heights as maps are stored."""

    heights: npt.NDArray[Any]
    """[m], rows from north to south, each from west to east."""
    x: FloatArray
    """Of the columns [m], rising."""
    y: FloatArray
    """Of the rows from the southern one [m], rising."""


class Window(NamedTuple):
    """Nodes of a map."""

    column: int
    """First column of the file."""
    row: int
    """First row of the file, from the north."""
    columns: int
    """Columns of what is kept, a count."""
    rows: int
    """Rows of what is kept, a count."""
    x: FloatArray
    """[m], rising."""
    y: FloatArray
    """[m], rising."""
    whole: Bounds | None
    """Extent of the whole map [m]; None if nothing is cut off."""


@dataclass(frozen=True)
class Wanted:
    """What to read of a map."""

    bounds: Bounds | None = None
    """Rectangle (xmin, xmax, ymin, ymax) that is to be covered [m]; None: all of it."""
    step: int = 1
    """Nodes along each axis that are averaged into one, a count."""
    nodata: float | None = None
    """Height that stands for no data [m]; None: as the file says."""
    progress: Callable[[int, int], None] | None = None
    """Called as progress(done, total) now and then."""

    def report(self, done: int, total: int) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, total)

    def window(self, name: str | os.PathLike[str], axes: tuple[Axis, Axis], most: int) -> Window:
        """The nodes of a map that are wanted; refused with the map's name where there are none or too many.

        axes: of columns from the west and rows from the south. most: nodes that may be kept.
        """
        (first_x, dx, nx), (first_y, dy, ny) = axes
        whole = (first_x, first_x + dx * (nx - 1), first_y, first_y + dy * (ny - 1))
        i, columns = self._nodes(name, axes[0], 0, whole)
        j, rows = self._nodes(name, axes[1], 1, whole)
        if columns < 2 or rows < 2:
            raise TerrainError(f"{name}: {columns} columns × {rows} rows are left; a map has at least 2 × 2 nodes")
        if columns * rows > most:
            raise TerrainError(
                f"{name}: {columns} columns × {rows} rows; at most {most} nodes are read: cut out a part with crop=… "
                "(bounds=…), or average them with step=…"
            )
        # Means lie in the middle of what they are of.
        middle = 0.5 * (self.step - 1)
        x = first_x + dx * (i + middle + self.step * np.arange(columns, dtype=np.float64))
        y = first_y + dy * (j + middle + self.step * np.arange(rows, dtype=np.float64))
        cut = columns * self.step <= nx - self.step or rows * self.step <= ny - self.step
        return Window(i, ny - j - rows * self.step, columns, rows, x, y, whole if cut else None)

    def _nodes(self, name: Any, axis: Axis, k: int, whole: Bounds) -> tuple[int, int]:
        """First node along an axis, and how many are kept."""
        first, spacing, count = axis
        if self.bounds is None:
            return 0, count // self.step
        a, b = ((self.bounds[2 * k + end] - first) / spacing for end in (0, 1))
        if b <= 0.0 or a >= count - 1:
            raise TerrainError(f"{name}: nothing of the map is within {covers(self.bounds)}; it covers {covers(whole)}")
        middle = 0.5 * (self.step - 1)  # where a mean lies in its nodes
        low = max(math.floor(a - middle + 1e-9), 0)
        return low, min(math.ceil((b - low - middle) / self.step - 1e-9) + 1, (count - low) // self.step)


def means(rows: npt.NDArray[Any], step: int) -> npt.NDArray[Any]:
    """Mean of each step × step nodes; NaN where one of them is missing."""
    if step == 1:
        return rows
    n, m = rows.shape[0] // step, rows.shape[1] // step
    blocks = rows[: n * step, : m * step].reshape(n, step, m, step)
    found: npt.NDArray[Any] = blocks.mean(axis=(1, 3), dtype=np.float64).astype(rows.dtype)
    return found


def nodes(axis: FloatArray, low: float, high: float, around: int) -> slice:
    """Nodes of the cells that a range of coordinates [m] meets, and some around them."""
    spacing = (axis[-1] - axis[0]) / (len(axis) - 1)
    first = math.floor((max(low, float(axis[0])) - axis[0]) / spacing) - around
    last = math.ceil((min(high, float(axis[-1])) - axis[0]) / spacing) + around
    first = min(max(first, 0), len(axis) - 2)
    return slice(first, max(last + 1, first + 2))
