"""Bounded queue from the threads of a transport to the thread that processes messages; the newest are kept."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple

from grouser.node.transport import Receive

MOST = 4000
"""Messages of one topic that may wait: some seconds of the fastest, for a computer that is busy."""

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
    """The same [s, `time.monotonic()`]: it is not set by anyone."""


class Inbox:
    """One queue per topic, so that a flood of one loses none of another; letters come out in order of arrival."""

    def __init__(self, topics: int, most: int = MOST) -> None:
        """For a number of topics, and the most letters of each."""
        self._queues: list[deque[Letter]] = [deque(maxlen=most) for _ in range(topics)]
        self._order: deque[int] = deque()
        self._ready = threading.Condition()
        self.lost = [0] * topics
        """Messages of each topic that newer ones replaced before they were read."""
        self.arrived = [0] * topics
        """Messages of each topic since the start."""

    def receiver(self, topic: int) -> Receive:
        """What a transport calls with the messages of a topic."""
        queue, order, ready = self._queues[topic], self._order, self._ready

        def receive(data: bytes, arrived: float) -> None:
            now = time.monotonic()
            with ready:
                self.arrived[topic] += 1
                if len(queue) == queue.maxlen:  # the oldest leaves; its place in the order stays for the next
                    self.lost[topic] += 1
                else:
                    order.append(topic)
                queue.append(Letter(topic, data, arrived, now))
                ready.notify()

        return receive

    def take(self, timeout: float, most: int = AT_ONCE) -> list[Letter]:
        """The oldest that wait, at most this number; after `timeout` [s] none."""
        with self._ready:
            if not self._order:
                self._ready.wait(timeout)
            count = min(most, len(self._order))
            return [self._queues[self._order.popleft()].popleft() for _ in range(count)]

    def wake(self) -> None:
        """End a wait."""
        with self._ready:
            self._ready.notify()
