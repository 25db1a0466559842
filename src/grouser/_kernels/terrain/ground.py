"""Ground laws. x = (x, y); out = (height, ∂height/∂x, ∂height/∂y); NaN as height: the map ends before here.

A law `…_second` also gives second derivatives, for wheels that roll on smooth ground: out = (h, h_x, h_y, h_xx, h_xy,
h_yy). This file holds the simple shapes and the laws made of other laws; grids are in `grid.py`, triangle meshes in
`mesh.py`, a user's formulas in `function.py`. Every law compares so that a NaN or infinite x or y
falls outside, before any number becomes an index. No law uses jac, and no law writes to x.
"""

import math

from grouser._compile.jit import entry, inlined
from grouser._compile.struct import Struct, array, indices, integer
from grouser._kernels.law import call_law, call_law_from_law, law, local_numbers

FAR = 1e9
"""No ground is further than this from the origin [m]: where a run diverges to, sums stay finite."""


class Ground(Struct):
    """A ground law, its parameters (the address of each), how the contact search samples it, and its soils."""

    address = integer()
    par = integer()
    many = integer()  # the law of many points at once, 0 if there is none
    stride = integer()  # SMOOTH or EDGED
    folded = integer()  # whether a wheel may touch it at two places
    soils = indices("n_words")  # soil of each cell, a byte each, as in `soils.py`; empty: no soils
    soil_place = array(6)  # corner of cell (0, 0), world x and y [m]; then u by x, by y, v by x, by y [cells/m]
    soil_shape = indices(3)  # cells along u, along v, and the soil outside; −1: that of the nearest cell


NO_SOILS: tuple[tuple[float, ...], ...] = ((), (0.0,) * 6, (0, 0, -1))
"""The last fields of a ground without soils."""
SMOOTH = 5
"""The rim of a wheel is sampled every 20°: enough to start a search on ground with slopes that change steadily."""
EDGED = 1
"""Every 4°: so that an edge between two samples is not passed over."""


@inlined
def plane_at(par, x, out):
    """Height and slope of a plane."""
    if not (abs(x[0]) <= FAR and abs(x[1]) <= FAR):
        out[0] = math.nan
        return
    out[0] = par[0] + par[1] * x[0] + par[2] * x[1]
    out[1] = par[1]
    out[2] = par[2]


@law
def plane(par, x, out, jac):
    """par = (height at the origin, slope along x, slope along y)."""
    plane_at(par, x, out)


@law
def plane_second(par, x, out, jac):
    """As `plane`: no curvature."""
    plane_at(par, x, out)
    for k in range(3, 6):
        out[k] = 0.0


@law
def plane_many(par, x, out, jac):
    """As `plane`, at jac[0] points: x holds all x, then all y; out all heights, then slopes along x, then along y."""
    n = int(jac[0])
    for k in range(n):
        inside = abs(x[k]) <= FAR and abs(x[n + k]) <= FAR
        out[k] = par[0] + par[1] * x[k] + par[2] * x[n + k] if inside else math.nan
        out[n + k] = par[1]
        out[2 * n + k] = par[2]


plane.many = plane_many


@law
def ramp(par, x, out, jac):
    """par = (x and y of its foot, cos and sin of its heading, height, run, top, half width, 1 if down).

    u runs along the heading from the foot, v to its left; a ramp is at 0 ≤ u ≤ length, |v| ≤ half width.
    """
    dx = x[0] - par[0]
    dy = x[1] - par[1]
    u = par[2] * dx + par[3] * dy
    v = par[2] * dy - par[3] * dx
    run = par[5]
    end_of_top = run + par[6]
    length = end_of_top + par[8] * run
    if not (abs(x[0]) <= FAR and abs(x[1]) <= FAR and u >= 0.0 and u <= length and abs(v) <= par[7]):
        out[0] = math.nan
        return
    slope = par[4] / run
    if u < run:
        out[0] = u * slope
    elif u <= end_of_top:
        out[0] = par[4]
        slope = 0.0
    else:
        out[0] = (length - u) * slope
        slope = -slope
    out[1] = par[2] * slope
    out[2] = par[3] * slope


@law
def stack(par, x, out, jac):
    """par = (number of children, then law address and parameter address of each). The highest child wins.

    User-space addresses are below 2⁵³, so a double holds them exactly.
    """
    height = math.nan
    slope_x = 0.0
    slope_y = 0.0
    for i in range(int(par[0])):
        call_law_from_law(int(par[1 + 2 * i]), int(par[2 + 2 * i]), x, out, jac)
        if not math.isnan(out[0]) and not (out[0] <= height):
            height = out[0]
            slope_x = out[1]
            slope_y = out[2]
    out[0] = height
    out[1] = slope_x
    out[2] = slope_y


@inlined
def move_child(par, x, out, jac):
    """Height and slope of the child at the point it has under x; the rest of `out` is the child's own."""
    dx = x[0] - par[2]
    dy = x[1] - par[3]
    c = par[5]
    s = par[6]
    x_child = local_numbers(2)
    x_child[0] = c * dx + s * dy
    x_child[1] = par[7] * (c * dy - s * dx)
    call_law_from_law(int(par[0]), int(par[1]), x_child, out, jac)
    slope_u = out[1]
    slope_v = par[7] * out[2]
    out[0] += par[4]
    out[1] = c * slope_u - s * slope_v
    out[2] = s * slope_u + c * slope_v


@law
def moved(par, x, out, jac):
    """par = (law address, parameter address, shift x, y, z, cos and sin of the yaw, −1 if mirrored else 1).

    The child is mirrored (y → −y), then turned, then shifted.
    """
    move_child(par, x, out, jac)


@law
def moved_second(par, x, out, jac):
    """As `moved`; the law and parameters it names are those with second derivatives."""
    move_child(par, x, out, jac)
    c = par[5]
    s = par[6]
    uu = out[3]
    uv = par[7] * out[4]
    vv = out[5]
    out[3] = c * c * uu - 2.0 * c * s * uv + s * s * vv
    out[4] = c * s * (uu - vv) + (c * c - s * s) * uv
    out[5] = s * s * uu + 2.0 * c * s * uv + c * c * vv


@entry
def sample_ground(address, par, xy, out):
    """The ground law at `address` with parameters at address `par`, at points xy (n, 2), into out (n, 3)."""
    for i in range(xy.shape[0]):
        call_law(address, par, xy[i], out[i], out[i])
