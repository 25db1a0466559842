"""`grouser report`: one page of a simulation, a calibration or an odometry evaluation, to read, mail or print."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

RUN, FIT = ".npz", ".toml"
"""Kinds of input by suffix; anything else is a log."""
OPTIONS = {
    RUN: ("a run", ()),
    FIT: ("a fit", ("--manifest", "--log", "--interval", "--terrain")),
    "": ("a log", ("--manifest", "--fit", "--gyro")),
}
"""Name and options of each kind of input."""
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
    interval: Annotated[
        float | None, option("Of a fit: length of a prediction, s; 2 unless given.", check=values.positive)
    ] = None,
    terrain: Annotated[str | None, option("Of a fit: ground of the calibration, if not flat.")] = None,
    title: Annotated[str, option("Title of the page.")] = "",
    question: Annotated[str, option("Question that the page answers, in your words.")] = "",
    out: Annotated[Path | None, values.page("The page; default: next to the input, ending in -report.html.")] = None,
    as_json: console.Json = False,
) -> None:
    """Make one HTML page of a run, a fit or the odometry of a log.

    It holds the question, numbers, pictures, settings to repeat it, versions. It needs no network and can be
    mailed; the browser prints it to PDF.
    """
    given: dict[str, Any] = {"--manifest": manifest, "--log": log, "--fit": fit, "--gyro": gyro or None,
                             "--interval": interval, "--terrain": terrain}  # fmt: skip
    kind = _kind(inputs, given)
    page = inputs[0].with_name(f"{inputs[0].stem}-report.html") if out is None else out
    values.make_folder(page.parent)
    command = _command(inputs, {**given, "--title": title, "--question": question, "--out": out})
    files = [file for file in (*inputs, *(log or []), manifest, fit) if file is not None]
    words: dict[str, Any] = {"files": files, "title": title, "question": question, "command": command}
    if kind == RUN:
        from grouser.view.report_run import report_run

        made = report_run(gr.Run.load(inputs[0]), **words)
    elif kind == FIT:
        from grouser.view.report_fit import report_fit

        found = gr.Fit.load(inputs[0], ground=values.ground(terrain))
        read = None if manifest is None else console.read_log(log or [], manifest)
        made = report_fit(found, read, interval=2.0 if interval is None else interval, **words)
    else:
        from grouser.view.report_odometry import report_odometry

        assert manifest is not None
        used = None if fit is None else gr.Fit.load(fit)
        read = console.read_log(inputs, manifest)
        with console.progress("odometry, %") as progress:
            made = report_odometry(read, used, gyro=gyro, progress=progress, **words)
    made.write(page)
    size = page.stat().st_size
    result = {"report": page, "kind": made.kind, "bytes": size, **made.numbers}
    lines = [*made.answer, f"wrote {page} ({size / 1e6:.1f} MB); open it in a browser, print it from there"]
    console.emit(result, as_json, lambda _: typer.echo("\n".join(lines)))


def _kind(inputs: list[Path], given: dict[str, Any]) -> str:
    """The kind of the inputs; refuses options of another."""
    suffixes = {file.suffix.lower() for file in inputs}
    kind = RUN if RUN in suffixes else FIT if FIT in suffixes else ""
    what, allowed = OPTIONS[kind]
    if kind and len(inputs) > 1:
        one = what.removeprefix("a ")
        raise GrouserError(f"a report is of one {one}; give {inputs[0]} alone, and a log of a fit with --log")
    others = {name: value for name, value in given.items() if name not in allowed}
    values.refuse(others, f"does nothing in a report of {what}; leave it out")
    if not kind and given["--manifest"] is None:
        raise GrouserError("--manifest: is needed to read a log; `grouser check LOG` drafts one")
    if kind == FIT and (given["--log"] is None) != (given["--manifest"] is None):
        raise GrouserError("--log and --manifest: a log to evaluate the fit on needs both; give both or neither")
    if kind == FIT and given["--log"] is None and given["--interval"] is not None:
        raise GrouserError("--interval: is the length of predictions of a log; add --log and --manifest")
    return kind


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
