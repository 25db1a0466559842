"""The first band of a GeoTIFF in metres, north up, or a window of it; needs rasterio."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grouser.checks import shown
from grouser.errors import TerrainError
from grouser.files import check_file
from grouser.terrain.source import Guess, Source, read_guessing
from grouser.terrain.window import Rows, Wanted, means

CACHE = 32
"""Memory of GDAL for blocks of a file [MB]; its default is a twentieth of the machine's."""
ROWS_AT_ONCE = 256
"""Rows that are read together, at least."""
FEET = ("ft", "foot", "feet", "us survey foot", "us survey feet", "ftus", "us-ft")

WEB_MERCATOR = (3857, 3395, 900913)
EARTH = 6_378_137.0
"""Radius [m] on which web maps are drawn."""


@contextmanager
def _opened(path: Path, kinds: str, what: str) -> Iterator[Any]:
    """The file, if it is a GeoTIFF in metres with north up and its first band is of some kinds of NumPy.

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
            with rasterio.Env(GDAL_CACHEMAX=CACHE), rasterio.open(path, driver="GTiff") as source:
                kind = source.dtypes[0]
                if kind.startswith("complex") or np.dtype(kind).kind not in kinds:
                    raise TerrainError(
                        f"{path}: its first band is {'complex' if kind.startswith('complex') else kind}; {what}"
                    )
                _check_place(path, source)
                yield source
    except (TerrainError, MemoryError):
        raise
    except Exception as error:  # GDAL raises many kinds
        raise TerrainError(f"{path}: not a readable GeoTIFF ({shown(str(error))})") from None


def _check_place(path: Path, source: Any) -> None:
    """Refuse degrees, feet, and maps that are turned or nowhere."""
    place, crs = source.transform, source.crs
    if crs is not None and crs.is_geographic:
        zone = _utm(place.c + 0.5 * place.a * source.width, place.f + 0.5 * place.e * source.height)
        raise TerrainError(
            f"{path}: its coordinates are degrees ({_name(crs)}); reproject it to metres: gdalwarp -t_srs {zone} "
            f"{path.name} metres.tif"
        )
    if place.is_identity:
        raise TerrainError(f"{path}: has no position; give it one: gdal_translate -a_ullr WEST NORTH EAST SOUTH")
    if place.b != 0.0 or place.d != 0.0 or not (place.a > 0.0 and place.e < 0.0):
        raise TerrainError(f"{path}: is not north up; turn it so: gdalwarp {path.name} north-up.tif")
    if crs is not None and crs.to_epsg() in WEB_MERCATOR:
        long = math.cosh((place.f + 0.5 * place.e * source.height) / EARTH)
        if long > 1.01:
            raise TerrainError(
                f"{path}: {_name(crs)} draws a metre here {long:.3g} m long, so slopes are not true; reproject it"
                " (gdalwarp -t_srs, a UTM zone)"
            )
    unit, factor = crs.linear_units_factor if crs is not None and crs.is_projected else ("metre", 1.0)
    if abs(factor - 1.0) > 1e-9:
        raise TerrainError(
            f"{path}: its coordinates are in {unit} ({_name(crs)}); reproject it to metres (gdalwarp -t_srs, a UTM "
            "zone)"
        )


def _utm(longitude: float, latitude: float) -> str:
    """The UTM zone of a place [degrees]."""
    zone = min(max(int((longitude + 180.0) // 6.0) + 1, 1), 60)
    return f"EPSG:{(32600 if latitude >= 0.0 else 32700) + zone}"


def _name(crs: Any) -> str:
    """What a coordinate system is called."""
    found = re.search(r'"([^"]*)"', crs.to_wkt())
    return found[1] if found else "unnamed"


def read_heights(path: Path, wanted: Wanted, most: int) -> tuple[Rows, Source]:
    """Heights [m] as they stand in the file, or a window of them, NaN without data, with rows from north to south.

    Heights of at most 24 bits are of single precision. most: nodes that are read at most.
    """
    with _opened(path, "iuf", "heights must be real") as source:
        crs, kind = source.crs, source.dtypes[0]
        if str(source.units[0] or "").strip().lower() in FEET:
            raise TerrainError(f"{path}: its heights are in feet; convert them to metres (gdal_calc.py, 0.3048 × A)")
        if source.colorinterp[0].name in ("red", "palette"):
            raise TerrainError(
                f"{path}: its first band is the {source.colorinterp[0].name} of a picture; give a map of heights"
            )
        bands = [f"{path.name}: has {source.count} bands, heights are those of the first"] * (source.count > 1)
        window = wanted.window(path, _axes(source), most)
        heights, guess = read_guessing(lambda guess: _read(source, window, wanted, guess))
        found = guess.source(
            path.name,
            window.rows * window.columns * wanted.step**2,
            source.nodata if wanted.nodata is None else wanted.nodata,
            stored=kind,
            crs="" if crs is None else _name(crs),
            epsg=None if crs is None else crs.to_epsg(),
            step=wanted.step,
            whole=window.whole,
        )
    return Rows(heights, window.x, window.y), replace(found, notes=(*found.notes, *bands))


def _axes(source: Any) -> tuple[tuple[float, float, int], tuple[float, float, int]]:
    """Middle of the first cell, side of a cell [m] and count: of columns from the west, of rows from the south."""
    place = source.transform
    south = place.f + place.e * source.height
    return (place.c + 0.5 * place.a, place.a, source.width), (south - 0.5 * place.e, -place.e, source.height)


def _read(source: Any, window: Any, wanted: Wanted, guess: Guess) -> npt.NDArray[Any]:
    """Heights of a window, some rows at a time."""
    from rasterio.enums import MaskFlags
    from rasterio.windows import Window

    kind = np.dtype(source.dtypes[0])
    kept = np.float32 if kind.itemsize <= 2 or kind == np.float32 else np.float64
    step, total = wanted.step, window.rows
    out = np.empty((total, window.columns), dtype=kept)
    declared = source.nodata if wanted.nodata is None else wanted.nodata
    masked = not set(source.mask_flag_enums[0]) & {MaskFlags.nodata, MaskFlags.all_valid}
    scale, offset = source.scales[0], source.offsets[0]
    block = source.block_shapes[0][0]
    size = max(1, -(-max(ROWS_AT_ONCE, block) // block) * block // step)
    for first in range(0, total, size):
        last = min(first + size, total)
        here = Window(window.column, window.row + first * step, window.columns * step, (last - first) * step)
        if step == 1 and kind == kept:
            part = source.read(1, window=here, out=out[first:last])
        else:
            part = source.read(1, window=here)
        missing = source.read_masks(1, window=here) == 0 if masked else None
        if declared is not None and not math.isnan(declared):
            empty = part == kind.type(declared) if kind.kind == "f" else part == declared
            missing = empty if missing is None else missing | empty
        part = part.astype(kept, copy=False)
        if (scale, offset) != (1.0, 0.0):
            part = part * kept(scale) + kept(offset)
        if missing is not None and missing.any():
            part[missing] = np.nan
        guess.clear(part)
        if part.base is not out:
            out[first:last] = means(part, step)
        wanted.report(last, total)
    return out


def read_classes(path: Path) -> tuple[npt.NDArray[Any], tuple[float, float], float]:
    """Soil classes (nx, ny), 255 without data, the corner of the first [m] and the side of a cell [m]."""
    from grouser.terrain.soil_raster import MOST_CELLS, NO_CLASS

    check_file(path, TerrainError)
    with _opened(path, "iu", "soil classes must be whole numbers, such as uint8") as source:
        if source.width * source.height > MOST_CELLS:
            raise TerrainError(
                f"{path}: {source.width} columns × {source.height} rows; from 1 × 1 to {MOST_CELLS} nodes are read"
            )
        place, band = source.transform, source.read(1, masked=True)  # rows from north to south
    width, height = place.a, -place.e
    if abs(width - height) > 1e-6 * width:
        raise TerrainError(f"{path}: its cells are {width:g} × {height:g} m; make them square (gdalwarp -tr)")
    values = np.ma.filled(band.astype(np.int64), NO_CLASS)
    return values[::-1].T, (place.c, place.f - height * len(values)), width
