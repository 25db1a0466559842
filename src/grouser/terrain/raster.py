"""Elevation maps of geographers: ESRI ASCII grids and GeoTIFF."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np

from grouser.errors import TerrainError
from grouser.terrain.checks import MOST_NODES, FloatArray, short
from grouser.terrain.grid import grid
from grouser.terrain.ground import Terrain

NO_DATA = -9999.0
"""What an ESRI grid means by no data if it does not say."""


def load_asc(path: Path, interpolation: str) -> Terrain:
    """An ESRI ASCII grid; its values stand at the middles of its cells, its first row is the northernmost."""
    try:
        text = path.read_bytes().decode("ascii")
    except UnicodeDecodeError as error:
        raise TerrainError(f"{path}: byte {error.start} is not ASCII text; an ESRI grid is plain text") from None
    header, start = _asc_header(text, path)
    columns, rows = _count(header, "ncols", path), _count(header, "nrows", path)
    if columns < 2 or rows < 2 or columns * rows > MOST_NODES:
        raise TerrainError(f"{path}: {columns} columns × {rows} rows; from 2 × 2 to {MOST_NODES} nodes are read")
    cell = _field(header, "cellsize", path)
    if not 1e-6 <= cell <= 1e6:
        raise TerrainError(f"{path}: cellsize is {cell:g}; it must be from 1e-06 to 1e+06 m")
    corner = [_corner(header, axis, cell, path) for axis in "xy"]
    values = _numbers(text[start:], path)
    if values.size != columns * rows:
        raise TerrainError(f"{path}: {values.size} heights; {columns} columns × {rows} rows need {columns * rows}")
    values[values == header.get("nodata_value", NO_DATA)] = np.nan
    x = corner[0] + cell * np.arange(columns, dtype=np.float64)
    y = corner[1] + cell * np.arange(rows, dtype=np.float64)
    return _north_up(values.reshape(rows, columns), x, y, interpolation, path)


def load_geotiff(path: Path, interpolation: str) -> Terrain:
    """The first band of a GeoTIFF in metres, north up; needs rasterio."""
    try:
        import rasterio
    except ImportError:
        raise TerrainError(f"{path}: reading GeoTIFF needs rasterio; run: pip install grouser[geo]") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Only this driver: others follow references to files and addresses elsewhere.
            with rasterio.open(path, driver="GTiff") as source:
                columns, rows, place = source.width, source.height, source.transform
                degrees = source.crs is not None and source.crs.is_geographic
                if columns < 2 or rows < 2 or columns * rows > MOST_NODES:
                    raise TerrainError(
                        f"{path}: {columns} columns × {rows} rows; from 2 × 2 to {MOST_NODES} nodes are read"
                    )
                if source.dtypes[0].startswith("complex"):
                    raise TerrainError(f"{path}: its first band is complex; heights must be real")
                band = source.read(1, masked=True).astype(np.float64)
                band = band * source.scales[0] + source.offsets[0]
    except TerrainError:
        raise
    except Exception as error:  # GDAL raises many kinds
        raise TerrainError(f"{path}: not a readable GeoTIFF ({short(str(error))})") from None
    if degrees:
        raise TerrainError(f"{path}: its coordinates are degrees; reproject it to metres (gdalwarp -t_srs, a UTM zone)")
    if place.b != 0.0 or place.d != 0.0 or not (place.a > 0.0 and place.e < 0.0):
        raise TerrainError(
            f"{path}: has no position or is not north up; give it one (gdal_translate -a_ullr, gdalwarp)"
        )
    x = place.c + place.a * (np.arange(columns) + 0.5)
    y = place.f + place.e * (rows - 0.5 - np.arange(rows))
    return _north_up(np.ma.filled(band, np.nan), x, y, interpolation, path)


def _north_up(rows: FloatArray, x: FloatArray, y: FloatArray, interpolation: str, path: Path) -> Terrain:
    """A grid from rows of heights from north to south, each from west to east; x and y rising."""
    return grid(rows[::-1].T, x, y, interpolation=interpolation, description=f"map {path.name}")


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
                    f"{path}: header {short(text[start:end])} must be a name and a number, as 'cellsize 0.5'"
                ) from None
        start = end + 1
    return fields, start


def _field(header: dict[str, float], name: str, path: Path) -> float:
    if name not in header:
        raise TerrainError(f"{path}: its header has no {name}; it needs ncols, nrows, xllcorner, yllcorner, cellsize")
    if not math.isfinite(header[name]):
        raise TerrainError(f"{path}: {name} is {header[name]}; it must be finite")
    return header[name]


def _count(header: dict[str, float], name: str, path: Path) -> int:
    value = _field(header, name, path)
    if value != int(value):
        raise TerrainError(f"{path}: {name} is {value:g}; it must be a whole number")
    return int(value)


def _corner(header: dict[str, float], axis: str, cell: float, path: Path) -> float:
    """Coordinate of the first node along an axis."""
    if f"{axis}llcenter" in header:
        return _field(header, f"{axis}llcenter", path)
    return _field(header, f"{axis}llcorner", path) + 0.5 * cell


def _numbers(text: str, path: Path) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise TerrainError(f"{path}: a height is not a number; heights are numbers with spaces between") from None
