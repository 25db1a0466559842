"""Ground laws on a uniform grid of nodes: bilinear, bicubic and cubic-spline interpolation.

A law `…_second` also gives second derivatives: out = (h, h_x, h_y, h_xx, h_xy, h_yy).

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


@inlined
def hermite(u):
    """Cubic Hermite weights of (value 0, value 1, slope 0, slope 1) at u, their first and second derivatives."""
    w = 1.0 - u
    b = u * u * (3.0 - 2.0 * u)
    db = 6.0 * u * w
    ddb = 6.0 - 12.0 * u
    return (
        (1.0 - b, b, u * w * w, -u * u * w),
        (-db, db, w * (1.0 - 3.0 * u), u * (3.0 * u - 2.0)),
        (-ddb, ddb, 6.0 * u - 4.0, 6.0 * u - 2.0),
    )


@inlined
def b_spline(u):
    """The four uniform cubic B-spline weights at u, their first and second derivatives."""
    w = 1.0 - u
    uu = 0.5 * u * u
    ww = 0.5 * w * w
    w0 = ww * w / 3.0
    w3 = uu * u / 3.0
    w1 = 2.0 / 3.0 - uu * (2.0 - u)
    d1 = u * (1.5 * u - 2.0)
    return (
        (w0, w1, 1.0 - w0 - w1 - w3, w3),
        (-ww, d1, ww - d1 - uu, uu),
        (w, 3.0 * u - 2.0, 1.0 - 3.0 * u, u),
    )


@inlined
def weighted(w, p):
    """Σ w p of four each."""
    return w[0] * p[0] + w[1] * p[1] + w[2] * p[2] + w[3] * p[3]


@inlined
def hermite_sum(par, a, b, w):
    """Along x between nodes a and b: value and ∂/∂y at the cell's lower and upper y, as `hermite` orders them."""
    return (
        weighted(w, (par[a], par[b], par[a + 1], par[b + 1])),
        weighted(w, (par[a + 4], par[b + 4], par[a + 5], par[b + 5])),
        weighted(w, (par[a + 2], par[b + 2], par[a + 3], par[b + 3])),
        weighted(w, (par[a + 6], par[b + 6], par[a + 7], par[b + 7])),
    )


@inlined
def spline_sum(par, a, row, w):
    """Along x, of the four coefficients from each of a … a + 3."""
    b = a + row
    c = b + row
    d = c + row
    return (
        weighted(w, (par[a], par[b], par[c], par[d])),
        weighted(w, (par[a + 1], par[b + 1], par[c + 1], par[d + 1])),
        weighted(w, (par[a + 2], par[b + 2], par[c + 2], par[d + 2])),
        weighted(w, (par[a + 3], par[b + 3], par[c + 3], par[d + 3])),
    )


@inlined
def bicubic_sums(par, i, j, u):
    """Sums along x in cell (i, j), their first and second derivatives; what is not used is not computed."""
    a = HEADER + 4 * (i * int(par[7]) + j)
    b = a + 4 * int(par[7])
    X = hermite(u)
    return hermite_sum(par, a, b, X[0]), hermite_sum(par, a, b, X[1]), hermite_sum(par, a, b, X[2])


@inlined
def spline_sums(par, i, j, u):
    """As `bicubic_sums`, of B-spline coefficients."""
    row = int(par[7]) + 2
    a = HEADER + i * row + j
    X = b_spline(u)
    return spline_sum(par, a, row, X[0]), spline_sum(par, a, row, X[1]), spline_sum(par, a, row, X[2])


@inlined
def write_slope(par, p, Y, out):
    """Height and slope per metre, of sums p along x and weights Y along y."""
    out[0] = weighted(Y[0], p[0])
    out[1] = par[4] * weighted(Y[0], p[1])
    out[2] = par[5] * weighted(Y[1], p[0])


@inlined
def write_second(par, p, Y, out):
    """Height, slope and second derivatives per metre."""
    write_slope(par, p, Y, out)
    out[3] = par[4] * par[4] * weighted(Y[0], p[2])
    out[4] = par[4] * par[5] * weighted(Y[1], p[1])
    out[5] = par[5] * par[5] * weighted(Y[2], p[0])


def _smooth(name, sums, weights, write):
    """The law of a surface of cubic pieces: `sums` along x, `weights` along y, and what to `write` of them."""

    def surface(par, x, out, jac):
        i, j, u, v = find_cell(par, x[0], x[1])
        if i < 0:
            out[0] = math.nan
        else:
            write(par, sums(par, i, j, u), weights(v), out)

    surface.__name__ = surface.__qualname__ = name
    return law(surface)


bicubic = _smooth("bicubic", bicubic_sums, hermite, write_slope)
"""Nodes are (h, dx ∂h/∂x, dy ∂h/∂y, dx dy ∂²h/∂x∂y); C¹, the slope is the height's derivative."""
bicubic_second = _smooth("bicubic_second", bicubic_sums, hermite, write_second)
"""As `bicubic`: exact inside a cell; the second derivatives jump from cell to cell (C¹)."""
spline = _smooth("spline", spline_sums, b_spline, write_slope)
"""Instead of nodes (nx + 2) × (ny + 2) coefficients of uniform cubic B-splines; C², exact slope."""
spline_second = _smooth("spline_second", spline_sums, b_spline, write_second)
"""As `spline`: exact, and continuous from cell to cell (C²)."""
