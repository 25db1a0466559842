"""Values a user gave, turned into plain floats and names or refused with the place they stand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from grouser.errors import VehicleError

LARGEST = 1e12
"""Largest magnitude of any number of a vehicle (SI); products of several such numbers do not overflow."""

LONGEST_NAME = 200
"""Characters in a name."""


def number(value: Any, where: str) -> float:
    """A finite float of reasonable size; `where` names frame and field for the message."""
    if isinstance(value, (bool, str, bytes)):
        raise VehicleError(f"{where}: {value!r:.60} is not a number")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise VehicleError(f"{where}: {value!r:.60} is not a number") from None
    if not math.isfinite(result):
        raise VehicleError(f"{where}: {result} is not a finite number")
    if abs(result) > LARGEST:
        raise VehicleError(f"{where}: {result:g} is too large, magnitudes up to {LARGEST:g} are accepted")
    return result


def numbers(value: Any, count: int, where: str) -> tuple[float, ...]:
    """Exactly `count` finite floats."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise VehicleError(f"{where}: {value!r:.60} is not a list of {count} numbers")
    entries = list(value)
    if len(entries) != count:
        raise VehicleError(f"{where}: has {len(entries)} entries, needs {count}")
    return tuple(number(entry, where) for entry in entries)


def positive(value: Any, where: str) -> float:
    """A finite float above zero."""
    result = number(value, where)
    if result <= 0.0:
        raise VehicleError(f"{where}: {result:g} is not positive")
    return result


def not_negative(value: Any, where: str) -> float:
    """A finite float, zero or above."""
    result = number(value, where)
    if result < 0.0:
        raise VehicleError(f"{where}: {result:g} is negative, it must be zero or more")
    return result


def name(value: Any, what: str) -> str:
    """A name that prints on one line."""
    if not isinstance(value, str):
        raise VehicleError(f"{what}: the name {value!r:.60} is not text")
    if not value.strip() or not value.isprintable() or len(value) > LONGEST_NAME:
        raise VehicleError(
            f"{what}: the name {value!r:.60} must be 1 to {LONGEST_NAME} printable characters, not all blank"
        )
    return value


def text(value: Any, what: str) -> str:
    """Any text that a UTF-8 file can hold."""
    if not isinstance(value, str):
        raise VehicleError(f"{what}: {value!r:.60} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise VehicleError(f"{what}: holds a character that UTF-8 cannot store") from None
    return value


def listed(names: Iterable[str], most: int = 30) -> str:
    """The names for a message, comma-separated, cut after `most`."""
    names = list(names)
    shown = ", ".join(names[:most])
    return f"{shown}, … ({len(names)} in all)" if len(names) > most else shown or "none"
