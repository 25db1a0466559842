"""Values a user gave, turned into what kernels take, or refused in one sentence that names value and place.

A package has its `Checker`, which raises the package's own error; the functions of this module raise SimulationError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser.errors import GrouserError, SimulationError

FloatArray = NDArray[np.float64]
Shape = tuple[int | None, ...]
T = TypeVar("T")

LARGEST = 1e9
"""Largest magnitude of a quantity of a simulation (SI)."""
FEW = 4096
"""Entries of an array whose dot product BLAS finds on the caller's thread: more wake other threads, which then spin."""
LONGEST_NAME = 200
"""Characters in a name."""
_FLOAT = np.dtype(np.float64)


def shown(value: Any) -> str:
    """A value as an error shows it: on one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def listed(names: Iterable[str], most: int = 30) -> str:
    """The names for a message, comma-separated, cut after `most`."""
    names = list(names)
    some = ", ".join(names[:most])
    return f"{some}, … ({len(names)} in all)" if len(names) > most else some or "none"


def nearest(given: str, names: Sequence[str], cutoff: float = 0.6) -> str:
    """A hint for a message, "did you mean 'x'? ", if one of the names is spelt nearly as the given one."""
    import difflib

    near = [name for name in names if name.lower() == given.lower()]
    near = near or difflib.get_close_matches(given, names, n=1, cutoff=cutoff)
    return f"did you mean '{near[0]:.60}'? " if near else ""


def set_checked(row: Any, where: str, check: Callable[..., Any], *names: str, **options: Any) -> None:
    """Check fields of a frozen dataclass and set each to the checked value; None stays where it is the default.

    where: what stands before the name of a field in messages. options: of the check, such as count=3.
    """
    for name in names:
        value = getattr(row, name)
        if value is not None or row.__dataclass_fields__[name].default is not None:
            object.__setattr__(row, name, check(value, name=f"{where} {name}", **options))


class Checker:
    """Checks that raise one class of errors; `name` says what a value is, and where it stands."""

    def __init__(self, error: type[GrouserError], largest: float = LARGEST) -> None:
        self.error = error
        self.largest = largest
        """Largest magnitude of a number; products of several such numbers do not overflow."""

    def instance(self, value: Any, kind: Callable[..., T], name: str, remedy: str) -> T:
        """The value, if it is of a kind."""
        if not isinstance(value, kind):  # type: ignore[arg-type]  # a class; mypy refuses abstract ones as `type`
            raise self.error(f"{name}: {shown(value)} is not {_a(kind)}; {remedy}")
        result: T = value
        return result

    def number(
        self, value: Any, name: str, *, low: float = -math.inf, high: float = math.inf, unit: str = "m"
    ) -> float:
        """A finite float of reasonable size, from low to high [unit]."""
        if type(value) is float and -self.largest <= value <= self.largest and low <= value <= high:
            return value
        try:
            if isinstance(value, (bool, str, bytes)):
                raise TypeError
            result = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self.error(f"{name}: {shown(value)} is not a number") from None
        if low <= result <= high and abs(result) <= self.largest:
            return result
        if high < math.inf:
            raise self.error(f"{name}: {result:g} is not a number from {low:g} to {high:g} {unit}")
        if low > result > -self.largest:
            raise self.error(f"{name}: {result:g} is not a number of at least {low:g} {unit}")
        raise self.error(f"{name}: {result:g} is {self._unfit(result)}")

    def positive(self, value: Any, name: str) -> float:
        """A finite float above zero."""
        if type(value) is float and 0.0 < value <= self.largest:
            return value
        result = self.number(value, name)
        if result <= 0.0:
            raise self.error(f"{name}: {result:g} is not positive")
        return result

    def not_negative(self, value: Any, name: str) -> float:
        """A finite float, zero or above."""
        result = self.number(value, name)
        if result < 0.0:
            raise self.error(f"{name}: {result:g} is negative; it must be zero or more")
        return result

    def count(self, value: Any, name: str, *, least: int = 1, most: int = 10**9) -> int:
        """A whole number within bounds."""
        try:
            result = int(value)
            whole = result == value and not isinstance(value, (bool, np.bool_))
        except (TypeError, ValueError, OverflowError):
            raise self.error(f"{name}: {shown(value)} is not a whole number") from None
        if not whole or not least <= result <= most:
            raise self.error(f"{name}: {shown(value)} is not a whole number between {least} and {most}")
        return result

    def flag(self, value: Any, name: str) -> bool:
        """True or False."""
        if not isinstance(value, (bool, np.bool_)):
            raise self.error(f"{name}: {shown(value)} is neither True nor False")
        return bool(value)

    def choice(self, value: Any, name: str, options: Sequence[str]) -> str:
        """One of the options."""
        if not (isinstance(value, str) and value in options):
            raise self.error(f"{name}: {shown(value)} is not one of {', '.join(options)}")
        return value

    def name(self, value: Any, what: str) -> str:
        """A name that prints on one line."""
        if not isinstance(value, str):
            raise self.error(f"{what}: the name {shown(value)} is not text")
        if not value.strip() or not value.isprintable() or len(value) > LONGEST_NAME:
            wanted = f"1 to {LONGEST_NAME} printable characters, not all blank"
            raise self.error(f"{what}: the name {shown(value)} must be {wanted}")
        return value

    def numbers(self, value: Any, count: int, name: str) -> tuple[float, ...]:
        """Exactly `count` finite floats."""
        entries = self.rows(value, object, name, f"{count} numbers")
        if len(entries) != count:
            raise self.error(f"{name}: has {len(entries)} entries, needs {count}")
        return tuple(self.number(entry, name) for entry in entries)

    def rows(self, value: Any, kind: type[T], name: str, what: str = "") -> tuple[T, ...]:
        """A tuple of things of one kind."""
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise self.error(f"{name}: {shown(value)} is not a list of {what or kind.__name__}")
        entries = tuple(value)
        for i, entry in enumerate(entries):
            if not isinstance(entry, kind):
                raise self.error(f"{name}: entry {i + 1}, {shown(entry)}, is not {_a(kind)}")
        return entries

    def real(self, value: ArrayLike, name: str) -> FloatArray:
        """A float64 array of any shape; what is not finite stays."""
        if np.ma.is_masked(value):
            raise self.error(f"{name}: has masked entries, which are not numbers; fill them first")
        try:
            given = np.asarray(value)
            if given.dtype.kind in "biufO":
                return np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise self.error(f"{name}: is not an array of numbers") from None
        if given.dtype.kind == "c":
            raise self.error(f"{name}: has complex numbers; give real ones")
        raise self.error(f"{name}: is not an array of numbers")

    def array(
        self, value: ArrayLike, name: str, shape: Shape, *, missing: bool = False, most: int | None = None
    ) -> FloatArray:
        """A new C-contiguous float64 array of finite numbers, and of NaN if `missing`; None allows any length.

        most: entries beyond which it is refused before it is copied.
        """
        if self._is_plain(value, shape):
            plain: FloatArray = value.copy()  # type: ignore[union-attr]
            return plain
        given = self.real(value, name)
        if len(shape) != given.ndim or any(n not in (None, m) for n, m in zip(shape, given.shape, strict=True)):
            wanted = ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "")
            raise self.error(f"{name}: has shape {given.shape}, needs ({wanted})")
        if most is not None and given.size > most:
            raise self.error(f"{name}: has {given.size} entries, at most {most} are accepted")
        result = np.array(given, order="C")
        self.finite(result, name, missing=missing)
        return result

    def finite(self, values: FloatArray, name: str, *, missing: bool = False) -> None:
        """Refuse an array with an entry that is infinite, too large or, unless `missing` says so, NaN."""
        bad = np.abs(values) > self.largest if missing else ~(np.abs(values) <= self.largest)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            entry = f"entry {list(at)} is {values[at]:g}," if at else f"{values[at]:g} is"
            raise self.error(f"{name}: {entry} {self._unfit(values[at])}")

    def _unfit(self, value: float) -> str:
        too_large = f"too large; magnitudes up to {self.largest:g} are accepted"
        return too_large if math.isfinite(value) else "not a finite number"

    def fill(self, room: FloatArray, value: ArrayLike, name: str) -> None:
        """Copy an array of finite numbers into one of the same shape."""
        room[:] = value if self._is_plain(value, room.shape) else self.array(value, name, room.shape)

    def _is_plain(self, value: Any, shape: Shape) -> bool:
        """Whether it is what nearly all callers give: a small float64 array of this very shape, of fair numbers."""
        if not (type(value) is np.ndarray and value.dtype is _FLOAT and value.shape == shape and value.size <= FEW):
            return False
        flat = value if len(shape) == 1 else value.reshape(-1)
        return bool(flat.dot(flat) <= self.largest * self.largest)  # so is each square; NaN and infinity fail


def _a(kind: Any) -> str:
    """A class with its article."""
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"


_simulation = Checker(SimulationError)
instance, number, positive = _simulation.instance, _simulation.number, _simulation.positive
not_negative, numbers = _simulation.not_negative, _simulation.numbers
count, flag, choice, rows = _simulation.count, _simulation.flag, _simulation.choice, _simulation.rows
real, array, fill = _simulation.real, _simulation.array, _simulation.fill
