"""Ground laws around a user's own formula that give second derivatives, for wheels that roll on smooth ground.

x = (x, y); out = (h, h_x, h_y, h_xx, h_xy, h_yy) with h the height; NaN as h: the map ends before here.
"""

import math
from typing import Any

import numba
from numba import types

from grouser._compile.jit import FLAGS, kernel
from grouser._kernels.law import Law


@kernel
def is_finite(total):
    """Whether a sum, and so each of its terms, is a number.

    Compared, because math.isfinite is total − total, which the optimiser may make 0 when it regroups a sum.
    """
    return abs(total) <= 1e300


@kernel
def write_finite(values, out):
    """The six values into `out`, if all are numbers; else there is no ground."""
    h, h_x, h_y, h_xx, h_xy, h_yy = values
    if is_finite(h + h_x + h_y + h_xx + h_xy + h_yy):
        out[0] = h
        out[1] = h_x
        out[2] = h_y
        out[3] = h_xx
        out[4] = h_xy
        out[5] = h_yy


def compile_formula(formula: Any) -> tuple[Any, int]:
    """The compiled function of (x, y), and how many real numbers it returns; 0 if something else.

    Raises whatever Numba raises when the function does not compile.
    """
    compiled = formula if hasattr(formula, "py_func") else numba.njit(**FLAGS)(formula)
    pair = (types.float64, types.float64)
    compiled.compile(pair)
    returned = compiled.overloads[pair].signature.return_type
    kinds = returned if isinstance(returned, types.BaseTuple) else (returned,)
    real = all(isinstance(kind, (types.Float, types.Integer)) for kind in kinds)
    return compiled, len(kinds) if real else 0


def without_second_derivatives(compiled: Any) -> Any:
    """The height and slope of a compiled formula that returns six numbers."""

    @numba.njit(**FLAGS)
    def height_and_slope(x, y):
        h, h_x, h_y, _, _, _ = compiled(x, y)
        return h, h_x, h_y

    return height_and_slope


def formula_law(compiled: Any, returns: int) -> Law:
    """The law with second derivatives of a formula that returns 1, 3 or 6 numbers; compiled when first used.

    par = (xmin, xmax, ymin, ymax) as in `function.py`. What is not returned is found by central
    differences: of the slope (error ≈ 1e-10 /m for hills about a metre long), or of the height, extrapolated
    from two steps (≈ 1e-9 /m). Where one of the points it needs has no height, there is no ground.
    """
    make = {1: _from_heights, 3: _from_slopes, 6: _from_formula}[returns]
    return Law(make(compiled), cached=False)


def _from_formula(compiled):
    def law(par, x, out, jac):
        out[0] = math.nan
        if not (x[0] >= par[0] and x[0] <= par[1] and x[1] >= par[2] and x[1] <= par[3]):
            return
        write_finite(compiled(x[0], x[1]), out)

    return law


def _from_slopes(compiled):
    def law(par, x, out, jac):
        out[0] = math.nan
        px = x[0]
        py = x[1]
        if not (px >= par[0] and px <= par[1] and py >= par[2] and py <= par[3]):
            return
        # Far from the origin x itself is coarser, so the step grows with it.
        dx = 1e-5 * math.sqrt(1.0 + abs(px))
        dy = 1e-5 * math.sqrt(1.0 + abs(py))
        h, h_x, h_y = compiled(px, py)
        _, east_x, east_y = compiled(px + dx, py)
        _, west_x, west_y = compiled(px - dx, py)
        _, north_x, north_y = compiled(px, py + dy)
        _, south_x, south_y = compiled(px, py - dy)
        h_xx = (east_x - west_x) / (2.0 * dx)
        h_yy = (north_y - south_y) / (2.0 * dy)
        h_xy = 0.5 * ((east_y - west_y) / (2.0 * dx) + (north_x - south_x) / (2.0 * dy))
        write_finite((h, h_x, h_y, h_xx, h_xy, h_yy), out)

    return law


def _from_heights(compiled):
    @numba.njit(**FLAGS)
    def differences(x, y, dx, dy):
        """Central differences of the second order: h_x, h_y, h_xx, h_xy, h_yy."""
        h = float(compiled(x, y))
        east = float(compiled(x + dx, y))
        west = float(compiled(x - dx, y))
        north = float(compiled(x, y + dy))
        south = float(compiled(x, y - dy))
        across = float(compiled(x + dx, y + dy)) + float(compiled(x - dx, y - dy))
        across -= float(compiled(x + dx, y - dy)) + float(compiled(x - dx, y + dy))
        return (
            (east - west) / (2.0 * dx),
            (north - south) / (2.0 * dy),
            (east - 2.0 * h + west) / (dx * dx),
            across / (4.0 * dx * dy),
            (north - 2.0 * h + south) / (dy * dy),
        )

    def law(par, x, out, jac):
        out[0] = math.nan
        px = x[0]
        py = x[1]
        if not (px >= par[0] and px <= par[1] and py >= par[2] and py <= par[3]):
            return
        dx = 1e-3 * math.sqrt(1.0 + abs(px))
        dy = 1e-3 * math.sqrt(1.0 + abs(py))
        near = differences(px, py, dx, dy)
        far = differences(px, py, 2.0 * dx, 2.0 * dy)
        total = float(compiled(px, py))
        height = total
        for k in range(5):
            # The errors of the two steps are as 1 to 4; extrapolating leaves one of the fourth order.
            out[1 + k] = (4.0 * near[k] - far[k]) / 3.0
            total += out[1 + k]
        if is_finite(total):
            out[0] = height

    return law
