"""Terrains from files."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

from grouser.errors import TerrainError
from grouser.files import check_file
from grouser.terrain.archive import load
from grouser.terrain.checks import choice, short
from grouser.terrain.grid import INTERPOLATIONS
from grouser.terrain.ground import Terrain
from grouser.terrain.mesh import MOST_TRIANGLES, mesh
from grouser.terrain.raster import load_asc, load_geotiff

LARGEST_FILE = 400_000_000
"""Bytes of the largest file that is read."""
SUFFIXES = (".npz", ".asc", ".tif", ".tiff", ".stl", ".obj", ".ply")


def read(path: str | os.PathLike[str], *, interpolation: str = "bilinear") -> Terrain:
    """Read a terrain from a file, its kind decided by the suffix.

    path: .npz (from `Terrain.save`), .asc (ESRI ASCII grid), .tif or .tiff (GeoTIFF in metres, needs
        grouser[geo]), or .stl, .obj, .ply (mesh in metres, z up, needs grouser[mesh]).
    interpolation: of .asc and .tif, as in `grid`; nodes without data are outside.
    """
    interpolation = choice(interpolation, "interpolation", INTERPOLATIONS)
    if not isinstance(path, (str, os.PathLike)):
        raise TerrainError(f"{path!r:.60} is not the path of a terrain file")
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise TerrainError(f"{file}: a terrain file ends in one of {', '.join(SUFFIXES)}")
    check_file(file, TerrainError)
    try:
        size = file.stat().st_size
        if size > LARGEST_FILE:
            raise TerrainError(f"{file}: {size} bytes; at most {LARGEST_FILE} are read")
        if suffix == ".npz":
            return load(file)
        try:
            if suffix == ".asc":
                return load_asc(file, interpolation)
            if suffix in (".tif", ".tiff"):
                return load_geotiff(file, interpolation)
            return _load_mesh(file, suffix[1:])
        except TerrainError as error:
            message = str(error)
            raise TerrainError(message if message.startswith(f"{file}: ") else f"{file}: {message}") from None
    except (OSError, ValueError) as error:
        raise TerrainError(f"{short(str(file))}: cannot be read: {error}") from None
    except MemoryError:
        raise TerrainError(f"{file}: does not fit in memory; cut out a smaller map") from None


def _load_mesh(file: Path, kind: str) -> Terrain:
    """The triangles of a mesh file; materials and other files it names are not looked at."""
    try:
        import trimesh
    except ImportError:
        raise TerrainError(f"{file}: reading meshes needs trimesh; run: pip install grouser[mesh]") from None
    options = {"skip_materials": True} if kind == "obj" else {}
    try:
        loaded = trimesh.load_mesh(io.BytesIO(file.read_bytes()), file_type=kind, process=False, **options)
        vertices, faces = np.asarray(loaded.vertices), np.asarray(loaded.faces)
    except ImportError:  # of a library that guesses the encoding of text that is none
        raise TerrainError(f"{file}: not a readable .{kind} mesh (its text is not UTF-8)") from None
    except Exception as error:  # trimesh lets through whatever a damaged file makes NumPy raise
        raise TerrainError(f"{file}: not a readable .{kind} mesh ({short(str(error))})") from None
    if len(faces) > MOST_TRIANGLES:
        raise TerrainError(f"{file}: {len(faces)} triangles; at most {MOST_TRIANGLES} are read")
    return mesh(vertices, faces, description=f"mesh {file.name}")
