"""Where the heights of a map come from: the file, its coordinate system, and the numbers in it that mean no data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from grouser.errors import TerrainError
from grouser.terrain.ground import Bounds

Read = TypeVar("Read")
Heights = npt.NDArray[Any]
USUAL = (-9999.0, -99999.0, -999.0, -32768.0, -32767.0, 9999.0, 32767.0, 65535.0)
"""Usual no-data values."""
NO_HEIGHT = 1e30
"""Magnitude above which a number is a no-data value, such as ±3.4e38."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The file of a map, and of which larger map this is a part."""

    file: str = ""
    """Its name; empty if the heights were not read from a file."""
    stored: str = ""
    """Type of its numbers, such as float32."""
    crs: str = ""
    """Name of its coordinate system, such as WGS 84 / UTM zone 33N; empty if it names none."""
    epsg: int | None = None
    """Number of that system in the EPSG registry; None if it has none."""
    nodata: float | None = None
    """No-data value of the file [m]; None if it is NaN."""
    guessed: bool = False
    """Whether that value was recognised, because the file declares none."""
    step: int = 1
    """Nodes of the file along each axis that were averaged into one, a count."""
    whole: Bounds | None = None
    """Rectangle (xmin, xmax, ymin, ymax) of the whole map [m]; None if this is all of it."""
    notes: tuple[str, ...] = ()
    """Assumptions made while reading, one sentence each."""

    def tree(self) -> dict[str, Any]:
        """As JSON."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None, (), False)}

    @classmethod
    def of(cls, tree: Any) -> Source | None:
        """From what `tree` gave; None for None."""
        if tree is None:
            return None
        if not isinstance(tree, dict) or not set(tree) <= set(cls.__dataclass_fields__):
            raise TerrainError("the source of a terrain in it is not a table of its fields; save the terrain again")
        return cls(**_checked(tree))


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "file": str, "stored": str, "crs": str, "epsg": int, "nodata": (int, float), "guessed": bool, "step": int,
        "whole": (list, tuple), "notes": (list, tuple),
    }  # fmt: skip
    out = dict(fields)
    for name, value in fields.items():
        good = isinstance(value, kinds[name])
        if name == "whole" and good:
            good = len(value) == 4 and all(isinstance(v, (int, float)) and math.isfinite(v) for v in value)
            out[name] = tuple(float(v) for v in value) if good else ()
        if name == "notes" and good:
            good, out[name] = all(isinstance(v, str) for v in value), tuple(value)
        if not good:
            raise TerrainError(f"source of a terrain in it: {name} is not what a map has; save the terrain again")
    return out


def covers(bounds: Bounds) -> str:
    """The extent of a map in words, with all digits [m]."""
    xmin, xmax, ymin, ymax = (f"{value:.10g}" for value in bounds)
    return f"x {xmin} to {xmax} m, y {ymin} to {ymax} m"


class Guess:
    """Finds undeclared numbers for no data: each that is the lowest or highest of a part is set to NaN and counted.

    Once all parts were read, `refuted` names those that may be heights after all: they lie no further from all others
    than these from each other.
    """

    def __init__(self, never: tuple[float, ...] = ()) -> None:
        self.never = set(never)
        """Numbers that are heights."""
        self.count: dict[float, int] = {}
        """Nodes by the number they had."""
        self.low, self.high = math.inf, -math.inf
        """Range of all other heights."""

    def clear(self, part: Heights) -> Heights:
        """The part with those set to NaN, in place."""
        while True:
            low, high = float(np.fmin.reduce(part, axis=None)), float(np.fmax.reduce(part, axis=None))
            found = [one for one in (low, high) if self._suspicious(one)]
            if not found:
                break
            where = part == found[0]
            self.count[found[0]] = self.count.get(found[0], 0) + int(np.count_nonzero(where))
            part[where] = np.nan
        if not math.isnan(low):
            self.low, self.high = min(self.low, low), max(self.high, high)
        return part

    def _suspicious(self, value: float) -> bool:
        if math.isinf(value) or value in self.never:
            return False
        return value in USUAL or abs(value) >= NO_HEIGHT

    def refuted(self) -> tuple[float, ...]:
        """Numbers that were set to NaN and must not be."""
        span = max(self.high - self.low, 0.0)
        apart = {one: self.low - one if one < self.low else one - self.high for one in self.count}
        return tuple(one for one, gap in apart.items() if abs(one) < NO_HEIGHT and not span < gap)

    def source(self, file: str, nodes: int, declared: float | None, **known: Any) -> Source:
        """The source of a map with that many nodes, read with this guess; declared: what the file says is no data."""
        total = sum(self.count.values())
        which = ", ".join(f"{one:.6g}".replace("-", "−", 1) for one in sorted(self.count))
        note = (
            f"{file}: {which} is taken as no data ({total} nodes, {100.0 * total / nodes:.2g} %), although the file "
            f"does not declare it: all other heights are {self.low:.6g} … {self.high:.6g} m"
        )
        declared = None if declared is None or math.isnan(declared) else float(declared)
        nodata = min(self.count, default=declared)
        return Source(file=file, nodata=nodata, guessed=bool(total), notes=(note,) if total else (), **known)


def read_guessing(read: Callable[[Guess], Read]) -> tuple[Read, Guess]:
    """What `read` makes of a map with a guess; once more where the guess took heights for no data."""
    guess = Guess()
    while True:
        found = read(guess)
        if not guess.refuted():
            return found, guess
        guess = Guess((*guess.never, *guess.refuted()))
