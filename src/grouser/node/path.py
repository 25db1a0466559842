"""The path so far, in bounded memory."""

import math

import numpy as np

from grouser.checks import FloatArray

__all__ = ["PathSoFar"]


class PathSoFar:
    """Points of a path, from its start to now, at most `most` of them.

    A point is kept if it is `spacing` [m] or more from the last kept one. When there are too many, every other one goes
    and the spacing doubles, so that a long drive is coarser but whole.
    """

    def __init__(self, most: int = 1000, spacing: float = 0.05) -> None:
        self._kept = np.empty((max(2, most), 3))
        self._count = 0
        self.spacing = spacing
        """Least distance between kept points [m]."""

    @property
    def points(self) -> FloatArray:
        """Points kept [m], oldest first, shape (n, 3)."""
        return self._kept[: self._count]

    def add(self, x: float, y: float, z: float) -> None:
        """Take in where the robot is [m]; what is not finite is passed over."""
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return
        if self._count:
            last = self._kept[self._count - 1]
            if math.dist((x, y, z), (last[0], last[1], last[2])) < self.spacing:
                return
        if self._count == len(self._kept):
            thinned = self._kept[::2].copy()
            self._count = len(thinned)
            self._kept[: self._count] = thinned
            self.spacing *= 2.0
        self._kept[self._count] = x, y, z
        self._count += 1
