"""Ground law on a uniform grid of single-precision heights that stay where they are in memory.

par = (xmin, xmax, ymin, ymax, 1/dx, 1/dy, nx, ny, address of the height at (xmin, ymin), heights from one node to the
next along x, along y). A missing node holds NaN. The slopes of nodes, which `grid.py` stores, are found from the
heights next to them in each look-up: 4 bytes a node instead of 24, and no copy of what a file holds.
"""

import ctypes
import math

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from grouser._compile.jit import inlined
from grouser._kernels.law import law
from grouser._kernels.terrain.grid import find_cell


@intrinsic
def _single_at(typingctx, address, index):
    signature = types.float64(types.int64, types.int64)

    def codegen(context, builder, signature, args):
        first = builder.inttoptr(args[0], ir.FloatType().as_pointer())
        return builder.fpext(builder.load(builder.gep(first, [args[1]])), ir.DoubleType())

    return signature, codegen


def _interpreted_single(address, index):
    return ctypes.c_float.from_address(address + 4 * index).value


single_at = _interpreted_single if config.DISABLE_JIT else _single_at
"""Single-precision number at an address, some numbers on."""


@inlined
def blend(share, one, other):
    """From one to the other."""
    return one + share * (other - one)


@inlined
def carried_on(beyond, here, inside):
    """The height beyond a node; where it is missing, so that the central slope at the node is the one-sided one."""
    return 2.0 * here - inside if math.isnan(beyond) else beyond


@inlined
def nodes(first, x, y, i, j, last_i, last_j):
    """The heights that a cell's surface depends on: its corners b1, b2, c1, c2 and their neighbours.

    Rows a, b, c, d of nodes lie along y; the cell is between b and c, and between columns 1 and 2.
    """
    b = i * x + j * y
    c = b + x
    b1 = single_at(first, b)
    b2 = single_at(first, b + y)
    c1 = single_at(first, c)
    c2 = single_at(first, c + y)
    if (i > 0) & (i < last_i) & (j > 0) & (j < last_j):
        a1 = single_at(first, b - x)
        a2 = single_at(first, b - x + y)
        d1 = single_at(first, c + x)
        d2 = single_at(first, c + x + y)
        b0 = single_at(first, b - y)
        c0 = single_at(first, c - y)
        b3 = single_at(first, b + 2 * y)
        c3 = single_at(first, c + 2 * y)
    else:
        a1 = single_at(first, b - x) if i > 0 else math.nan
        a2 = single_at(first, b - x + y) if i > 0 else math.nan
        d1 = single_at(first, c + x) if i < last_i else math.nan
        d2 = single_at(first, c + x + y) if i < last_i else math.nan
        b0 = single_at(first, b - y) if j > 0 else math.nan
        c0 = single_at(first, c - y) if j > 0 else math.nan
        b3 = single_at(first, b + 2 * y) if j < last_j else math.nan
        c3 = single_at(first, c + 2 * y) if j < last_j else math.nan
    if math.isnan((a1 + a2) + (d1 + d2) + (b0 + c0) + (b3 + c3)):
        a1 = carried_on(a1, b1, c1)
        a2 = carried_on(a2, b2, c2)
        d1 = carried_on(d1, c1, b1)
        d2 = carried_on(d2, c2, b2)
        b0 = carried_on(b0, b1, b2)
        c0 = carried_on(c0, c1, c2)
        b3 = carried_on(b3, b2, b1)
        c3 = carried_on(c3, c2, c1)
    return a1, a2, b0, b1, b2, b3, c0, c1, c2, c3, d1, d2


@law
def bilinear_single(par, x, out, jac):
    """Height and node slopes, all three interpolated bilinearly, as `grid.bilinear` does."""
    i, j, u, v = find_cell(par, x[0], x[1])
    if i < 0:
        out[0] = math.nan
        return
    a1, a2, b0, b1, b2, b3, c0, c1, c2, c3, d1, d2 = nodes(
        int(par[8]), int(par[9]), int(par[10]), i, j, int(par[6]) - 2, int(par[7]) - 2
    )
    # Central slopes of nodes, blended as the heights are: blending the heights first takes a third of the work.
    column1 = blend(u, b1, c1)
    column2 = blend(u, b2, c2)
    low = column2 - blend(u, b0, c0)
    high = blend(u, b3, c3) - column1
    near = blend(v, c1, c2) - blend(v, a1, a2)
    far = blend(v, d1, d2) - blend(v, b1, b2)
    out[0] = blend(v, column1, column2)
    out[1] = 0.5 * par[4] * blend(u, near, far)
    out[2] = 0.5 * par[5] * blend(v, low, high)


@law
def bilinear_single_many(par, x, out, jac):
    """As `bilinear_single`, at jac[0] points: x holds all x, then all y; out heights, then slopes along x, then y.

    The heights of a cell are looked up once for all points that follow each other in it, as those of a wheel's rim do.
    """
    n = int(jac[0])
    xmin = par[0]
    xmax = par[1]
    ymin = par[2]
    ymax = par[3]
    per_x = par[4]
    per_y = par[5]
    last_i = int(par[6]) - 2
    last_j = int(par[7]) - 2
    first = int(par[8])
    along_x = int(par[9])
    along_y = int(par[10])
    was_i = -1
    was_j = -1
    h0 = h1 = h2 = h3 = p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = 0.0
    for k in range(n):
        px = x[k]
        py = x[n + k]
        if not ((px >= xmin) & (px <= xmax) & (py >= ymin) & (py <= ymax)):
            out[k] = math.nan
            out[n + k] = 0.0
            out[2 * n + k] = 0.0
            continue
        u = (px - xmin) * per_x
        v = (py - ymin) * per_y
        i = min(int(u), last_i)
        j = min(int(v), last_j)
        u -= i
        v -= j
        if (i != was_i) | (j != was_j):
            was_i = i
            was_j = j
            a1, a2, b0, b1, b2, b3, c0, c1, c2, c3, d1, d2 = nodes(first, along_x, along_y, i, j, last_i, last_j)
            h0 = b1
            h1 = c1 - b1
            h2 = b2 - b1
            h3 = c2 - c1 - h2
            # Slopes of the nodes at (0, 0), (1, 0), (0, 1), (1, 1), along x, then along y.
            half = 0.5 * per_x
            p0 = half * (c1 - a1)
            p1 = half * (d1 - b1) - p0
            p2 = half * (c2 - a2) - p0
            p3 = half * (d2 - b2) - p0 - p1 - p2
            half = 0.5 * per_y
            q0 = half * (b2 - b0)
            q1 = half * (c2 - c0) - q0
            q2 = half * (b3 - b1) - q0
            q3 = half * (c3 - c1) - q0 - q1 - q2
        out[k] = h0 + u * h1 + v * (h2 + u * h3)
        out[n + k] = p0 + u * p1 + v * (p2 + u * p3)
        out[2 * n + k] = q0 + u * q1 + v * (q2 + u * q3)


bilinear_single.many = bilinear_single_many
