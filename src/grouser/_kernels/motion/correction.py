"""Slopes of the slip surface of P (13) and of the learned correction on top of it, by their coefficients."""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices
from grouser._kernels.arrays import fill

SURFACE = 13  # coefficients of the slip surface


class CorrectionTable(Struct):
    """A learned correction: k terms, and what each of its axes adds outside of the range of the training data."""

    terms = indices("k")  # from 0
    rows = indices("k")  # of the twist that they add to
    widths = array("k")
    reach = array(4)
    corners = array("d")  # sigma of the correction at the corner of the range
    corner_rows = indices("d")


@inlined
def feature(term, v, w, a, b):
    """φ of a term, from 0, of speed, turn rate and their changes in a second."""
    V, W = abs(v), abs(w)
    if term == 0:
        return a
    if term == 1:
        return V * a
    if term == 2:
        return v * b
    if term == 3:
        return b
    if term == 4:
        return w * a
    if term == 5:
        return v * V
    if term == 6:
        return v * w * w
    if term == 7 or term == 10:
        return w * W
    if term == 8:
        return v * V * w
    if term == 9:
        return v * w * W
    if term == 11:
        return V * w
    return V * w * W


@inlined
def clipped(x, most):
    """x within ± most."""
    return min(max(x, -most), most)


@kernel
def correction_row(table, given, first, out):
    """∂(ω, v)/∂(c, d) into the columns of out (6, …) from `first` on, for given = (V, ω, a, b)."""
    reach = table.reach
    v, w = clipped(given[0], reach[0]), clipped(given[1], reach[1])
    a, b = clipped(given[2], reach[2]), clipped(given[3], reach[3])
    k = table.terms.size
    fill(out[:, first : first + k + table.corners.size], 0.0)
    for j in range(k):
        out[table.rows[j], first + j] = feature(table.terms[j], v, w, a, b) * table.widths[j]
    beyond = 0.0
    for i in range(4):
        beyond += max(abs(given[i]) / reach[i] - 1.0, 0.0)
    for j in range(table.corners.size):
        out[table.corner_rows[j], first + k + j] = beyond * table.corners[j]


@kernel
def surface_row(v, w, gx, gy, out):
    """∂(ω, v)/∂α of P (13) into the first 13 columns of out (6, …)."""
    fill(out[:, :SURFACE], 0.0)
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = v, abs(w), v * abs(w), gx
    out[4, 4], out[4, 5], out[4, 6], out[4, 7] = v, w, v * w, gy
    out[2, 8], out[2, 9], out[2, 10], out[2, 11], out[2, 12] = v, w, v * w, gx, gy


@entry
def correction_slopes(table, inputs, out):
    """`correction_row` for rows of inputs (n, 4) into out (n, 6, k + d); inputs that are not finite give zeros."""
    for n in range(inputs.shape[0]):
        finite = True
        for i in range(4):
            finite = finite and not math.isnan(inputs[n, i])
        if finite:
            correction_row(table, inputs[n], 0, out[n])
