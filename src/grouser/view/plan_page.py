"""Page of a plan: the drive in 3D with route, ellipses, samples of the controller and refused paths."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from grouser.checks import FloatArray
from grouser.plan.planned import Plan
from grouser.spacing import evenly
from grouser.view import colours
from grouser.view.arrays import half_axes
from grouser.view.page import view_runs
from grouser.view.scene import Lines
from grouser.view.scene_ground import Box, surroundings

ELLIPSES = 24
"""Ellipses along the drive."""
CIRCLE = np.column_stack([trig(np.linspace(0.0, 2.0 * np.pi, 33)) for trig in (np.cos, np.sin)])
"""Points of the unit circle, (33, 2)."""
SHOWN = 5
"""Refused paths that have a line of their own; more share one."""
COLOURS = {"energy": colours.GREEN, "time": colours.ORANGE, "risk": colours.PURPLE}
"""Colours of alternatives, by the cost that they minimise."""
SAME = 0.5
"""Paths nowhere farther apart than this are drawn as one [m]."""


@dataclass(frozen=True)
class Way:
    """A path to draw."""

    name: str
    """Name in the legend."""
    detail: str
    """Its cost, or why it is refused."""
    path: FloatArray
    """x, y [m], (n, 2)."""
    colour: str
    """#RRGGBB."""


def costs(distance: float, duration: float, energy: float) -> str:
    """Cost of a path: distance [m], duration [s], energy [J]."""
    return f"{distance:.1f} m, {duration:.0f} s, {energy:.0f} J"


def routes(plan: Plan) -> list[Way]:
    """The route, if there is one, and alternatives of least time, energy or risk; equal paths are one line."""
    found: list[tuple[Way, FloatArray]] = []
    known = [plan.route] if len(plan.route.path) > 1 else []
    for one in (*known, *plan.route.alternatives):
        driven = np.asarray(one.driven)[:, 4:6]
        twin = next((i for i, (_, other) in enumerate(found) if _same(driven, other)), None)
        if twin is not None:
            way = found[twin][0]
            name = f"{way.name.replace(' and ', ', ')} and {one.minimise}"
            found[twin] = (replace(way, name=name), driven)
            continue
        words = costs(one.distance, one.duration, one.energy)
        if one is plan.route:
            way = Way(f"route of least {one.minimise}", words, one.path[:, :2], colours.SKY)
        else:
            way = Way(f"least {one.minimise}", words, driven, COLOURS[one.minimise])
        found.append((way, driven))
    return [way for way, _ in found]


def refused(plan: Plan) -> list[Way]:
    """Paths that fail, each up to the failure; the last line stands for all further ones."""
    ways = [Way(one.what, one.reason, one.path, colours.VERMILLION) for one in plan.refused]
    if len(ways) > SHOWN:
        more = len(ways) - SHOWN + 1
        last = ways[SHOWN - 1]
        ways = [*ways[: SHOWN - 1], Way(f"{more} more ways", f"the first {last.detail}", last.path, last.colour)]
    return ways


def borders(plan: Plan, box: Box) -> list[FloatArray]:
    """Borders of the keep-outs within a box [m], (n, 2) each."""
    from contourpy import contour_generator

    keep = plan.keep_out
    if keep is None:
        return []
    (nx, ny), (xmin, xmax, ymin, ymax) = keep.mask.shape, box
    x, y = keep.x + keep.cell * np.arange(nx), keep.y + keep.cell * np.arange(ny)
    i, j = np.flatnonzero((x >= xmin) & (x <= xmax)), np.flatnonzero((y >= ymin) & (y <= ymax))
    if len(i) < 2 or len(j) < 2:
        return []
    part = keep.distance[i[0] : i[-1] + 1, j[0] : j[-1] + 1]
    lines = contour_generator(x[i], y[j], part.T).lines(0.0)
    return [np.asarray(line, dtype=np.float64) for line in lines if len(line) > 1]


def _same(a: FloatArray, b: FloatArray) -> bool:
    """Whether two paths are nowhere farther apart than `SAME`, compared at equal shares of their rows."""
    if not (len(a) and len(b)):
        return False
    rows = np.linspace(0.0, 1.0, 50)
    ends = [one[(rows * (len(one) - 1)).astype(int)] for one in (a, b)]
    return bool(np.linalg.norm(ends[0] - ends[1], axis=1).max() < SAME)


def view_plan(plan: Plan, path: str | os.PathLike[str], *, title: str = "") -> Path:
    """Write the page; returns its path."""
    lines = [_goal(plan)]
    ways = [plan.drive.state[:, 4:6], *(way.path for way in (*routes(plan), *refused(plan)))]
    for way in routes(plan):
        lines.append(Lines([way.path], way.name, way.colour, detail=way.detail))
    for way in refused(plan):
        if len(way.path) > 1:
            lines.append(Lines([way.path], f"refused: {way.name}", way.colour, detail=way.detail, dash=0.5))
    fans = [one for fan in plan.drive.fans for one in fan]
    if fans:
        words = f"at {len(plan.drive.fans)} places, {len(fans)} in all"
        lines.append(Lines(fans, "samples of the controller", colours.SLATE, detail=words, width=1.0, opacity=0.35))
    lines += _ellipses(plan)
    kept = borders(plan, surroundings([way for way in ways if len(way)], margin=0.2))
    if kept:
        lines.append(Lines(kept, "keep-outs", colours.VERMILLION, width=2.5))
    said = [title] if title else [plan.run.vehicle.name]
    said.append(costs(plan.distance, float(plan.drive.time[-1]), float(plan.drive.energy.sum())))
    if plan.spread is not None:
        said.append(f"chance of failure {100.0 * plan.risk:.2g} %")
    if not plan.reached:
        said.append("goal not reached")
    return view_runs(plan.run, path, lines=lines, title=" · ".join(said))


def _ellipses(plan: Plan) -> list[Lines]:
    """95 % ellipses of the position along the drive, over sampled models."""
    found = []
    ways = (plan.spread, "steered along the plan", colours.INK), (plan.blind, "without feedback", colours.PURPLE)
    for spread, name, colour in ways:
        if spread is not None:
            rows = evenly(len(plan.drive.time), ELLIPSES)[1:]  # all start at one place
            rings = spread.mean[rows, None, :2] + CIRCLE @ half_axes(spread.covariance[rows, :2, :2]).swapaxes(1, 2)
            found.append(Lines(list(rings), name, colour, detail=f"{len(rings)} ellipses of 95 %", width=2.0))
    return found


def _goal(plan: Plan) -> Lines:
    """Circle within which the goal counts as reached."""
    ring = plan.goal[:2] + plan.goal_radius * CIRCLE
    return Lines([ring], "goal", colours.GREEN, detail=f"reached at {plan.goal_radius:g} m")
