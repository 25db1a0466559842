"""`grouser report`: one page of a simulation, a calibration or an odometry evaluation, to read, mail or print."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, values
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.view.report import Report

RUN, FIT = ".npz", ".toml"
"""What an input is, by how it ends; anything else is a log."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "report",
        epilog="Example: grouser report run.npz\n\n"
        "Example: grouser report fit.toml --log other.csv --manifest log.toml\n\n"
        "Example: grouser report drive.csv --manifest log.toml --fit fit.toml --gyro",
    )(report)


def report(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A run (.npz), a fit (.toml), or a log to follow by wheels.")
    ],
    manifest: Annotated[Path | None, typer.Option(help="What the columns of the log are (.toml).")] = None,
    log: Annotated[
        list[Path] | None, typer.Option(help="Of a fit: a log to judge its predictions on. May be repeated.")
    ] = None,
    fit: Annotated[Path | None, typer.Option(help="Of a log: the fit; without it, plain odometry.")] = None,
    gyro: Annotated[bool, typer.Option("--gyro", help="Of a log: turn rates are the gyro's.")] = False,
    interval: Annotated[
        float | None, typer.Option(help="Of a fit: predictions are so long, s; 2 unless given.")
    ] = None,
    terrain: Annotated[
        str | None, typer.Option(help="Of a fit: the ground it was made on, if other than flat.")
    ] = None,
    title: Annotated[str, typer.Option(help="Of the page.")] = "",
    question: Annotated[str, typer.Option(help="What the page answers, in your words.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="The page (.html); beside the input unless given. It then ends in -report.html.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Make one HTML page of a run, a fit or the odometry of a log.

    It holds the question, numbers, pictures, settings to repeat it, versions. It needs no network and can be
    mailed; the browser prints it to PDF.
    """
    kind = _kind(inputs)
    _refuse(kind, {"--manifest": manifest, "--log": log, "--fit": fit, "--gyro": gyro or None, "--interval": interval,
                   "--terrain": terrain})  # fmt: skip
    page = inputs[0].with_name(f"{inputs[0].stem}-report.html") if out is None else out
    from grouser.view.report import check_report_name

    check_report_name(page)
    values.make_folder(page.parent)
    words: dict[str, Any] = {"title": title, "question": question, "command": _command(
        inputs, {"--manifest": manifest, "--log": log, "--fit": fit, "--gyro": gyro, "--interval": interval,
                 "--terrain": terrain, "--title": title, "--question": question, "--out": out}
    )}  # fmt: skip
    if kind == RUN:
        made = _of_run(inputs[0], words)
    elif kind == FIT:
        length = values.positive(2.0 if interval is None else interval, "--interval")
        made = _of_fit(inputs[0], log or [], manifest, terrain, length, words)
    else:
        made = _of_log(inputs, manifest, fit, gyro, words)
    made.write(page)
    size = page.stat().st_size
    if as_json:
        console.print_json({"report": str(page), "kind": made.kind, "bytes": size, **made.numbers})
        return
    for line in made.answer:
        typer.echo(line)
    typer.echo(f"wrote {page} ({size / 1e6:.1f} MB); open it in a browser, print it from there")


def _kind(inputs: list[Path]) -> str:
    suffixes = {file.suffix.lower() for file in inputs}
    for special, what in ((RUN, "run"), (FIT, "fit")):
        if special in suffixes:
            if len(inputs) > 1:
                raise GrouserError(f"a report is of one {what}; give {inputs[0]} alone, and a log of a fit with --log")
            return special
    return "log"


OPTIONS = {
    RUN: ("a run", ()),
    FIT: ("a fit", ("--manifest", "--log", "--interval", "--terrain")),
    "log": ("a log", ("--manifest", "--fit", "--gyro")),
}
"""Options of each kind of input."""


def _refuse(kind: str, given: dict[str, Any]) -> None:
    """Options of another kind of report are a mistake, not silence."""
    what, allowed = OPTIONS[kind]
    for option, value in given.items():
        if value is not None and option not in allowed:
            raise GrouserError(f"{option}: does nothing in a report of {what}; leave it out")
    if kind == "log" and given["--manifest"] is None:
        raise GrouserError("--manifest: is needed to read a log; `grouser check LOG` drafts one")
    if kind == FIT and (given["--log"] is None) != (given["--manifest"] is None):
        raise GrouserError("--log and --manifest: a log to judge the fit on needs both; give both or neither")
    if kind == FIT and given["--log"] is None and given["--interval"] is not None:
        raise GrouserError("--interval: is the length of predictions of a log; add --log and --manifest")


def _of_run(file: Path, words: dict[str, Any]) -> Report:
    import grouser as gr
    from grouser.view.report_run import report_run

    return report_run(gr.Run.load(file), files=[file], **words)


def _of_fit(
    file: Path, logs: list[Path], manifest: Path | None, terrain: str | None, interval: float, words: dict[str, Any]
) -> Report:
    import grouser as gr
    from grouser.motion.fit import Fit
    from grouser.view.report_fit import report_fit

    found = Fit.load(file, ground=None if terrain is None else gr.terrain.parse(terrain))
    log = None if manifest is None else console.read_log(logs, manifest)
    files = [file, *logs, *([] if manifest is None else [manifest])]
    return report_fit(found, log, interval=interval, files=files, **words)


def _of_log(logs: list[Path], manifest: Path | None, fit: Path | None, gyro: bool, words: dict[str, Any]) -> Report:
    from grouser.motion.fit import Fit
    from grouser.view.report_odometry import report_odometry

    assert manifest is not None
    found = None if fit is None else Fit.load(fit)
    log = console.read_log(logs, manifest)
    files = [*logs, manifest, *([] if fit is None else [fit])]
    with console.progress("odometry, %") as report:
        return report_odometry(log, found, gyro=gyro, files=files, progress=report, **words)


def _command(inputs: list[Path], options: dict[str, Any]) -> str:
    """The command line as one would type it."""
    parts = ["grouser", "report", *map(str, inputs)]
    for option, value in options.items():
        if value is True:
            parts.append(option)
        elif value is not None and value is not False and value != "":
            for one in value if isinstance(value, list) else [value]:
                parts += [option, f"{one:g}" if isinstance(one, float) else str(one)]
    return shlex.join(parts)
