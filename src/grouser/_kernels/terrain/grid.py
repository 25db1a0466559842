"""Ground laws on a uniform grid of nodes: bilinear, bicubic and cubic-spline interpolation.

par = (xmin, xmax, ymin, ymax, 1/dx, 1/dy, nx, ny, then the nodes, y fastest). A missing node holds NaN, and
every cell that uses it is outside the map. Cells are half open: a point between two is in the upper one.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.law import law

HEADER = 8
"""Entries of par before the first node."""


@kernel
def find_cell(par, x, y):
    """The cell (i, j) of a point and its place (u, v) in it, 0 to 1; i is −1 outside the map."""
    if not (x >= par[0] and x <= par[1] and y >= par[2] and y <= par[3]):
        return -1, 0, 0.0, 0.0
    u = (x - par[0]) * par[4]
    v = (y - par[2]) * par[5]
    i = min(int(u), int(par[6]) - 2)
    j = min(int(v), int(par[7]) - 2)
    return i, j, u - i, v - j


@inlined
def bilinear_weights(u, v):
    """Weights of the nodes at (0, 0), (0, 1), (1, 0), (1, 1) of a cell for the point (u, v) in it."""
    both = u * v
    return 1.0 - u - (v - both), v - both, u - both, both


@law
def bilinear(par, x, out, jac):
    """Nodes are (height, slope along x, slope along y), all three interpolated bilinearly.

    The slope is therefore continuous, and not the derivative of the height inside a cell.
    """
    i, j, u, v = find_cell(par, x[0], x[1])
    if i < 0:
        out[0] = math.nan
        return
    ny = int(par[7])
    a = HEADER + 3 * (i * ny + j)
    b = a + 3 * ny
    w00, w01, w10, w11 = bilinear_weights(u, v)
    for k in range(3):
        out[k] = w00 * par[a + k] + w01 * par[a + 3 + k] + w10 * par[b + k] + w11 * par[b + 3 + k]


@law
def bilinear_many(par, x, out, jac):
    """As `bilinear`, at jac[0] points: x holds all x, then all y; out all heights, then slopes along x, then along y.

    Without a branch, so that several points are looked up at once.
    """
    n = int(jac[0])
    ny = int(par[7])
    last_i = par[6] - 2.0
    last_j = par[7] - 2.0
    for k in range(n):
        px = x[k]
        py = x[n + k]
        inside = (px >= par[0]) & (px <= par[1]) & (py >= par[2]) & (py <= par[3])
        u = (px - par[0]) * par[4] if inside else 0.0
        v = (py - par[2]) * par[5] if inside else 0.0
        i = int(min(u, last_i))
        j = int(min(v, last_j))
        u -= i
        v -= j
        a = HEADER + 3 * (i * ny + j)
        b = a + 3 * ny
        w00, w01, w10, w11 = bilinear_weights(u, v)
        height = w00 * par[a] + w01 * par[a + 3] + w10 * par[b] + w11 * par[b + 3]
        out[k] = height if inside else math.nan
        out[n + k] = w00 * par[a + 1] + w01 * par[a + 4] + w10 * par[b + 1] + w11 * par[b + 4]
        out[2 * n + k] = w00 * par[a + 2] + w01 * par[a + 5] + w10 * par[b + 2] + w11 * par[b + 5]


bilinear.many = bilinear_many


@kernel
def hermite(u):
    """Cubic Hermite weights of (value 0, value 1, slope 0, slope 1) at u, then their derivatives."""
    w = 1.0 - u
    b = u * u * (3.0 - 2.0 * u)
    db = 6.0 * u * w
    return 1.0 - b, b, u * w * w, -u * u * w, -db, db, w * (1.0 - 3.0 * u), u * (3.0 * u - 2.0)


@law
def bicubic(par, x, out, jac):
    """Nodes are (h, dx ∂h/∂x, dy ∂h/∂y, dx dy ∂²h/∂x∂y); C¹, the slope is the height's derivative."""
    i, j, u, v = find_cell(par, x[0], x[1])
    if i < 0:
        out[0] = math.nan
        return
    ny = int(par[7])
    a = HEADER + 4 * (i * ny + j)
    b = a + 4 * ny
    x0, x1, s0, s1, dx0, dx1, ds0, ds1 = hermite(u)
    y0, y1, t0, t1, dy0, dy1, dt0, dt1 = hermite(v)
    # Along x first: value and ∂/∂y at the cell's lower and upper y, then their derivatives by u.
    lower = x0 * par[a] + x1 * par[b] + s0 * par[a + 1] + s1 * par[b + 1]
    upper = x0 * par[a + 4] + x1 * par[b + 4] + s0 * par[a + 5] + s1 * par[b + 5]
    lower_y = x0 * par[a + 2] + x1 * par[b + 2] + s0 * par[a + 3] + s1 * par[b + 3]
    upper_y = x0 * par[a + 6] + x1 * par[b + 6] + s0 * par[a + 7] + s1 * par[b + 7]
    lower_u = dx0 * par[a] + dx1 * par[b] + ds0 * par[a + 1] + ds1 * par[b + 1]
    upper_u = dx0 * par[a + 4] + dx1 * par[b + 4] + ds0 * par[a + 5] + ds1 * par[b + 5]
    lower_uy = dx0 * par[a + 2] + dx1 * par[b + 2] + ds0 * par[a + 3] + ds1 * par[b + 3]
    upper_uy = dx0 * par[a + 6] + dx1 * par[b + 6] + ds0 * par[a + 7] + ds1 * par[b + 7]
    out[0] = y0 * lower + y1 * upper + t0 * lower_y + t1 * upper_y
    out[1] = par[4] * (y0 * lower_u + y1 * upper_u + t0 * lower_uy + t1 * upper_uy)
    out[2] = par[5] * (dy0 * lower + dy1 * upper + dt0 * lower_y + dt1 * upper_y)


