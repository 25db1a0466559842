"""`grouser evaluate`: errors of a calibrated model's predictions of a log."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.logs.manifest import load_manifest
from grouser.view.words import HELD_OUT, better_than, consistency

EXAMPLES = (
    "another.csv --manifest log.toml --fit fit.toml",
    "another.csv --manifest log.toml --fit fit.toml --json",
    "another.csv --manifest log.toml --fit fit.toml --horizons 1,2,5,10",
    "another.csv --manifest log.toml --fit fit.toml --adapt",
    "another.csv --manifest log.toml --fit fit.toml --distance 5 --plot errors.png",
    "logs/*.csv --manifest log.toml --fit fit.toml --each --jobs 4",
)


def evaluate(
    logs: values.Logs,
    manifest: values.Manifest,
    fit: Annotated[Path, option("File of `grouser calibrate` (.toml).")],
    interval: values.Interval = None,
    distance: Annotated[
        float | None, option("Length of a prediction, m; instead of --interval.", check=values.positive)
    ] = None,
    horizons: Annotated[str | None, option("Further lengths of predictions, s, such as 1,2,5,10.")] = None,
    own_lag: Annotated[
        bool | None,
        option(
            "Pose lag of this log. Each half has that of the other half; default if the manifest has a lag_spread.",
            "--own-lag/--fit-lag",
        ),
    ] = None,
    same_ground: Annotated[
        bool, option("Ground and day are those of the fit. It narrows the covariance.", "--same-ground")
    ] = False,
    adapt: Annotated[bool, option("Learn from each interval once judged; notice new ground.", "--adapt")] = False,
    memory: values.OfAdapt = None,
    terrain: values.OtherGround = None,
    plot: Annotated[Path | None, values.picture("Errors with ellipses, into a .png, .svg or .pdf file.")] = None,
    each_log: Annotated[bool, values.together("Judge each log alone; a table, and all together.", "--each")] = False,
    jobs: values.Jobs = 1,
    scheduler: values.Scheduler = None,
    as_json: console.Json = False,
) -> None:
    """Predict every moving interval of a log and compare its end.

    Plain odometry is evaluated too. Neither position nor yaw is used inside an interval, and no interval is left out.
    """
    length, far = values.prediction(interval, distance)
    lengths = [values.number(part) for part in horizons.split(",")] if horizons else []
    if not all(0.0 < one < math.inf for one in lengths):
        raise GrouserError(
            f"--horizons: {horizons!r:.60} is not positive numbers with commas between, such as 1,2,5,10"
        )
    if not adapt:
        values.refuse({"--memory": memory}, "is for --adapt; add it, or leave this out")
    grounds = None if memory is None else gr.calibration.Memory.load(memory)
    found = gr.Fit.load(fit, ground=values.ground(terrain))
    each = f"{far:g} m" if far is not None else "whole runs" if length is None else f"{length:g} s"
    options: dict[str, Any] = {
        "interval": length, "distance": far, "horizons": lengths, "own_lag": own_lag, "same_drive": same_ground,
        "adapt": adapt,
    }  # fmt: skip
    if each_log:
        from grouser.cli import many_logs

        values.refuse({"--plot": plot}, "is of one log; leave it or --each out")
        load_manifest(manifest)
        more = {"fit": many_logs.sent(fit), "terrain": terrain, "options": options, "memory": many_logs.sent(memory)}
        rows, pooled = many_logs.evaluate_each(logs, manifest, more, jobs=jobs, scheduler=scheduler)
        both = {"logs": rows, "pooled": pooled, "fit": fit}
        console.emit(both, as_json, lambda _: many_logs.print_each(rows, pooled, each))
        if pooled is None:
            console.fail("none of the logs could be judged")
        return
    others = {"--jobs": jobs if jobs > 1 else None, "--scheduler": scheduler}
    values.refuse(others, "several files are one log here; add --each to judge each by itself")
    log = console.read_log(logs, manifest, fit=found)
    judged = gr.evaluate(found, log, **options, memory=grounds)
    for file in values.make_folders([plot]):
        from grouser.view.evaluation import plot_evaluation

        plot_evaluation(judged, file, title=f"{log.name}: errors after {each}, {fit.name}")
    result = {**judged.summary(), "log": log.name, "fit": fit, "plot": plot}
    console.emit(result, as_json, lambda one: _print(one, each), [plot])


def _print(summary: dict[str, Any], each: str) -> None:
    lags = {"with the lag of the fit": "fit_lag", "with the lag of this log": "own_lag"}
    sets = {"plain odometry": summary["baseline"]}
    sets |= {"the fit as it is": summary["fixed"]} if "fixed" in summary else {}
    sets |= {name: summary[key] for name, key in lags.items()} if "own_lag" in summary else {}
    if "own_lag" not in summary or "fixed" in summary:
        sets["adapting" if "fixed" in summary else "calibrated"] = summary
    rows = [
        (name, f"{one['position_rms']:.3f} m", f"{one['position_median']:.3f} m", f"{one['yaw_rms_deg']:.2f}°",
         f"{one['yaw_median_deg']:.2f}°")
        for name, one in sets.items()
    ]  # fmt: skip
    typer.echo(f"{summary['log']}: errors of {summary['n']} predictions of {each}")
    if "note" in summary:
        typer.echo(summary["note"])
    console.print_table("", ("", "position rms", "median", "yaw rms", "median"), rows, right=(1, 2, 3, 4))
    compared = better_than(summary["position_rms"], summary["baseline"]["position_rms"], "plain odometry")
    typer.echo(f"\nposition errors are {compared}")
    typer.echo(f"95 % ellipses hold {100.0 * summary['inside_95']:.0f} % of the errors")
    typer.echo(f"NEES {consistency(summary['nees'], summary['nees_band'], 'the model')}")
    for change in summary["changes"]:
        typer.echo(console.change_of_ground(change))
    if "fixed" in summary and not summary["changes"]:
        typer.echo("no change of ground was noticed")
    if "horizons" in summary:
        after = [
            (f"{one['interval']:g} s", str(one["intervals"]), f"{one['position_rms']:.3f} m",
             f"{one['expected_rms']:.3f} m", f"{one['yaw_rms_deg']:.2f}°", f"{100.0 * one['inside_95']:.0f} %",
             f"{one['nees']:.2f}")
            for one in summary["horizons"]
        ]  # fmt: skip
        typer.echo("")
        names = ("after", "intervals", "position rms", "as predicted", "yaw rms", "in 95 % ellipse", "NEES")
        console.print_table("", names, after, right=tuple(range(len(names))))
    if "own_lag" in summary:
        first, second = summary["own_lag"]["lag"]
        typer.echo(f"pose lag {first:.3f} s in the first half of the log, {second:.3f} s in the second")
    if summary["trained_on_this_log"]:
        typer.echo(HELD_OUT)
