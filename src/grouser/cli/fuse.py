"""`grouser fuse`: the chain on board along a log, compared with the log's poses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, fitted, values
from grouser.cli.odometry import ERRORS, NEES, OUTPUTS, print_nees, table_row, write_poses
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.logs.clocks import TopicClock
from grouser.pictures import picture_suffix
from grouser.view.words import HELD_OUT

NAME, WHEELS = "fused", "wheel odometry"
SAID = {"excluded": "wheel {} excluded", "degraded": "{} fails or is missing", "alarms": "alarm: {}"}
MOST_SPANS = 20
"""Times printed; --json has all."""

EXAMPLES = (
    "drive.csv --manifest log.toml --fit fit.toml",
    "drive.csv --manifest log.toml --fit fit.toml --plot drive.png --out drive.tum",
)


def fuse(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A driving log: CSV, ROS bag or MCAP.")],
    manifest: values.Manifest,
    fit: Annotated[Path | None, option("File of `grouser calibrate` (.toml).")] = None,
    out: Annotated[Path | None, option("Poses into .tum, or all with covariances into .csv.")] = None,
    plot: Annotated[Path | None, option("Path, height, yaw error into .png .svg .pdf.")] = None,
    view: Annotated[Path | None, option("The drive in 3D into .html, with wheel odometry and poses.")] = None,
    as_json: console.Json = False,
) -> None:
    """Fuse wheels, IMU and other sensors along a log as on board.

    Signals go to the filter in the order they were recorded; the table [robot] of the manifest says where sensors sit.
    Clocks and frames of all topics are printed. Poses are only compared with, unless [robot] says otherwise.
    """
    if plot is not None:
        picture_suffix(plot)
    if view is not None:
        from grouser.view.page import check_page

        check_page(view)
    if out is not None and out.suffix.lower() not in OUTPUTS:
        raise GrouserError(f"{out}: poses are written into a file that ends in {' or '.join(OUTPUTS)}")

    from grouser.logs.manifest import load_manifest
    from grouser.robot.fuse_log import for_table, fuse_log

    given = load_manifest(manifest)
    found = None if fit is None else gr.Fit.load(fit)
    table = console.read_log([log], for_table(given))
    with console.progress("fusing, events") as report:
        fused = fuse_log(log, manifest=given, fit=found, log=table, progress=report)
    if found is not None:
        fitted.remark_other_vehicle(found, table)
    if plot is not None and fused.judged is None:
        raise GrouserError(f"{table.name}: {_not_judged(fused)}, so there is no picture; leave --plot out")
    if out is not None:
        write_poses(fused.run, out)
    if plot is not None and fused.judged is not None:
        from grouser.view.odometry import plot_odometry

        values.make_folder(plot.parent)
        plot_odometry(fused.run, fused.judged, plot, title=f"{table.name}: {NAME}")
    trained = found is not None and found.training.log == table.name and found.training.samples == len(table)
    if view is not None:
        from grouser.odometry.compare import Compared
        from grouser.view.drive import view_odometry

        values.make_folder(view.parent)
        both = Compared(fused.motion, fused.run, trained, fused.wheels, fused.judged, fused.baseline)
        view_odometry(table, both, view, name=NAME, other=WHEELS)
    result = _result(fused) | {
        "fit": fit, "trained_on_this_log": trained, "out": out, "plot": plot, "view": view,
    }  # fmt: skip
    console.emit(result, as_json, _print, (out, plot, view))


def _not_judged(fused: Any) -> str | None:
    poses = len(fused.log.poses)
    return None if fused.judged is not None else f"has {poses or 'no'} poses, and errors need two"


def _result(fused: Any) -> dict[str, Any]:
    """What is printed, and all of --json."""
    log, stream, replayed, robot = fused.log, fused.stream, fused.replayed, fused.robot
    result: dict[str, Any] = dict.fromkeys(("distance", "turning_deg", *ERRORS, *NEES, "baseline"))
    if fused.judged is not None and fused.baseline is not None:
        plain = fused.baseline.summary()
        result = fused.judged.summary() | {"baseline": {key: plain[key] for key in (*ERRORS, "nees")}}
        if fused.no_nees is not None:
            result |= dict.fromkeys(NEES)
    last = fused.run
    replays, again = robot.replays
    return result | {
        "log": log.name, "vehicle": fused.motion.vehicle.name, "not_judged": _not_judged(fused),
        "no_nees": fused.no_nees, "not_held_out": fused.not_held_out, "samples": len(log),
        "end": {"position": last.position[-1].tolist(), "yaw": float(last.yaw[-1])},
        "events": replayed.events, "replays": replays, "replayed_events": again, "aligned": replayed.aligned,
        "faults": last.faults, "left_out": stream.left_out,
        "times": [{"what": s.what, "name": s.name, "from": s.start, "to": s.end} for s in replayed.spans],
        "innovations": {name: {"used": one.used, "refused": one.refused, "mean": one.mean if one.used else None}
                        for name, one in robot.nis.items()},
        "clocks": [clock.as_dict() for clock in stream.clocks],
        "mounts": stream.mounts.lines(stream.manifest),
        "datum": None if stream.datum is None else list(stream.datum),
    }  # fmt: skip


def _print(result: dict[str, Any]) -> None:
    if result["clocks"]:
        _print_clocks([TopicClock(**one) for one in result["clocks"]])
    for line in result["mounts"]:
        typer.echo(line)
    if result["datum"] is not None:
        latitude, longitude, height = result["datum"]
        typer.echo(f"GPS: x east, y north of {latitude:.7f}°, {longitude:.7f}°, {height:.1f} m")
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in result["events"].items())
    late = f"; {result['replays']} came late and were replayed" if result["replays"] else ""
    typer.echo(f"events: {counts}{late}")
    if result["aligned"] is None:
        typer.echo("the filter was never aligned (no IMU with all six axes?): the estimate is that of the wheels")
    if result["not_judged"] is None:
        driven = f"{result['distance']:.1f} m driven, {result['turning_deg']:.0f}° turned in all"
        typer.echo(f"{result['log']}: {driven}; errors at the end")
        columns = ("", "position", "of the path", "yaw", "of the turning", "height rms")
        rows = [table_row(WHEELS, result["baseline"]), table_row(NAME, result)]
        console.print_table("", columns, rows, right=range(1, 6))
        typer.echo("")
        if result["no_nees"] is None:
            print_nees(result, "", "the estimate")
        else:
            typer.echo(f"no NEES: {result['no_nees']}")
        if result["not_held_out"] is not None:
            typer.echo(result["not_held_out"])
    else:
        typer.echo(f"{result['log']}: {result['not_judged']}")
        x, y, z = result["end"]["position"]
        typer.echo(f"end: x {x:.3f} m, y {y:.3f} m, z {z:.3f} m, yaw {result['end']['yaw']:.4f} rad")
    for one in result["times"][:MOST_SPANS]:
        typer.echo(f"{one['from']:.1f} s to {one['to']:.1f} s: {SAID[one['what']].format(one['name'])}")
    if len(result["times"]) > MOST_SPANS:
        typer.echo(f"and {len(result['times']) - MOST_SPANS} more such times; --json has all")
    for kind, count in result["faults"].items():
        typer.echo(f"{count} faults: {kind.replace('_', ' ')}")
    for reason, count in result["left_out"].items():
        typer.echo(f"{count} messages left out: {reason}")
    if result["trained_on_this_log"]:
        typer.echo(HELD_OUT)


def _print_clocks(clocks: list[TopicClock]) -> None:
    """A row for each topic, and a sentence for what is unusual."""

    def time(value: float | None) -> str:
        if value is None:
            return "-"
        return f"{1e3 * value:.1f} ms" if abs(value) < 10.0 else f"{value:.6g} s"

    columns = ("topic", "messages", "rate", "delay", "jitter", "out of order", "gaps", "frame")
    rows = [
        (
            one.topic, str(one.messages), "-" if one.rate is None else f"{one.rate:.1f} Hz", time(one.offset),
            time(one.jitter), f"{100.0 * one.out_of_order:.1f} %", str(one.gaps), ", ".join(one.frames) or "-",
        )
        for one in clocks
    ]  # fmt: skip
    console.print_table("", columns, rows, right=range(1, 7))
    typer.echo("")
    for one in clocks:
        for line in one.remarks():
            typer.echo(f"{one.topic}: {line}")
