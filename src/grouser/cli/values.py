"""Values on the command line that are more than one number."""

from __future__ import annotations

import math
from pathlib import Path

from grouser.errors import GrouserError


def numbers(text: str, count: int, option: str, example: str) -> list[float]:
    """Numbers with commas between, as many as asked for."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(value) for value in values):
        raise GrouserError(f"{option}: {text!r:.60} is not {count} numbers with commas between, such as {example}")
    return values


def whole(value: int, least: int, most: int, option: str) -> int:
    """A whole number within bounds."""
    if not least <= value <= most:
        raise GrouserError(f"{option}: {value} is not between {least} and {most}")
    return value


def positive(value: float, option: str) -> float:
    """A finite number above zero."""
    if not (math.isfinite(value) and value > 0.0):
        raise GrouserError(f"{option}: {value:g} is not a positive number")
    return value


def not_negative(value: float, option: str) -> float:
    """A finite number, zero or above."""
    if not (math.isfinite(value) and value >= 0.0):
        raise GrouserError(f"{option}: {value:g} is not a number of at least 0")
    return value


def make_folder(path: Path) -> Path:
    """A folder that exists from now on."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GrouserError(f"{path}: this folder cannot be made: {error.strerror or error}") from None
    return path
