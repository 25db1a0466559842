"""Progress while kernels compile: told where it happens, in shares that are counted, and never in the way."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core.errors import TypingError

import grouser as gr
from grouser import compiling
from grouser._compile import store, watch
from grouser._compile.jit import entry, kernel
from grouser._compile.watch import Compilation

needs_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Kernel:
    """Stands for a dispatcher: compiled once it has overloads."""

    def __init__(self, compiled: bool = False) -> None:
        self.overloads = {0: 0} if compiled else {}


class Stream(io.StringIO):
    """A stream that is or is no terminal, and can be waited for."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal, self.written = terminal, threading.Event()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        n = super().write(text)
        self.written.set()
        return n


class Recorder:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, int, int]] = []

    def begin(self, compilation: Compilation) -> None:
        self.told.append(("begin", compilation.name, compilation.done, compilation.kernels))

    def end(self, compilation: Compilation) -> None:
        self.told.append(("end", compilation.name, compilation.done, compilation.kernels))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorder:
    """Told of what is compiled; compiled code goes to a folder of this test."""
    watcher = Recorder()
    monkeypatch.setattr(watch, "watchers", [watcher])
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    return watcher


@pytest.fixture
def no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("not_kept", "refused"):
        monkeypatch.setattr(store.Counts, name, "")


def test_a_share_counts_kernels_that_were_not_compiled_before() -> None:
    kernels = [Kernel(), Kernel(compiled=True), Kernel(), Kernel(), Kernel()]
    compilation = Compilation("rollouts", kernels)
    kernels[2].overloads[0] = 0
    assert compiling.line(compilation, 3.2) == "grouser: compiling rollouts, once: [##........] 1 of 4 kernels, 3 s"
    for one in kernels:
        one.overloads[0] = 0
    compilation.optimising = True
    text = compiling.line(compilation, 7.0)
    assert text == "grouser: compiling rollouts, once: [##########] optimising, 7 s"


def test_where_room_is_scarce_the_bar_goes_first() -> None:
    compilation = Compilation("rollouts", [Kernel()])
    for room in range(10, 100):
        text = compiling.line(compilation, 5.0, room)
        assert len(text) <= room
        assert text.endswith("0 of 1 kernel, 5 s") == (room >= 53)


def test_a_terminal_gets_one_line_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch, no_trouble: None) -> None:
    stream, shown, compilation = Stream(terminal=True), compiling.ProgressLine(), Compilation("rollouts", [Kernel()])
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    shown.begin(compilation)
    assert stream.written.wait(60)
    shown.end(compilation)
    text = stream.getvalue()
    assert "\n" not in text
    assert text.startswith("\rgrouser: compiling rollouts, once: [")
    assert text.endswith(" \r")


def test_a_log_gets_one_plain_line_for_each_thing(monkeypatch: pytest.MonkeyPatch, no_trouble: None) -> None:
    stream, shown = Stream(terminal=False), compiling.ProgressLine()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    for name in ("settle", "rollouts"):
        stream.written.clear()
        compilation = Compilation(name, [Kernel(), Kernel()])
        shown.begin(compilation)
        assert stream.written.wait(60)
        shown.end(compilation)
    assert stream.getvalue() == (
        "grouser: compiling settle, once (2 kernels)\ngrouser: compiling rollouts, once (2 kernels)\n"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_quick_is_not_mentioned(terminal: bool, monkeypatch: pytest.MonkeyPatch, no_trouble: None) -> None:
    stream, shown, compilation = Stream(terminal), compiling.ProgressLine(), Compilation("settle", [])
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(compiling, "PATIENCE", 1e6)
    shown.begin(compilation)
    shown.end(compilation)
    assert stream.getvalue() == ""


def test_several_threads_compile_at_once(monkeypatch: pytest.MonkeyPatch, no_trouble: None) -> None:
    stream, shown = Stream(terminal=True), compiling.ProgressLine()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)

    def work(k: int) -> None:
        for _ in range(50):
            compilation = Compilation(f"law {k}", [])
            shown.begin(compilation)
            shown.end(compilation)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stream.getvalue() == "" or stream.getvalue().endswith("\r")


def test_trouble_with_files_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, shown = Stream(terminal=False), compiling.ProgressLine()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(store.Counts, "not_kept", "the disk is full")
    monkeypatch.setattr(store.Counts, "refused", "a file is damaged")
    for _ in range(2):
        compilation = Compilation("settle", [])
        shown.begin(compilation)
        shown.end(compilation)
    assert stream.getvalue() == "grouser: a file is damaged\ngrouser: the disk is full\n"


def test_a_stream_that_is_closed_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, shown, compilation = Stream(terminal=False), compiling.ProgressLine(), Compilation("settle", [])
    stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(store.Counts, "not_kept", "the disk is full")
    shown.begin(compilation)
    shown.end(compilation)


@kernel
def _half(x: Any) -> Any:
    return 0.5 * x


@kernel
def _quarter(x: Any) -> Any:
    return _half(_half(x))


@needs_compiler
def test_the_first_call_of_an_entry_tells_begin_and_end(recorder: Recorder) -> None:
    @entry
    def eighth(x):  # type: ignore[no-untyped-def]
        return _quarter(_half(x))

    assert eighth(8.0) == 1.0
    assert eighth(16.0) == 2.0
    name = eighth.py_func.__qualname__
    assert recorder.told == [("begin", name, 0, 2), ("end", name, 2, 2)]


@needs_compiler
def test_what_does_not_compile_ends_too(recorder: Recorder) -> None:
    @entry
    def wrong(x):  # type: ignore[no-untyped-def]
        return x.nothing

    for _ in range(2):
        with pytest.raises(TypingError):
            wrong(1.0)
    assert [what for what, *_ in recorder.told] == ["begin", "end"] * 2


@needs_compiler
def test_a_function_of_the_user_is_told_though_it_is_not_kept(recorder: Recorder, tmp_path: Path) -> None:
    counted = store.Counts.compiled
    hill = gr.terrain.law(lambda x, y: 0.1 * x * y)
    assert hill.height(1.0, 2.0) == pytest.approx(0.2)
    assert ("begin", "your function", 0, 0) in recorder.told
    assert ("end", "your function", 0, 0) in recorder.told
    assert store.Counts.compiled - counted == len(list(tmp_path.iterdir()))
