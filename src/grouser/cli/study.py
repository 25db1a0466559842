"""`grouser study`: run many variants from one file, continue where it was interrupted, and show what came out."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

EXAMPLES = (
    "climb.toml --out climb --plot climb.png",
    "climb.toml --out climb --scheduler tcp://host:8786",
    "climb --report climb.html --measure energy",
)


def study(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study (.toml), or the folder of one to show.")],
    out: Annotated[Path | None, option("Folder for the rows; run again, it continues.")] = None,
    threads: Annotated[int | None, option("Threads; default: all cores. Results do not change.")] = None,
    scheduler: Annotated[str | None, option("Dask scheduler, such as tcp://host:8786.")] = None,
    plot: Annotated[Path | None, values.picture("Picture of response curves: .png .svg or .pdf.")] = None,
    report: Annotated[Path | None, values.page("Page with all tables and pictures (.html).")] = None,
    measure: Annotated[str | None, option("Measure of the picture; default: the first.")] = None,
    as_json: console.Json = False,
) -> None:
    """Run many variants from one file; continue where it was interrupted.

    A study that names a function imports its module and runs it: read a study of others before you run it.
    """
    files = values.make_folders([plot, report])
    from grouser.study.run import read_study, run_study
    from grouser.study.spec import Spec

    if file.is_dir():
        given = {"--out": out, "--threads": threads, "--scheduler": scheduler}
        values.refuse(given, "runs a study file; this is a folder, which is only shown")
        found = read_study(file)
    elif out is None:
        raise GrouserError(f"--out: is needed to keep the rows, such as --out {file.stem}")
    else:
        spec = Spec.read(file)
        try:
            with console.progress(f"study {file.stem}") as progress:
                found = run_study(spec, out, threads=threads, scheduler=scheduler, progress=progress)
        except KeyboardInterrupt:
            console.remark(f"grouser: interrupted, by Ctrl-C; the rows so far are in {out}, run it again to continue")
            raise typer.Exit(console.INTERRUPTED) from None
    found.measure(measure)
    result = found.summary()
    if plot is not None:
        found.plot(plot, measure=measure)
    if report is not None:
        found.report(report, command=shlex.join(["grouser", *sys.argv[1:]]))
    console.emit({**result, "files": files}, as_json, _print, files)
    if not found.complete:
        console.fail(f"{result['of'] - result['rows']} of {result['of']} rows are missing; run the study again")


def _print(result: dict[str, Any]) -> None:
    ended = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in result["status"].items())
    lines = [("rows", f"{result['rows']} of {result['of']}"), ("ended", ended)]
    if result["rows_run_now"]:
        each = 1e3 * result["seconds"] / result["rows_run_now"]
        lines.append(("took", f"{result['seconds']:.1f} s, {each:.3g} ms a row, {result['rows_run_now']} rows run now"))
    lines += [(one["status"].replace("_", " "), f"{one['rows']}: {one['reason']}") for one in result["reasons"][:5]]
    console.print_pairs(result["folder"], lines)
    rows = []
    for name, table in result["measures"].items():
        for group, s in table.items():
            if group == "unit":
                continue
            numbers = [f"{s[k]:.4g}" if k in s else "–" for k in ("mean", "std", "p05", "median", "p95")]
            rows.append([name, "" if table["unit"] == "1" else table["unit"], group, str(s["rows"]), *numbers])
    heads = ("measure", "unit", "of", "rows", "mean", "std", "5 %", "median", "95 %")
    console.print_table("", heads, rows, right=range(3, 9))
