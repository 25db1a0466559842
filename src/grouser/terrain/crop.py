"""Parts of grounds: a rectangle of a map, and a map of fewer nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from grouser.errors import TerrainError
from grouser.terrain.archive import rebuild
from grouser.terrain.ground import Bounds, Terrain, checked
from grouser.terrain.source import Source, covers
from grouser.terrain.window import means, nodes

AROUND = {"grid": 1, "spline": 40}
"""Nodes kept on each side of a rectangle, so that the surface in it stays as it is: slopes of a grid need one; a node
moves a spline by 0.27 of what it moves it one node before, 1e-23 in the end."""
Settings = dict[str, Any]


def cropped(ground: Terrain, bounds: Bounds) -> Terrain:
    """The part of a ground that covers a rectangle (xmin, xmax, ymin, ymax) [m], the same there; it may be a bit more.

    `Terrain.source` of the part says how large the whole is. A plane, a ramp or a formula stays whole.
    """
    if _is_inside(ground.bounds, bounds):
        return ground
    found = _cropped(ground, bounds)
    if found is None:
        raise TerrainError(f"nothing of the map is within {covers(bounds)}; it covers {covers(ground.bounds)}")
    return found


def _cropped(ground: Terrain, bounds: Bounds) -> Terrain | None:
    """The part; None if there is none."""
    if _is_inside(ground.bounds, bounds):
        return ground
    if not meets(ground.bounds, bounds):
        return None
    kind, s = ground.kind, ground.settings
    if kind in AROUND or kind == "mesh":
        kept = _triangles(s, bounds) if kind == "mesh" else nodes_within(s, bounds, AROUND[kind])
        return None if kept is None else _part(ground, kept)
    inner = _in_child(bounds, s) if kind == "moved" else bounds
    children = [part for child in ground.children if (part := _cropped(child, inner)) is not None]
    if not children:
        return None if ground.children else ground
    settings = {**s, **_cells(s, bounds)} if kind == "soils" else s
    return replace(rebuild(kind, settings, children), description=ground.description)


def _is_inside(inner: Bounds, outer: Bounds) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer[2] <= inner[2] and inner[3] <= outer[3]


def meets(a: Bounds, b: Bounds) -> bool:
    """Whether two rectangles have a part in common."""
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _part(ground: Terrain, settings: Settings) -> Terrain:
    """A part of a ground with other nodes or triangles."""
    if all(len(value) == len(ground.settings[name]) for name, value in settings.items()):
        return ground
    description = ground.description if ground.description.startswith("part of ") else f"part of {ground.description}"
    source = ground.source or Source()
    source = replace(source, whole=source.whole or ground.bounds)
    return rebuild(ground.kind, {**ground.settings, **settings}, description=description, source=source)


def nodes_within(settings: Mapping[str, Any], bounds: Bounds, around: int) -> Settings | None:
    """Nodes of a grid that cover a rectangle, and some around it; None if none of them is known."""
    x, y = np.asarray(settings["x"]), np.asarray(settings["y"])
    i, j = (nodes(axis, *ends, around) for axis, ends in ((x, bounds[:2]), (y, bounds[2:])))
    part = settings["heights"][i, j]
    # Coordinates of the same bits: a linspace between others would round otherwise.
    return None if np.isnan(part).all() else {"heights": part, "x": x[i], "y": y[j]}


def _triangles(settings: Mapping[str, Any], bounds: Bounds) -> Settings | None:
    """Triangles whose own rectangle meets that of the part."""
    vertices, faces = np.asarray(settings["vertices"]), np.asarray(settings["faces"])
    corners = vertices[faces][..., :2]
    low, high = corners.min(axis=1), corners.max(axis=1)
    kept = (low[:, 0] <= bounds[1]) & (high[:, 0] >= bounds[0]) & (low[:, 1] <= bounds[3]) & (high[:, 1] >= bounds[2])
    if not kept.any():
        return None
    used, renamed = np.unique(faces[kept], return_inverse=True)
    return {"vertices": vertices[used], "faces": renamed.reshape(-1, 3)}


def _in_child(bounds: Bounds, settings: Any) -> Bounds:
    """Rectangle in the axes of the child of a moved ground, around a rectangle in world axes."""
    c, s, side = math.cos(settings["yaw"]), math.sin(settings["yaw"]), -1.0 if settings["mirror"] else 1.0
    xs, ys = [], []
    for x in bounds[:2]:
        for y in bounds[2:]:
            dx, dy = x - settings["x"], y - settings["y"]
            xs.append(c * dx + s * dy)
            ys.append(side * (c * dy - s * dx))
    return min(xs), max(xs), min(ys), max(ys)


def _cells(settings: Mapping[str, Any], bounds: Bounds) -> Settings:
    """The soils of a part; what lies outside the raster stays what it was."""
    classes, origin, cell = np.asarray(settings["classes"]), settings["origin"], settings["cell"]
    first, last = [], []
    for n, start, low, high in zip(classes.shape, origin, bounds[::2], bounds[1::2], strict=True):
        first.append(min(max(math.floor((low - start) / cell) - 1, 0), n - 1))
        last.append(max(min(math.ceil((high - start) / cell) + 1, n), first[-1] + 1))
    corner = [start + cell * k for start, k in zip(origin, first, strict=True)]
    return {"classes": classes[first[0] : last[0], first[1] : last[1]], "origin": corner}


def coarser(ground: Terrain, step: int) -> Terrain:
    """A map whose nodes are the means of step × step nodes of another; the last ones of each axis may be left out."""
    step = checked.count(step, "step", most=10_000)
    if step == 1:
        return ground
    s = ground.settings
    if ground.kind not in AROUND:
        raise TerrainError(f"step: nodes can be averaged in a grid, and this is a {ground.kind}; leave step out")
    n, m = len(s["x"]) // step, len(s["y"]) // step
    if n < 2 or m < 2:
        raise TerrainError(f"step: {step} leaves {n} × {m} nodes; a map has at least 2 × 2")
    x, y = (s[name][: count * step].reshape(count, step).mean(axis=1) for name, count in (("x", n), ("y", m)))
    settings = {**s, "heights": means(s["heights"], step), "x": x, "y": y}
    source = ground.source or Source()
    source = replace(source, step=step * source.step)
    return rebuild(ground.kind, settings, description=f"{ground.description}, means of {step} × {step}", source=source)
