"""Lengths along a line through points, and rows spaced evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser.checks import FloatArray


def path_lengths(points: ArrayLike) -> FloatArray:
    """Length of the line from the first point to each of the points (n, 2 or 3) [m], shape (n,)."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))


def evenly(count: int, most: int) -> NDArray[np.int64]:
    """All of `count` rows, or at most `most`, evenly spaced with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
