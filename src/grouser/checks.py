"""Values a user gave, turned into what kernels take or refused with the name they stand under."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser.errors import SimulationError

FloatArray = NDArray[np.float64]
T = TypeVar("T")

LARGEST = 1e9
"""Largest magnitude of a quantity of a simulation (SI)."""
_FLOAT = np.dtype(np.float64)
FEW = 4096
"""Entries of an array whose dot product BLAS finds on the caller's thread: more wake other threads, which then spin."""


def shown(value: Any) -> str:
    """A value as an error shows it: on one line, and not too long."""
    return " ".join(repr(value).split())[:60]


def instance(value: Any, kind: Callable[..., T], name: str, remedy: str) -> T:
    """The value, if it is of a kind."""
    if not isinstance(value, kind):  # type: ignore[arg-type]  # a class; mypy refuses abstract ones as `type`
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise SimulationError(f"{name}: {shown(value)} is not {article} {kind.__name__}; {remedy}")
    result: T = value
    return result


def number(value: Any, name: str) -> float:
    """A finite float of reasonable size."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise SimulationError(f"{name}: {shown(value)} is not a number") from None
    if not math.isfinite(result) or abs(result) > LARGEST:
        raise SimulationError(f"{name}: {result:g} is not a finite number of magnitude up to {LARGEST:g}")
    return result


def positive(value: Any, name: str) -> float:
    """A finite float above zero."""
    if type(value) is float and 0.0 < value <= LARGEST:
        return value
    result = number(value, name)
    if result <= 0.0:
        raise SimulationError(f"{name}: {result:g} is not positive")
    return result


def not_negative(value: Any, name: str) -> float:
    """A finite float, zero or above."""
    result = number(value, name)
    if result < 0.0:
        raise SimulationError(f"{name}: {result:g} is negative; it must be zero or more")
    return result


def count(value: Any, name: str, *, least: int = 1, most: int = 10**9) -> int:
    """A whole number within bounds."""
    try:
        result = int(value)
    except (TypeError, ValueError, OverflowError):
        raise SimulationError(f"{name}: {shown(value)} is not a whole number") from None
    if result != value or not least <= result <= most:
        raise SimulationError(f"{name}: {shown(value)} is not a whole number between {least} and {most}")
    return result


def real(value: ArrayLike, name: str) -> FloatArray:
    """A float64 array of any shape; what is not finite stays."""
    try:
        given = np.asarray(value)
        if given.dtype.kind != "c":
            return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise SimulationError(f"{name}: {shown(value)} is not an array of real numbers")


def array(value: ArrayLike, name: str, shape: tuple[int | None, ...]) -> FloatArray:
    """A new C-contiguous float64 array of finite numbers; None in the shape allows any length."""
    if _plain(value, shape):
        plain: FloatArray = value.copy()  # type: ignore[union-attr]
        return plain
    if np.ma.is_masked(value):
        raise SimulationError(f"{name}: has masked entries, and what lies under a mask is no number; fill them first")
    try:
        given = np.asarray(value)
        if given.dtype.kind == "c":
            raise SimulationError(f"{name}: has complex numbers; give real ones")
        result = np.array(given, dtype=np.float64, order="C", ndmin=0)
    except (TypeError, ValueError):
        raise SimulationError(f"{name}: is not an array of numbers") from None
    wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
    if result.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, result.shape, strict=True)):
        raise SimulationError(f"{name}: has shape {result.shape}, needs {wanted}")
    bad = ~(np.abs(result) <= LARGEST)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise SimulationError(
            f"{name}: entry {list(at)} is {result[at]:g}, not a finite number of magnitude up to {LARGEST:g}"
        )
    return result


def fill(room: FloatArray, value: ArrayLike, name: str) -> None:
    """Copy an array of finite numbers into one of the same shape."""
    room[:] = value if _plain(value, room.shape) else array(value, name, room.shape)


def _plain(value: Any, shape: tuple[int | None, ...]) -> bool:
    """Whether it is what nearly all callers give: a float64 array of this very shape, its entries of fair size."""
    if not (type(value) is np.ndarray and value.dtype is _FLOAT and value.shape == shape and value.size <= FEW):
        return False
    if len(shape) != 1:
        if not value.flags.c_contiguous:
            return False
        value = value.reshape(-1)
    # Where the sum of squares is at most LARGEST², so is each square; NaN and infinity fail.
    return bool(value.dot(value) <= LARGEST * LARGEST)
