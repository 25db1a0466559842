"""What commands print: results on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

Progress = Callable[[int, int], None]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
SPARSE = 5.0
"""Seconds between progress lines where there is no terminal."""


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout; numbers that JSON cannot say are refused."""
    typer.echo(json.dumps(value, allow_nan=False, indent=2, ensure_ascii=False))


def remark(message: str) -> None:
    """A line on stderr."""
    print(message, file=sys.stderr, flush=True)


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
