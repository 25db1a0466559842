"""A ground given as a formula in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np

from grouser._kernels.terrain.function import own_curvature, own_ground
from grouser.checks import shown
from grouser.errors import TerrainError
from grouser.law import Function, LawParameter, OwnLaw, decorated
from grouser.terrain.ground import EVERYWHERE, Bounds, Terrain, rectangle


class _Formula(OwnLaw):
    kind = "terrain law"
    arguments = ("x", "y")
    returns = "a height, (height, dhdx, dhdy) or (h, h_x, h_y, h_xx, h_xy, h_yy)"
    error = TerrainError

    def __init__(self, function: Function) -> None:
        super().__init__(function)

        def build(evaluate: Any, count: int, jacobian: Any) -> Any:
            self.curved = own_curvature(evaluate, count)
            return own_ground(evaluate, count)

        self.law = self._law(None, (0.0, 0.0), build, {1: (), 3: (), 6: ()}, offset=4)


@dataclass(frozen=True, eq=False, repr=False)
class OwnTerrain(Terrain):
    """A ground made from a Python function by `law`."""

    formula: _Formula | None = None
    """The function, compiled."""

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        """Parameters of the function, by name."""
        return self.formula.parameters if self.formula is not None else ()

    def replace(self, **values: float) -> Self:
        """The same ground with other values of some parameters, each in its unit; nothing is compiled again."""
        assert self.formula is not None
        changed: Self = _ground(self.formula.replace(**values), self.bounds, type(self))
        return changed


@overload
def law(function: Function) -> OwnTerrain: ...
@overload
def law(*, bounds: Bounds = EVERYWHERE) -> Callable[[Function], OwnTerrain]: ...
def law(function: Function | None = None, *, bounds: Bounds = EVERYWHERE) -> Any:
    """Make a ground of a plain Python function; a decorator, with or without arguments.

    function: `f(x, y, *, rise=gr.param(0.1, "m"), …)` of a place [m] returns (height, ∂height/∂x, ∂height/∂y), or the
        height alone [m]: then its slope is found by central differences; or (h, h_x, h_y, h_xx, h_xy, h_yy) with its
        second derivatives, for wheels that roll: otherwise they too are differences. It may use numbers, `math`, NumPy
        and constants from around it; their values are frozen when it is compiled. Where it returns NaN, or raises,
        there is no ground.
    bounds: (xmin, xmax, ymin, ymax) of the map [m]; there is no ground outside.

    It is compiled in this process, by Numba, at once, and can be neither saved nor sent to another process.
    """
    return decorated(lambda f: _ground(_Formula(f), bounds, OwnTerrain), function)


def _ground(formula: _Formula, bounds: Bounds, kind: Any) -> Any:
    return kind(
        kind="function",
        law=formula.law,
        second_law=formula.curved,
        par=np.array([*_limits(bounds), *formula.values]),
        bounds=(bounds[0], bounds[1], bounds[2], bounds[3]),
        description=f"function '{formula.name}' of (x, y)",
        formula=formula,
    )


def _limits(bounds: Any) -> Bounds:
    """The rectangle of a formula; one that does not end has numbers too."""
    if not isinstance(bounds, (tuple, list)):
        raise TerrainError(f"bounds is {shown(bounds)}; it must be (xmin, xmax, ymin, ymax) [m]")
    return rectangle([math.copysign(1e9, value) if value in (-math.inf, math.inf) else value for value in bounds])
