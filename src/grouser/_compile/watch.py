"""Watchers of compilation: they are called when machine code is made. Kernels print nothing themselves."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class Compilation:
    """An entry or law that is being compiled, and how far that is."""

    def __init__(self, name: str, kernels: Sequence[Any]) -> None:
        """Of some name; `kernels` are the dispatchers of its call tree."""
        self.name = name
        self._missing = [one for one in kernels if not one.overloads]
        self.kernels = len(self._missing)
        """Inner kernels of its call tree that this process had not compiled when it began."""
        self.optimising = False
        """Whether all of them are done and LLVM works on the whole."""

    @property
    def done(self) -> int:
        """How many of them are compiled by now."""
        return sum(1 for one in self._missing if one.overloads)


watchers: list[Any] = []
"""Their begin(compilation) and, ended well or not, end(compilation) are called on the thread that compiles."""
_open = threading.local()


def _stack() -> list[Compilation]:
    """What this thread compiles, the innermost last."""
    found: list[Compilation] = _open.__dict__.setdefault("stack", [])
    return found


def begin(name: str, kernels: Sequence[Any]) -> None:
    """An entry or law with these kernels in its call tree is compiled next; ends with `until_compiled`."""
    compilation = Compilation(name, kernels)
    _stack().append(compilation)
    for one in watchers:
        one.begin(compilation)


def optimising() -> None:
    """The inner kernels are done; the rest of the time is LLVM's."""
    if _stack():
        _stack()[-1].optimising = True


@contextmanager
def until_compiled() -> Iterator[None]:
    """Around what may compile: whatever began inside ends here, also if it failed."""
    stack = _stack()
    depth = len(stack)
    try:
        yield
    finally:
        while len(stack) > depth:
            compilation = stack.pop()
            for one in watchers:
                one.end(compilation)
