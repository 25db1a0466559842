"""Keep-outs: areas a vehicle must not enter, as distances from them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser._kernels.plan.cost import Raster
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.plan.cost import raster
from grouser.terrain.esri import read_ascii
from grouser.terrain.soil_raster import NO_CLASS, read_soils

checked = Checker(PlanError)
MOST_CELLS = 20_000
"""Cells along a side."""
FINE, USUAL = 0.1, 4000
"""Side of a cell for round keep-outs [m], and cells along a side at most, unless another side is asked for."""
SUFFIXES = (".npz", ".tif", ".tiff", ".asc")
"""Files that hold a raster of keep-outs."""


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
    def circles(cls, circles: Sequence[ArrayLike], bounds: Sequence[float], *, cell: float | None = None) -> KeepOut:
        """Round keep-outs (x, y, radius) [m] on a map with bounds (xmin, xmax, ymin, ymax) [m].

        cell: side of a cell [m]; None: 0.1 m, or 1/4000 of the map where that is more.
        """
        xmin, xmax, ymin, ymax = checked.numbers(bounds, 4, "keep-out bounds")
        size = max(xmax - xmin, ymax - ymin)
        cell = max(FINE, size / USUAL) if cell is None else checked.positive(cell, "keep-out cell")
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

    @classmethod
    def read(cls, path: str | os.PathLike[str], bounds: Sequence[float] | None = None) -> KeepOut:
        """Keep-outs from a raster: cells that are neither 0 nor without data.

        path: .npz (`gr.terrain.SoilRaster.save`), .tif or .tiff (GeoTIFF in metres; needs grouser[geo]) or .asc
        (ESRI ASCII grid). bounds: of the map, xmin, xmax, ymin, ymax [m]; the raster must lie on it, and around the
        raster the map is free.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise PlanError(f"{path!r:.60} is not the path of a keep-out raster")
        file = Path(path)
        if file.suffix.lower() not in SUFFIXES:
            raise PlanError(f"{file}: a keep-out raster ends in one of {', '.join(SUFFIXES)}")
        if file.suffix.lower() == ".asc":
            values, x, y = read_ascii(file)
            found = cls((values != 0.0) & np.isfinite(values), float(x[0]), float(y[0]), float(x[1] - x[0]))
        else:
            soils = read_soils(file)
            (x0, y0), half = soils.origin, 0.5 * soils.cell
            found = cls((soils.classes != 0) & (soils.classes != NO_CLASS), x0 + half, y0 + half, soils.cell)
        return found if bounds is None else found._on(bounds, file)

    def _on(self, bounds: Sequence[float], file: Path) -> KeepOut:
        """The same on all of a map: cells are added, or cut off, on each side."""
        xmin, xmax, ymin, ymax = bounds
        nx, ny = self.mask.shape
        low = np.array([round((xmin - self.x) / self.cell), round((ymin - self.y) / self.cell)])
        high = np.array([round((xmax - self.x) / self.cell), round((ymax - self.y) / self.cell)]) + 1
        if (high <= 0).any() or (low >= (nx, ny)).any():
            raise PlanError(
                f"{file}: covers x {self.x:.10g} to {self.x + self.cell * nx:.10g} m, y {self.y:.10g} to "
                f"{self.y + self.cell * ny:.10g} m, which is not on the map"
            )
        if max(high - low) > MOST_CELLS:
            raise PlanError(
                f"{file}: cells of {self.cell:g} m make {max(high - low)} along a side of the map; at most {MOST_CELLS}"
            )
        mask = np.zeros(np.maximum(high - low, 2), dtype=np.bool_)
        a, b = np.maximum(low, 0), np.minimum(high, (nx, ny))
        mask[a[0] - low[0] : b[0] - low[0], a[1] - low[1] : b[1] - low[1]] = self.mask[a[0] : b[0], a[1] : b[1]]
        return KeepOut(mask, self.x + self.cell * low[0], self.y + self.cell * low[1], self.cell)

    def __or__(self, other: KeepOut) -> KeepOut:
        """What either keeps out, on the finer cells of the two; both are to be of one map."""
        fine, coarse = sorted((self, other), key=lambda one: one.cell)
        nx, ny = fine.mask.shape
        i, j = (
            np.rint((first + fine.cell * np.arange(n) - start) / coarse.cell).astype(np.int64)
            for first, n, start in ((fine.x, nx, coarse.x), (fine.y, ny, coarse.y))
        )
        on = [(rows >= 0) & (rows < size) for rows, size in zip((i, j), coarse.mask.shape, strict=True)]
        there = coarse.mask[np.ix_(*(np.clip(r, 0, n - 1) for r, n in zip((i, j), coarse.mask.shape, strict=True)))]
        return KeepOut(fine.mask | (there & on[0][:, None] & on[1]), fine.x, fine.y, fine.cell)

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
