"""Terrains from files: .npz, triangle meshes, and elevation maps (ESRI ASCII grids, GeoTIFF)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import shown
from grouser.errors import TerrainError, prefixed
from grouser.files import as_path, check_file, read_mesh
from grouser.terrain.archive import load
from grouser.terrain.crop import coarser, cropped
from grouser.terrain.esri import read_ascii_heights
from grouser.terrain.grid import INTERPOLATIONS, MOST_NODES, MOST_SINGLE_NODES, grid, parts, single_grid
from grouser.terrain.ground import Terrain, checked, rectangle
from grouser.terrain.mesh import MOST_TRIANGLES, mesh
from grouser.terrain.source import Source
from grouser.terrain.window import Rows, Wanted

LARGEST_FILE = 1_000_000_000
"""Bytes of the largest file that is read whole; a GeoTIFF may be larger, as only what is wanted of it is read."""
SUFFIXES = (".npz", ".asc", ".tif", ".tiff", ".stl", ".obj", ".ply")
TALLEST = 50.0
"""Heights of a map span fewer times its longer side: more where x and y are degrees."""


def read(
    path: str | os.PathLike[str],
    *,
    interpolation: str = "bilinear",
    bounds: Sequence[float] | None = None,
    step: int = 1,
    nodata: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Terrain:
    """Read a terrain from a file, its kind decided by the suffix.

    path: .npz (from `Terrain.save`), .asc (ESRI ASCII grid), .tif or .tiff (GeoTIFF in metres, needs
        grouser[geo]), or .stl, .obj, .ply (mesh in metres, z up, needs grouser[mesh]).
    interpolation: of .asc and .tif, as in `grid`; nodes without data are outside. Heights that the file holds in 32
        bits or less stay in single precision if it is "bilinear".
    bounds: rectangle to cut out, (xmin, xmax, ymin, ymax) [m]; of a GeoTIFF no more than that is read.
    step: average this many nodes along each axis into one, of maps with nodes; a count. Where one of them is missing,
        so is the mean.
    nodata: no-data value of .asc and .tif [m]; None: that of the file, and values that no height can have, such as
        −9999 far below all other heights; `Terrain.notes` then says so.
    progress: called as progress(done, total) now and then.
    """
    interpolation = checked.choice(interpolation, "interpolation", INTERPOLATIONS)
    file = as_path(path, TerrainError)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise TerrainError(f"{file}: a terrain file ends in one of {', '.join(SUFFIXES)}")
    wanted = Wanted(
        None if bounds is None else rectangle(bounds),
        checked.count(step, "step", most=10_000),
        None if nodata is None else checked.real(nodata, "nodata").item(),
        progress,
    )
    check_file(file, TerrainError)
    if suffix not in (".tif", ".tiff") and file.stat().st_size > LARGEST_FILE:
        raise TerrainError(f"{file}: {file.stat().st_size} bytes; at most {LARGEST_FILE} are read")
    try:
        with prefixed(f"{file}: ", TerrainError):
            if suffix in (".asc", ".tif", ".tiff"):
                return _read_map(file, wanted, interpolation)
            if suffix == ".npz":
                ground = load(file, window=wanted.bounds)
            else:
                vertices, faces = read_mesh(file, TerrainError, limit=LARGEST_FILE, most_triangles=MOST_TRIANGLES)
                ground = mesh(vertices, faces, description=f"mesh {file.name}")
            return coarser(ground if wanted.bounds is None else cropped(ground, wanted.bounds), wanted.step)
    except (OSError, ValueError) as error:
        raise TerrainError(f"{shown(str(file))}: cannot be read: {error}") from None
    except MemoryError:
        raise TerrainError(f"{file}: does not fit in memory; cut out a part with crop=… (bounds=…)") from None


def _read_map(path: Path, wanted: Wanted, interpolation: str) -> Terrain:
    """An elevation map."""
    most = MOST_SINGLE_NODES if interpolation == "bilinear" else MOST_NODES
    if path.suffix.lower() == ".asc":
        rows, source = read_ascii_heights(path, wanted, most)
    else:
        from grouser.terrain.geotiff import read_heights

        rows, source = read_heights(path, wanted, most)
    whole = "" if source.whole is None else "part of "
    description = f"{whole}map {path.name}" + (f", means of {source.step} × {source.step}" if source.step > 1 else "")
    heights = _single(rows).T[:, ::-1] if interpolation == "bilinear" else rows.heights[::-1].T
    if heights.dtype == np.float32 and interpolation == "bilinear":
        ground = single_grid(heights, rows.x, rows.y, description=description)
    else:
        ground = grid(heights, rows.x, rows.y, interpolation=interpolation, description=description)
    _check_degrees(ground, source)
    return replace(ground, source=source)


def _single(rows: Rows) -> Any:
    """The heights, in single precision if that holds all of them exactly."""
    h = rows.heights
    if h.dtype == np.float32:
        return h
    made = np.empty(h.shape, dtype=np.float32)
    for part in parts(*h.shape):
        made[part] = np.clip(h[part], -1e30, 1e30)
        if not np.array_equal(made[part], h[part], equal_nan=True):
            return h
    return made


def _check_degrees(ground: Terrain, source: Source) -> None:
    """Refuse a map without a coordinate system whose heights span so much that x and y must be degrees."""
    xmin, xmax, ymin, ymax = ground.bounds
    if source.crs or max(abs(xmin), abs(xmax)) > 360.0 or max(abs(ymin), abs(ymax)) > 90.0 or ground.relief is None:
        return
    rise, side = ground.relief.highest - ground.relief.lowest, max(xmax - xmin, ymax - ymin)
    if math.isfinite(rise) and rise > TALLEST * side:
        raise TerrainError(
            f"its heights span {rise:.4g} m over {side:.4g} m, so its coordinates must be degrees; reproject it to "
            "metres (gdalwarp -t_srs, a UTM zone)"
        )
