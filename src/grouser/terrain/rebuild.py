"""A terrain made again from its kind and settings, in another process or from a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grouser.errors import TerrainError
from grouser.terrain.checks import short
from grouser.terrain.grid import grid
from grouser.terrain.ground import Terrain
from grouser.terrain.mesh import mesh
from grouser.terrain.moved import moved
from grouser.terrain.plane import plane, slope
from grouser.terrain.ramp import ramp
from grouser.terrain.spline import spline
from grouser.terrain.stack import stack

BUILDERS: dict[str, Callable[..., Terrain]] = {
    "plane": plane,
    "slope": slope,
    "ramp": ramp,
    "grid": grid,
    "spline": spline,
    "mesh": mesh,
    "stack": stack,
    "moved": moved,
}


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
        raise TerrainError(f"no terrain kind {short(kind)}; kinds are {', '.join(BUILDERS)}")
    arguments = dict(settings)
    signature = inspect.signature(builder)
    if "description" in signature.parameters:
        arguments["description"] = description
    try:
        signature.bind(*children, **arguments)
    except TypeError as error:
        raise TerrainError(f"terrain {kind}: {error}") from None
    return builder(*children, **arguments)
