"""Where a ground is steepest, and a sentence where it is too steep for a height over x and y."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grouser.terrain.ground import Terrain

TOO_STEEP = 75.0
"""Slope above which a wheel that touches a face is behind it a moment later [°]: its rim is then far below the top."""
_SAMPLES = 200
_ENDLESS = 20.0


class Steepest(NamedTuple):
    """The steepest place that was found."""

    degrees: float
    """Slope there [°]; 90 where the height jumps."""
    x: float
    """World x [m]."""
    y: float
    """World y [m]."""


def steepest(ground: Terrain) -> Steepest:
    """The steepest place of a ground: of ramps, grids and meshes exactly, of a formula on a grid of samples."""
    if ground.kind == "stack":
        return max(map(steepest, ground.children))
    if ground.kind == "moved":
        return _moved(ground, steepest(ground.children[0]))
    if ground.kind in ("plane", "slope"):
        return Steepest(abs(float(ground.settings.get("deg", 0.0))), 0.0, 0.0)
    if ground.kind == "ramp":
        return _ramp(ground)
    if ground.kind == "mesh":
        return _mesh(ground)
    if ground.relief is not None:
        return Steepest(math.degrees(math.atan(ground.relief.slope)), ground.relief.x, ground.relief.y)
    return _sampled(ground)


def steep_warning(ground: Terrain) -> str:
    """A sentence where a ground is steeper than `TOO_STEEP`, else nothing."""
    found = steepest(ground)
    if found.degrees <= TOO_STEEP:
        return ""
    slope = "vertical" if found.degrees >= 89.9 else f"steep by {found.degrees:.0f}°"
    x, y = (f"{round(value, 3):.10g}" for value in (found.x, found.y))  # all digits of coordinates of a map
    return (
        f"the ground is {slope} at (x, y) = ({x}, {y}) m; above {TOO_STEEP:g}°"
        " a wheel's contact with it is approximate: use slopes below that, or short steps"
    )


def _ramp(ground: Terrain) -> Steepest:
    """Its sides, and the drop where it ends or is cut off at its width."""
    x, y, c, s, height, run, top, half, down = ground.par.tolist()
    if not down and math.isfinite(top):
        return Steepest(90.0, x + c * (run + top), y + s * (run + top))
    if math.isfinite(half):
        return Steepest(90.0, x + c * run - s * half, y + s * run + c * half)
    return Steepest(math.degrees(math.atan2(height, run)), x + 0.5 * c * run, y + 0.5 * s * run)


def _moved(ground: Terrain, child: Steepest) -> Steepest:
    s = ground.settings
    side = -child.y if s["mirror"] else child.y
    cosine, sine = math.cos(s["yaw"]), math.sin(s["yaw"])
    return Steepest(child.degrees, s["x"] + cosine * child.x - sine * side, s["y"] + sine * child.x + cosine * side)


def _mesh(ground: Terrain) -> Steepest:
    """Steepest triangle, vertical ones included."""
    corners = np.asarray(ground.settings["vertices"])[np.asarray(ground.settings["faces"])]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    degrees = np.degrees(np.arctan2(np.hypot(normal[:, 0], normal[:, 1]), np.abs(normal[:, 2])))
    i = int(np.argmax(degrees))
    x, y, _ = corners[i].mean(axis=0)
    return Steepest(float(degrees[i]), float(x), float(y))


def _sampled(ground: Terrain) -> Steepest:
    low_x, high_x, low_y, high_y = (
        edge if math.isfinite(edge) else math.copysign(_ENDLESS, edge) for edge in ground.bounds
    )
    x, y = np.meshgrid(np.linspace(low_x, high_x, _SAMPLES), np.linspace(low_y, high_y, _SAMPLES), indexing="ij")
    found = ground.sample(x, y)
    rise = np.where(found.inside, np.hypot(found.gradient[..., 0], found.gradient[..., 1]), 0.0)
    i, j = np.unravel_index(int(np.argmax(rise)), rise.shape)
    return Steepest(math.degrees(math.atan(rise[i, j])), float(x[i, j]), float(y[i, j]))
