"""Terrains made again from their kind and settings: in another process, or from a .npz file.

A file holds one JSON tree of settings and the arrays it names. Nothing is pickled.
"""

from __future__ import annotations

import inspect
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import shown
from grouser.errors import TerrainError
from grouser.files import check_schema, read_npz, write_whole
from grouser.terrain.grid import grid, spline
from grouser.terrain.ground import Terrain
from grouser.terrain.mesh import mesh
from grouser.terrain.shapes import moved, plane, ramp, slope, stack
from grouser.terrain.soils import Soil, rebuilt_soils, stored_soil

SCHEMA = "grouser/terrain@1"
MOST_BYTES = 2_000_000_000
"""What the arrays of a file may take in memory; a small .npz may unpack to much more than its size."""
DEEPEST = 50
BUILDERS: dict[str, Callable[..., Terrain]] = {
    made.__name__: made for made in (plane, slope, ramp, grid, spline, mesh, stack, moved)
} | {"soils": rebuilt_soils}


def save(terrain: Terrain, path: str | os.PathLike[str]) -> None:
    """Write a terrain to a .npz file, whole or not at all."""
    target = Path(path)
    if target.suffix.lower() != ".npz":
        raise TerrainError(f"{target}: a terrain is saved as .npz; name the file {target.stem}.npz")
    write_whole(target, lambda file: file.write(pack(terrain)), TerrainError)


def pack(terrain: Terrain) -> bytes:
    """What `save` writes; TerrainError for a ground that no file can hold, a user's function."""
    require_settings(terrain)
    stream = io.BytesIO()
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    tree = json.dumps(_to_tree(terrain, arrays))
    np.savez_compressed(stream, schema=np.array(SCHEMA), terrain=np.array(tree), **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def load(path: Path, data: bytes | None = None) -> Terrain:
    """Read a terrain that `save` wrote; with `data`, what `pack` made, out of a file of that path."""
    arrays = read_npz(path, TerrainError, data=data, most=MOST_BYTES)
    check_schema(str(arrays.pop("schema", "")), str(path), SCHEMA, TerrainError)
    try:
        return _from_tree(json.loads(str(arrays.pop("terrain", ""))), arrays, depth=0)
    except TerrainError as error:
        raise TerrainError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        raise TerrainError(f"{path}: its entry 'terrain' is not JSON; save the terrain again") from None


def _to_tree(terrain: Terrain, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    settings = dict(terrain.settings)
    for name, value in settings.items():
        if isinstance(value, np.ndarray):
            settings[name] = {"array": f"array_{len(arrays)}"}
            arrays[f"array_{len(arrays)}"] = value
        elif isinstance(value, list):
            settings[name] = [stored_soil(one) if isinstance(one, Soil) else one for one in value]
    children = [_to_tree(child, arrays) for child in terrain.children]
    return {"kind": terrain.kind, "description": terrain.description, "settings": settings, "children": children}


def _from_tree(tree: Any, arrays: dict[str, Any], *, depth: int) -> Terrain:
    if depth > DEEPEST:
        raise TerrainError(f"terrains are nested more than {DEEPEST} deep")
    match tree:
        case {"kind": str(kind), "description": str(description), "settings": dict(values), "children": list(children)}:
            pass
        case _:
            raise TerrainError("a terrain in it lacks kind, description, settings or children; save it again")
    for name, value in values.items():
        if isinstance(value, dict):
            key = value.get("array")
            if not isinstance(key, str) or key not in arrays:
                raise TerrainError(f"setting '{name}' of {kind} names array {shown(key)}, which is not in the file")
            values[name] = arrays[key]
    return rebuild(kind, values, [_from_tree(child, arrays, depth=depth + 1) for child in children], description)


def require_settings(terrain: Terrain) -> None:
    """Refuse a terrain that cannot be made again."""
    if terrain.kind not in BUILDERS:
        raise TerrainError(
            f"a terrain made from a Python {terrain.kind} can be neither saved nor sent to another process; "
            "sample it into a grid first"
        )
    for child in terrain.children:
        require_settings(child)


def rebuild(kind: str, settings: Mapping[str, Any], children: Sequence[Terrain], description: str) -> Terrain:
    """Call the function that makes this kind of terrain; its own checks apply."""
    builder = BUILDERS.get(kind)
    if builder is None:
        raise TerrainError(f"no terrain kind {shown(kind)}; kinds are {', '.join(BUILDERS)}")
    arguments = dict(settings)
    signature = inspect.signature(builder)
    if "description" in signature.parameters:
        arguments["description"] = description
    try:
        signature.bind(*children, **arguments)
    except TypeError as error:
        raise TerrainError(f"terrain {kind}: {error}") from None
    return builder(*children, **arguments)
