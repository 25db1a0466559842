"""One process at a time compiles an entry or law; others that need it wait, and load what it has kept.

A lock on a byte of one file, chosen by the name of the code. The system drops it when a process ends, however it ends,
so none is left by one that was killed. Where a folder has no locks each process compiles, which is slower and no harm.
"""

import fcntl
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 600.0
"""Seconds to wait for another process, which may have been stopped, before compiling all the same."""
LOOKED = 0.02
"""Seconds between looks."""
_files: dict[tuple[int, Path], int] = {}
_open = threading.local()


def _held() -> list[tuple[int, int]]:
    """What this thread has locked, the innermost last."""
    found: list[tuple[int, int]] = _open.__dict__.setdefault("held", [])
    return found


def take(path: Path, waiting: Callable[[], object]) -> bool:
    """Lock the code of a file until `until_done` ends; whether another process had it locked, and may have made it.

    `waiting` is called once if another process has it.
    """
    file, place = _file(path.parent.with_name(f"{path.parent.name}.lock")), zlib.crc32(path.name.encode())
    if file < 0:
        return False
    waited, end = False, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            # Of a process, not of a thread: Numba compiles on one thread at a time.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            if not waited:
                waiting()
            waited = True
            time.sleep(LOOKED)
        except OSError:  # a file system without locks
            return waited
        else:
            _held().append((file, place))
            return waited
    return waited


@contextmanager
def until_done() -> Iterator[None]:
    """Around what may compile: locks taken inside end here, also if it failed."""
    held = _held()
    depth = len(held)
    try:
        yield
    finally:
        while len(held) > depth:
            file, place = held.pop()
            with suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def _file(path: Path) -> int:
    """The file that holds the locks, open as long as the process lives: closing it would drop them all."""
    key = os.getpid(), path
    if key not in _files:
        try:
            _files[key] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            _files[key] = -1
    return _files[key]
