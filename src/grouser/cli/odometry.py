"""`grouser odometry`: wheel odometry along a log, compared with the log's poses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.view.words import HELD_OUT, consistency, odometry_name

if TYPE_CHECKING:
    from grouser.odometry.compare import Compared

ESTIMATES = 1000
"""Estimates from one report of progress to the next."""
NEES = ("nees", "nees_band", "nees_stretches", "nees_since_start", "nees_since_start_band")
ERRORS = ("end_error", "end_error_percent", "yaw_error_deg", "yaw_error_percent", "height_rms")
PosesFile = Annotated[
    Path | None,
    option("Poses into .tum, or all with covariances into .csv.", check=values.ending(".tum", ".csv")),
]

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
    memory: values.OfAdapt = None,
    out: PosesFile = None,
    plot: Annotated[
        Path | None, values.picture("Path, height, yaw error into .png .svg .pdf. The path is drawn with ellipses.")
    ] = None,
    view: Annotated[
        Path | None,
        values.page("The drive in 3D into .html, with a moving ellipse. It shows plain odometry and poses too."),
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
    from grouser.odometry.compare import compare

    grounds = None if memory is None else gr.calibration.Memory.load(memory)
    found = None if fit is None else gr.Fit.load(fit)
    log = console.read_log(logs, manifest, fit=found)
    learned = None
    if adapt and found is not None:
        with console.progress("learning, intervals") as report:
            learned = gr.calibration.learned_along(found, log, memory=grounds, progress=report)
    schedule = None if learned is None else learned.schedule
    with console.progress("odometry, %") as report:
        both = compare(log, found, gyro=gyro, same_ground=same_ground, schedule=schedule, progress=report)
    run, name = both.run, odometry_name(found is not None, gyro, adapts=adapt)
    write_files(log, both, name, out, plot, view)
    result = judgement(log, both) | {
        "log": log.name, "vehicle": both.motion.vehicle.name, "fit": fit,
        "gyro": None if run.gyro is None else {
            "lag": run.gyro.lag, "bias": run.gyro.bias.tolist(), "rest": run.gyro.rest, "noise": run.gyro.noise
        },
        "drives": int(run.drive[-1]) + 1, "samples": len(log), "faults": run.faults,
        "changes": [] if learned is None else [change.summary() for change in learned.changes],
        "trained_on_this_log": both.trained, "out": out, "plot": plot, "view": view,
    }  # fmt: skip
    if learned is not None:
        fixed = {} if both.fixed is None else both.fixed.summary()
        result |= {"fixed": {key: fixed.get(key) for key in (*ERRORS, *NEES)}}
        result |= {"ground": learned.ground, "learned_intervals": learned.intervals}
    console.emit(result, as_json, lambda one: _print(one, name, odometry_name(True, gyro)), (out, plot, view))


def judgement(log: gr.Log, both: Compared) -> dict[str, Any]:
    """Errors of an odometry and of the plain one, or why there are none."""
    if both.judged is None or both.baseline is None:
        why = f"has {len(log.poses) or 'no'} poses, and errors need two"
        return {**dict.fromkeys(("distance", "turning_deg", *ERRORS, *NEES, "baseline")), "not_judged": why}
    plain = both.baseline.summary()
    return {
        **both.judged.summary(), "baseline": {key: plain[key] for key in (*ERRORS, "nees")}, "not_judged": None
    }  # fmt: skip


def write_files(
    log: gr.Log, both: Compared, name: str, out: Path | None, plot: Path | None, view: Path | None, **labels: str
) -> None:
    """Poses, picture and page of an odometry; labels: of the page."""
    if plot is not None and both.judged is None:
        why = judgement(log, both)["not_judged"]
        raise GrouserError(f"{log.name}: {why}, so there is no picture; leave --plot out")
    values.make_folders([out, plot, view])
    if out is not None:
        _write_poses(both.run, out)
    if plot is not None and both.judged is not None:
        from grouser.view.odometry import plot_odometry

        plot_odometry(both.run, both.judged, plot, title=f"{log.name}: {name}")
    if view is not None:
        from grouser.view.drive import view_odometry

        view_odometry(log, both, view, name=name, **labels)


def _write_poses(run: gr.odometry.LogOdometry, out: Path) -> None:
    """Poses of a run into a .tum or a .csv file."""
    poses = out.suffix.lower() == ".tum"
    with console.progress(f"writing {out.name}") as report:

        def each() -> Iterator[gr.odometry.Estimate]:
            for k, one in enumerate(run.each_estimate(systematic=not poses)):
                if k % ESTIMATES == 0:
                    report(k, len(run.drive))
                yield one

        (gr.odometry.write_tum if poses else gr.odometry.write_csv)(out, each())


def _print(result: dict[str, Any], name: str, unadapted: str) -> None:
    if result["not_judged"] is None:
        sets = {name: result}
        if "fixed" in result:
            sets = {unadapted: result["fixed"], **sets}
        plain = {} if name == "plain odometry" else {"plain odometry": result["baseline"]}
        print_errors(result, plain | sets)
        for label, one in sets.items():
            print_nees(one, f"{label}: " if len(sets) > 1 else "")
    else:
        typer.echo(f"{result['log']}: {result['not_judged']}")
    if "fixed" in result:
        for change in result["changes"]:
            typer.echo(console.change_of_ground(change))
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


def print_nees(one: dict[str, Any], label: str, of: str = "odometry") -> None:
    """Lines on whether errors fit their covariance."""
    k = one["nees_stretches"]
    each = f"of {k} stretches of 10 m" if k > 1 else "of the one stretch"
    typer.echo(f"{label}NEES {each} {consistency(one['nees'], one['nees_band'], of)}")
    since = consistency(one["nees_since_start"], one["nees_since_start_band"], of)
    typer.echo(f"{label}NEES since the start {since}")


def print_errors(result: dict[str, Any], sets: Mapping[str, dict[str, Any]]) -> None:
    """A table of errors at the end of a drive, a row for each odometry."""
    driven = f"{result['distance']:.1f} m driven, {result['turning_deg']:.0f}° turned in all"
    typer.echo(f"{result['log']}: {driven}; errors at the end")
    columns = ("", "position", "of the path", "yaw", "of the turning", "height rms")
    console.print_table("", columns, [_row(*one) for one in sets.items()], right=range(1, 6))
    typer.echo("")


def _row(name: str, one: dict[str, Any]) -> tuple[str, ...]:

    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f} %"

    height = "-" if one["height_rms"] is None else f"{one['height_rms']:.3f} m"
    return (
        name, f"{one['end_error']:.2f} m", share(one["end_error_percent"]), f"{one['yaw_error_deg']:.1f}°",
        share(one["yaw_error_percent"]), height,
    )  # fmt: skip
