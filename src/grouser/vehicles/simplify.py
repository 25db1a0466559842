"""Fewer triangles for a mesh: corners in one cell of a lattice become one, at the place that keeps its planes best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grouser.vehicles.mesh import Mesh, MeshPart

FINEST = 4096
"""Cells along the longest side, at most."""
TRIES = 8
ENOUGH = 0.85
"""Share of the triangles allowed with which the search for a lattice ends."""
Array = NDArray[np.float64]
Integers = NDArray[np.int64]


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
