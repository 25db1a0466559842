"""Work on several threads: a kernel that releases the GIL, called on slices of independent items.

Each item is worked on alone and writes only what is its own, so results are the same bytes for any number of threads.
"""

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from numbers import Integral

import numba
import numpy as np
from numpy.typing import NDArray

from grouser.errors import SimulationError


def thread_count(threads: int | None) -> int:
    """Threads to use: all cores, or as many as NUMBA_NUM_THREADS says, unless fewer are asked for."""
    most = int(numba.config.NUMBA_NUM_THREADS)
    if threads is None:
        return most
    if isinstance(threads, bool) or not isinstance(threads, Integral) or not 1 <= threads <= most:
        wanted = f"a whole number from 1 to {most}; NUMBA_NUM_THREADS raises the limit"
        raise SimulationError(f"threads: {threads!r:.40} is not {wanted}")
    return int(threads)


def in_slices(work: Callable[[int, int, int], None], items: int, *, threads: int, size: int) -> None:
    """Call work(worker, first, last) for slices of at most `size` items, on several threads; the caller is worker 0."""
    slices = -(-items // size)
    workers = min(threads, slices)
    if workers <= 1:
        for k in range(slices):  # not all at once: Ctrl-C is raised between two
            work(0, k * size, min((k + 1) * size, items))
        return
    next_slice, stopped = itertools.count(), threading.Event()

    def take(worker: int) -> None:
        try:
            while not stopped.is_set() and (k := next(next_slice)) < slices:
                work(worker, k * size, min((k + 1) * size, items))
        except BaseException:  # Ctrl-C too: the others stop after their slice
            stopped.set()
            raise

    others = [_pool().submit(take, worker) for worker in range(1, workers)]
    try:
        take(0)
    finally:
        # One that has not begun by now has no work left.
        errors = [error for one in others if not one.cancel() and (error := one.exception()) is not None]
        if errors:
            raise errors[0]


def interruptible(work: Callable[[], None], halt: NDArray[np.int64]) -> None:
    """Call work on another thread, while this one waits for Ctrl-C, which sets `halt`; work must then end soon."""
    done = threading.Event()

    def body() -> None:
        try:
            work()
        finally:
            done.set()

    threading.Thread(target=body, name="grouser-run", daemon=True).start()
    while not done.is_set():
        try:
            done.wait()  # not `join`: interrupted, it takes the thread for ended (Python 3.11)
        except KeyboardInterrupt:
            halt[0] = 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(int(numba.config.NUMBA_NUM_THREADS) - 1, 1), thread_name_prefix="grouser")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process
