"""Polylines: points joined by straight lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray


def path_lengths(points: ArrayLike) -> FloatArray:
    """Length of the line from the first point to each of the points (n, 2 or 3) [m], shape (n,)."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
