"""Terrains from files: .npz, triangle meshes, and the elevation maps of geographers (ESRI ASCII grids, GeoTIFF)."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from grouser.checks import FloatArray, shown
from grouser.errors import TerrainError
from grouser.files import check_file, read_mesh
from grouser.terrain.archive import load
from grouser.terrain.grid import INTERPOLATIONS, MOST_NODES, grid
from grouser.terrain.ground import Terrain, checked
from grouser.terrain.mesh import MOST_TRIANGLES, mesh

LARGEST_FILE = 400_000_000
"""Bytes of the largest file that is read."""
NO_DATA = -9999.0
"""What an ESRI grid means by no data if it does not say."""
SUFFIXES = (".npz", ".asc", ".tif", ".tiff", ".stl", ".obj", ".ply")


def read(path: str | os.PathLike[str], *, interpolation: str = "bilinear") -> Terrain:
    """Read a terrain from a file, its kind decided by the suffix.

    path: .npz (from `Terrain.save`), .asc (ESRI ASCII grid), .tif or .tiff (GeoTIFF in metres, needs
        grouser[geo]), or .stl, .obj, .ply (mesh in metres, z up, needs grouser[mesh]).
    interpolation: of .asc and .tif, as in `grid`; nodes without data are outside.
    """
    interpolation = checked.choice(interpolation, "interpolation", INTERPOLATIONS)
    if not isinstance(path, (str, os.PathLike)):
        raise TerrainError(f"{path!r:.60} is not the path of a terrain file")
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise TerrainError(f"{file}: a terrain file ends in one of {', '.join(SUFFIXES)}")
    _check_size(file)
    try:
        if suffix == ".npz":
            return load(file)
        try:
            if suffix == ".asc":
                return grid(*read_ascii(file), interpolation=interpolation, description=f"map {file.name}")
            if suffix in (".tif", ".tiff"):
                return _load_geotiff(file, interpolation)
            vertices, faces = read_mesh(file, TerrainError, limit=LARGEST_FILE, most_triangles=MOST_TRIANGLES)
            return mesh(vertices, faces, description=f"mesh {file.name}")
        except TerrainError as error:
            message = str(error)
            raise TerrainError(message if message.startswith(f"{file}: ") else f"{file}: {message}") from None
    except (OSError, ValueError) as error:
        raise TerrainError(f"{shown(str(file))}: cannot be read: {error}") from None
    except MemoryError:
        raise TerrainError(f"{file}: does not fit in memory; cut out a smaller map") from None


def read_ascii(path: Path) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values (nx, ny) of an ESRI ASCII grid, NaN without data, and x, y [m] of the middles of its cells, rising."""
    _check_size(path)
    try:
        text = path.read_bytes().decode("ascii")
    except UnicodeDecodeError as error:
        raise TerrainError(f"{path}: byte {error.start} is not ASCII text; an ESRI grid is plain text") from None
    header, start = _asc_header(text, path)
    columns, rows = _count(header, "ncols", path), _count(header, "nrows", path)
    _check_nodes(columns, rows, path)
    cell = checked.number(_field(header, "cellsize", path), f"{path}: cellsize", low=1e-6, high=1e6)
    # The first node along each axis: given, or half a cell from the given corner.
    first = [
        _field(header, f"{axis}llcenter", path)
        if f"{axis}llcenter" in header
        else _field(header, f"{axis}llcorner", path) + 0.5 * cell
        for axis in "xy"
    ]
    values = _numbers(text[start:], path)
    if values.size != columns * rows:
        raise TerrainError(f"{path}: {values.size} heights; {columns} columns × {rows} rows need {columns * rows}")
    values[values == header.get("nodata_value", NO_DATA)] = np.nan
    x, y = (
        start + cell * np.arange(count, dtype=np.float64) for start, count in zip(first, (columns, rows), strict=True)
    )
    return values.reshape(rows, columns)[::-1].T, x, y  # its first row is the northernmost


def _check_size(path: Path) -> None:
    check_file(path, TerrainError)
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise TerrainError(f"{path}: {size} bytes; at most {LARGEST_FILE} are read")


def _load_geotiff(path: Path, interpolation: str) -> Terrain:
    """The first band of a GeoTIFF in metres, north up; needs rasterio."""
    from grouser.terrain.geotiff import read_heights

    rows, x, y = read_heights(path, MOST_NODES)
    return grid(rows[::-1].T, x, y, interpolation=interpolation, description=f"map {path.name}")


def _check_nodes(columns: int, rows: int, path: Path) -> None:
    if columns < 2 or rows < 2 or columns * rows > MOST_NODES:
        raise TerrainError(f"{path}: {columns} columns × {rows} rows; from 2 × 2 to {MOST_NODES} nodes are read")


def _asc_header(text: str, path: Path) -> tuple[dict[str, float], int]:
    """The header's fields in lower case, and where the heights begin."""
    fields: dict[str, float] = {}
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        words = text[start:end].split()
        if words and not words[0][0].isalpha():
            break
        if words:
            name = words[0].lower()
            try:
                (value,) = words[1:]
                fields[name] = float(value)
            except ValueError:
                if name in ("nan", "inf"):
                    break
                raise TerrainError(
                    f"{path}: header {shown(text[start:end])} must be a name and a number, as 'cellsize 0.5'"
                ) from None
        start = end + 1
    return fields, start


def _field(header: dict[str, float], name: str, path: Path) -> float:
    if name not in header:
        raise TerrainError(f"{path}: its header has no {name}; it needs ncols, nrows, xllcorner, yllcorner, cellsize")
    return checked.number(header[name], f"{path}: {name}")


def _count(header: dict[str, float], name: str, path: Path) -> int:
    value = _field(header, name, path)
    if value != int(value):
        raise TerrainError(f"{path}: {name} is {value:g}; it must be a whole number")
    return int(value)


def _numbers(text: str, path: Path) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise TerrainError(f"{path}: a height is not a number; heights are numbers with spaces between") from None
