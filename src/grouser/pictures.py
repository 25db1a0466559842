"""Pictures and pages of results. `view` draws them; the package's front door says who draws what.

A lower layer asks for a picture by name and does not import the layer above it.
"""

from collections.abc import Callable
from typing import Any

_painters: dict[str, Callable[..., Any]] = {}


def painted_by(what: str, painter: Callable[..., Any]) -> None:
    """Say who draws a kind of picture."""
    _painters[what] = painter


def draw(what: str, *args: Any, **options: Any) -> Any:
    """Draw a kind of picture."""
    return _painters[what](*args, **options)
