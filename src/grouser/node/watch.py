"""Rate, delay, loss, damage and silence of each topic; delays as a histogram in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

LEAST, PER_DECADE, DECADES = 1e-6, 50, 8
"""From 1 µs to 100 s; bins are 4.7 % wide, so a quantile is that exact."""
SILENT = 1.0
"""A topic that has not sent for so long [s], and for five of its periods, is silent."""
FAR = 1.0
"""Stamps this far from our clock [s] are reported."""


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


@dataclass
class TopicWatch:
    """Counts of one topic."""

    name: str
    type: str = ""
    """Of its messages; empty before the first."""
    messages: int = 0
    """Read so far."""
    damaged: int = 0
    """Bytes that were no message."""
    refused: int = 0
    """Messages whose values the chain refused."""
    problem: str = ""
    """Why the last one was refused."""
    delay: Latency = field(default_factory=Latency)
    """From the stamp to the arrival."""
    offset: float = 0.0
    """Arrival less stamp of the last message [s]."""
    last: float | None = None
    """When the last one came [s, monotonic]."""
    rate: float = 0.0
    """In the last interval [1/s]."""
    _first: float = 0.0
    _counted: tuple[float, int] | None = None

    def take(self, kind: str, stamp: float, arrived: float, now: float) -> None:
        """A message was read: its type, its stamp and arrival [s], and the latter by the monotonic clock [s]."""
        if self.last is None:
            self._first = now
        self.messages += 1
        self.type = kind
        self.offset = arrived - stamp
        self.delay.add(self.offset)
        self.last = now

    def count(self, now: float) -> None:
        """Close an interval, for the rate."""
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
