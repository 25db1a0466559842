"""What commands print: results on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import grouser as gr

Progress = Callable[[int, int], None]
Words = Callable[[int, int, float], str]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
WIDE = 100
"""Columns of a terminal that has room for descriptions."""
SLOW = 1.0
"""Seconds of reading after which a bar appears."""
SPARSE = 5.0
"""Seconds between progress lines where there is no terminal."""
PERCENT = ("TaskProgressColumn", "TimeElapsedColumn")
"""Columns of a progress bar, as Rich calls them."""


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout, paths as text; NaN and infinity are refused."""
    typer.echo(json.dumps(value, allow_nan=False, indent=2, ensure_ascii=False, default=os.fspath))


def emit(
    result: dict[str, Any], as_json: bool, show: Callable[[dict[str, Any]], object], files: Iterable[Path | None] = ()
) -> None:
    """A result as JSON, or shown to people, with the files that were written."""
    if as_json:
        print_json(result)
        return
    show(result)
    for file in files:
        if file is not None:
            typer.echo(f"wrote {file}")


def check_status(run: gr.Run) -> None:
    """Exit with a sentence where a run ended early: 1, or 130 where it was interrupted."""
    if run.status != "ok":
        remark(f"grouser: the run ended after {run.steps * run.dt:g} s: {run.status.meaning}")
        raise typer.Exit(INTERRUPTED if run.status == "interrupted" else 1)


def outcome_pairs(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Tilt, tip margin, slip, slide and energy of a run's summary, as text; unknown values are left out."""
    formats = (
        ("largest_tilt_deg", 1.0, "largest tilt", "{:.1f}°"),
        ("least_tip_margin_deg", 1.0, "least tip margin", "{:.1f}°"),
        ("largest_slip", 100.0, "largest slip", "{:.1f} %"),
        ("energy", 1.0, "energy", "{:.0f} J"),
    )
    slid = f"{result['slid']:.2f} m in {result['sliding_time']:.2f} s" if result["slid"] else "no"
    known = [one for one in formats if result.get(one[0]) is not None]
    pairs = [(name, text.format(scale * result[key])) for key, scale, name, text in known]
    return [*pairs, ("slid", slid), ("ended", result["ended"])]


def print_remarks(result: dict[str, Any]) -> None:
    """Remarks of a run's summary, such as tipping or sliding, one a line."""
    for sentence in result["remarks"]:
        typer.echo(f"  note: {sentence}")


def change_of_ground(change: dict[str, Any]) -> str:
    """A change of ground in words."""
    how = "recalled" if change["recalled"] else "new"
    return (
        f"ground changed at about {change['since']:.1f} s, noticed at {change['time']:.1f} s: from"
        f" {change['from']} to {change['to']} ({how})"
    )


def fail(message: str) -> NoReturn:
    """Exit with 1 and a sentence."""
    remark(f"grouser: {message}")
    raise typer.Exit(1)


def place(position: Sequence[float]) -> str:
    """Coordinates [m] for people."""
    return " ".join(f"{name} {value:+.3f}" for name, value in zip("xyz", position, strict=False)) + " m"


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
    typer.echo("\n".join(([title] if title else []) + pair_lines(pairs)))


def pair_lines(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in pairs)
    return [f"  {name:<{width}}  {value}" for name, value in pairs]


@contextmanager
def progress(
    what: str, *, patience: float = 0.0, words: Words | None = None, columns: Sequence[str] = PERCENT
) -> Iterator[Progress]:
    """A bar on stderr while something is done, gone afterwards; it appears after `patience` seconds.

    Where stderr is not a terminal, a line every few seconds; `words(done, total, seconds)` are its numbers.
    """
    if not sys.stderr.isatty():
        yield _lines(what, words or _counted)
        return
    from rich import progress as rich
    from rich.console import Console

    kinds = [getattr(rich, name)() for name in ("BarColumn", *columns, "TimeRemainingColumn")]
    with ExitStack() as shown:
        bar = rich.Progress(rich.TextColumn("{task.description}"), *kinds, console=Console(stderr=True), transient=True)
        task, began = bar.add_task(what, total=None), time.monotonic()

        def draw(done: int, total: int) -> None:
            if not bar.live.is_started and time.monotonic() - began >= patience:
                shown.enter_context(bar)
            bar.update(task, completed=done, total=total)

        if patience == 0.0:
            shown.enter_context(bar)
        yield draw


def _counted(done: int, total: int, seconds: float) -> str:
    return f"{done} of {total}" if total < 100 else f"{100 * done // total} %"


def read_log(paths: Sequence[Path], manifest: Any, *, strict: bool = True, fit: gr.Fit | None = None) -> gr.Log:
    """The log in some files; warnings on stderr, and progress and speed [MB/s], if reading takes a while.

    If not `strict`, a log with errors is not refused, and the caller shows them. A `fit` of another vehicle than the
    manifest's is used, with a remark.
    """

    def words(done: int, total: int, seconds: float) -> str:
        return f"{done / 1e6:.0f} of {total / 1e6:.0f} MB, {done / 1e6 / seconds:.0f} MB/s"

    what = f"reading {paths[0].name if len(paths) == 1 else f'{len(paths)} files'}"
    with progress(what, patience=SLOW, words=words, columns=("DownloadColumn", "TransferSpeedColumn")) as report:
        log = gr.read_log(paths, manifest=manifest, progress=report, strict=strict)
    for problem in log.report.problems if strict else ():
        remark(f"grouser: warning: {log.name}, {problem}")
    if fit is not None:
        named, used = log.vehicle, fit.model.vehicle.name
        with suppress(gr.GrouserError):  # of a vehicle that only its fit holds
            named = named and gr.vehicle(named).name
        if named not in (None, used):
            remark(f"grouser: the fit is of vehicle '{used}', which is used; the manifest names '{named}'")
    return log


def _lines(what: str, words: Words) -> Progress:
    """A line on stderr every few seconds."""
    began = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SPARSE and done < total:
            last = now
            remark(f"{what}: {words(done, total, now - began)}")

    return report
