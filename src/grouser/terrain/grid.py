"""Surfaces through heights on a uniform grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grouser._kernels.law import Law
from grouser._kernels.terrain import grid as kernels
from grouser._kernels.terrain import single
from grouser.checks import FloatArray
from grouser.errors import TerrainError
from grouser.terrain.ground import Terrain, checked

INTERPOLATIONS = ("bilinear", "bicubic")
MOST_NODES = 25_000_000
"""Nodes of the largest grid: its parameters take 24 to 32 bytes a node."""
MOST_SINGLE_NODES = 250_000_000
"""Nodes of the largest grid of single-precision heights: they take 4 bytes a node."""
AT_ONCE = 1_000_000
"""Nodes whose slopes are found together: the temporary arrays are small compared with the grid."""
MOST_SPLINE_NODES = 5_000_000
"""Nodes of the largest spline: solving for its coefficients takes about 100 bytes a node."""


def grid(
    heights: npt.ArrayLike,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    interpolation: str = "bilinear",
    description: str = "",
) -> Terrain:
    """A map from heights[i, j] at (x[i], y[j]).

    heights: world z of the nodes [m], shape (nx, ny); NaN where unknown: cells around it are outside. Those in single
        precision (float32) stay so if the interpolation is bilinear, and take a sixth of the memory.
    x, y: coordinates of the nodes [m], shapes (nx,) and (ny,), rising and evenly spaced, at least 2 of each.
    interpolation: "bilinear" interpolates heights and node slopes (central differences, one-sided at borders)
        bilinearly: fast, continuous normals, but the slope is not the derivative of the height inside a cell.
        "bicubic" is a C¹ surface through the nodes whose slope is its exact derivative.
    description: what it is, for people.
    """
    interpolation = checked.choice(interpolation, "interpolation", INTERPOLATIONS)
    if interpolation == "bilinear" and getattr(heights, "dtype", None) == np.float32 and np.ndim(heights) == 2:
        size = np.size(heights)
        if size > MOST_SINGLE_NODES:
            raise TerrainError(f"heights: has {size} entries, at most {MOST_SINGLE_NODES} are accepted; cut out a part")
        if np.ma.is_masked(heights):
            raise TerrainError("heights: has masked entries, which are not numbers; fill them with NaN first")
        return single_grid(np.array(heights, order="K"), x, y, description=description)
    h = checked.array(heights, "heights", (None, None), missing=True, most=MOST_NODES)
    header = _header(h, x, y)
    if np.isnan(h).all():
        raise TerrainError("heights are all NaN; at least one cell must be known")
    nx, ny = h.shape
    width = 3 if interpolation == "bilinear" else 4
    par = np.empty(kernels.HEADER + width * h.size)
    par[: kernels.HEADER] = header
    node = par[kernels.HEADER :].reshape(nx, ny, width)
    node[..., 0] = h
    # bicubic keeps its slopes per cell, bilinear per metre.
    _put_differences(h, 0, node[..., 1])
    _put_differences(h, 1, node[..., 2])
    if interpolation == "bicubic":
        _put_differences(node[..., 1], 1, node[..., 3])
    else:
        node[..., 1] *= header[4]
        node[..., 2] *= header[5]
    laws = (kernels.bilinear, None) if interpolation == "bilinear" else (kernels.bicubic, kernels.bicubic_second)
    description = description or f"{nx} × {ny} {interpolation} grid"
    return _terrain("grid", laws, par, node[..., 0], description, interpolation=interpolation)


def single_grid(heights: npt.NDArray[np.float32], x: Any, y: Any, *, description: str = "") -> Terrain:
    """The bilinear surface of `grid` through single-precision heights, which are not copied.

    heights: (nx, ny) [m], in any order in memory; NaN where unknown. The caller must not change them afterwards.
    x, y: as for `grid` [m].
    """
    header = _header(heights, x, y)
    # Rows of the file at a time: a comparison of all makes an array as large as a quarter of them.
    rows = heights.T if abs(heights.strides[0]) < abs(heights.strides[1]) else heights
    known = 0
    for part in parts(len(rows), rows.shape[1]):
        checked.finite(rows[part], "heights", missing=True)  # type: ignore[arg-type]  # of single precision
        known += int(np.count_nonzero(~np.isnan(rows[part])))
    if known == 0:
        raise TerrainError("heights are all NaN; at least one cell must be known")
    place = [heights.ctypes.data, *(stride // heights.itemsize for stride in heights.strides)]
    par = np.concatenate((header, np.array(place, dtype=np.float64)))
    description = description or f"{heights.shape[0]} × {heights.shape[1]} bilinear grid"
    return _terrain("grid", (single.bilinear_single, None), par, heights, description, interpolation="bilinear")


def parts(count: int, width: int) -> list[slice]:
    """Slices of rows of a width that are processed together."""
    rows = max(1, AT_ONCE // max(width, 1))
    return [slice(first, min(first + rows, count)) for first in range(0, count, rows)]


def spline(heights: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike, *, description: str = "") -> Terrain:
    """A C² tensor-product cubic spline through heights[i, j] at (x[i], y[j]); with its exact slope.

    heights: world z of the nodes [m], shape (nx, ny), all known (no NaN).
    x, y: coordinates of the nodes [m], shapes (nx,) and (ny,), rising and evenly spaced, at least 2 of each.
    description: what it is, for people.
    """
    h = checked.array(heights, "heights", (None, None), most=MOST_SPLINE_NODES)
    par = np.concatenate((_header(h, x, y), _coefficients(_coefficients(h, 0), 1).ravel()))
    description = description or f"{h.shape[0]} × {h.shape[1]} cubic spline"
    return _terrain("spline", (kernels.spline, kernels.spline_second), par, h, description)


def _terrain(
    kind: str,
    laws: tuple[Law, Law | None],
    par: FloatArray,
    heights: npt.NDArray[Any],
    description: str,
    **settings: str,
) -> Terrain:
    """The terrain of a grid law with these parameters, made again from its heights (nx, ny)."""
    xmin, xmax, ymin, ymax = par[:4].tolist()
    heights.flags.writeable = False
    axes = {"x": np.linspace(xmin, xmax, len(heights)), "y": np.linspace(ymin, ymax, heights.shape[1])}
    made_of = {"heights": heights, **axes, **settings}
    return Terrain(kind, laws[0], par, (xmin, xmax, ymin, ymax), description, made_of, second_law=laws[1])


def _header(heights: npt.NDArray[Any], x: Any, y: Any) -> FloatArray:
    """The first entries of a grid law's parameters, after checking shape, size and coordinates."""
    nx, ny = heights.shape
    if nx < 2 or ny < 2:
        raise TerrainError(f"heights has shape {heights.shape}; a grid needs at least 2 × 2 nodes")
    xmin, xmax = _ends(x, "x", nx)
    ymin, ymax = _ends(y, "y", ny)
    return np.array([xmin, xmax, ymin, ymax, (nx - 1) / (xmax - xmin), (ny - 1) / (ymax - ymin), nx, ny])


