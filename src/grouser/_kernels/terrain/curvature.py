"""Ground laws with second derivatives, for wheels that roll on smooth ground.

x = (x, y); out = (h, h_x, h_y, h_xx, h_xy, h_yy) with h the height; NaN as h: the map ends before here. The
parameters are those of the law of the same name in `ground.py` and `grid.py`, which give the height and slope alone
and stay as quick as they are.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.law import call_law_from_law, law
from grouser._kernels.terrain.grid import HEADER, b_spline, find_cell, hermite
from grouser._kernels.terrain.ground import FAR, local_pair


@law
def plane(par, x, out, jac):
    """As `ground.plane`: no curvature."""
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
    """As `ground.moved`; the law and parameters it names are those with second derivatives."""
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
    """As `grid.bicubic`: exact inside a cell; the second derivatives jump from cell to cell (C¹)."""
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
    """As `grid.spline`: exact, and continuous from cell to cell (C²)."""
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
