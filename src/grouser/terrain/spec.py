"""Terrains written in one line, for the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from grouser import terrain
from grouser.checks import shown
from grouser.errors import TerrainError, prefixed
from grouser.terrain.ground import Bounds, Terrain


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false"):
        raise ValueError
    return text.lower() in ("yes", "true")


def _rectangle(text: str) -> Bounds:
    x0, y0, x1, y1 = map(float, text.split(","))
    return min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)


_Keys = dict[str, Callable[[str], Any]]
_WANTED: dict[Any, str] = {
    float: "a number",
    int: "a whole number",
    _yes_or_no: "yes or no",
    _rectangle: "x0,y0,x1,y1 of two opposite corners",
}
_SHAPE = dict.fromkeys(("height", "deg", "length", "top", "width", "x", "y", "heading_deg"), float)
KINDS: dict[str, tuple[str, _Keys, tuple[str, ...]]] = {
    "flat": ("plane", {"height": float}, ()),
    "slope": ("slope", {"deg": float, "heading_deg": float, "height": float}, ("deg",)),
    "ramp": ("ramp", {**_SHAPE, "down": _yes_or_no}, ("height",)),
    "rough": (
        "rough",
        {"rms": float, "length": float, "seed": int, "size": float, "spacing": float, "interpolation": str},
        ("rms", "length", "seed"),
    ),
}
"""The function of `grouser.terrain`, loaded when used; the keys with their types, and the keys that must be given."""
_OF_FILE = re.compile(r"(?P<path>.+\.(?:npz|asc|tiff?|stl|obj|ply))(?::(?P<rest>.*))?", re.IGNORECASE | re.DOTALL)
_FILE_KEYS: _Keys = {"crop": _rectangle, "step": int, "nodata": float, "interpolation": str}


def parse(text: str, *, progress: Callable[[int, int], None] | None = None) -> Terrain:
    """From "flat", "slope:deg=10", "ramp:height=1.5,deg=20", "rough:rms=.1,length=1,seed=1" or a path.

    text: a kind, then after a colon key=value pairs with commas between; keys as in the functions of that
        name (metres and degrees). Or the path of a file that `read` reads, maybe with the part of it that is wanted:
        "dem.tif:crop=x0,y0,x1,y1,step=2,nodata=-9999,interpolation=bicubic", x and y of two opposite corners [m].
    progress: of reading a file, as in `read`.
    """
    if not isinstance(text, str):
        raise TerrainError(f"no terrain {shown(text)}; it must be text, such as {', '.join(KINDS)}, or a path")
    kind, _, rest = text.strip().partition(":")
    if kind not in KINDS:
        from grouser.terrain.files import SUFFIXES, read

        of_file = _OF_FILE.fullmatch(text.strip())
        if of_file:
            wanted = _values(of_file["rest"] or "", _FILE_KEYS, of_file["path"])
            return read(of_file["path"], bounds=wanted.pop("crop", None), progress=progress, **wanted)
        raise TerrainError(
            f"no terrain {shown(text)}; write {', '.join(KINDS)}, or a file ending in {', '.join(SUFFIXES)}"
        )
    builder, keys, required = KINDS[kind]
    arguments = _values(rest, keys, f"terrain {kind}")
    missing = [key for key in required if key not in arguments]
    if missing:
        raise TerrainError(f"terrain {kind}: needs {', '.join(missing)}; its keys are {', '.join(keys)}")
    with prefixed(f"terrain {kind}: ", TerrainError):
        made: Terrain = getattr(terrain, builder)(**arguments)
        return made


def file_of(text: str) -> str | None:
    """The file that a line names; None if it names none."""
    found = None if text.strip().partition(":")[0] in KINDS else _OF_FILE.fullmatch(text.strip())
    return found["path"] if found else None


def _values(rest: str, keys: _Keys, where: str) -> dict[str, Any]:
    """The values of "key=value,key=value"; numbers without a key belong to the crop before them."""
    given: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (word.strip() for word in item.partition("="))
        if not equals and list(given)[-1:] == ["crop"]:
            given["crop"] += f",{key}"
            continue
        if key not in keys or not equals:
            raise TerrainError(f"{where}: no key {shown(item)}; write key=value with keys {', '.join(keys)}")
        if key in given:
            raise TerrainError(f"{where}: {key} is given twice; give it once")
        given[key] = value
    values = {}
    for key, text in given.items():
        try:
            values[key] = keys[key](text)
        except ValueError:
            raise TerrainError(f"{where}: {key} is {shown(text)}; it must be {_WANTED[keys[key]]}") from None
    return values
