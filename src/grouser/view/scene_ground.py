"""The ground of a scene: heights on a grid around what is drawn, and how far apart its contours are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.terrain import Terrain
from grouser.view import scene_arrays
from grouser.view.topview import Box

NODES = 70_000
"""Heights of one ground; a browser draws them in a millisecond."""
CONTOURS = 12
"""How many contours a ground has, roughly."""


def scene_ground(ground: Terrain, box: Box, origin: FloatArray) -> dict[str, Any] | None:
    """Heights over a box [m], relative to the origin; None where the map covers none of it."""
    xmin, xmax, ymin, ymax = _clipped(box, ground.bounds)
    if not (xmax > xmin and ymax > ymin):
        return None
    spacing = math.sqrt((xmax - xmin) * (ymax - ymin) / NODES)
    nx, ny = (max(2, min(int((high - low) / spacing) + 1, NODES // 2)) for low, high in ((xmin, xmax), (ymin, ymax)))
    x, y = np.linspace(xmin, xmax, nx), np.linspace(ymin, ymax, ny)
    sample = ground.sample(x[None, :], y[:, None])
    inside = sample.inside
    if not inside.any():
        return None
    low, high = float(sample.height[inside].min()), float(sample.height[inside].max())
    height = np.where(inside, sample.height, low)
    return {
        "description": ground.description or ground.kind,
        "x": [xmin - float(origin[0]), xmax - float(origin[0])],
        "y": [ymin - float(origin[1]), ymax - float(origin[1])],
        "z": [low - float(origin[2]), high - float(origin[2])],
        "above": low,
        "height": scene_arrays.between(height, low, high),
        "inside": None if inside.all() else scene_arrays.yes_or_no(inside),
        "contour": round_step((high - low) / CONTOURS) if high - low > 1e-4 else None,
        "grid": round_step(max(xmax - xmin, ymax - ymin) / 20.0),
    }


def same_ground(a: Terrain, b: Terrain) -> bool:
    """Whether two grounds are made alike; of what cannot be told, no."""
    if a is b:
        return True
    if a.kind != b.kind or a.law is not b.law or a.settings.keys() != b.settings.keys():
        return False
    if not a.settings and not a.children:
        return np.array_equal(a.par, b.par)
    if len(a.children) != len(b.children):
        return False
    alike = all(np.array_equal(a.settings[key], b.settings[key]) for key in a.settings)
    return alike and all(same_ground(c, d) for c, d in zip(a.children, b.children, strict=True))


def round_step(wanted: float) -> float:
    """The number of 1, 2 or 5 times a power of ten that is nearest above."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(float(f"{k * power:.1g}") for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted * (1.0 - 1e-9))


def _clipped(box: Box, bounds: Box) -> Box:
    return max(box[0], bounds[0]), min(box[1], bounds[1]), max(box[2], bounds[2]), min(box[3], bounds[3])
