"""Telling a person who waits that the engine is being compiled, once per machine and version."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = {
    "settle": 15.0,
    "kinematics": 30.0,
    "unconstrained": 20.0,
    "dynamics": 60.0,
    "calibration": 20.0,
    "odometry": 30.0,
    "rolling": 30.0,
    "fusion": 50.0,
}
"""About how long each part takes on a laptop core, for the progress bar."""

_ready: set[str] = set()


@contextmanager
def compiling(part: str) -> Iterator[None]:
    """Around the first call of a kernel: shows progress on stderr while it compiles, nothing once it is cached."""
    if part in _ready:
        yield
        return
    if True:
        done = threading.Event()
        bar = threading.Thread(target=_show, args=(part, done), daemon=True)
        bar.start()
        try:
            yield
        finally:
            done.set()
            bar.join()
    _ready.add(part)


def _show(part: str, done: threading.Event) -> None:
    if done.wait(1.0):
        return
    start = time.monotonic() - 1.0
    expected = SECONDS[part]
    label = f"grouser: compiling {part}, once (about {expected:.0f} s)"
    if not sys.stderr.isatty():
        print(label, file=sys.stderr, flush=True)
        return
    while not done.wait(0.25):
        elapsed = time.monotonic() - start
        filled = min(int(20 * elapsed / expected), 19)
        print(f"\r{label} [{'#' * filled}{'.' * (20 - filled)}] {elapsed:3.0f} s", end="", file=sys.stderr, flush=True)
    print("\r" + " " * (len(label) + 32) + "\r", end="", file=sys.stderr, flush=True)
