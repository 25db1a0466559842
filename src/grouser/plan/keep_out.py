"""Places a vehicle must not enter, as distances from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser._kernels.plan.cost import Raster
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.plan.cost import raster

checked = Checker(PlanError)
MOST_CELLS = 20_000
"""Cells along a side."""


@dataclass(frozen=True, eq=False)
class KeepOut:
    """Cells that a vehicle must not enter."""

    mask: NDArray[np.bool_]
    """True where it must not be, shape (nx, ny): the first index goes along x."""
    x: float
    """Middle of cell (0, 0) [m]."""
    y: float
    """[m]."""
    cell: float
    """Side of a cell [m], > 0."""

    def __post_init__(self) -> None:
        mask = np.asarray(self.mask)
        if mask.dtype != np.bool_ or mask.ndim != 2 or min(mask.shape) < 2:
            raise PlanError(f"keep-out mask: has shape {mask.shape} of {mask.dtype}; needs at least 2 × 2 of bool")
        object.__setattr__(self, "mask", mask)
        checked.number(self.x, "keep-out x")
        checked.number(self.y, "keep-out y")
        checked.positive(self.cell, "keep-out cell")

    @classmethod
    def circles(cls, circles: Sequence[ArrayLike], bounds: Sequence[float], *, cell: float = 0.1) -> KeepOut:
        """Round keep-outs (x, y, radius) [m] on a map with bounds (xmin, xmax, ymin, ymax) [m]."""
        xmin, xmax, ymin, ymax = checked.numbers(bounds, 4, "keep-out bounds")
        cell = checked.positive(cell, "keep-out cell")
        size = max(xmax - xmin, ymax - ymin)
        if not (xmin < xmax and ymin < ymax):
            raise PlanError(
                f"keep-out bounds: ({xmin:g}, {xmax:g}, {ymin:g}, {ymax:g}) are not (xmin, xmax, ymin, ymax)"
            )
        if size / cell > MOST_CELLS:
            raise PlanError(
                f"keep-out cell: {cell:g} m makes {size / cell:.0f} cells along a side; at most {MOST_CELLS}"
            )
        x, y = np.arange(xmin, xmax + cell, cell), np.arange(ymin, ymax + cell, cell)
        mask = np.zeros((len(x), len(y)), dtype=np.bool_)
        for one in checked.rows(circles, object, "round keep-outs", "(x, y, radius)"):
            cx, cy, r = checked.numbers(one, 3, "a round keep-out")
            checked.not_negative(r, "radius of a round keep-out")
            mask |= (x[:, None] - cx) ** 2 + (y[None, :] - cy) ** 2 <= r * r
        return cls(mask, float(x[0]), float(y[0]), cell)

    @cached_property
    def distance(self) -> FloatArray:
        """Distance of each cell's middle from the nearest border of a keep-out [m], negative inside, (nx, ny)."""
        from scipy.ndimage import distance_transform_edt

        if not self.mask.any():
            return np.full(self.mask.shape, 1e6)
        outside = distance_transform_edt(~self.mask) * self.cell
        inside = distance_transform_edt(self.mask) * self.cell
        half = 0.5 * self.cell
        return np.asarray(np.where(self.mask, half - inside, outside - half), dtype=np.float64)

    @cached_property
    def raster(self) -> Raster:
        """The distances for the engine."""
        return raster(self.distance, self.x, self.y, self.cell)

    def clearance(self, x: float, y: float) -> float:
        """Distance of a point from the nearest border [m], negative inside; of the nearest cell's middle."""
        if not math.isfinite(x + y):
            return math.nan
        i = min(max(round((x - self.x) / self.cell), 0), self.mask.shape[0] - 1)
        j = min(max(round((y - self.y) / self.cell), 0), self.mask.shape[1] - 1)
        return float(self.distance[i, j])
