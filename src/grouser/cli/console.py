"""What commands print: results on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from grouser.logs import Log

Progress = Callable[[int, int], None]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
WIDE = 100
"""Columns of a terminal from which on there is room for words beside numbers."""
SLOW = 1.0
"""Seconds of reading after which a bar appears."""
SPARSE = 5.0
"""Seconds between progress lines where there is no terminal."""


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout; numbers that JSON cannot say are refused."""
    typer.echo(json.dumps(value, allow_nan=False, indent=2, ensure_ascii=False))


def remark(message: str) -> None:
    """A line on stderr."""
    print(message, file=sys.stderr, flush=True)


def is_wide() -> bool:
    """Whether lines of `WIDE` columns fit on stdout: not on a narrow terminal."""
    return not sys.stdout.isatty() or shutil.get_terminal_size().columns >= WIDE


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> None:
    """A table on stdout; columns in `right` are aligned right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # Where the output goes to a file or a pipe, lines are as long as they need to be.
    console = Console() if sys.stdout.isatty() else Console(width=400)
    console.print(table)


def print_pairs(title: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one a line."""
    width = max(len(name) for name, _ in pairs)
    if title:
        typer.echo(title)
    for name, value in pairs:
        typer.echo(f"  {name:<{width}}  {value}")


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A bar on stderr while something is done, gone afterwards; sparse lines where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(what: str) -> Progress:
    last = [time.monotonic()]

    def report(done: int, total: int) -> None:
        now = time.monotonic()
        if now - last[0] >= SPARSE and done < total:
            last[0] = now
            remark(f"{what}: {done} of {total}")

    return report


def read_log(paths: Sequence[Path], manifest: Path) -> Log:
    """The log in some files; on stderr how far it is and how fast [MB/s], if that takes a while."""
    import grouser as gr

    name = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    with _reading(f"reading {name}") as report:
        return gr.read_log(paths, manifest=manifest, progress=report)


@contextmanager
def _reading(what: str) -> Iterator[Progress]:
    began = time.monotonic()
    if not sys.stderr.isatty():
        last = [began]

        def line(done: int, total: int) -> None:
            now = time.monotonic()
            if now - last[0] >= SPARSE:
                last[0] = now
                remark(f"{what}: {done / 1e6:.0f} of {total / 1e6:.0f} MB, {done / 1e6 / (now - began):.0f} MB/s")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)

    def draw(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - began >= SLOW:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield draw
    finally:
        if bar.live.is_started:
            bar.stop()
