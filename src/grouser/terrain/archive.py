"""Terrains made again from their kind and settings: in another process, or from a .npz file.

A file holds one JSON tree of settings and the arrays it names. Nothing is pickled.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from grouser.checks import shown
from grouser.errors import TerrainError, prefixed
from grouser.files import check_npz_name, read_npz, write_whole
from grouser.terrain.grid import grid, spline
from grouser.terrain.ground import Bounds, Terrain, checked
from grouser.terrain.mesh import mesh
from grouser.terrain.shapes import moved, plane, ramp, slope, stack
from grouser.terrain.soils import Soil, rebuilt_soils, stored_soil
from grouser.terrain.source import Source, covers

SCHEMA = "grouser/terrain@1"
MOST_BYTES = 2_000_000_000
"""What the arrays of a file may take in memory; a small .npz may unpack to much more than its size."""
COMPRESSED = 8_000_000
"""Bytes of arrays up to which a file is compressed."""
DEEPEST = 50
BUILDERS: dict[str, Callable[..., Terrain]] = {
    made.__name__: made for made in (plane, slope, ramp, grid, spline, mesh, stack, moved)
} | {"soils": rebuilt_soils}


def save(terrain: Terrain, path: str | os.PathLike[str]) -> None:
    """Write a terrain to a .npz file, whole or not at all."""
    check_npz_name(path, "terrain", TerrainError)
    require_settings(terrain)
    write_whole(path, lambda file: _write(terrain, file), TerrainError)


def pack(terrain: Terrain) -> bytes:
    """What `save` writes; TerrainError for a ground that no file can hold, a user's function."""
    require_settings(terrain)
    stream = io.BytesIO()
    _write(terrain, stream)
    return stream.getvalue()


def _write(terrain: Terrain, stream: IO[bytes]) -> None:
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    tree = json.dumps(_to_tree(terrain, arrays))
    # Large maps are stored as they are, so that a window of them can be read without the rest.
    write: Any = np.savez_compressed if sum(one.nbytes for one in arrays.values()) <= COMPRESSED else np.savez
    write(stream, schema=np.array(SCHEMA), terrain=np.array(tree), **arrays)


def load(path: Path, data: bytes | None = None, window: Bounds | None = None) -> Terrain:
    """Read a terrain that `save` wrote; with `data`, what `pack` made, out of a file of that path.

    window: of a large grid, read what covers this rectangle (xmin, xmax, ymin, ymax) [m]; of others all is read.
    """
    if window is not None and data is None:
        found = _window(path, window)
        if found is not None:
            return found
    arrays = read_npz(path, TerrainError, schema=SCHEMA, data=data, most=MOST_BYTES)
    try:
        with prefixed(f"{path}: ", TerrainError):
            return _from_tree(json.loads(str(arrays.pop("terrain", ""))), arrays, depth=0)
    except (ValueError, RecursionError):
        raise TerrainError(f"{path}: its entry 'terrain' is not JSON; save the terrain again") from None


def _window(path: Path, window: Bounds) -> Terrain | None:
    """A part of a grid whose heights are stored as they are; None where they are not, or it is no grid."""
    from grouser.terrain.crop import AROUND, cropped, meets, nodes_within

    try:
        with np.load(path, allow_pickle=False) as archive:
            tree = json.loads(str(archive["terrain"]))
            values = dict(tree["settings"])
            if tree["kind"] != "grid" or str(archive["schema"]) != SCHEMA:
                return None
            values["heights"] = stored_array(path, values["heights"]["array"])
            for name in ("x", "y"):
                values[name] = checked.array(archive[values[name]["array"]], name, (None,))
        if values["heights"] is None or values["heights"].shape != (len(values["x"]), len(values["y"])):
            return None
    except Exception:  # damaged files raise a dozen kinds; reading it whole names the trouble
        return None
    source = Source.of(tree.get("source")) or Source()
    (xmin, xmax), (ymin, ymax) = (values[name][[0, -1]].tolist() for name in ("x", "y"))
    whole = (xmin, xmax, ymin, ymax)
    part = nodes_within(values, window, AROUND["grid"]) if meets(window, whole) else None
    if part is None:
        raise TerrainError(f"{path}: nothing of the map is within {covers(window)}; it covers {covers(whole)}")
    source = replace(source, whole=source.whole or whole)
    return cropped(rebuild("grid", {**values, **part}, (), str(tree.get("description", "")), source), window)


def stored_array(path: Path, name: str) -> np.ndarray[Any, Any] | None:
    """An array of a .npz file, mapped into memory and not read; None if it is compressed."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        entry = archive.getinfo(f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED:
            return None
        file.seek(entry.header_offset)
        head = file.read(30)
        # A local header ends with the lengths of the name and of what else follows it.
        file.seek(
            entry.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        )
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, kind = read(file)
        if kind.hasobject or file.tell() + kind.itemsize * math.prod(shape) > path.stat().st_size:
            return None
        return np.memmap(file, kind, "r", file.tell(), shape, "F" if fortran else "C")


def _to_tree(terrain: Terrain, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    settings = dict(terrain.settings)
    for name, value in settings.items():
        if isinstance(value, np.ndarray):
            settings[name] = {"array": f"array_{len(arrays)}"}
            arrays[f"array_{len(arrays)}"] = value
        elif isinstance(value, list):
            settings[name] = [stored_soil(one) if isinstance(one, Soil) else one for one in value]
    children = [_to_tree(child, arrays) for child in terrain.children]
    tree = {"kind": terrain.kind, "description": terrain.description, "settings": settings, "children": children}
    return tree if terrain.source is None else {**tree, "source": terrain.source.tree()}


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
    below = [_from_tree(child, arrays, depth=depth + 1) for child in children]
    return rebuild(kind, values, below, description, Source.of(tree.get("source")))


def require_settings(terrain: Terrain) -> None:
    """Refuse a terrain that cannot be made again."""
    if terrain.kind not in BUILDERS:
        raise TerrainError(
            f"a terrain made from a Python {terrain.kind} can be neither saved nor sent to another process; "
            "sample it into a grid first"
        )
    for child in terrain.children:
        require_settings(child)


def rebuild(
    kind: str,
    settings: Mapping[str, Any],
    children: Sequence[Terrain] = (),
    description: str = "",
    source: Source | None = None,
) -> Terrain:
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
    made = builder(*children, **arguments)
    return made if source is None else replace(made, source=source)
