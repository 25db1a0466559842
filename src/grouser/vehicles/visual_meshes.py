"""The meshes of a vehicle's visuals, each once and with few triangles: for pages, and for runs that are saved.

Corners in one cell of a lattice become one, at the place that keeps its planes best.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser.errors import VehicleError
from grouser.vehicles.mesh import Mesh, MeshPart
from grouser.vehicles.vehicle import Vehicle
from grouser.vehicles.visual import Visual

MOST_TRIANGLES = 40_000
"""Triangles of all meshes of a vehicle together; more would make a page that is slow to open."""
PREFIX = "visuals"
"""Of names of arrays in a saved run."""
FINEST = 4096
"""Cells along the longest side, at most."""
TRIES = 8
ENOUGH = 0.85
"""Share of the triangles allowed with which the search for a lattice ends."""
Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def few_triangles(visuals: Sequence[Visual]) -> tuple[list[Mesh], dict[Visual, int], list[str]]:
    """The scaled meshes, each once; the index of the mesh of each visual; errors of meshes that cannot be read."""
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


def simplified(meshes: Sequence[Mesh], most: int) -> list[Mesh]:
    """The meshes with at most `most` triangles together; small parts keep all of theirs."""
    counts = [len(part.faces) for mesh in meshes for part in mesh]
    limits = iter(_limits(counts, most))
    return [tuple(fewer(part, next(limits)) for part in mesh) for mesh in meshes]


def _limits(counts: Sequence[int], most: int) -> list[int]:
    """Triangles for each part: the same limit for all, such that together they keep to `most`."""
    left, limits = most, [0] * len(counts)
    for k, i in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        limits[i] = min(counts[i], left // (len(counts) - k))
        left -= limits[i]
    return limits


def fewer(part: MeshPart, most: int) -> MeshPart:
    """The part with at most `most` triangles, on the finest lattice that allows it."""
    if len(part.faces) <= most:
        return part
    part = _joined(part)
    low, high, cells = 1, FINEST, 64  # on one cell nothing is left
    best = _on_lattice(part, low)
    for _ in range(TRIES):
        made = _on_lattice(part, cells)
        if len(made[1]) > most:
            high = cells
        else:
            low, best = cells, made
        if low > 1 and len(best[1]) > ENOUGH * most:
            break
        # Triangles grow with the square of the cells along a side.
        wanted = int(cells * ((0.5 + 0.5 * ENOUGH) * most / max(len(made[1]), 1)) ** 0.5)
        cells = min(max(wanted, low + 1), high - 1)
        if cells <= low:
            break
    return MeshPart(_places(part, best[0], best[2], low), best[1], part.color)


def _joined(part: MeshPart) -> MeshPart:
    """Corners at one place as one: .stl has three of its own for each triangle."""
    low, side = _lattice(part, 2**20)
    _, first, which = np.unique(
        np.floor((part.vertices - low) / side + 0.5).astype(np.int64) @ np.array([1 << 42, 1 << 21, 1]),
        return_index=True, return_inverse=True,
    )  # fmt: skip
    return MeshPart(part.vertices[first], which[part.faces], part.color)


def _lattice(part: MeshPart, cells: int) -> tuple[Array, float]:
    """Corner and side of the cells [m]."""
    low = part.vertices.min(axis=0)
    side = float(np.ptp(part.vertices, axis=0).max()) / cells
    return low, side or 1.0


def _on_lattice(part: MeshPart, cells: int) -> tuple[Integers, Integers, int]:
    """Cell of each corner, triangles between different cells, number of cells in use."""
    low, side = _lattice(part, cells)
    index = np.minimum(((part.vertices - low) / side).astype(np.int64), cells - 1)
    key = (index[:, 0] * cells + index[:, 1]) * cells + index[:, 2]
    used, cell_of = np.unique(key, return_inverse=True)
    faces = cell_of[part.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    ordered = np.sort(faces, axis=1)
    # Two sheets in one cell may give the same triangle twice.
    _, first = np.unique((ordered[:, 0] * len(used) + ordered[:, 1]) * len(used) + ordered[:, 2], return_index=True)
    return cell_of, faces[np.sort(first)], len(used)


def _places(part: MeshPart, cell_of: Integers, cells: int, lattice: int) -> Array:
    """Where a cell's corner goes: nearest to the planes of its triangles (Lindstrom 2000), near the corners' mean."""
    count = np.bincount(cell_of, minlength=cells).astype(np.float64)
    mean = np.column_stack([np.bincount(cell_of, part.vertices[:, k], cells) for k in range(3)]) / count[:, None]
    corner = part.vertices[part.faces]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])  # its length weighs by area
    A, b = np.zeros((cells, 3, 3)), np.zeros((cells, 3))
    for k in range(3):
        cell = cell_of[part.faces[:, k]]
        distance = np.einsum("ij,ij->i", normal, corner[:, 0] - mean[cell])
        for i in range(3):
            b[:, i] += np.bincount(cell, normal[:, i] * distance, cells)
            for j in range(3):
                A[:, i, j] += np.bincount(cell, normal[:, i] * normal[:, j], cells)
    moved = np.einsum("nij,nj->ni", np.linalg.pinv(A, rcond=1e-3, hermitian=True), b)
    _, side = _lattice(part, lattice)
    # Planes that nearly agree may meet far away.
    far = np.linalg.norm(moved, axis=1) > side
    moved[far] = 0.0
    placed: Array = mean + moved
    return placed
