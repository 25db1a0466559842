"""Distribution of delays in constant memory: counts in bins of equal ratio."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["Latency"]

LEAST, PER_DECADE, DECADES = 1e-6, 50, 8
"""From 1 µs to 100 s; bins are 4.7 % wide, so a quantile is that exact."""


class Latency:
    """Delays [s]: how many, median, other quantiles, the longest."""

    def __init__(self) -> None:
        """Without any."""
        self._counts = np.zeros(PER_DECADE * DECADES + 1, np.int64)
        self.count = 0
        self.longest = 0.0
        """[s]"""

    def add(self, delay: float) -> None:
        """One more [s]; less than 1 µs, and less than nothing after a jump of the clock, counts as 1 µs."""
        at = 0 if not delay > LEAST else int(PER_DECADE * math.log10(delay / LEAST)) + 1
        self._counts[min(at, len(self._counts) - 1)] += 1
        self.count += 1
        self.longest = max(self.longest, delay)

    def quantile(self, share: float) -> float:
        """The delay [s] that this share stays below; 0 without any."""
        if not self.count:
            return 0.0
        at = int(np.searchsorted(np.cumsum(self._counts), share * self.count))
        return float(min(LEAST * 10.0 ** (at / PER_DECADE), self.longest))

    def summary(self) -> dict[str, float | int]:
        """Count, median, 99 % and the longest [ms]."""
        ms = {"median": self.quantile(0.5), "p99": self.quantile(0.99), "longest": self.longest}
        return {"count": self.count, **{name: round(1e3 * value, 3) for name, value in ms.items()}}
