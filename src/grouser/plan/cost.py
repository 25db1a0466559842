"""Costs of a motion: terms with weights and units, and your own.

>>> cost = gr.plan.Cost(gr.plan.Goal(8.0, 3.0), gr.plan.TipMargin(weight=50.0), gr.plan.Speed(1.0, weight=0.5))

Weights of running terms are per second. All terms are evaluated inside the engine, at every step of every rollout.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.plan.cost import OWN_INPUTS, CostArrays, Raster
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.law import BoundLaw, OwnLaw
from grouser.spacing import path_lengths

checked = Checker(PlanError)


class Term:
    """A part of a cost."""

    _entries: ClassVar[dict[str, str | tuple[str, ...]]]

    def __init_subclass__(cls, **entries: str | tuple[str, ...]) -> None:
        """entries: of the engine's `CostArrays`, each with the name of the term's field, or names of several."""
        cls._entries = entries

    def __post_init__(self) -> None:
        for one in dataclasses.fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, one.name)
            if one.metadata.get("array"):
                continue
            check = checked.not_negative if one.metadata.get("positive", True) else checked.number
            object.__setattr__(self, one.name, check(value, f"{type(self).__name__} {one.name}"))

    def arrays(self) -> dict[str, Any]:
        """Fields of the engine's `CostArrays` that it sets."""
        return {
            entry: getattr(self, names) if isinstance(names, str) else [getattr(self, name) for name in names]
            for entry, names in self._entries.items()
        }


def place(default: Any = dataclasses.MISSING) -> Any:
    """A field that may be negative."""
    return field(default=default, metadata={"positive": False})


@dataclass(frozen=True)
class Goal(Term, goal=("weight", "x", "y", "radius")):
    """Distance to a place: half by where a rollout ends, half by its mean along the way."""

    x: float = place()
    """[m]."""
    y: float = place()
    """[m]."""
    weight: float = 1.0
    """Cost of a metre [1/m]."""
    radius: float = 0.0
    """Distance at which it is reached [m]."""


@dataclass(frozen=True)
class Heading(Term, heading=("weight", "yaw")):
    """Yaw at the end; with a goal it counts near it."""

    yaw: float = place()
    """[rad]."""
    weight: float = 1.0
    """Cost of a radian [1/rad]."""


@dataclass(frozen=True, eq=False)
class Path(Term, path_weight=("weight", "aside")):
    """Length of a path that is left to drive, and the distance from it."""

    points: ArrayLike = field(metadata={"array": True})
    """Corners (x, y) [m], shape (n, 2), n ≥ 2."""
    weight: float = 1.0
    """Cost of a metre that is left [1/m]."""
    aside: float = 2.0
    """Cost of a metre off the path, as a ratio to a metre that is left."""

    def __post_init__(self) -> None:
        super().__post_init__()
        points = checked.array(self.points, "Path points", (None, 2))
        if len(points) < 2:
            raise PlanError(f"Path points: are {len(points)}; a path needs at least 2")
        object.__setattr__(self, "points", points)

    def arrays(self) -> dict[str, Any]:
        points = np.asarray(self.points)
        length = path_lengths(points)
        return {**super().arrays(), "path": np.column_stack([points, length])}


@dataclass(frozen=True)
class Speed(Term, speed=("weight", "speed")):
    """Squared difference from a speed along the way; negative is backwards."""

    speed: float = place(1.0)
    """[m/s]."""
    weight: float = 1.0
    """Cost in a second, per (m/s)² [s/m²]."""


@dataclass(frozen=True)
class Time(Term, time="weight"):
    """Time that passes; every rollout that does not end early has the same."""

    weight: float = 1.0
    """Cost of a second [1/s]."""


@dataclass(frozen=True)
class Energy(Term, energy="weight"):
    """Energy of the motors."""

    weight: float = 0.001
    """Cost of a joule [1/J]."""


