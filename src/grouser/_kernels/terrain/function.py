"""Ground laws around a user's own function of (x, y). par = (xmin, xmax, ymin, ymax, then its parameters).

There is no ground outside the limits, nor where the function returns NaN or raises. `evaluate((x, y), par)` returns the
height, (h, h_x, h_y), or (h, h_x, h_y, h_xx, h_xy, h_yy); what it does not return is found by central differences.
"""

import math
from typing import Any

import numba

from grouser._compile.jit import FLAGS, kernel
from grouser._kernels.law import Law


@kernel
def is_inside(par, x):
    """Whether a place is within the limits; not if it is NaN."""
    return x[0] >= par[0] and x[0] <= par[1] and x[1] >= par[2] and x[1] <= par[3]


@kernel
def is_finite(total):
    """Whether a sum, and so each of its terms, is a number.

    Compared, because math.isfinite is total − total, which the optimiser may make 0 when it regroups a sum.
    """
    return abs(total) <= 1e300


@kernel
def step_at(x):
    """Step of a difference [m] for hills about a metre long; far from the origin x itself is coarser."""
    return math.sqrt(1.0 + abs(x))


def own_ground(evaluate: Any, count: int) -> Law:
    """The law of height and slope, for a function that returns `count` numbers."""
    return Law(_sloped(evaluate) if count > 1 else _differenced(evaluate), cached=False)


def own_curvature(evaluate: Any, count: int) -> Law:
    """The law with second derivatives; compiled when first used.

    Differences of the slope are off by about 1e-10 /m for hills about a metre long; of the height, extrapolated from
    two steps, by 1e-9 /m. Where one of the points they need has no height, there is no ground.
    """
    return Law({1: _from_heights, 3: _from_slopes, 6: _curved}[count](evaluate), cached=False)


def _sloped(evaluate):
    def law(par, x, out, jac):
        out[0] = math.nan
        if is_inside(par, x):
            found = evaluate((x[0], x[1]), par)
            if is_finite(abs(found[0]) + abs(found[1]) + abs(found[2])):
                out[0] = found[0]
                out[1] = found[1]
                out[2] = found[2]

    return law


def _differenced(evaluate):
    def law(par, x, out, jac):
        out[0] = math.nan
        if not is_inside(par, x):
            return
        px = x[0]
        py = x[1]
        height = float(evaluate((px, py), par))
        if not is_finite(height):
            return
        dx = 1e-5 * step_at(px)
        dy = 1e-5 * step_at(py)
        east = float(evaluate((px + dx, py), par))
        west = float(evaluate((px - dx, py), par))
        north = float(evaluate((px, py + dy), par))
        south = float(evaluate((px, py - dy), par))
        out[1] = difference(west, height, east, dx)
        out[2] = difference(south, height, north, dy)
        out[0] = height

    return law


@kernel
def difference(before, middle, after, step):
    """Central difference, one-sided where the formula ends."""
    if abs(before) < math.inf and abs(after) < math.inf:
        return (after - before) / (2.0 * step)
    if abs(after) < math.inf:
        return (after - middle) / step
    if abs(before) < math.inf:
        return (middle - before) / step
    return 0.0


@kernel
def put_curvature(out, h, h_x, h_y, h_xx, h_xy, h_yy):
    """All six into out, if all are numbers."""
    out[0] = math.nan
    if is_finite(h + h_x + h_y + h_xx + h_xy + h_yy):
        out[0] = h
        out[1] = h_x
        out[2] = h_y
        out[3] = h_xx
        out[4] = h_xy
        out[5] = h_yy


def _curved(evaluate):
    def law(par, x, out, jac):
        out[0] = math.nan
        if is_inside(par, x):
            h, h_x, h_y, h_xx, h_xy, h_yy = evaluate((x[0], x[1]), par)
            put_curvature(out, h, h_x, h_y, h_xx, h_xy, h_yy)

    return law


def _from_slopes(evaluate):
    def law(par, x, out, jac):
        out[0] = math.nan
        if not is_inside(par, x):
            return
        px = x[0]
        py = x[1]
        dx = 1e-5 * step_at(px)
        dy = 1e-5 * step_at(py)
        h, h_x, h_y = evaluate((px, py), par)
        _, east_x, east_y = evaluate((px + dx, py), par)
        _, west_x, west_y = evaluate((px - dx, py), par)
        _, north_x, north_y = evaluate((px, py + dy), par)
        _, south_x, south_y = evaluate((px, py - dy), par)
        h_xx = (east_x - west_x) / (2.0 * dx)
        h_yy = (north_y - south_y) / (2.0 * dy)
        h_xy = 0.5 * ((east_y - west_y) / (2.0 * dx) + (north_x - south_x) / (2.0 * dy))
        put_curvature(out, h, h_x, h_y, h_xx, h_xy, h_yy)

    return law


def _from_heights(evaluate):
    @numba.njit(**FLAGS)
    def differences(x, y, par, dx, dy):
        """Central differences of the second order: h_x, h_y, h_xx, h_xy, h_yy."""
        h = float(evaluate((x, y), par))
        east = float(evaluate((x + dx, y), par))
        west = float(evaluate((x - dx, y), par))
        north = float(evaluate((x, y + dy), par))
        south = float(evaluate((x, y - dy), par))
        across = float(evaluate((x + dx, y + dy), par)) + float(evaluate((x - dx, y - dy), par))
        across -= float(evaluate((x + dx, y - dy), par)) + float(evaluate((x - dx, y + dy), par))
        return (
            (east - west) / (2.0 * dx),
            (north - south) / (2.0 * dy),
            (east - 2.0 * h + west) / (dx * dx),
            across / (4.0 * dx * dy),
            (north - 2.0 * h + south) / (dy * dy),
        )

    def law(par, x, out, jac):
        out[0] = math.nan
        if not is_inside(par, x):
            return
        px = x[0]
        py = x[1]
        dx = 1e-3 * step_at(px)
        dy = 1e-3 * step_at(py)
        near = differences(px, py, par, dx, dy)
        far = differences(px, py, par, 2.0 * dx, 2.0 * dy)
        height = float(evaluate((px, py), par))
        total = height
        for k in range(5):
            # The errors of the two steps are as 1 to 4; extrapolating leaves one of the fourth order.
            out[1 + k] = (4.0 * near[k] - far[k]) / 3.0
            total += out[1 + k]
        if is_finite(total):
            out[0] = height

    return law
