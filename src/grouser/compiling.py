"""A notice on stderr while kernels are compiled, once per machine and version."""

import os
import sys
import threading
import time
from contextlib import suppress

from grouser._compile import watch
from grouser._compile.watch import Compilation

PATIENCE, REDRAWN = 1.0, 0.2
"""Seconds of compiling that need no explanation, and between drawings of the line."""
BAR = 10
"""Columns of the bar, where there is room."""


class ProgressLine:
    """On a terminal one line that is redrawn while kernels compile; elsewhere a line for each that takes long."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._active: dict[Compilation, float] = {}
        self._spent = 0.0
        self._thread: threading.Thread | None = None
        self._drawn = 0
        self._shown: set[str] = set()

    def begin(self, compilation: Compilation) -> None:
        """Compiling begins."""
        with self._changed:
            self._active[compilation] = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="grouser compiling", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self, compilation: Compilation) -> None:
        """It ended: the line goes before the caller prints anything."""
        with self._changed:
            began = self._active.pop(compilation)
            if not self._active:
                self._spent += time.monotonic() - began
                self._erase()
                self._changed.notify()
            from grouser._compile.store import Counts

            for trouble in filter(None, (Counts.refused, Counts.not_kept)):
                self._show(f"grouser: {trouble}")

    def _watch(self) -> None:
        with self._changed:
            while self._active:
                compilation, began = next(reversed(self._active.items()))
                elapsed = time.monotonic() - began
                waited = elapsed + (self._spent if _is_terminal() else 0.0)
                if waited < PATIENCE:
                    self._changed.wait(PATIENCE - waited)
                    continue
                if _is_terminal():
                    text = line(compilation, elapsed, _columns() - 1)
                    _write("\r" + text.ljust(self._drawn))
                    self._drawn = len(text)
                    self._changed.wait(REDRAWN)
                else:
                    self._show(f"grouser: compiling {compilation.name}, once ({_kernels(compilation.kernels)})")
                    self._changed.wait()
            self._thread = None

    def _erase(self) -> None:
        if self._drawn:
            _write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _show(self, sentence: str) -> None:
        """Once."""
        if sentence not in self._shown:
            self._shown.add(sentence)
            self._erase()
            _write(sentence + "\n")


def line(compilation: Compilation, elapsed: float, room: int = 79) -> str:
    """The line after some seconds: measured progress, no forecast."""
    done, total = compilation.done, compilation.kernels
    start = f"grouser: compiling {compilation.name}, once: "
    if compilation.optimising or total == 0:
        end, share = "optimising", 1.0
    else:
        end, share = f"{done} of {_kernels(total)}", done / total
    end += f", {elapsed:.0f} s"
    width = min(BAR, room - len(start) - len(end) - len("[] "))
    filled = int(width * share)
    bar = f"[{'#' * filled}{'.' * (width - filled)}] " if width > 0 else ""
    return (start + bar + end)[:room]


def _kernels(n: int) -> str:
    return f"{n} kernel" if n == 1 else f"{n} kernels"


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


def _write(text: str) -> None:
    # A stream that is closed or gone must not stop the engine.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


shown = ProgressLine()
watch.watchers.append(shown)
