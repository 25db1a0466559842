"""Terrains written in one line, for the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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


def parse(text: str) -> Terrain:
    """From "flat", "slope:deg=10", "ramp:height=1.5,deg=20", "rough:rms=.1,length=1,seed=1" or a path.

    text: a kind, then after a colon key=value pairs with commas between; keys as in the functions of that
        name (metres and degrees), or the path of a file that `read` reads.
    """
    if not isinstance(text, str):
        raise TerrainError(f"no terrain {shown(text)}; it must be text, such as {', '.join(KINDS)}, or a path")
    kind, _, rest = text.strip().partition(":")
    if kind not in KINDS:
        from grouser.terrain.files import SUFFIXES, read

        if Path(text).suffix.lower() in SUFFIXES:
            return read(text)
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
