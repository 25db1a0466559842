"""One thread that does work aside, in order; the program does not wait for it at its end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Worker:
    """A thread with a queue. Unlike an executor it may be left in the middle of its work."""

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Do work after all that was submitted before."""
        future: Future[Any] = Future()
        self._queue.put((future, work))
        return future

    def _work(self) -> None:
        while True:
            future, work = self._queue.get()
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)
