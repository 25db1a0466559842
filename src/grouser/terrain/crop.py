"""Parts of grounds: a rectangle of a map, and a map of fewer nodes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from grouser.errors import TerrainError
from grouser.terrain.grid import grid, spline
from grouser.terrain.ground import Bounds, Terrain, checked
from grouser.terrain.mesh import mesh
from grouser.terrain.shapes import moved, stack
from grouser.terrain.soil_raster import SoilRaster
from grouser.terrain.soils import rebuilt_soils
from grouser.terrain.source import Source, covers
from grouser.terrain.window import means, nodes

AROUND = {"grid": 1, "spline": 40}
"""Nodes kept on each side of a rectangle, so that the surface in it stays as it is: slopes of a grid need one; a node
moves a spline by 0.27 of what it moves it one node before, 1e-23 in the end."""


def cropped(ground: Terrain, bounds: Bounds) -> Terrain:
    """The part of a ground that covers a rectangle (xmin, xmax, ymin, ymax) [m], the same there; it may be a bit more.

    `Terrain.source` of the part says how large the whole is. A plane, a ramp or a formula stays whole.
    """
    if _within(ground.bounds, bounds):
        return ground
    found = _cropped(ground, bounds)
    if found is None:
        raise TerrainError(f"nothing of the map is within {covers(bounds)}; it covers {covers(ground.bounds)}")
    return found


def _cropped(ground: Terrain, bounds: Bounds) -> Terrain | None:
    """The part; None if there is none."""
    if _within(ground.bounds, bounds):
        return ground
    if not _meets(ground.bounds, bounds):
        return None
    kind, s = ground.kind, ground.settings
    if kind in AROUND:
        return _grid(ground, bounds)
    if kind == "mesh":
        return _mesh(ground, bounds)
    if kind == "moved":
        child = _cropped(ground.children[0], _seen(bounds, s))
        return None if child is None else replace(moved(child, **s), description=ground.description)
    if kind == "stack":
        parts = [part for part in (_cropped(child, bounds) for child in ground.children) if part is not None]
        return stack(*parts, description=ground.description) if parts else None
    if kind == "soils":
        child = _cropped(ground.children[0], bounds)
        if child is None:
            return None
        raster = _raster(ground, bounds)
        place = {"classes": raster.classes, "origin": raster.origin}
        return rebuilt_soils(child, **{**s, **place}, description=ground.description)
    return ground


def _within(inner: Bounds, outer: Bounds) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer[2] <= inner[2] and inner[3] <= outer[3]


def _meets(a: Bounds, b: Bounds) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _grid(ground: Terrain, bounds: Bounds) -> Terrain | None:
    s = ground.settings
    x, y, heights = np.asarray(s["x"]), np.asarray(s["y"]), np.asarray(s["heights"])
    i, j = (nodes(axis, *ends, AROUND[ground.kind]) for axis, ends in ((x, bounds[:2]), (y, bounds[2:])))
    part = heights[i, j]
    if np.isnan(part).all():
        return None
    if part.shape == heights.shape:
        return ground
    # Coordinates of the same bits: a linspace between others would round otherwise.
    if ground.kind == "spline":
        made = spline(np.ascontiguousarray(part), x[i], y[j], description=_part_of(ground))
    else:
        made = grid(part, x[i], y[j], interpolation=s["interpolation"], description=_part_of(ground))
    source = ground.source or Source()
    return replace(made, source=replace(source, whole=source.whole or ground.bounds))


def _part_of(ground: Terrain) -> str:
    return ground.description if ground.description.startswith("part of ") else f"part of {ground.description}"


def _mesh(ground: Terrain, bounds: Bounds) -> Terrain | None:
    """Triangles whose own rectangle meets that of the part."""
    vertices, faces = np.asarray(ground.settings["vertices"]), np.asarray(ground.settings["faces"])
    corners = vertices[faces][..., :2]
    low, high = corners.min(axis=1), corners.max(axis=1)
    kept = (low[:, 0] <= bounds[1]) & (high[:, 0] >= bounds[0]) & (low[:, 1] <= bounds[3]) & (high[:, 1] >= bounds[2])
    if not kept.any():
        return None
    used, renamed = np.unique(faces[kept], return_inverse=True)
    made = mesh(vertices[used], renamed.reshape(-1, 3), description=_part_of(ground))
    return replace(made, source=Source(whole=ground.bounds))


def _seen(bounds: Bounds, settings: Any) -> Bounds:
    """Rectangle around a rectangle as the child of a moved ground has it."""
    c, s, side = math.cos(settings["yaw"]), math.sin(settings["yaw"]), -1.0 if settings["mirror"] else 1.0
    xs, ys = [], []
    for x in bounds[:2]:
        for y in bounds[2:]:
            dx, dy = x - settings["x"], y - settings["y"]
            xs.append(c * dx + s * dy)
            ys.append(side * (c * dy - s * dx))
    return min(xs), max(xs), min(ys), max(ys)


def _raster(ground: Terrain, bounds: Bounds) -> SoilRaster:
    """The soils of a part; what lies outside the raster stays what it was."""
    s = ground.settings
    classes, (x, y), cell = np.asarray(s["classes"]), s["origin"], s["cell"]
    low = [math.floor((bounds[2 * k] - start) / cell) - 1 for k, start in enumerate((x, y))]
    high = [math.ceil((bounds[2 * k + 1] - start) / cell) + 1 for k, start in enumerate((x, y))]
    i, j = (slice(min(max(a, 0), n - 1), max(min(b, n), 1)) for a, b, n in zip(low, high, classes.shape, strict=True))
    i, j = (slice(one.start, max(one.stop, one.start + 1)) for one in (i, j))
    origin = (x + cell * i.start, y + cell * j.start)
    return SoilRaster(classes=classes[i, j], origin=origin, cell=cell, outside=s["outside"])


def coarser(ground: Terrain, step: int) -> Terrain:
    """A map whose nodes are the means of step × step nodes of another; the last ones of each axis may be left out."""
    step = checked.count(step, "step", most=10_000)
    if step == 1:
        return ground
    s = ground.settings
    if ground.kind not in AROUND:
        raise TerrainError(f"step: nodes can be averaged in a grid, and this is a {ground.kind}; leave step out")
    x, y, heights = np.asarray(s["x"]), np.asarray(s["y"]), np.asarray(s["heights"])
    n, m = len(x) // step, len(y) // step
    if n < 2 or m < 2:
        raise TerrainError(f"step: {step} leaves {n} × {m} nodes of {len(x)} × {len(y)}; a map has at least 2 × 2")
    axes = [axis[: count * step].reshape(count, step).mean(axis=1) for axis, count in ((x, n), (y, m))]
    description = f"{ground.description}, means of {step} × {step}"
    fewer = np.ascontiguousarray(means(heights, step))
    if ground.kind == "spline":
        made = spline(fewer, *axes, description=description)
    else:
        made = grid(fewer, *axes, interpolation=s["interpolation"], description=description)
    source = ground.source or Source()
    return replace(made, source=replace(source, step=step * source.step))
