"""A triangle mesh seen from above."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grouser._kernels.terrain import mesh as kernels
from grouser.checks import FloatArray
from grouser.errors import TerrainError
from grouser.terrain.ground import Terrain, checked

MOST_TRIANGLES = 5_000_000
VERTICAL = 1e-9
"""A triangle whose normal has a smaller vertical part than this is a wall, and no ground."""
EDGE = 1e-9
"""How far beyond its edges a triangle still counts, relative to the size of the mesh."""

IntArray = npt.NDArray[np.int64]


def mesh(vertices: npt.ArrayLike, faces: npt.ArrayLike, *, description: str = "") -> Terrain:
    """The highest triangle at every place; outside where there is none. Vertical triangles are ignored.

    vertices: world positions [m], shape (n, 3).
    faces: rows of vertices of each triangle, in either order around it, shape (m, 3).
    description: what it is, for people.
    """
    v = checked.array(vertices, "vertices", (None, 3))
    f = _faces(faces, len(v))
    v.flags.writeable = False
    f.flags.writeable = False
    triangles, low, high, reach = _triangles(v[f])
    xmin, ymin = low.min(axis=0).tolist()
    xmax, ymax = high.max(axis=0).tolist()
    size, counts, starts, lists = _buckets(low, high, reach)
    first_list = kernels.HEADER + len(starts)
    header = [xmin, xmax, ymin, ymax, *(1.0 / size), *counts, first_list, first_list + len(lists)]
    return Terrain(
        kind="mesh",
        law=kernels.mesh,
        par=np.concatenate((header, starts, lists, triangles.ravel())),
        bounds=(xmin, xmax, ymin, ymax),
        description=description or f"mesh of {len(f)} triangles",
        settings={"vertices": v, "faces": f},
    )


def _faces(faces: npt.ArrayLike, vertices: int) -> IntArray:
    try:
        f = np.asarray(faces)
    except (TypeError, ValueError):
        raise TerrainError("faces has rows of different lengths; it must be (m, 3) whole numbers") from None
    if f.ndim != 2 or f.shape[1] != 3 or f.dtype.kind not in "iu":
        raise TerrainError(f"faces has shape {f.shape} and holds {f.dtype.name}; it must be (m, 3) whole numbers")
    if not 1 <= len(f) <= MOST_TRIANGLES:
        raise TerrainError(f"faces has {len(f)} triangles; a mesh has 1 to {MOST_TRIANGLES}")
    if f.min() < 0 or f.max() >= vertices:
        bad = f.min() if f.min() < 0 else f.max()
        raise TerrainError(f"a face names vertex {bad}; there are vertices 0 to {vertices - 1}")
    return np.array(f, dtype=np.int64)


def _triangles(corner: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Kernel rows of triangles with corners (m, 3, 3), lower and upper xy of each, how far edges reach."""
    e1 = corner[:, 1] - corner[:, 0]
    e2 = corner[:, 2] - corner[:, 0]
    normal = np.cross(e1, e2)
    area = np.linalg.norm(normal, axis=1)
    longest = np.maximum(np.einsum("ij,ij->i", e1, e1), np.einsum("ij,ij->i", e2, e2))
    ground = (np.abs(normal[:, 2]) > VERTICAL * area) & (area > 1e-14 * longest) & (area > 1e-30)
    if not ground.any():
        raise TerrainError("every triangle of the mesh is vertical or has no area; at least one must be ground")
    corner, e1, e2, normal = corner[ground], e1[ground], e2[ground], normal[ground]
    flat = corner.reshape(-1, 3)
    extent = float(np.ptp(flat, axis=0).max())
    reach = EDGE * extent + 4e-16 * float(np.abs(flat).max())
    det = normal[:, 2]
    # Barycentric coordinates of corners 1 and 2, as linear functions of the place relative to corner 0.
    inverse = np.column_stack((e2[:, 1] / det, -e2[:, 0] / det, -e1[:, 1] / det, e1[:, 0] / det))
    steepest = np.hypot(inverse[:, 0], inverse[:, 1]) + np.hypot(inverse[:, 2], inverse[:, 3])
    slopes = -normal[:, :2] / det[:, None]
    rows = np.column_stack((corner[:, 0], slopes, inverse, 1e-12 + reach * steepest, corner[:, :, 2].max(axis=1)))
    plan = corner[:, :, :2]
    return rows, plan.min(axis=1), plan.max(axis=1), reach


def _buckets(low: FloatArray, high: FloatArray, reach: float) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """Size (2,) and counts (2,) of the buckets, where each one's list starts, and the lists of triangles."""
    origin = low.min(axis=0)
    extent = high.max(axis=0) - origin
    wanted = float(np.sqrt(extent[0] * extent[1] / len(low)))
    while True:
        counts = np.clip(np.ceil(extent / wanted), 1, 4096).astype(np.int64)
        size = extent / counts
        first = np.clip((low - 2.0 * reach - origin) / size, 0, counts - 1).astype(np.int64)
        last = np.clip((high + 2.0 * reach - origin) / size, 0, counts - 1).astype(np.int64)
        across = last - first + 1
        entries = across.prod(axis=1)
        # Long thin triangles across small buckets would fill memory: use larger buckets for such a mesh.
        if entries.sum() <= 16 * len(low) + 64 or counts.prod() == 1:
            break
        wanted *= 2.0
    triangle = np.repeat(np.arange(len(low)), entries)
    k = np.arange(len(triangle)) - np.repeat(np.cumsum(entries) - entries, entries)
    i = first[triangle, 0] + k // across[triangle, 1]
    j = first[triangle, 1] + k % across[triangle, 1]
    bucket = i * counts[1] + j
    order = np.argsort(bucket, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(bucket, minlength=int(counts.prod())))))
    return size, counts, starts.astype(np.float64), triangle[order].astype(np.float64)
