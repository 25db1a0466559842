"""`grouser bench`: how fast the engine is on this machine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from grouser.cli import console
from grouser.cli.values import option

EXAMPLES = ("--json > bench.json", "--quick")
SPREAD = ("median", "quartiles", "minimum")
MODEL = {"model": "model", "contact": "contact"}
TABLES: tuple[tuple[str, str, str, int, dict[str, str], dict[str, str]], ...] = (
    ("cases", "One core, CPU time per step in µs", "us_per_step", 2,
     {"vehicle": "vehicle", **MODEL, "dt [s]": "dt:g"}, {"× real time": "realtime_factor:.0f"}),
    ("batch", "Batch, wall time in s", "seconds", 3,
     {**MODEL, "rollouts": "rollouts", "each [s]": "seconds_simulated:g", "threads": "threads", "cores": "cores:.1f"},
     {}),
    ("calibration", "Online calibration, CPU time of one update by a two-second interval in ms", "ms_per_update", 2,
     {"filter": "filter", "parameters": "parameters"}, {}),
    ("planning", "Planning, MPPI commands of Zoë on rough ground, wall time in s", "seconds", 4,
     {**MODEL, "samples": "samples", "steps": "steps", "dt [s]": "dt:g", "threads": "threads", "cores": "cores:.1f"},
     {"Hz": "hertz:.1f", "steps/s": "steps_per_second:,"}),
    ("maps", "Husky on maps with the same hills, CPU time per step in µs", "us_per_step", 2,
     {"model": "model", "nodes": "nodes"}, {"× small map": "ratio:.2f"}),
)  # fmt: skip
"""Key of the JSON, title, key and digits of the median, and columns before and behind the spread: key and format."""
TEXTS = ("vehicle", "model", "contact", "filter")


def bench(
    quick: Annotated[bool, option("10 rounds instead of 50, under 20 s.", "--quick")] = False,
    as_json: console.Json = False,
) -> None:
    """Measure how fast the engine is on this machine.

    It gives microseconds per step on one core, seconds per batch of rollouts on one and more, and how many commands
    a second the planner gives. All cases are
    prepared first and then timed in turn, round by round. Each number is the median over the rounds; quartiles and
    minimum show how even the machine was.
    """
    from grouser.bench import measure, prepare

    prepare()
    with console.progress("measuring") as report:
        result = measure(quick=quick, progress=report)
    console.emit(result, as_json, _print)


def _print(result: dict[str, Any]) -> None:
    machine = "{cpu}, {cores} cores, Python {python}, Numba {numba}, Grouser {grouser}"
    typer.echo(machine.format(**result["machine"]))
    for key, title, median, digits, before, behind in TABLES:
        heads = (*before, *SPREAD, *behind)
        rows = [[*_cells(row, before), *_spread(row, median, digits), *_cells(row, behind)] for row in result[key]]
        console.print_table(title, heads, rows, right=[i for i, head in enumerate(heads) if head not in TEXTS])
    took = "from Python{} takes {} µs (quartiles {}, minimum {})"
    odometry = result["odometry"]
    said = f"\nstreaming odometry of {odometry['vehicle']} with {odometry['model']}: one update"
    typer.echo(f"{said} {took.format('', *_spread(odometry, 'us_per_update', 1))}")
    for one in result["stepping"]:
        spread = took.format(" (Simulation)", *_spread(one, "us_per_step", 1))
        alone = f"{one['us_kernel']:.1f} µs in the kernel, {one['us_overhead']:.1f} µs more"
        typer.echo(f"one {one['model']} step of {one['vehicle']} {spread}: {alone}")


def _cells(row: dict[str, Any], columns: dict[str, str]) -> list[str]:
    """Cells of some columns; empty where a row has no such value."""
    found = [(row.get(key, ""), form) for key, _, form in (one.partition(":") for one in columns.values())]
    return [" × ".join(map(str, v)) if isinstance(v, list) else format(v, form if v != "" else "") for v, form in found]


def _spread(row: dict[str, Any], median: str, digits: int) -> tuple[str, str, str]:
    """Cells of the columns `SPREAD`."""
    lower, upper = row["quartiles"]
    return f"{row[median]:.{digits}f}", f"{lower:.{digits}f}–{upper:.{digits}f}", f"{row['minimum']:.{digits}f}"
