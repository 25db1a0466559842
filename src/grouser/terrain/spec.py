"""Terrains written in one line, for the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from grouser import terrain
from grouser.checks import shown
from grouser.errors import TerrainError
from grouser.terrain.ground import Terrain

Value = float | int | str | bool


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false"):
        raise ValueError
    return text.lower() in ("yes", "true")


_Keys = dict[str, Callable[[str], Value]]
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
_FILE_KEYS = ("crop", "step", "nodata", "interpolation")


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
            return read(of_file["path"], **_wanted(of_file["rest"] or "", of_file["path"]), progress=progress)
        raise TerrainError(
            f"no terrain {shown(text)}; write {', '.join(KINDS)}, or a file ending in {', '.join(SUFFIXES)}"
        )
    builder, keys, required = KINDS[kind]
    arguments: dict[str, Value] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (word.strip() for word in item.partition("="))
        if key not in keys or not equals:
            raise TerrainError(f"terrain {kind}: no key {shown(item)}; write key=value with keys {', '.join(keys)}")
        if key in arguments:
            raise TerrainError(f"terrain {kind}: {key} is given twice; give it once")
        try:
            arguments[key] = keys[key](value)
        except ValueError:
            wanted = {float: "a number", int: "a whole number"}.get(keys[key], "yes or no")  # type: ignore[call-overload]
            raise TerrainError(f"terrain {kind}: {key} is {shown(value)}; it must be {wanted}") from None
    missing = [key for key in required if key not in arguments]
    if missing:
        raise TerrainError(f"terrain {kind}: needs {', '.join(missing)}; its keys are {', '.join(keys)}")
    try:
        made: Terrain = getattr(terrain, builder)(**arguments)
        return made
    except TerrainError as error:
        raise TerrainError(f"terrain {kind}: {error}") from None


def file_of(text: str) -> str | None:
    """The file that a line names; None if it names none."""
    found = None if text.strip().partition(":")[0] in KINDS else _OF_FILE.fullmatch(text.strip())
    return found["path"] if found else None


def _wanted(rest: str, path: str) -> dict[str, Any]:
    """What `read` is asked for; a number without a key belongs to the key before it."""
    given: dict[str, list[str]] = {}
    last = ""
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = (word.strip() for word in item.partition("="))
        if not equals and last == "crop":
            given[last].append(key)
            continue
        if key not in _FILE_KEYS or not equals:
            raise TerrainError(f"{path}: no key {shown(item)}; write key=value with keys {', '.join(_FILE_KEYS)}")
        if key in given:
            raise TerrainError(f"{path}: {key} is given twice; give it once")
        given[key], last = [value], key
    found: dict[str, Any] = {}
    if "crop" in given:
        try:
            x0, y0, x1, y1 = map(float, given["crop"])
        except ValueError:
            said = ",".join(given["crop"])
            raise TerrainError(
                f"{path}: crop is {shown(said)}; it must be x0,y0,x1,y1 of two opposite corners"
            ) from None
        found["bounds"] = (min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1))
    for key, kind, wanted in (("step", int, "a whole number"), ("nodata", float, "a number")):
        if key in given:
            try:
                found[key] = kind(given[key][0])
            except ValueError:
                raise TerrainError(f"{path}: {key} is {shown(given[key][0])}; it must be {wanted}") from None
    if "interpolation" in given:
        found["interpolation"] = given["interpolation"][0]
    return found
