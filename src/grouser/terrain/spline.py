"""A twice continuously differentiable surface through heights on a uniform grid."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grouser._kernels.terrain import curvature as terrain_curvature
from grouser._kernels.terrain import grid as kernels
from grouser.errors import TerrainError
from grouser.terrain.checks import FloatArray, near, real_array
from grouser.terrain.grid import grid_header
from grouser.terrain.ground import Terrain

MOST_SPLINE_NODES = 5_000_000
"""Nodes of the largest spline: solving for its coefficients takes about 100 bytes a node."""


def spline(heights: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike, *, description: str = "") -> Terrain:
    """A C² tensor-product cubic spline through heights[i, j] at (x[i], y[j]); with its exact slope.

    heights: world z of the nodes [m], shape (nx, ny), all known (no NaN).
    x, y: coordinates of the nodes [m], shapes (nx,) and (ny,), rising and evenly spaced, at least 2 of each.
    description: what it is, for people.
    """
    h = real_array(heights, "heights", dimensions=2)
    if h.size > MOST_SPLINE_NODES:
        raise TerrainError(f"heights has {h.size} nodes; a spline may have {MOST_SPLINE_NODES}; use grid for more")
    header = grid_header(h, x, y)
    near(h, "heights")
    h = h.copy()
    h.flags.writeable = False
    nx, ny = h.shape
    xmin, xmax, ymin, ymax = header[:4].tolist()
    return Terrain(
        kind="spline",
        law=kernels.spline,
        second_law=terrain_curvature.spline,
        par=np.concatenate((header, _coefficients(_coefficients(h, 0), 1).ravel())),
        bounds=(xmin, xmax, ymin, ymax),
        description=description or f"{nx} × {ny} cubic spline",
        settings={"heights": h, "x": np.linspace(xmin, xmax, nx), "y": np.linspace(ymin, ymax, ny)},
    )


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
