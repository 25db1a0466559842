"""`python -m experiments`: lists and runs published experiments."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from grouser.cli import console, values
from grouser.cli.app import run_app
from grouser.errors import GrouserError
from grouser.files import check_target


def experiments(
    experiment: Annotated[str | None, typer.Argument(help="Which; without it, the experiments are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A minute or less, with fewer trials.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the result into a .png, .svg or .pdf file.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the measured data; tests/data of the clone, unless given.")
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Run an experiment of the papers again and compare its table with theirs."""
    from experiments.catalog import EXPERIMENTS
    from experiments.data import VARIABLE

    if experiment is None:
        if as_json:
            console.print_json({"experiments": {name: e.description for name, e in EXPERIMENTS.items()}})
        else:
            console.print_pairs("experiments", [(name, e.description) for name, e in EXPERIMENTS.items()])
        return
    experiment = experiment.replace("_", "-")
    if experiment not in EXPERIMENTS:
        raise GrouserError(f"there is no experiment {experiment!r:.60}; there are {', '.join(EXPERIMENTS)}")
    if plot is not None:
        from grouser.view.style import picture_suffix

        picture_suffix(plot)
        values.make_folder(plot.parent)
        check_target(plot, GrouserError)
    if data is not None:
        os.environ[VARIABLE] = str(data)
    _compile()
    with console.progress(experiment) as report:
        result = EXPERIMENTS[experiment].run(quick=quick, progress=report)
    if plot is not None:
        result.plot(plot)
    if as_json:
        console.print_json(result.to_json())
        return
    typer.echo(f"{EXPERIMENTS[experiment].description}\n\n{result.table()}")
    if plot is not None:
        typer.echo(f"wrote {plot}")


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code, as that of `grouser`."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(
        epilog="Example: python -m experiments table-2.4 --quick\n\n"
        "Example: python -m experiments table-2.4 --json --plot table.png"
    )(experiments)
    return run_app(app, arguments, name="python -m experiments")


def _compile() -> None:
    """Compile before the progress bar, whose line the compiler's notice would cross."""
    from grouser.bench import prepare

    prepare()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
