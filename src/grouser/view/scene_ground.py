"""The ground of a scene: heights on a grid around what is drawn, and how far apart its contours are."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.terrain.ground import GroundSample, Terrain
from grouser.view import arrays

Box = tuple[float, float, float, float]
"""xmin, xmax, ymin, ymax [m]."""
NODES = 70_000
"""Heights of one ground; a browser draws them in a millisecond."""
CONTOURS = 12
"""Approximate number of contours of a ground."""


def surroundings(points: Iterable[FloatArray], *, margin: float = 0.06) -> Box:
    """A box around arrays of points (..., 2 or 3), with a margin in shares of its longer side."""
    xy = np.concatenate([p[..., :2].reshape(-1, 2) for p in points])
    low, high = xy.min(axis=0), xy.max(axis=0)
    half = 0.5 * (high - low) + margin * max(float((high - low).max()), 0.5)
    middle = 0.5 * (low + high)
    (xmin, ymin), (xmax, ymax) = middle - half, middle + half
    return float(xmin), float(xmax), float(ymin), float(ymax)


def pixel_centres(box: Box, nodes: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """x (nx,) and y (ny,) [m] of the middles of pixels of a box."""
    (nx, ny), (xmin, xmax, ymin, ymax) = nodes, box
    return xmin + (xmax - xmin) * (np.arange(nx) + 0.5) / nx, ymin + (ymax - ymin) * (np.arange(ny) + 0.5) / ny


def sample_patch(ground: Terrain, box: Box, nodes: int) -> tuple[FloatArray, FloatArray, GroundSample] | None:
    """x (nx,), y (ny,) and about `nodes` samples (ny, nx) over a box [m] cut to the map; None where it covers none."""
    xmin, xmax = max(box[0], ground.bounds[0]), min(box[1], ground.bounds[1])
    ymin, ymax = max(box[2], ground.bounds[2]), min(box[3], ground.bounds[3])
    if not (xmax > xmin and ymax > ymin):
        return None
    spacing = math.sqrt((xmax - xmin) * (ymax - ymin) / nodes)
    nx, ny = (max(2, min(int(side / spacing) + 1, nodes // 2)) for side in (xmax - xmin, ymax - ymin))
    x, y = np.linspace(xmin, xmax, nx), np.linspace(ymin, ymax, ny)
    sample = ground.sample(x[None, :], y[:, None])
    return (x, y, sample) if sample.inside.any() else None


def scene_ground(ground: Terrain, box: Box, origin: FloatArray) -> dict[str, Any] | None:
    """Heights over a box [m], relative to the origin; None where the map covers none of it."""
    patch = sample_patch(ground, box, NODES)
    if patch is None:
        return None
    x, y, sample = patch
    inside = sample.inside
    low, high = float(sample.height[inside].min()), float(sample.height[inside].max())
    levels = np.rint((np.where(inside, sample.height, low) - low) * (65535.0 / max(high - low, 1e-12)))
    return {
        "description": ground.description or ground.kind,
        "x": [float(end - origin[0]) for end in (x[0], x[-1])],
        "y": [float(end - origin[1]) for end in (y[0], y[-1])],
        "z": [low - float(origin[2]), high - float(origin[2])],
        "above": low,
        "height": arrays.encoded(levels, "u2"),  # to 8 µm of each metre of relief
        "inside": None if inside.all() else arrays.encoded(inside, "u1"),
        "contour": round_step((high - low) / CONTOURS) if high - low > 1e-4 else None,
        "grid": round_step(float(max(np.ptp(x), np.ptp(y))) / 20.0),
        "soil": _soils(ground, x, y),
    }


def _soils(ground: Terrain, x: FloatArray, y: FloatArray) -> dict[str, Any] | None:
    """Soil at each height, as a number in the list of names; 0 where the model uses its own law."""
    if ground.soils is None:
        return None
    kinds = [soil.kind for soil in ground.soils.soils]
    number = np.zeros(max(kinds, default=0) + 2)
    number[kinds] = 1.0 + np.arange(len(kinds))  # class −1, the model's own, is the last entry
    names = ["the model's own", *(soil.name for soil in ground.soils.soils)]
    return {"names": names, "at": arrays.encoded(number[ground.soil(x[None, :], y[:, None])], "u1")}


def same_ground(a: Terrain, b: Terrain) -> bool:
    """Whether two grounds are known to be equal."""
    if a is b:
        return True
    known, other = ((one.kind, id(one.law), one.settings.keys(), len(one.children)) for one in (a, b))
    if known != other:
        return False
    if not a.settings and not a.children:
        return np.array_equal(a.par, b.par)
    alike = all(np.array_equal(a.settings[key], b.settings[key]) for key in a.settings)
    return alike and all(same_ground(c, d) for c, d in zip(a.children, b.children, strict=True))


def round_step(wanted: float) -> float:
    """The number of 1, 2 or 5 times a power of ten that is nearest above."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(float(f"{k * power:.1g}") for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted * (1.0 - 1e-9))
