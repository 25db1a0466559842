"""Meshes of vehicles: their triangles and colours, from a .stl, .obj, .ply or .dae file or out of a saved run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grouser.errors import VehicleError, prefixed
from grouser.files import as_path, read_limited
from grouser.files import read_mesh as read_plain

LARGEST_FILE = 200_000_000
"""Bytes of the largest mesh file that is read."""
MOST_TRIANGLES = 4_000_000
"""Triangles of the largest mesh that is read; what is drawn is simplified."""
SUFFIXES = (".stl", ".obj", ".ply", ".dae")
Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, each 0 to 1; as on a screen (sRGB)."""


@dataclass(frozen=True, eq=False)
class MeshPart:
    """Triangles of one colour."""

    vertices: NDArray[np.float64]
    """Corners [m], axes of the mesh, shape (n, 3)."""
    faces: NDArray[np.int64]
    """Rows of the corners of each triangle, counterclockwise seen from outside, shape (k, 3)."""
    color: Colour | None = None
    """None: the file says none."""

    def scaled(self, scale: NDArray[np.float64]) -> MeshPart:
        """Stretched along x, y, z; a mirror image keeps its outside outside."""
        faces = self.faces[:, ::-1] if np.prod(scale) < 0.0 else self.faces
        return MeshPart(self.vertices * scale, faces, self.color)


Mesh = tuple[MeshPart, ...]


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """The parts of a mesh file; read once while the file stays as it is. VehicleError says what is wrong with it.

    Axes and units are those of the numbers in the file, as RViz and Gazebo take them: metres, and for .dae metres
    times its `unit`. The `up_axis` of a .dae is ignored, as RViz and Gazebo do.
    """
    file = as_path(path, VehicleError)
    if file.suffix.lower() not in SUFFIXES:
        raise VehicleError(f"{file}: a mesh file ends in one of {', '.join(SUFFIXES)}")
    try:
        state = file.stat()
    except (OSError, ValueError):
        raise VehicleError(f"{file}: no such file") from None
    return _read(str(file), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _read(path: str, changed: int, size: int) -> Mesh:
    file = Path(path)
    if file.suffix.lower() == ".dae":
        from grouser.vehicles.collada import parse_collada

        data = read_limited(file, LARGEST_FILE, VehicleError)
        with prefixed(f"{file}: ", VehicleError):
            parts = parse_collada(data)
    else:
        vertices, faces = read_plain(file, VehicleError, limit=LARGEST_FILE, most_triangles=MOST_TRIANGLES)
        parts = (MeshPart(np.asarray(vertices, dtype=np.float64).reshape(-1, 3), np.asarray(faces).reshape(-1, 3)),)
    if not sum(len(part.faces) for part in parts):
        raise VehicleError(f"{file}: has no triangles")
    if sum(len(part.faces) for part in parts) > MOST_TRIANGLES:
        raise VehicleError(f"{file}: has more than {MOST_TRIANGLES} triangles, the most that are read")
    return tuple(_checked(part, file) for part in parts if len(part.faces))


def _checked(part: MeshPart, file: Path) -> MeshPart:
    faces = part.faces.astype(np.int64)
    if not np.isfinite(part.vertices).all() or faces.min() < 0 or faces.max() >= len(part.vertices):
        raise VehicleError(f"{file}: has corners that are not finite numbers, or triangles without corners")
    return MeshPart(part.vertices, faces, part.color)
