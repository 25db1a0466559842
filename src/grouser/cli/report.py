"""`grouser report`: one page of a simulation, a calibration or an odometry evaluation, to read, mail or print."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.view.report import Report

RUN, FIT = ".npz", ".toml"
"""Kinds of input by suffix; anything else is a log."""


EXAMPLES = (
    "run.npz",
    "fit.toml --log other.csv --manifest log.toml",
    "drive.csv --manifest log.toml --fit fit.toml --gyro",
)


def report(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="A run (.npz), a fit (.toml), or a log for its odometry.")
    ],
    manifest: Annotated[Path | None, option("Meaning of the columns of the log (.toml).")] = None,
    log: Annotated[list[Path] | None, option("Of a fit: log to evaluate its predictions on. May be repeated.")] = None,
    fit: Annotated[Path | None, option("Of a log: the fit; default: plain odometry.")] = None,
    gyro: Annotated[bool, option("Of a log: use the turn rates of the gyro.", "--gyro")] = False,
    interval: Annotated[float | None, option("Of a fit: length of a prediction, s; 2 unless given.")] = None,
    terrain: Annotated[str | None, option("Of a fit: ground of the calibration, if not flat.")] = None,
    title: Annotated[str, option("Title of the page.")] = "",
    question: Annotated[str, option("Question that the page answers, in your words.")] = "",
    out: Annotated[Path | None, option("The page; default: next to the input, ending in -report.html.")] = None,
    as_json: console.Json = False,
) -> None:
    """Make one HTML page of a run, a fit or the odometry of a log.

    It holds the question, numbers, pictures, settings to repeat it, versions. It needs no network and can be
    mailed; the browser prints it to PDF.
    """
    kind = _kind(inputs)
    given: dict[str, Any] = {"--manifest": manifest, "--log": log, "--fit": fit, "--gyro": gyro or None,
                             "--interval": interval, "--terrain": terrain}  # fmt: skip
    _refuse(kind, given)
    page = inputs[0].with_name(f"{inputs[0].stem}-report.html") if out is None else out
    from grouser.view.page import check_page

    check_page(page, "report")
    values.make_folder(page.parent)
    command = _command(inputs, {**given, "--title": title, "--question": question, "--out": out})
    words: dict[str, Any] = {"title": title, "question": question, "command": command}
    if kind == RUN:
        made = _of_run(inputs[0], words)
    elif kind == FIT:
        length = values.positive(2.0 if interval is None else interval, "--interval")
        made = _of_fit(inputs[0], log or [], manifest, terrain, length, words)
    else:
        made = _of_log(inputs, manifest, fit, gyro, words)
    made.write(page)
    size = page.stat().st_size
    result = {"report": str(page), "kind": made.kind, "bytes": size, **made.numbers}
    lines = [*made.answer, f"wrote {page} ({size / 1e6:.1f} MB); open it in a browser, print it from there"]
    console.emit(result, as_json, lambda _: typer.echo("\n".join(lines)))


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
    """Refuses options of another kind of report."""
    what, allowed = OPTIONS[kind]
    for name, value in given.items():
        if value is not None and name not in allowed:
            raise GrouserError(f"{name}: does nothing in a report of {what}; leave it out")
    if kind == "log" and given["--manifest"] is None:
        raise GrouserError("--manifest: is needed to read a log; `grouser check LOG` drafts one")
    if kind == FIT and (given["--log"] is None) != (given["--manifest"] is None):
        raise GrouserError("--log and --manifest: a log to evaluate the fit on needs both; give both or neither")
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
    for name, value in options.items():
        if value is True:
            parts.append(name)
        elif value is not None and value != "":
            for one in value if isinstance(value, list) else [value]:
                parts += [name, f"{one:g}" if isinstance(one, float) else str(one)]
    return shlex.join(parts)
