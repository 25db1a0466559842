"""Where the heights of a map come from: the file, its coordinate system, and what was assumed while reading it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from grouser.errors import TerrainError
from grouser.terrain.ground import Bounds


@dataclass(frozen=True, kw_only=True)
class Source:
    """The file of a map, and of which larger map this is a part."""

    file: str = ""
    """Its name; empty if the heights were not read from a file."""
    stored: str = ""
    """Type of its numbers, such as float32."""
    crs: str = ""
    """Name of its coordinate system, such as WGS 84 / UTM zone 33N; empty if it names none."""
    epsg: int | None = None
    """Number of that system in the EPSG registry; None if it has none."""
    nodata: float | None = None
    """Height that stands for no data in the file [m]; None if only NaN does."""
    guessed: bool = False
    """Whether the file does not declare that height, and it was recognised."""
    step: int = 1
    """Nodes of the file along each axis that were averaged into one, a count."""
    whole: Bounds | None = None
    """Rectangle (xmin, xmax, ymin, ymax) of the whole map [m]; None if this is all of it."""
    notes: tuple[str, ...] = ()
    """What a person should know of it, one sentence each."""

    def tree(self) -> dict[str, Any]:
        """As JSON."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None, (), False)}

    @classmethod
    def of(cls, tree: Any) -> Source | None:
        """From what `tree` gave; None for None."""
        if tree is None:
            return None
        if not isinstance(tree, dict) or not set(tree) <= set(cls.__dataclass_fields__):
            raise TerrainError("the source of a terrain in it is not a table of its fields; save the terrain again")
        return cls(**_checked(tree))


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "file": str, "stored": str, "crs": str, "epsg": int, "nodata": (int, float), "guessed": bool, "step": int,
        "whole": (list, tuple), "notes": (list, tuple),
    }  # fmt: skip
    out = dict(fields)
    for name, value in fields.items():
        good = isinstance(value, kinds[name])
        if name == "whole" and good:
            good = len(value) == 4 and all(isinstance(v, (int, float)) and math.isfinite(v) for v in value)
            out[name] = tuple(float(v) for v in value) if good else ()
        if name == "notes" and good:
            good, out[name] = all(isinstance(v, str) for v in value), tuple(value)
        if not good:
            raise TerrainError(f"source of a terrain in it: {name} is not what a map has; save the terrain again")
    return out


def covers(bounds: Bounds) -> str:
    """The extent of a map in words, with all digits [m]."""
    xmin, xmax, ymin, ymax = (f"{value:.10g}" for value in bounds)
    return f"x {xmin} to {xmax} m, y {ymin} to {ymax} m"
