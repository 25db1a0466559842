"""Channel from the simulation to the one page that is open: the latest frame, and events in order."""

from __future__ import annotations

import threading
from collections import deque


class TakenError(Exception):
    """Another page is open."""


class Channel:
    """Keeps the latest frame only; the last event of each kind is kept for the page that opens next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._picture: tuple[int, bytes] = (0, b"")
        self._lasting: dict[str, bytes] = {}
        self._queue: deque[bytes] = deque()
        self._client = ""
        self._ended = False
        self.opened = 0
        """Pages that have been opened."""

    @property
    def client(self) -> str:
        """Name of the page that is open; empty: none is."""
        with self._changed:
            return self._client

    def show(self, picture: bytes) -> None:
        """Set the latest frame; it replaces one that was not fetched."""
        with self._changed:
            self._picture = (self._picture[0] + 1, picture)
            self._changed.notify_all()

    def tell(self, kind: str, message: bytes) -> None:
        """Send an event to the open page; a page that opens later gets the last of each kind."""
        with self._changed:
            self._lasting[kind] = message
            if self._client:
                self._queue.append(message)
                self._changed.notify_all()

    def enter(self, client: str, *, take: bool) -> None:
        """A page opens; `TakenError` if another is open, unless it takes over."""
        with self._changed:
            if self._client and self._client != client and not take:
                raise TakenError
            self._client = client
            self._queue = deque(self._lasting.values())
            self._picture = (self._picture[0] + 1, self._picture[1])  # a new page has not fetched any
            self.opened += 1
            self._changed.notify_all()

    def leave(self, client: str) -> bool:
        """A page closes; returns whether it was the open one."""
        with self._changed:
            was = client == self._client
            if was:
                self._client = ""
            self._changed.notify_all()
            return was

    def end(self) -> None:
        """End the stream."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def fetch(self, client: str, seen: int, patience: float) -> tuple[int, bytes] | None:
        """Events and frame after frame number `seen`, with the number of the last frame.

        Empty after `patience` [s] without any; None if it is no longer the open page, or at the end.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._ended or self._client != client or self._queue or self._picture[0] > seen, patience
            )
            if self._client != client or (self._ended and not self._queue):
                return None
            events = b"".join(self._queue)
            self._queue.clear()
            number, picture = self._picture
            return (number, events + picture) if number > seen else (seen, events)
