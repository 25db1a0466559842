"""Start and goal of a plan: where they are, and whether the vehicle can stand there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.plan.keep_out import KeepOut
from grouser.terrain import Terrain

checked = Checker(PlanError)
AROUND = np.exp(2j * math.pi * np.arange(8) / 8)
"""Directions in which the ground around a place is looked at."""
MARGIN = 10.0
"""Of a search around start and goal where the ground has no edge, at least [m]; else half their distance."""


def ends(start: ArrayLike, goal: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """x, y [m], yaw [rad] of start and goal, (3,) each. Without a yaw a start looks to the goal; a goal has NaN."""
    found = []
    for name, value in (("start", start), ("goal", goal)):
        numbers = checked.real(value, name)
        if numbers.shape not in ((2,), (3,)) or not np.isfinite(numbers).all():
            raise PlanError(f"{name}: {numbers.tolist()} is not (x, y) or (x, y, yaw)")
        found.append(np.append(numbers, math.nan)[:3])
    first, last = found
    if math.isnan(first[2]):
        first[2] = math.atan2(last[1] - first[1], last[0] - first[0])
    return first, last


def window(
    ground: Terrain, first: Sequence[float] | FloatArray, last: Sequence[float] | FloatArray
) -> tuple[float, float, float, float]:
    """What a search looks at, xmin, xmax, ymin, ymax [m]: the map; on a side without edge, some way around the ends."""
    margin = max(MARGIN, 0.5 * math.hypot(last[0] - first[0], last[1] - first[1]))
    xs, ys = sorted((first[0], last[0])), sorted((first[1], last[1]))
    around = (xs[0] - margin, xs[1] + margin, ys[0] - margin, ys[1] + margin)
    xmin, xmax, ymin, ymax = (
        edge if math.isfinite(edge) else own for edge, own in zip(ground.bounds, around, strict=True)
    )
    return xmin, xmax, ymin, ymax


def check_on_map(ground: Terrain, x: float, y: float, here: str) -> None:
    """Refuse a place off the map or in a hole of it."""
    if bool(ground.contains(x, y)):
        return
    xmin, xmax, ymin, ymax = ground.bounds
    if xmin <= x <= xmax and ymin <= y <= ymax:
        raise PlanError(f"{here} lies in a hole of the map, where it has no heights")
    where = f"x {xmin:.10g} to {xmax:.10g} m, y {ymin:.10g} to {ymax:.10g} m"
    raise PlanError(f"{here} is off the map, which lies within {where}")


def check_ends(
    first: FloatArray, last: FloatArray, ground: Terrain, keep_out: KeepOut | None, reach: float, reached: float
) -> None:
    """Refuse a start and a goal where a vehicle that needs `reach` [m] around it cannot stand, or that are one place.

    reached: distance at which the goal is reached [m].
    """
    xmin, xmax, ymin, ymax = ground.bounds
    for name, (x, y, _) in (("start", first), ("goal", last)):
        here = f"{name} ({x:.10g}, {y:.10g}) m"
        check_on_map(ground, x, y, here)
        room = min(x - xmin, xmax - x, y - ymin, ymax - y)
        if room < reach:
            raise PlanError(f"{here} is {room:.2g} m from the edge of the map; the vehicle needs {reach:.2g} m")
        if not ground.contains(x + reach * AROUND.real, y + reach * AROUND.imag).all():
            raise PlanError(f"{here} is too near to a hole of the map; the vehicle needs {reach:.2g} m around it")
        free = math.inf if keep_out is None else keep_out.clearance(x, y)
        if free < reach:
            where = "in a keep-out" if free < 0.0 else f"{free:.2g} m from a keep-out; the vehicle needs {reach:.2g} m"
            raise PlanError(f"{here} is {where}")
    apart = float(np.hypot(*(last - first)[:2]))
    if apart <= reached:
        words = f"start and goal are {apart:.2g} m apart, and the goal is reached at {reached:g} m: no drive"
        raise PlanError(f"{words}; to turn there use gr.plan.reach")
