"""A raster of soil classes: which class of soil lies where."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grouser.checks import FloatArray, set_checked, shown
from grouser.errors import TerrainError, prefixed
from grouser.files import as_path, read_npz, write_npz
from grouser.terrain.ground import checked

NO_CLASS = 255
"""Class of a cell without one: there a model uses its own law."""
MOST_CELLS = 200_000_000
"""Cells of the largest raster, one byte each."""
SCHEMA = "grouser/soil-raster@1"
SUFFIXES = (".npz", ".tif", ".tiff")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SoilRaster:
    """Soil classes on square cells. A point on the border of two cells belongs to the one of larger x or y."""

    classes: npt.NDArray[np.uint8]
    """Class of each cell, 0 to 254, 255 for none, shape (nx, ny): classes[i, j] lies i cells along x, j along y."""
    origin: tuple[float, float] = (0.0, 0.0)
    """x and y of the corner of classes[0, 0] with the smallest x and y [m]."""
    cell: float
    """Side of a cell [m], > 0."""
    outside: int | None = None
    """Class of all points outside the raster, 255 for none; None: that of the nearest cell."""

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.classes)
        except (TypeError, ValueError):
            given = np.empty(0, dtype=object)
        if given.dtype.kind not in "iub":
            raise TerrainError(f"soil raster: its classes are {given.dtype}; they must be whole numbers from 0 to 255")
        if given.ndim != 2 or not 1 <= given.size <= MOST_CELLS:
            raise TerrainError(f"soil raster: has shape {given.shape}; it needs (nx, ny) of 1 to {MOST_CELLS} cells")
        low, high = int(given.min()), int(given.max())
        if low < 0 or high > NO_CLASS:
            raise TerrainError(f"soil raster: class {low if low < 0 else high} is not from 0 to 254, or 255 for none")
        classes = np.array(given, dtype=np.uint8, order="C")
        classes.flags.writeable = False
        object.__setattr__(self, "classes", classes)
        set_checked(self, "soil raster", checked.numbers, "origin", count=2)
        set_checked(self, "soil raster", checked.number, "cell", low=1e-6, high=1e6)
        set_checked(self, "soil raster", checked.count, "outside", least=0, most=NO_CLASS)

    def __repr__(self) -> str:
        nx, ny = self.classes.shape
        return (
            f"<SoilRaster {nx} × {ny} cells of {self.cell:g} m, classes {', '.join(map(str, self.present)) or 'none'}>"
        )

    @property
    def present(self) -> list[int]:
        """Classes that occur, the one outside included, rising."""
        found = set(np.flatnonzero(np.bincount(self.classes.ravel(), minlength=256)).tolist())
        found |= set() if self.outside is None else {self.outside}
        return sorted(found - {NO_CLASS})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a .npz file that `grouser.terrain.read_soils` reads; replaced whole or not at all."""
        outside = np.array(-1 if self.outside is None else self.outside)
        arrays = {"classes": self.classes, "place": np.array([*self.origin, self.cell]), "outside": outside}
        write_npz(path, "soil raster", SCHEMA, arrays, TerrainError)


def read_soils(path: str | os.PathLike[str]) -> SoilRaster:
    """Read a raster of soil classes from a file.

    path: .npz (from `SoilRaster.save`), .tif or .tiff (GeoTIFF in metres with square cells, north up; its first band
        holds whole numbers from 0 to 254; cells without data have no class; needs grouser[geo]).
    """
    file = as_path(path, TerrainError)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise TerrainError(f"{file}: a soil raster ends in one of {', '.join(SUFFIXES)}")
    if suffix != ".npz":
        from grouser.terrain.geotiff import read_classes

        classes, origin, cell = read_classes(file)
        outside = -1
    else:
        values = read_npz(file, TerrainError, schema=SCHEMA)
        try:
            x, y, cell = values["place"].tolist()
            classes, origin, outside = values["classes"], (x, y), int(values["outside"])
        except (KeyError, TypeError, ValueError):
            raise TerrainError(f"{file}: lacks classes, place or outside; save the raster again") from None
    with prefixed(f"{file}: ", TerrainError):
        return SoilRaster(classes=classes, origin=origin, cell=cell, outside=None if outside < 0 else outside)


