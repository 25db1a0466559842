"""Pictures and pages of results: a lower layer asks for one by name and does not import the layer that draws it."""

import os
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from grouser.errors import GrouserError

SUFFIXES = (".png", ".svg", ".pdf")
PAINTERS: dict[str, str] = {}
"""Module and function that draw a kind of picture, registered by the package; loaded when something is drawn."""


def draw(what: str, *args: Any, **options: Any) -> Any:
    """Draw a kind of picture."""
    return resolve_name(PAINTERS[what])(*args, **options)


def picture_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a picture's name; GrouserError where no picture is written with it."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise GrouserError(f"{path}: a picture ends in one of {', '.join(SUFFIXES)}")
    return suffix
