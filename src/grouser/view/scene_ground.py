"""The ground of a scene: heights on a grid around what is drawn, and how far apart its contours are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.terrain.ground import GroundSample, Terrain
from grouser.view import arrays

Box = tuple[float, float, float, float]
"""xmin, xmax, ymin, ymax [m]."""
NODES = 70_000
"""Heights of one ground; a browser draws them in a millisecond."""
CONTOURS = 12
"""How many contours a ground has, roughly."""


def surroundings(points: Iterable[FloatArray], *, margin: float = 0.06, narrowest: float = 0.0) -> Box:
    """A box around arrays of points (..., 2 or 3), with a margin; its sides are at least `narrowest` of the longer."""
    xy = np.concatenate([p[..., :2].reshape(-1, 2) for p in points])
    low, high = xy.min(axis=0), xy.max(axis=0)
    longest = max(float((high - low).max()), 0.5)
    half = np.maximum(0.5 * (high - low), 0.5 * narrowest * longest) + margin * longest
    middle = 0.5 * (low + high)
    (xmin, ymin), (xmax, ymax) = middle - half, middle + half
    return float(xmin), float(xmax), float(ymin), float(ymax)


class Patch(NamedTuple):
    """Ground on a grid over a box."""

    x: FloatArray
    """[m], (nx,)."""
    y: FloatArray
    """[m], (ny,)."""
    sample: GroundSample
    """Rows along y, (ny, nx)."""


def sample_patch(ground: Terrain, box: Box, nodes: int) -> Patch | None:
    """About `most` heights over a box [m], cut to the map; None where the map covers none of it."""
    xmin, xmax = max(box[0], ground.bounds[0]), min(box[1], ground.bounds[1])
    ymin, ymax = max(box[2], ground.bounds[2]), min(box[3], ground.bounds[3])
    if not (xmax > xmin and ymax > ymin):
        return None
    spacing = math.sqrt((xmax - xmin) * (ymax - ymin) / nodes)
    nx, ny = (max(2, min(int(side / spacing) + 1, nodes // 2)) for side in (xmax - xmin, ymax - ymin))
    x, y = np.linspace(xmin, xmax, nx), np.linspace(ymin, ymax, ny)
    sample = ground.sample(x[None, :], y[:, None])
    return Patch(x, y, sample) if sample.inside.any() else None


def scene_ground(ground: Terrain, box: Box, origin: FloatArray) -> dict[str, Any] | None:
    """Heights over a box [m], relative to the origin; None where the map covers none of it."""
    patch = sample_patch(ground, box, NODES)
    if patch is None:
        return None
    x, y, sample = patch
    inside = sample.inside
    low, high = float(sample.height[inside].min()), float(sample.height[inside].max())
    height = np.where(inside, sample.height, low)
    return {
        "description": ground.description or ground.kind,
        "x": [float(end - origin[0]) for end in (x[0], x[-1])],
        "y": [float(end - origin[1]) for end in (y[0], y[-1])],
        "z": [low - float(origin[2]), high - float(origin[2])],
        "above": low,
        "height": arrays.between(height, low, high),
        "inside": None if inside.all() else arrays.yes_or_no(inside),
        "contour": round_step((high - low) / CONTOURS) if high - low > 1e-4 else None,
        "grid": round_step(float(max(np.ptp(x), np.ptp(y))) / 20.0),
    }


def same_ground(a: Terrain, b: Terrain) -> bool:
    """Whether two grounds are known to be equal."""
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
