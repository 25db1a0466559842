"""First band of a GeoTIFF in metres, north up; needs rasterio."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grouser.checks import FloatArray, shown
from grouser.errors import TerrainError
from grouser.files import check_file


class Band(NamedTuple):
    """A band as it stands in the file: rows from north to south, each from west to east."""

    values: Any
    """Masked where there is no data, shape (rows, columns)."""
    scale: float
    """Quantity per unit of a value."""
    offset: float
    """Quantity of the value 0."""
    west: float
    """x of the western border [m]."""
    north: float
    """y of the northern border [m]."""
    width: float
    """Of a cell, west to east [m]."""
    height: float
    """Of a cell, south to north [m]."""


def read_band(path: Path, least: int, most: int, kinds: str, what: str) -> Band:
    """The first band, if its values are of some kinds of NumPy and it has `least` × `least` to `most` cells.

    what: what its values must be, in words.
    """
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
                if columns < least or rows < least or columns * rows > most:
                    raise TerrainError(
                        f"{path}: {columns} columns × {rows} rows; from {least} × {least} to {most} nodes are read"
                    )
                kind = source.dtypes[0]
                if kind.startswith("complex") or np.dtype(kind).kind not in kinds:
                    raise TerrainError(
                        f"{path}: its first band is {'complex' if kind.startswith('complex') else kind}; {what}"
                    )
                values = source.read(1, masked=True)
                scale, offset = source.scales[0], source.offsets[0]
    except TerrainError:
        raise
    except Exception as error:  # GDAL raises many kinds
        raise TerrainError(f"{path}: not a readable GeoTIFF ({shown(str(error))})") from None
    if degrees:
        raise TerrainError(f"{path}: its coordinates are degrees; reproject it to metres (gdalwarp -t_srs, a UTM zone)")
    if place.b != 0.0 or place.d != 0.0 or not (place.a > 0.0 and place.e < 0.0):
        raise TerrainError(
            f"{path}: has no position or is not north up; give it one (gdal_translate -a_ullr, gdalwarp)"
        )
    return Band(values, scale, offset, place.c, place.f, place.a, -place.e)


def read_heights(path: Path, most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Heights [m] as they stand in the file, NaN without data, and x and y [m] of their columns and rows, rising."""
    band = read_band(path, 2, most, "iuf", "heights must be real")
    heights = np.ma.filled(band.values.astype(np.float64) * band.scale + band.offset, np.nan)
    rows, columns = heights.shape
    x = band.west + band.width * (np.arange(columns) + 0.5)
    y = band.north - band.height * (rows - 0.5 - np.arange(rows))
    return heights, x, y


def read_classes(path: Path) -> tuple[npt.NDArray[Any], tuple[float, float], float]:
    """Soil classes (nx, ny), 255 without data, the corner of the first [m] and the side of a cell [m]."""
    from grouser.terrain.soil_raster import MOST_CELLS, NO_CLASS

    check_file(path, TerrainError)
    band = read_band(path, 1, MOST_CELLS, "iu", "soil classes must be whole numbers, such as uint8")
    if abs(band.width - band.height) > 1e-6 * band.width:
        raise TerrainError(f"{path}: its cells are {band.width:g} × {band.height:g} m; make them square (gdalwarp -tr)")
    values = np.ma.filled(band.values.astype(np.int64), NO_CLASS)
    return values[::-1].T, (band.west, band.north - band.height * len(values)), band.width
