"""Lowest, highest and steepest places of a grid, its holes and how sharply it bends: one look at all of its nodes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FOLD = math.radians(25.0)
"""Change of slope between neighbouring cells of a grid above which a wheel may touch two of them."""
AT_ONCE = 250_000
"""Nodes looked at together: they stay in the cache of the processor."""


class Relief(NamedTuple):
    """What is known of a grid once all its nodes were looked at."""

    lowest: float
    """Smallest height [m]; infinite where none is known."""
    highest: float
    """Largest height [m]."""
    holes: int
    """Nodes without a height, a count."""
    slope: float
    """Steepest edge between two nodes, rise per run [m/m]."""
    x: float
    """World x of its first node [m]."""
    y: float
    """World y of its first node [m]."""
    folded: bool
    """Whether the slope changes by more than 25° from one cell to the next somewhere."""


def relief(heights: npt.NDArray[Any], x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Relief:
    """Look at heights (nx, ny) [m] of nodes at x and y [m], some rows at a time in the order they have in memory."""
    turned = abs(heights.strides[0]) < abs(heights.strides[1])
    rows, along, across = (heights.T, y, x) if turned else (heights, x, y)
    steps = (along[-1] - along[0]) / (len(along) - 1), (across[-1] - across[0]) / (len(across) - 1)
    low, high, holes, folded = math.inf, -math.inf, 0, False
    steepest = (0.0, 0, 0)
    size = max(1, AT_ONCE // rows.shape[1])
    for first in range(0, len(rows), size):
        # Two rows more, which the last slopes and bends need.
        part = np.asarray(rows[first : first + size + 2], dtype=np.float64)
        own = part[:size]
        low, high = min(low, float(np.fmin.reduce(own, axis=None))), max(high, float(np.fmax.reduce(own, axis=None)))
        holes += int(np.count_nonzero(own != own))
        for axis, step in enumerate(steps):
            slopes = np.diff(part if axis == 0 else own, axis=axis) / step
            if slopes.size == 0:
                continue
            folded = folded or _bends(slopes, axis)
            np.abs(slopes, out=slopes)
            most = float(np.fmax.reduce(slopes, axis=None))
            if most > steepest[0]:  # not where all of them are NaN
                i, j = np.unravel_index(int(np.nanargmax(slopes)), slopes.shape)
                steepest = (most, first + int(i), int(j))
    slope, row, column = steepest
    place = float(along[row]), float(across[column])
    low, high = (low, high) if low <= high else (math.inf, -math.inf)
    return Relief(low, high, holes, slope, *(place[::-1] if turned else place), folded)


def _bends(slopes: npt.NDArray[np.float64], axis: int) -> bool:
    """Whether neighbouring slopes differ by more than `FOLD`, by tan(a − b) = (tan a − tan b)/(1 + tan a tan b)."""
    before, after = (slopes[:-1], slopes[1:]) if axis == 0 else (slopes[:, :-1], slopes[:, 1:])
    return bool((np.abs(after - before) > math.tan(FOLD) * (1.0 + before * after)).any())  # NaN is not above
