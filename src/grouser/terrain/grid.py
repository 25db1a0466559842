"""Heights on a uniform grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grouser._kernels.terrain import curvature as terrain_curvature
from grouser._kernels.terrain import grid as kernels
from grouser._kernels.terrain.ground import FAR
from grouser.errors import TerrainError
from grouser.terrain.checks import MOST_NODES, FloatArray, choice, first_bad, near, real_array
from grouser.terrain.ground import Terrain

INTERPOLATIONS = ("bilinear", "bicubic")


def grid(
    heights: npt.ArrayLike,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    interpolation: str = "bilinear",
    description: str = "",
) -> Terrain:
    """A map from heights[i, j] at (x[i], y[j]).

    heights: world z of the nodes [m], shape (nx, ny); NaN where unknown: cells around it are outside.
    x, y: coordinates of the nodes [m], shapes (nx,) and (ny,), rising and evenly spaced, at least 2 of each.
    interpolation: "bilinear" interpolates heights and node slopes (central differences, one-sided at borders)
        bilinearly: fast, continuous normals, but the slope is not the derivative of the height inside a cell.
        "bicubic" is a C¹ surface through the nodes whose slope is its exact derivative.
    description: what it is, for people.
    """
    interpolation = choice(interpolation, "interpolation", INTERPOLATIONS)
    h = real_array(heights, "heights", dimensions=2)
    header = grid_header(h, x, y)
    first_bad(h, "heights", allowed=~(np.abs(h) > FAR), rule=f"it must be from {-FAR:g} to {FAR:g} m, or NaN")
    if np.isnan(h).all():
        raise TerrainError("heights are all NaN; at least one cell must be known")
    nx, ny = h.shape
    width = 3 if interpolation == "bilinear" else 4
    par = np.empty(kernels.HEADER + width * h.size)
    par[: kernels.HEADER] = header
    node = par[kernels.HEADER :].reshape(nx, ny, width)
    node[..., 0] = h
    # bicubic keeps its slopes per cell, bilinear per metre.
    node[..., 1] = _differences(h, 0)
    node[..., 2] = _differences(h, 1)
    if interpolation == "bicubic":
        node[..., 3] = _differences(node[..., 1], 1)
    else:
        node[..., 1] *= header[4]
        node[..., 2] *= header[5]
    xmin, xmax, ymin, ymax = header[:4].tolist()
    node.flags.writeable = False
    return Terrain(
        kind="grid",
        law=kernels.bilinear if interpolation == "bilinear" else kernels.bicubic,
        second_law=None if interpolation == "bilinear" else terrain_curvature.bicubic,
        par=par,
        bounds=(xmin, xmax, ymin, ymax),
        description=description or f"{nx} × {ny} {interpolation} grid",
        settings={
            "heights": node[..., 0],
            "x": _axis(xmin, xmax, nx),
            "y": _axis(ymin, ymax, ny),
            "interpolation": interpolation,
        },
    )


def grid_header(heights: FloatArray, x: Any, y: Any) -> FloatArray:
    """The first entries of a grid law's parameters, after checking shape, size and coordinates."""
    nx, ny = heights.shape
    if nx < 2 or ny < 2:
        raise TerrainError(f"heights has shape {heights.shape}; a grid needs at least 2 × 2 nodes")
    if heights.size > MOST_NODES:
        raise TerrainError(f"heights has {heights.size} nodes; a grid may have {MOST_NODES}")
    xmin, xmax = _ends(x, "x", nx)
    ymin, ymax = _ends(y, "y", ny)
    return np.array([xmin, xmax, ymin, ymax, (nx - 1) / (xmax - xmin), (ny - 1) / (ymax - ymin), nx, ny])


def _ends(values: Any, name: str, count: int) -> tuple[float, float]:
    """First and last coordinate of an axis that is rising and evenly spaced."""
    axis = real_array(values, name, dimensions=1)
    if axis.size != count:
        raise TerrainError(f"{name} has {axis.size} coordinates; heights has {count} nodes along {name}")
    near(axis, name)
    first, last = float(axis[0]), float(axis[-1])
    step = (last - first) / (count - 1)
    if step < 1e-6 or step < 1e-12 * max(abs(first), abs(last)):
        raise TerrainError(
            f"{name} goes from {first:g} to {last:g} in {count} nodes; it must rise, by a micron or more each"
        )
    # Coordinates printed with few digits are still even; a thousandth of a cell moves no height that matters.
    off = np.abs(axis - _axis(first, last, count)) > 1e-3 * step
    if off.any():
        i = int(np.argmax(off))
        raise TerrainError(
            f"{name}[{i}] is {axis[i]:g}; an evenly spaced {name} has {first + i * step:g} there: resample it"
        )
    return first, last


def _axis(first: float, last: float, count: int) -> FloatArray:
    return np.linspace(first, last, count)


def _differences(values: FloatArray, axis: int) -> FloatArray:
    """Central differences per cell along an axis, one-sided at borders and beside missing nodes."""
    v = np.moveaxis(values, axis, 0)
    out = np.zeros(v.shape)
    step = np.diff(v, axis=0)
    out[0] = step[0]
    out[-1] = step[-1]
    out[1:-1] = 0.5 * (v[2:] - v[:-2])
    missing = np.isnan(out)
    if missing.any():
        after = np.concatenate((step, np.full((1, *v.shape[1:]), np.nan)))
        before = np.concatenate((np.full((1, *v.shape[1:]), np.nan), step))
        one_sided = np.where(np.isnan(after), before, after)
        out = np.where(missing, np.where(np.isnan(one_sided), 0.0, one_sided), out)
    return np.moveaxis(out, 0, axis)
