"""The meshes of a vehicle's visuals, each once and with few triangles: for pages, and for runs that are saved."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.errors import VehicleError
from grouser.vehicles.mesh import Mesh, MeshPart
from grouser.vehicles.simplify import simplified
from grouser.vehicles.vehicle import Vehicle
from grouser.vehicles.visual import Visual

MOST_TRIANGLES = 40_000
"""Triangles of all meshes of a vehicle together; more would make a page that is slow to open."""
PREFIX = "visuals"
"""Of names of arrays in a saved run."""


def few_triangles(visuals: Sequence[Visual]) -> tuple[list[Mesh], dict[Visual, int], list[str]]:
    """Meshes, each once, scaled; which visual has which; and what is wrong with those that cannot be read."""
    found: list[Mesh] = []
    keys: dict[Any, int] = {}
    numbers: dict[Visual, int] = {}
    missing: dict[str, None] = {}
    for visual in visuals:
        if visual.shape != "mesh":
            continue
        key = (visual.mesh, tuple(visual.scale)) if visual.geometry is None else id(visual.geometry)
        if key not in keys:
            try:
                found.append(visual.read())
            except VehicleError as error:
                missing[str(error)] = None
                continue
            keys[key] = len(found) - 1
        numbers[visual] = keys[key]
    return simplified(found, MOST_TRIANGLES), numbers, list(missing)


def mesh_arrays(vehicle: Vehicle) -> dict[str, Any]:
    """The meshes as arrays of a file; none for a vehicle without, or whose meshes are missing.

    vertices (n, 3) float32 [m] and faces (k, 3) of all parts one after the other; parts (m, 4): vertices, faces, number
    of the mesh, and whether it has a colour; colors (m, 4); of (number of visuals,): the mesh of each, −1 for none.
    """
    meshes, numbers, _ = few_triangles(vehicle.visuals)
    parts = [(i, part) for i, mesh in enumerate(meshes) for part in mesh]
    if not parts:
        return {}
    rows = [(len(part.vertices), len(part.faces), i, part.color is not None) for i, part in parts]
    return {
        f"{PREFIX}_vertices": np.concatenate([part.vertices for _, part in parts]).astype(np.float32),
        f"{PREFIX}_faces": np.concatenate([part.faces for _, part in parts]).astype(np.int32),
        f"{PREFIX}_parts": np.array(rows, dtype=np.int64),
        f"{PREFIX}_colors": np.array([part.color or (0.0,) * 4 for _, part in parts]),
        f"{PREFIX}_of": np.array([numbers.get(visual, -1) for visual in vehicle.visuals], dtype=np.int64),
    }


def with_meshes(vehicle: Vehicle, values: dict[str, Any]) -> Vehicle:
    """The vehicle with the meshes of `mesh_arrays`, so that none of their files is needed; ValueError if damaged."""
    if f"{PREFIX}_parts" not in values:
        return vehicle
    vertices, faces, parts, colors, of = (
        values[f"{PREFIX}_{name}"] for name in ("vertices", "faces", "parts", "colors", "of")
    )
    meshes: dict[int, list[MeshPart]] = {}
    v = f = 0
    for (n, k, i, coloured), color in zip(parts.tolist(), colors.tolist(), strict=True):
        corners, rows = vertices[v : v + n].astype(np.float64), faces[f : f + k].astype(np.int64)
        v, f = v + n, f + k
        if corners.shape != (n, 3) or rows.shape != (k, 3) or not np.isfinite(corners).all() or n < 1 or k < 1:
            raise ValueError("the meshes of its visuals do not fit together")
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError("a triangle of its visuals has no corner")
        meshes.setdefault(i, []).append(MeshPart(corners, rows, tuple(color) if coloured else None))
    whole = {i: tuple(made) for i, made in meshes.items()}
    pairs = zip(vehicle.visuals, of.tolist(), strict=True)
    return vehicle.replace(visuals=[dataclasses.replace(one, geometry=whole.get(i)) for one, i in pairs])
