"""`grouser odometry`: wheel odometry along a log, compared with the log's poses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, fitted, values
from grouser.cli.carried import said_of_change
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.pictures import picture_suffix
from grouser.view.words import HELD_OUT, consistency, odometry_name

OUTPUTS = (".tum", ".csv")
SEEN = 1000
"""Estimates from one report of progress to the next."""
NEES = ("nees", "nees_band", "nees_stretches", "nees_since_start", "nees_since_start_band")
ERRORS = ("end_error", "end_error_percent", "yaw_error_deg", "yaw_error_percent", "height_rms")

EXAMPLES = (
    "drive.csv --manifest log.toml --fit fit.toml --gyro",
    "drive.csv --manifest log.toml --fit fit.toml --adapt",
    "drive.csv --manifest log.toml --plot drive.png",
    "drive.csv --manifest log.toml --fit fit.toml --plot drive.png --out drive.tum",
)


def odometry(
    logs: values.Logs,
    manifest: values.Manifest,
    fit: Annotated[Path | None, option("File of `grouser calibrate` (.toml); default: plain odometry.")] = None,
    gyro: Annotated[
        bool, option("Use turn rates of the gyro. Its bias and lag are estimated from the log.", "--gyro")
    ] = False,
    same_ground: Annotated[
        bool, option("The ground is that of the fit, not a similar one. It narrows the covariance.", "--same-ground")
    ] = False,
    adapt: Annotated[
        bool, option("Learn slip from the poses of the log. It notices changes of ground.", "--adapt")
    ] = False,
    memory: Annotated[Path | None, option("With --adapt: grounds to recall (.toml); it is not changed.")] = None,
    out: Annotated[Path | None, option("Poses into .tum, or all with covariances into .csv.")] = None,
    plot: Annotated[
        Path | None, option("Path, height, yaw error into .png .svg .pdf. The path is drawn with ellipses.")
    ] = None,
    view: Annotated[
        Path | None,
        option("The drive in 3D into .html, with a moving ellipse. It shows plain odometry and poses too."),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Compute wheel odometry along a log and compare it with the poses.

    Poses are not used for the odometry; with --adapt they teach slip, and correct neither position nor yaw. Plain
    odometry is computed too.
    """
    if not adapt:
        values.refuse({"--memory": memory}, "is for --adapt; add it, or leave this out")
    elif fit is None:
        raise GrouserError("--adapt: learns on from a fit, and none is given; add --fit fit.toml, or leave this out")
    if plot is not None:
        picture_suffix(plot)
    if view is not None:
        from grouser.view.page import check_page

        check_page(view)
    if out is not None and out.suffix.lower() not in OUTPUTS:
        raise GrouserError(f"{out}: odometry is written into a file that ends in {' or '.join(OUTPUTS)}")

    from grouser.odometry.compare import compare

    grounds = None if memory is None else gr.calibration.Memory.load(memory)
    found = None if fit is None else gr.Fit.load(fit)
    log = console.read_log(logs, manifest)
    learned = None
    if adapt and found is not None:
        with console.progress("learning, intervals") as report:
            learned = gr.calibration.learned_along(found, log, memory=grounds, progress=report)
    schedule = None if learned is None else learned.schedule
    with console.progress("odometry, %") as report:
        both = compare(log, found, gyro=gyro, same_ground=same_ground, schedule=schedule, progress=report)
    run, judged, baseline = both.run, both.judged, both.baseline
    name = odometry_name(found is not None, gyro, adapts=adapt)
    if found is not None:
        fitted.remark_other_vehicle(found, log)
    result: dict[str, Any] = dict.fromkeys(("distance", "turning_deg", *ERRORS, "nees", "baseline"))  # without poses
    not_judged = None if len(log.poses) > 1 else f"has {len(log.poses) or 'no'} poses, and errors need two"
    if judged is not None and baseline is not None:
        plain = baseline.summary()
        result = {**judged.summary(), "baseline": {key: plain[key] for key in (*ERRORS, "nees")}}
    elif plot is not None:
        raise GrouserError(f"{log.name}: {not_judged}, so there is no picture; leave --plot out")
    if out is not None:
        write_poses(run, out)
    if plot is not None and judged is not None:
        from grouser.view.odometry import plot_odometry

        values.make_folder(plot.parent)
        plot_odometry(run, judged, plot, title=f"{log.name}: {name}")
    if view is not None:
        from grouser.view.drive import view_odometry

        values.make_folder(view.parent)
        view_odometry(log, both, view, name=name)
    result |= {
        "log": log.name, "vehicle": both.motion.vehicle.name, "not_judged": not_judged, "fit": fit,
        "gyro": None if run.gyro is None else {
            "lag": run.gyro.lag, "bias": run.gyro.bias.tolist(), "rest": run.gyro.rest, "noise": run.gyro.noise
        },
        "drives": int(run.drive[-1]) + 1, "samples": len(log), "faults": run.faults,
        "changes": [] if learned is None else [change.summary() for change in learned.changes],
        "trained_on_this_log": both.trained, "out": out, "plot": plot, "view": view,
    }  # fmt: skip
    if learned is not None:
        still = {} if both.fixed is None else both.fixed.summary()
        result |= {"fixed": {key: still.get(key) for key in (*ERRORS, *NEES)}}
        result |= {"ground": learned.ground, "learned_intervals": learned.intervals}
    console.emit(result, as_json, lambda one: _print(one, name, odometry_name(True, gyro)), (out, plot, view))