def _ends(values: Any, name: str, count: int) -> tuple[float, float]:
    """First and last coordinate of an axis that is rising and evenly spaced."""
    axis = checked.array(values, f"{name} of the {count} nodes", (count,))
    first, last = float(axis[0]), float(axis[-1])
    step = (last - first) / (count - 1)
    if step < 1e-6 or step < 1e-12 * max(abs(first), abs(last)):
        raise TerrainError(
            f"{name} goes from {first:g} to {last:g} in {count} nodes; it must rise, by a micron or more each"
        )
    # Coordinates printed with few digits are still even; a thousandth of a cell moves no height that matters.
    off = np.abs(axis - np.linspace(first, last, count)) > 1e-3 * step
    if off.any():
        i = int(np.argmax(off))
        raise TerrainError(
            f"{name}[{i}] is {axis[i]:g}; an evenly spaced {name} has {first + i * step:g} there: resample it"
        )
    return first, last


def _put_differences(values: FloatArray, axis: int, out: FloatArray) -> None:
    """`_differences` into an array, some rows at a time."""
    for part in parts(values.shape[1 - axis], values.shape[axis]):
        some = (slice(None), part) if axis == 0 else (part, slice(None))
        out[some] = _differences(values[some], axis)


def _differences(values: FloatArray, axis: int) -> FloatArray:
    """Central differences per cell along an axis, one-sided at borders and next to missing nodes."""
    v = np.moveaxis(values, axis, 0)
    out = np.gradient(v, axis=0)
    missing = np.isnan(out)
    if missing.any():
        step, none = np.diff(v, axis=0), np.full((1, *v.shape[1:]), np.nan)
        after, before = np.concatenate((step, none)), np.concatenate((none, step))
        one_sided = np.where(np.isnan(after), before, after)
        out = np.where(missing, np.where(np.isnan(one_sided), 0.0, one_sided), out)
    return np.moveaxis(out, 0, axis)


def _coefficients(values: FloatArray, axis: int) -> FloatArray:
    """Uniform B-spline coefficients along an axis, two more than values.

    At a node the spline is s = c + s″/6 and s″ = c₋ − 2c + c₊ (unit spacing); s″ is the not-a-knot spline's.
    """
    from scipy.interpolate import CubicSpline

    n = values.shape[axis]
    nodes = np.arange(n, dtype=np.float64)
    v = np.moveaxis(values, axis, 0)
    curvature = np.asarray(CubicSpline(nodes, v)(nodes, 2))
    out = np.empty((n + 2, *v.shape[1:]))
    out[1:-1] = v - curvature / 6.0
    out[0] = curvature[0] + 2.0 * out[1] - out[2]
    out[-1] = curvature[-1] + 2.0 * out[-2] - out[-3]
    return np.moveaxis(out, 0, axis)