@kernel
def b_spline(u):
    """The four uniform cubic B-spline weights at u, then their derivatives."""
    w = 1.0 - u
    uu = 0.5 * u * u
    ww = 0.5 * w * w
    w0 = ww * w / 3.0
    w3 = uu * u / 3.0
    w1 = 2.0 / 3.0 - uu * (2.0 - u)
    w2 = 1.0 - w0 - w1 - w3
    d1 = u * (1.5 * u - 2.0)
    return w0, w1, w2, w3, -ww, d1, ww - d1 - uu, uu


@law
def spline(par, x, out, jac):
    """Instead of nodes (nx + 2) × (ny + 2) coefficients of uniform cubic B-splines; C², exact slope."""
    i, j, u, v = find_cell(par, x[0], x[1])
    if i < 0:
        out[0] = math.nan
        return
    row = int(par[7]) + 2
    a = HEADER + i * row + j
    b = a + row
    c = b + row
    d = c + row
    x0, x1, x2, x3, dx0, dx1, dx2, dx3 = b_spline(u)
    y0, y1, y2, y3, dy0, dy1, dy2, dy3 = b_spline(v)
    h0 = x0 * par[a] + x1 * par[b] + x2 * par[c] + x3 * par[d]
    h1 = x0 * par[a + 1] + x1 * par[b + 1] + x2 * par[c + 1] + x3 * par[d + 1]
    h2 = x0 * par[a + 2] + x1 * par[b + 2] + x2 * par[c + 2] + x3 * par[d + 2]
    h3 = x0 * par[a + 3] + x1 * par[b + 3] + x2 * par[c + 3] + x3 * par[d + 3]
    g0 = dx0 * par[a] + dx1 * par[b] + dx2 * par[c] + dx3 * par[d]
    g1 = dx0 * par[a + 1] + dx1 * par[b + 1] + dx2 * par[c + 1] + dx3 * par[d + 1]
    g2 = dx0 * par[a + 2] + dx1 * par[b + 2] + dx2 * par[c + 2] + dx3 * par[d + 2]
    g3 = dx0 * par[a + 3] + dx1 * par[b + 3] + dx2 * par[c + 3] + dx3 * par[d + 3]
    out[0] = y0 * h0 + y1 * h1 + y2 * h2 + y3 * h3
    out[1] = par[4] * (y0 * g0 + y1 * g1 + y2 * g2 + y3 * g3)
    out[2] = par[5] * (dy0 * h0 + dy1 * h1 + dy2 * h2 + dy3 * h3)