def write_poses(run: gr.odometry.LogOdometry, out: Path) -> None:
    """Poses of a run into a .tum or a .csv file."""
    values.make_folder(out.parent)
    poses = out.suffix.lower() == ".tum"
    with console.progress(f"writing {out.name}") as report:

        def each() -> Iterator[gr.odometry.Estimate]:
            for k, one in enumerate(run.each_estimate(systematic=not poses)):
                if k % SEEN == 0:
                    report(k, len(run.drive))
                yield one

        (gr.odometry.write_tum if poses else gr.odometry.write_csv)(out, each())


def _print(result: dict[str, Any], name: str, unadapted: str) -> None:
    if result["not_judged"] is None:
        sets = {name: result}
        if "fixed" in result:
            sets = {unadapted: result["fixed"], **sets}
        rows = [table_row(*one) for one in sets.items()]
        if name != "plain odometry":
            rows.insert(0, table_row("plain odometry", result["baseline"]))
        driven = f"{result['distance']:.1f} m driven, {result['turning_deg']:.0f}° turned in all"
        typer.echo(f"{result['log']}: {driven}; errors at the end")
        columns = ("", "position", "of the path", "yaw", "of the turning", "height rms")
        console.print_table("", columns, rows, right=range(1, 6))
        typer.echo("")
        for whose, one in sets.items():
            print_nees(one, f"{whose}: " if len(sets) > 1 else "")
    else:
        typer.echo(f"{result['log']}: {result['not_judged']}")
    if "fixed" in result:
        for change in result["changes"]:
            typer.echo(said_of_change(change))
        if not result["changes"]:
            count = result["learned_intervals"]
            typer.echo(f"learned from {count} intervals of 2 s between poses; no change of ground was noticed")
    if (gyro := result["gyro"]) is not None:
        lag = "the lag cannot be estimated from this log; the manifest's is used"
        if gyro["lag"] is not None:
            lag = f"lag {gyro['lag']:+.3f} s beyond the manifest's, estimated from the turn rate of the wheels"
        bias = "too short a standstill to estimate the bias, which is taken as zero"
        if gyro["rest"] >= 2.0:
            bias = f"bias {gyro['bias'][2]:.2e} rad/s about z, from {gyro['rest']:.0f} s at rest"
        typer.echo(f"gyro: {lag}\ngyro: {bias}")
    if result["drives"] > 1:
        typer.echo(f"gaps break the log into {result['drives']} drives; the longest is evaluated")
    for kind, count in result["faults"].items():
        typer.echo(f"{count} samples with a fault: {kind}")
    if result["trained_on_this_log"]:
        typer.echo(HELD_OUT)


def print_nees(one: dict[str, Any], whose: str, of: str = "odometry") -> None:
    """Lines on whether errors fit their covariance."""
    k = one["nees_stretches"]
    each = f"of {k} stretches of 10 m" if k > 1 else "of the one stretch"
    typer.echo(f"{whose}NEES {each} {consistency(one['nees'], one['nees_band'], of)}")
    since = consistency(one["nees_since_start"], one["nees_since_start_band"], of)
    typer.echo(f"{whose}NEES since the start {since}")


def table_row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    """Errors as a row of the table."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f} %"

    height = "-" if one["height_rms"] is None else f"{one['height_rms']:.3f} m"
    return (
        name, f"{one['end_error']:.2f} m", share(one["end_error_percent"]), f"{one['yaw_error_deg']:.1f}°",
        share(one["yaw_error_percent"]), height,
    )  # fmt: skip
