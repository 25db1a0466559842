"""Numbers that stand for no data in a map that does not say so: −9999, −32768, 1e38."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

USUAL = (-9999.0, -99999.0, -999.0, -32768.0, -32767.0, 9999.0, 32767.0, 65535.0)
"""Numbers that programs write where they have no height."""
NO_HEIGHT = 1e30
"""Magnitude beyond which a number is no height, as the ±3.4e38 of some programs."""
Array = npt.NDArray[Any]


class Guess:
    """Finds them part by part: each such number that is the lowest or highest of a part is set to NaN and counted.

    Once all parts were seen, `refuted` names those that may be heights after all: they lie no further from all others
    than these from each other.
    """

    def __init__(self, never: tuple[float, ...] = ()) -> None:
        self.never = set(never)
        """Numbers that are heights."""
        self.count: dict[float, int] = {}
        """Nodes by the number they had."""
        self.low, self.high = math.inf, -math.inf
        """Range of all other heights."""

    def clear(self, part: Array) -> None:
        """Set those of one part to NaN, in place."""
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

    def _suspicious(self, value: float) -> bool:
        if math.isinf(value) or value in self.never:
            return False
        return value in USUAL or abs(value) >= NO_HEIGHT

    def refuted(self) -> tuple[float, ...]:
        """Numbers that were set to NaN and must not be."""
        span = max(self.high - self.low, 0.0)
        apart = {one: self.low - one if one < self.low else one - self.high for one in self.count}
        return tuple(one for one, gap in apart.items() if abs(one) < NO_HEIGHT and not span < gap)

    def note(self, file: str, nodes: int) -> str:
        """A sentence on what was found; empty if nothing was."""
        if not self.count:
            return ""
        which = ", ".join(f"{one:.6g}".replace("-", "−", 1) for one in sorted(self.count))
        total = sum(self.count.values())
        return (
            f"{file}: {which} is taken as no data ({total} nodes, {100.0 * total / nodes:.2g} %), although the file "
            f"does not declare it: all other heights are {self.low:.6g} … {self.high:.6g} m"
        )
