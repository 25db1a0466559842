"""`grouser bench`: how fast the engine is on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from grouser.cli import console


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench", epilog="Example: grouser bench --json > bench.json\n\nExample: grouser bench --quick")(bench)


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats, a few seconds.")] = False,
    as_json: console.Json = False,
) -> None:
    """Measure how fast the engine is on this machine.

    It gives microseconds per step on one core, and seconds per batch of rollouts on one and more.
    """
    from grouser.bench import measure, prepare

    prepare()
    with console.progress("measuring") as report:
        result = measure(quick=quick, progress=report)
    if as_json:
        console.print_json(result)
        return
    machine = result["machine"]
    typer.echo(
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, Numba {machine['numba']}, "
        f"Grouser {machine['grouser']}"
    )
    console.print_table(
        "One core, median of repeats",
        ("vehicle", "model", "contact", "dt [s]", "µs per step", "× real time"),
        [
            (
                c["vehicle"],
                c["model"],
                c["contact"],
                f"{c['dt']:g}",
                f"{c['us_per_step']:.2f}",
                f"{c['realtime_factor']:.0f}",
            )
            for c in result["cases"]
        ],
        right=(3, 4, 5),
    )
    console.print_table(
        "Batch, wall time",
        ("model", "contact", "rollouts", "each [s]", "threads", "takes [s]"),
        [
            (
                b["model"],
                b["contact"],
                str(b["rollouts"]),
                f"{b['seconds_simulated']:g}",
                str(b["threads"]),
                f"{b['seconds']:.3f}",
            )
            for b in result["batch"]
        ],
        right=(2, 3, 4, 5),
    )
    console.print_table(
        "Online calibration, one update by a two-second interval, one core",
        ("filter", "parameters", "median [ms]", "fastest [ms]"),
        [
            (c["filter"], str(c["parameters"]), f"{c['ms_per_update']:.2f}", f"{c['ms_fastest']:.2f}")
            for c in result["calibration"]
        ],
        right=(1, 2, 3),
    )
    odometry = result["odometry"]
    typer.echo(
        f"\nstreaming odometry of {odometry['vehicle']} with {odometry['model']}: one update from Python takes "
        f"{odometry['us_per_update']:.0f} µs (fastest {odometry['us_fastest']:.0f})"
    )
