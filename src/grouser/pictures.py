"""Pictures and pages of results. `view` draws them; the package registers which function draws what.

A lower layer asks for a picture by name and does not import the layer above it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grouser.errors import GrouserError

SUFFIXES = (".png", ".svg", ".pdf")
_painters: dict[str, Callable[..., Any]] = {}


def painted_by(what: str, painter: Callable[..., Any]) -> None:
    """Register the function that draws a kind of picture."""
    _painters[what] = painter


def draw(what: str, *args: Any, **options: Any) -> Any:
    """Draw a kind of picture."""
    return _painters[what](*args, **options)


def picture_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a picture's name; GrouserError where no picture is written with it."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise GrouserError(f"{path}: a picture ends in one of {', '.join(SUFFIXES)}")
    return suffix
