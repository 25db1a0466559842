"""Ground laws with second derivatives, for wheels that roll on smooth ground.

x = (x, y); out = (h, h_x, h_y, h_xx, h_xy, h_yy) with h the height; NaN as h: the map ends before here. The
parameters are those of the law of the same name in `terrain.py`, `terrain_grid.py` and `terrain_function.py`,
which give the height and slope alone and stay as quick as they are.
"""

import math
from typing import Any

import numba
from numba import types

from grouser._compile.jit import FLAGS, kernel
from grouser._kernels.law import Law, call_law_from_law, law
from grouser._kernels.terrain.grid import HEADER, b_spline, find_cell, hermite
from grouser._kernels.terrain.ground import FAR, local_pair


@law
def plane(par, x, out, jac):
    """As `terrain.plane`: no curvature."""
    if not (abs(x[0]) <= FAR and abs(x[1]) <= FAR):
        out[0] = math.nan
        return
    out[0] = par[0] + par[1] * x[0] + par[2] * x[1]
    out[1] = par[1]
    out[2] = par[2]
    out[3] = 0.0
    out[4] = 0.0
    out[5] = 0.0


@law
def moved(par, x, out, jac):
    """As `terrain.moved`; the law and parameters it names are those with second derivatives."""
    dx = x[0] - par[2]
    dy = x[1] - par[3]
    c = par[5]
    s = par[6]
    x_child = local_pair()
    x_child[0] = c * dx + s * dy
    x_child[1] = par[7] * (c * dy - s * dx)
    call_law_from_law(int(par[0]), int(par[1]), x_child, out, jac)
    slope_u = out[1]
    slope_v = par[7] * out[2]
    uu = out[3]
    uv = par[7] * out[4]
    vv = out[5]
    out[0] += par[4]
    out[1] = c * slope_u - s * slope_v
    out[2] = s * slope_u + c * slope_v
    out[3] = c * c * uu - 2.0 * c * s * uv + s * s * vv
    out[4] = c * s * (uu - vv) + (c * c - s * s) * uv
    out[5] = s * s * uu + 2.0 * c * s * uv + c * c * vv


@law
def bicubic(par, x, out, jac):
    """As `terrain_grid.bicubic`: exact inside a cell; the second derivatives jump from cell to cell (C¹)."""
    i, j, u, v = find_cell(par, x[0], x[1])
    if i < 0:
        out[0] = math.nan
        return
    ny = int(par[7])
    a = HEADER + 4 * (i * ny + j)
    b = a + 4 * ny
    x0, x1, s0, s1, dx0, dx1, ds0, ds1 = hermite(u)
    ddx = 6.0 - 12.0 * u
    dds0 = 6.0 * u - 4.0
    dds1 = 6.0 * u - 2.0
    y0, y1, t0, t1, dy0, dy1, dt0, dt1 = hermite(v)
    ddy = 6.0 - 12.0 * v
    weight = (y0, t0, y1, t1)
    weight_v = (dy0, dt0, dy1, dt1)
    weight_vv = (-ddy, 6.0 * v - 4.0, ddy, 6.0 * v - 2.0)
    h = h_u = h_uu = h_v = h_uv = h_vv = 0.0
    # Along x first, for the value and then the ∂/∂y of the cell's lower and then upper y.
    for k in range(4):
        at = 4 * (k // 2) + 2 * (k % 2)
        p = par[a + at]
        q = par[b + at]
        dp = par[a + at + 1]
        dq = par[b + at + 1]
        along = x0 * p + x1 * q + s0 * dp + s1 * dq
        along_u = dx0 * p + dx1 * q + ds0 * dp + ds1 * dq
        h += weight[k] * along
        h_u += weight[k] * along_u
        h_uu += weight[k] * (ddx * (q - p) + dds0 * dp + dds1 * dq)
        h_v += weight_v[k] * along
        h_uv += weight_v[k] * along_u
        h_vv += weight_vv[k] * along
    per_metre(par, h, h_u, h_v, h_uu, h_uv, h_vv, out)


@law
def spline(par, x, out, jac):
    """As `terrain_grid.spline`: exact, and continuous from cell to cell (C²)."""
    i, j, u, v = find_cell(par, x[0], x[1])
    if i < 0:
        out[0] = math.nan
        return
    row = int(par[7]) + 2
    a = HEADER + i * row + j
    x0, x1, x2, x3, dx0, dx1, dx2, dx3 = b_spline(u)
    y0, y1, y2, y3, dy0, dy1, dy2, dy3 = b_spline(v)
    weight = (y0, y1, y2, y3)
    weight_v = (dy0, dy1, dy2, dy3)
    weight_vv = (1.0 - v, 3.0 * v - 2.0, 1.0 - 3.0 * v, v)
    h = h_u = h_uu = h_v = h_uv = h_vv = 0.0
    for k in range(4):
        p0 = par[a + k]
        p1 = par[a + row + k]
        p2 = par[a + 2 * row + k]
        p3 = par[a + 3 * row + k]
        along = x0 * p0 + x1 * p1 + x2 * p2 + x3 * p3
        along_u = dx0 * p0 + dx1 * p1 + dx2 * p2 + dx3 * p3
        h += weight[k] * along
        h_u += weight[k] * along_u
        h_uu += weight[k] * ((1.0 - u) * p0 + (3.0 * u - 2.0) * p1 + (1.0 - 3.0 * u) * p2 + u * p3)
        h_v += weight_v[k] * along
        h_uv += weight_v[k] * along_u
        h_vv += weight_vv[k] * along
    per_metre(par, h, h_u, h_v, h_uu, h_uv, h_vv, out)


@kernel
def per_metre(par, h, h_u, h_v, h_uu, h_uv, h_vv, out):
    """Derivatives per cell made derivatives per metre."""
    out[0] = h
    out[1] = par[4] * h_u
    out[2] = par[5] * h_v
    out[3] = par[4] * par[4] * h_uu
    out[4] = par[4] * par[5] * h_uv
    out[5] = par[5] * par[5] * h_vv


@kernel
def is_finite(total):
    """Whether a sum, and so each of its terms, is a number.

    Compared, because math.isfinite is total − total, which the optimiser may make 0 when it regroups a sum.
    """
    return abs(total) <= 1e300


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

    par = (xmin, xmax, ymin, ymax) as in `terrain_function.py`. What is not returned is found by central
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
        h, h_x, h_y, h_xx, h_xy, h_yy = compiled(x[0], x[1])
        if is_finite(h + h_x + h_y + h_xx + h_xy + h_yy):
            out[0] = h
            out[1] = h_x
            out[2] = h_y
            out[3] = h_xx
            out[4] = h_xy
            out[5] = h_yy

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
        if is_finite(h + h_x + h_y + h_xx + h_xy + h_yy):
            out[0] = h
            out[1] = h_x
            out[2] = h_y
            out[3] = h_xx
            out[4] = h_xy
            out[5] = h_yy

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
