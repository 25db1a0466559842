"""Rate, delay, loss, damage and silence of each topic; delays as a histogram in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

LEAST, PER_DECADE, DECADES = 1e-6, 50, 8
"""Bins from 1 µs to 100 s; they are 4.7 % wide, which is the accuracy of a quantile."""
SILENT = 1.0
"""A topic is silent after this time [s] and five of its periods without a message."""
FAR = 1.0
"""Difference between stamps and the clock of this computer [s] that is reported."""


class Latency:
    """Histogram of delays [s]: count, quantiles, the longest."""

    def __init__(self) -> None:
        """Without any."""
        self._counts = np.zeros(PER_DECADE * DECADES + 1, np.int64)
        self.count = 0
        self.longest = 0.0
        """[s]"""

    def add(self, delay: float) -> None:
        """Add a delay [s]; below 1 µs, also negative after a jump of the clock, it counts as 1 µs."""
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


@dataclass
class TopicWatch:
    """Counts of one topic."""

    name: str
    type: str = ""
    """Type of its messages; empty before the first."""
    messages: int = 0
    """Read so far."""
    damaged: int = 0
    """Messages that could not be decoded."""
    refused: int = 0
    """Messages whose values the estimator refused."""
    problem: str = ""
    """Why the last one was refused."""
    delay: Latency = field(default_factory=Latency)
    """Delay from the stamp to the arrival."""
    offset: float = 0.0
    """Arrival minus stamp of the last message [s]."""
    last: float | None = None
    """Arrival of the last message [s, monotonic]."""
    rate: float = 0.0
    """Rate in the last interval [Hz]."""
    _first: float = 0.0
    _counted: tuple[float, int] | None = None

    def take(self, kind: str, stamp: float, arrived: float, now: float) -> None:
        """Count a message: its type, stamp and arrival [s], and its arrival by the monotonic clock [s]."""
        if self.last is None:
            self._first = now
        self.messages += 1
        self.type = kind
        self.offset = arrived - stamp
        self.delay.add(self.offset)
        self.last = now

    def count(self, now: float) -> None:
        """End an interval of the rate."""
        if self._counted is not None and now > self._counted[0]:
            self.rate = (self.messages - self._counted[1]) / (now - self._counted[0])
        self._counted = now, self.messages

    def silence(self, now: float) -> float | None:
        """For how long the topic is silent [s]; None while it sends, infinite before its first message."""
        if self.last is None:
            return float("inf")
        quiet = now - self.last
        usual = (self.last - self._first) / max(self.messages - 1, 1)
        return quiet if quiet > max(SILENT, 5.0 * usual) else None
