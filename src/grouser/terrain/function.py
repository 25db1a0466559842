"""A ground given as a formula in Python."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from grouser._kernels.terrain import curvature as terrain_curvature
from grouser._kernels.terrain.function import formula_law
from grouser.checks import shown
from grouser.errors import TerrainError
from grouser.terrain.ground import EVERYWHERE, Bounds, Terrain, checked

Formula = Callable[[float, float], Any]


def function(formula: Formula, *, bounds: Bounds = EVERYWHERE) -> Terrain:
    """Compile a plain Python function of (x, y) [m] into a ground; usable as a decorator.

    formula: returns (height, ∂height/∂x, ∂height/∂y), or the height alone [m]: then its slope is found
        by central differences; or (h, h_x, h_y, h_xx, h_xy, h_yy) with its second derivatives, for wheels that
        roll: otherwise they too are differences. It may use numbers, `math`, NumPy and constants from around
        it; their values are frozen when it is compiled. Where it returns NaN, or raises, there is no ground.
    bounds: (xmin, xmax, ymin, ymax) of the map [m]; there is no ground outside.

    It is compiled in this process, by Numba, at once, and can be neither saved nor sent to another process.
    """
    name = getattr(formula, "__name__", type(formula).__name__)
    if not callable(formula):
        raise TerrainError(f"terrain function is a {name}; it must be a Python function of (x, y)")
    limits = _limits(bounds)
    try:
        compiled, returns = terrain_curvature.compile_formula(formula)
        slope_only = terrain_curvature.without_second_derivatives(compiled) if returns == 6 else compiled
        law, returned = formula_law(slope_only)
    except Exception as error:  # Numba raises more than its own errors
        raise TerrainError(f"terrain function '{name}' does not compile: {_reason(error)}") from None
    if law is None:
        raise TerrainError(
            f"terrain function '{name}' returns {returned}; it must return a height, (height, dhdx, dhdy) "
            "or (h, h_x, h_y, h_xx, h_xy, h_yy)"
        )
    return Terrain(
        kind="function",
        law=law,
        second_law=terrain_curvature.formula_law(compiled, returns),
        par=np.array(limits),
        bounds=(bounds[0], bounds[1], bounds[2], bounds[3]),
        description=f"function '{name}' of (x, y)",
    )


def _limits(bounds: Any) -> Bounds:
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 4:
        raise TerrainError(f"bounds is {shown(bounds)}; it must be (xmin, xmax, ymin, ymax) [m]")
    names = ("xmin", "xmax", "ymin", "ymax")
    clipped = (value if value not in (-math.inf, math.inf) else math.copysign(1e9, value) for value in bounds)
    xmin, xmax, ymin, ymax = (checked.number(v, f"bounds {name}") for v, name in zip(clipped, names, strict=True))
    if not (xmin < xmax and ymin < ymax):
        raise TerrainError(f"bounds is {shown(bounds)}; xmin must be below xmax and ymin below ymax")
    return xmin, xmax, ymin, ymax


def _reason(error: Exception) -> str:
    """The one line of a Numba message that says what is wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "-", "During:", "- "))]
    return (telling or lines or [type(error).__name__])[0].rstrip(".")