def polygons(shapes: Iterable[tuple[int, npt.ArrayLike]], *, cell: float, background: int | None = None) -> SoilRaster:
    """A raster from polygons of soil; a later polygon lies on top of those before it.

    shapes: pairs of a class, 0 to 254, and corners (x, y) [m], shape (n, 2); the last corner repeats the first. Where
        the boundary of a polygon crosses itself, every second part is inside.
    cell: side of a cell [m]; a cell has the class of its middle, so borders are off by up to 0.7 cells.
    background: class of all other points, also outside the raster; None: none, there a model uses its own law.
    """
    cell = checked.number(cell, "cell", low=1e-6, high=1e6)
    rings = [_ring(i, shape) for i, shape in enumerate(shapes)]
    if not rings:
        raise TerrainError("there are no polygons of soil; give at least one (class, corners)")
    corners = np.concatenate([ring for _, ring in rings])
    first = np.floor(corners.min(axis=0) / cell)
    nx, ny = (int(n) for n in np.maximum(np.ceil(corners.max(axis=0) / cell) - first, 1.0))
    if nx * ny > MOST_CELLS:
        raise TerrainError(
            f"cell: polygons take {nx} × {ny} cells of {cell:g} m, at most {MOST_CELLS}; use larger ones"
        )
    rest = NO_CLASS if background is None else checked.count(background, "background", least=0, most=254)
    classes = np.full((nx, ny), rest, dtype=np.uint8)
    for kind, ring in rings:
        _fill(classes, kind, ring / cell - first)
    return SoilRaster(classes=classes, origin=(first[0] * cell, first[1] * cell), cell=cell, outside=rest)


def _ring(i: int, shape: Any) -> tuple[int, FloatArray]:
    """Class and corners of a polygon."""
    try:
        kind, corners = shape
    except (TypeError, ValueError):
        raise TerrainError(f"polygon {i}: {shown(shape)} is not (class, corners)") from None
    kind = checked.count(kind, f"class of polygon {i}", least=0, most=254)
    ring = checked.array(corners, f"corners of polygon {i}", (None, 2))
    if len(ring) < 4:
        raise TerrainError(f"polygon {i}: has {len(ring)} corners; it needs 4 or more, the last equal to the first")
    if not np.array_equal(ring[0], ring[-1]):
        x, y = ring[0]
        raise TerrainError(
            f"polygon {i}: does not close, it begins at ({x:g}, {y:g}) m and ends at ({ring[-1, 0]:g}, "
            f"{ring[-1, 1]:g}) m; repeat its first corner at the end"
        )
    return kind, ring


def _fill(classes: npt.NDArray[np.uint8], kind: int, ring: FloatArray) -> None:
    """Give a class to the cells with their middle inside a ring, in cells from the corner, by the even-odd rule."""
    low, high = np.floor(ring.min(axis=0)).astype(int), np.ceil(ring.max(axis=0)).astype(int)
    middle = np.arange(low[0], high[0]) + 0.5
    for j in range(low[1], min(high[1], classes.shape[1])):
        y = j + 0.5
        crossings = [
            x0 + (y - y0) * (x1 - x0) / (y1 - y0)
            for (x0, y0), (x1, y1) in zip(ring[:-1].tolist(), ring[1:].tolist(), strict=True)
            if (y0 > y) != (y1 > y)
        ]
        inside = np.searchsorted(np.sort(crossings), middle, side="right") % 2 == 1
        classes[low[0] : high[0], j][inside[: classes.shape[0] - low[0]]] = kind
