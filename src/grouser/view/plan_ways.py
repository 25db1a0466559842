"""The ways of a plan as pictures and pages show them: names, costs, colours, borders of keep-outs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grouser.checks import FloatArray
from grouser.plan.planned import Plan
from grouser.view import colours
from grouser.view.scene_ground import Box

SHOWN = 5
"""Refused ways that have a line of their own; more share one."""
COLOURS = {"energy": colours.GREEN, "time": colours.ORANGE, "risk": colours.PURPLE}
"""Of alternatives, by what they are best for."""
SAME = 0.5
"""Two ways nowhere farther apart than this are one [m]."""


@dataclass(frozen=True)
class Way:
    """A line to draw."""

    name: str
    """What it is."""
    detail: str
    """What it costs, or why it is refused."""
    path: FloatArray
    """x, y [m], (n, 2)."""
    colour: str
    """#RRGGBB."""


def costs(distance: float, duration: float, energy: float) -> str:
    """What a way costs, for people."""
    return f"{distance:.1f} m, {duration:.0f} s, {energy:.0f} J"


def routes(plan: Plan) -> list[Way]:
    """The route, if there is one, and ways that are best for something else; ways that are the same are one line."""
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
    """Ways that do not pass, each up to where it fails; those beyond some share the last line's words."""
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
    """Whether two paths are nowhere farther apart than a little, compared at equal shares of their rows."""
    if not (len(a) and len(b)):
        return False
    rows = np.linspace(0.0, 1.0, 50)
    ends = [one[(rows * (len(one) - 1)).astype(int)] for one in (a, b)]
    return bool(np.linalg.norm(ends[0] - ends[1], axis=1).max() < SAME)