@dataclass(frozen=True)
class TipMargin(Term, tip=("weight", "margin")):
    """Squared shortfall of the tip margin, the angle the force may turn before a wheel lifts."""

    margin: float = math.radians(15.0)
    """Margin [rad] below which it costs."""
    weight: float = 100.0
    """Cost of a missing rad² in a second [1/(rad² s)]."""


@dataclass(frozen=True)
class Slip(Term, slip=("weight", "limit")):
    """Slip of the wheels along their heading, as a share of the speed of their rims, above a limit."""

    limit: float = 0.2
    """Slip above which it costs, a ratio."""
    weight: float = 2.0
    """Cost of slip 1 in a second [1/s]."""


@dataclass(frozen=True)
class Roughness(Term, roughness="weight"):
    """Squared rate of roll and pitch."""

    weight: float = 0.1
    """Cost in a second, per (rad/s)² [s/rad²]."""


@dataclass(frozen=True)
class Clearance(Term, near=("weight", "distance")):
    """Closeness to keep-outs and to the edge of the map."""

    distance: float = 0.5
    """Free distance around the vehicle [m] below which it costs."""
    weight: float = 5.0
    """Cost of a missing metre in a second [1/(m s)]."""


@dataclass(frozen=True)
class CommandRate(Term, command_rate=("speed", "speed", "turn")):
    """Squared change of the commands."""

    speed: float = 0.05
    """Of forward and sideways speed: cost in a second, per (m/s²)² [s³/m²]."""
    turn: float = 0.05
    """Of the turn rate: cost in a second, per (rad/s²)² [s³/rad²]."""


