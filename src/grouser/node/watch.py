"""What a node knows of each topic it listens to: rate, delay, loss, damage, silence."""

from __future__ import annotations

from dataclasses import dataclass, field

from grouser.node.latency import Latency

__all__ = ["TopicWatch"]

SILENT = 1.0
"""A topic that has not sent for so long [s], and for five of its periods, is silent."""
FAR = 1.0
"""Stamps this far from our clock [s] are reported."""


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
