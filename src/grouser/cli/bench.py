"""`grouser bench`: how fast the engine is on this machine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from grouser.cli import console
from grouser.cli.values import option

EXAMPLES = ("--json > bench.json", "--quick")
SPREAD = ("median", "quartiles", "minimum")


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
    console.print_table(
        "One core, CPU time per step in µs",
        ("vehicle", "model", "contact", "dt [s]", *SPREAD, "× real time"),
        [
            (c["vehicle"], c["model"], c["contact"], f"{c['dt']:g}", *_spread(c, "us_per_step", 2),
             f"{c['realtime_factor']:.0f}")
            for c in result["cases"]
        ],
        right=(3, 4, 5, 6, 7),
    )  # fmt: skip
    console.print_table(
        "Batch, wall time in s",
        ("model", "contact", "rollouts", "each [s]", "threads", "cores", *SPREAD),
        [
            (b["model"], b["contact"], str(b["rollouts"]), f"{b['seconds_simulated']:g}", str(b["threads"]),
             f"{b['cores']:.1f}", *_spread(b, "seconds", 3))
            for b in result["batch"]
        ],
        right=(2, 3, 4, 5, 6, 7, 8),
    )  # fmt: skip
    console.print_table(
        "Online calibration, CPU time of one update by a two-second interval in ms",
        ("filter", "parameters", *SPREAD),
        [(c["filter"], str(c["parameters"]), *_spread(c, "ms_per_update", 2)) for c in result["calibration"]],
        right=(1, 2, 3, 4),
    )
    console.print_table(
        "Planning, MPPI commands of Zoë on rough ground, wall time in s",
        ("model", "contact", "samples", "steps", "dt [s]", "threads", "cores", *SPREAD, "Hz", "steps/s"),
        [
            (p["model"], p["contact"], str(p["samples"]), str(p["steps"]), f"{p['dt']:g}", str(p["threads"]),
             f"{p['cores']:.1f}", *_spread(p, "seconds", 4), f"{p['hertz']:.1f}", f"{p['steps_per_second']:,}")
            for p in result["planning"]
        ],
        right=(2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    )  # fmt: skip
    console.print_table(
        "Husky on maps with the same hills, CPU time per step in µs",
        ("model", "nodes", *SPREAD, "× small map"),
        [
            (m["model"], "{} × {}".format(*m["nodes"]), *_spread(m, "us_per_step", 2),
             f"{m['ratio']:.2f}" if "ratio" in m else "")
            for m in result["maps"]
        ],
        right=(1, 2, 3, 4, 5),
    )  # fmt: skip
    took = "from Python{} takes {} µs (quartiles {}, minimum {})"
    odometry = result["odometry"]
    said = f"\nstreaming odometry of {odometry['vehicle']} with {odometry['model']}: one update"
    typer.echo(f"{said} {took.format('', *_spread(odometry, 'us_per_update', 1))}")
    for one in result["stepping"]:
        spread = took.format(" (Simulation)", *_spread(one, "us_per_step", 1))
        alone = f"{one['us_kernel']:.1f} µs in the kernel, {one['us_overhead']:.1f} µs more"
        typer.echo(f"one {one['model']} step of {one['vehicle']} {spread}: {alone}")


def _spread(row: dict[str, Any], median: str, digits: int) -> tuple[str, str, str]:
    """Cells of the columns `SPREAD`."""
    lower, upper = row["quartiles"]
    return f"{row[median]:.{digits}f}", f"{lower:.{digits}f}–{upper:.{digits}f}", f"{row['minimum']:.{digits}f}"