@dataclass(frozen=True, eq=False)
class Field(Term, field_weight="weight"):
    """A raster of costs to go, such as that of a route."""

    values: ArrayLike = field(metadata={"array": True})
    """Cost from the middle of each cell, shape (nx, ny), finite."""
    x: float = place()
    """Middle of cell (0, 0) [m]."""
    y: float = place()
    """[m]."""
    cell: float = 1.0
    """Side of a cell [m], > 0."""
    weight: float = 1.0
    """Factor of the values."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "values", self.raster.values)

    @property
    def raster(self) -> Raster:
        """As the engine takes it."""
        return raster(self.values, self.x, self.y, checked.positive(self.cell, "Field cell"))


def raster(values: ArrayLike, x: float, y: float, cell: float) -> Raster:
    """Numbers at the middles of cells, the first at (x, y) [m]."""
    numbers = checked.array(values, "values of a raster", (None, None))
    if min(numbers.shape) < 2:
        raise PlanError(f"values of a raster: have shape {numbers.shape}; at least 2 × 2 are needed")
    return Raster(values=numbers, x=x, y=y, per_metre=1.0 / cell)


NO_RASTER = Raster(values=np.zeros((0, 0)), x=0.0, y=0.0, per_metre=0.0)


class OwnCost(OwnLaw):
    """A cost term made from a Python function by `cost`."""

    kind = "cost law"
    arguments = ("motion",)
    returns = "one number, the cost in a second"
    error = PlanError

    @cached_property
    def bound(self) -> BoundLaw:
        """The law for the engine; valid while this term is alive."""
        from grouser._kernels.own_law import own_law

        example = np.zeros(OWN_INPUTS)
        law = self._law(None, (example,), partial(own_law, inputs=OWN_INPUTS, outputs=1), {1: ()})
        return BoundLaw(law.address, np.array([*self.values, 0.0]), law)

    def replace(self, **values: float) -> OwnCost:
        """The same term with other parameters."""
        changed = super().replace(**values)
        changed.__dict__.pop("bound", None)
        return changed


def cost(function: Callable[..., Any]) -> OwnCost:
    """Make a cost term of a plain Python function, compiled by Numba.

    function: `f(motion, *, weight=gr.param(1.0))` returns the cost in a second. motion is an array of 20 numbers: time
        [s]; x, y, z [m]; roll, pitch, yaw [rad]; angular velocity (3) [rad/s] and velocity (3) [m/s] in body axes; tip
        margin [rad]; slip; power [W]; command forward, left [m/s], turn [rad/s]; step [s].
    """
    return OwnCost(function)


class Cost:
    """A sum of terms, each at most once; your own as many as you like."""

    def __init__(self, *terms: Term | OwnCost, failure: float = 1000.0) -> None:
        """terms: the parts. failure: cost of a rollout that ends early, up to twice that if it does so at once."""
        self.terms = terms
        """The parts."""
        self.failure = checked.not_negative(failure, "failure")
        """Cost of a rollout that ends early."""
        kinds: list[type] = []
        for one in terms:
            if not isinstance(one, (Term, OwnCost)):
                raise PlanError(
                    f"cost: {one!r:.60} is not a term; use gr.plan.Goal(x, y) or a function with @gr.plan.cost"
                )
            if isinstance(one, Term) and type(one) in kinds:
                raise PlanError(f"cost: has two terms {type(one).__name__}; give one, with the sum of their weights")
            kinds.append(type(one))

    @property
    def goal(self) -> Goal | None:
        """The term of the goal, if there is one."""
        return next((one for one in self.terms if isinstance(one, Goal)), None)

    def replace(self, *terms: Term | OwnCost) -> Cost:
        """The same cost with some terms in place of those of their kind, or added."""
        kinds = {type(one) for one in terms}
        return Cost(*(one for one in self.terms if type(one) not in kinds), *terms, failure=self.failure)

    @cached_property
    def arrays(self) -> CostArrays:
        """The terms for the engine; valid while this cost is alive."""
        made: CostArrays = CostArrays.zeros(corners=0, terms=0, time=0.0, energy=0.0, roughness=0.0, field_weight=0.0)
        for one in self.terms:
            if isinstance(one, Term):
                made.repoint(**one.arrays())
        own = [one.bound.pair for one in self.terms if isinstance(one, OwnCost)]
        made.repoint(own=np.array(own, dtype=np.int64).reshape(-1, 2))
        return made

    @cached_property
    def field(self) -> Raster:
        """The raster of costs to go; empty if there is none."""
        return next((one.raster for one in self.terms if isinstance(one, Field)), NO_RASTER)

    def __repr__(self) -> str:
        return f"Cost({', '.join(map(repr, self.terms))})"


def offsets(corners: FloatArray, point: FloatArray) -> FloatArray:
    """From the nearest place of each segment of a path (m, 2) to a point (2,), (m − 1, 2) [m]."""
    a, d = corners[:-1], np.diff(corners, axis=0)
    part = np.clip(np.sum((point - a) * d, axis=1) / np.maximum(np.sum(d * d, axis=1), 1e-12), 0.0, 1.0)
    return np.asarray(point - a - part[:, None] * d)


def segment_near(path: FloatArray, start: int, x: float, y: float) -> int:
    """Segment of a path (n, 3) of `CostArrays` that a vehicle at (x, y) [m] is near, from the last one on.

    As `path_left` of the engine finds it: a path that comes back to its start is not begun again.
    """
    first = max(start - 2, 0)
    if first > len(path) - 2:
        return 0
    away = np.hypot(*offsets(path[first:, :2], np.array([x, y])).T)
    best = np.minimum.accumulate(away)
    ahead = path[first:-1, 2] - path[min(start + 1, len(path) - 1), 2]
    beyond = np.flatnonzero(ahead[1:] > 3.0 + best[:-1])
    beyond = beyond[beyond + 1 > start - first]
    return first + int(np.argmin(away[: beyond[0] + 1] if len(beyond) else away))


def finite(values: FloatArray) -> None:
    """Refuse costs that are not numbers, as a user's own term may give."""
    if not np.isfinite(values).any():
        what = "NaN" if np.isnan(values).all() else "not finite"
        raise PlanError(
            f"cost: is {what} for every rollout; a term of your own divides by zero or takes a root below zero"
        )
