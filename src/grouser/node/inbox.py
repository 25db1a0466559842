"""Bounded queue from the threads of a transport to the thread that processes messages; the newest are kept."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple

from grouser.node.transport import Receive

MOST = 4000
"""Length of the queue of a topic: some seconds of the fastest one, for a busy computer."""

AT_ONCE = 200
"""Messages processed before the node checks again whether to publish."""


class Letter(NamedTuple):
    """A message that has arrived."""

    topic: int
    """Index of its topic."""
    data: bytes
    arrived: float
    """[s, `time.time()`]"""
    now: float
    """Arrival by the monotonic clock [s, `time.monotonic()`]."""


class Inbox:
    """One queue per topic, so that many messages of one do not displace those of another; read in order of arrival."""

    def __init__(self, topics: int, most: int = MOST) -> None:
        """topics: their number; most: length of each queue."""
        self._queues: list[deque[Letter]] = [deque(maxlen=most) for _ in range(topics)]
        self._order: deque[int] = deque()
        self._ready = threading.Condition()
        self.lost = [0] * topics
        """Messages of each topic that newer ones replaced before they were read."""
        self.arrived = [0] * topics
        """Messages of each topic since the start."""

    def receiver(self, topic: int) -> Receive:
        """Callback of a transport for the messages of a topic."""
        queue, order, ready = self._queues[topic], self._order, self._ready

        def receive(data: bytes, arrived: float) -> None:
            now = time.monotonic()
            with ready:
                self.arrived[topic] += 1
                if len(queue) == queue.maxlen:  # the oldest is dropped; its entry in the order stays for the next
                    self.lost[topic] += 1
                else:
                    order.append(topic)
                queue.append(Letter(topic, data, arrived, now))
                ready.notify()

        return receive

    def take(self, timeout: float, most: int = AT_ONCE) -> list[Letter]:
        """The oldest messages, at most this number; none after `timeout` [s]."""
        with self._ready:
            if not self._order:
                self._ready.wait(timeout)
            count = min(most, len(self._order))
            return [self._queues[self._order.popleft()].popleft() for _ in range(count)]

    def wake(self) -> None:
        """End a wait."""
        with self._ready:
            self._ready.notify()
