"""Ground laws around a user's own formula. par = (xmin, xmax, ymin, ymax); there is no ground outside."""

import math
from typing import Any

import numba
from numba import types

from grouser._compile.jit import FLAGS
from grouser._kernels.law import Law


def formula_law(formula: Any) -> tuple[Law | None, Any]:
    """The law of a Python function of (x, y), or None if what it returns is no ground; and what it returns.

    Raises whatever Numba raises when the function does not compile.
    """
    compiled = formula if hasattr(formula, "py_func") else numba.njit(**FLAGS)(formula)
    pair = (types.float64, types.float64)
    compiled.compile(pair)
    returned = compiled.overloads[pair].signature.return_type
    real = (types.Float, types.Integer)
    if isinstance(returned, real):
        law = Law(_differenced(compiled), cached=False)
    elif isinstance(returned, types.BaseTuple) and len(returned) == 3 and all(isinstance(t, real) for t in returned):
        law = Law(_with_slope(compiled), cached=False)
    else:
        return None, returned
    _ = law.address
    return law, returned


def _with_slope(compiled):
    def law(par, x, out, jac):
        out[0] = math.nan
        if not (x[0] >= par[0] and x[0] <= par[1] and x[1] >= par[2] and x[1] <= par[3]):
            return
        height, slope_x, slope_y = compiled(x[0], x[1])
        # compared: math.isfinite(x) is x − x, which the compiler's flags let it fold to zero for a sum
        if abs(height) < math.inf and abs(slope_x) < math.inf and abs(slope_y) < math.inf:
            out[0] = height
            out[1] = slope_x
            out[2] = slope_y

    return law


def _differenced(compiled):
    def law(par, x, out, jac):
        out[0] = math.nan
        px = x[0]
        py = x[1]
        if not (px >= par[0] and px <= par[1] and py >= par[2] and py <= par[3]):
            return
        height = float(compiled(px, py))
        if not abs(height) < math.inf:
            return
        # Far from the origin x itself is coarser, so the step grows with it.
        dx = 1e-5 * math.sqrt(1.0 + abs(px))
        dy = 1e-5 * math.sqrt(1.0 + abs(py))
        slope_x = _difference(float(compiled(px - dx, py)), height, float(compiled(px + dx, py)), dx)
        slope_y = _difference(float(compiled(px, py - dy)), height, float(compiled(px, py + dy)), dy)
        out[0] = height
        out[1] = slope_x
        out[2] = slope_y

    return law


@numba.njit(**FLAGS)
def _difference(before, middle, after, step):
    """Central difference, one-sided where the formula ends."""
    if abs(before) < math.inf and abs(after) < math.inf:
        return (after - before) / (2.0 * step)
    if abs(after) < math.inf:
        return (after - middle) / step
    if abs(before) < math.inf:
        return (middle - before) / step
    return 0.0
