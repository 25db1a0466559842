"""What the numbers of a terrain must be, said in one sentence when they are not."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from grouser._kernels.terrain.ground import FAR
from grouser.errors import TerrainError

FloatArray = npt.NDArray[np.float64]

MOST_NODES = 25_000_000
"""Nodes of the largest grid: its parameters take 24 to 32 bytes a node."""


def number(
    value: Any, name: str, *, low: float = -FAR, high: float = FAR, unit: str = "m", infinite: bool = False
) -> float:
    """`value` as a float between low and high (both allowed); +∞ only where `infinite` says so."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        result = float(value) if real else math.nan
    except OverflowError:
        result = math.nan
    if infinite and result == math.inf:
        return result
    if not (low <= result <= high):
        raise TerrainError(f"{name} is {short(value)}; it must be a number from {low:g} to {high:g} {unit}")
    return result


def integer(value: Any, name: str, *, low: int, high: int) -> int:
    """`value` as an int between low and high (both allowed)."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not (low <= value <= high):
        raise TerrainError(f"{name} is {short(value)}; it must be a whole number from {low} to {high}")
    return int(value)


def choice(value: Any, name: str, options: tuple[str, ...]) -> str:
    """`value` if it is one of the options."""
    if not (isinstance(value, str) and value in options):
        raise TerrainError(f"{name} is {short(value)}; it must be one of {', '.join(options)}")
    return value


def flag(value: Any, name: str) -> bool:
    """`value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise TerrainError(f"{name} is {short(value)}; it must be True or False")
    return bool(value)


def real_array(value: Any, name: str, *, dimensions: int | None = None) -> FloatArray:
    """`value` as a float64 array of real numbers, finite or not."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise TerrainError(f"{name} is not an array of numbers; its rows may differ in length") from None
    if array.dtype.kind not in "biuf":
        raise TerrainError(f"{name} holds {array.dtype.name}; it must hold real numbers")
    if dimensions is not None and array.ndim != dimensions:
        raise TerrainError(f"{name} has shape {array.shape}; it must have {dimensions} dimension(s)")
    return array.astype(np.float64, copy=False)


def first_bad(array: FloatArray, name: str, *, allowed: npt.NDArray[np.bool_], rule: str) -> None:
    """Refuse an array, naming its first entry that is not allowed."""
    if not allowed.all():
        where = np.unravel_index(int(np.argmin(allowed)), array.shape)
        index = ", ".join(str(int(i)) for i in where)
        place = f"{name}[{index}]" if index else name
        raise TerrainError(f"{place} is {array[where]:g}; {rule}")


def near(array: FloatArray, name: str) -> None:
    """Refuse an array with an entry that is NaN, infinite or further than FAR."""
    first_bad(array, name, allowed=np.abs(array) <= FAR, rule=f"it must be finite and from {-FAR:g} to {FAR:g} m")


def short(value: Any) -> str:
    """`value` as an error message shows it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
