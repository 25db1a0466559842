"""`grouser fuse`: the chain on board along a log, compared with the log's poses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.odometry import NEES, PosesFile, judgement, print_errors, print_nees, write_files
from grouser.cli.values import option
from grouser.logs.clocks import TopicClock
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
    out: PosesFile = None,
    plot: Annotated[Path | None, values.picture("Path, height, yaw error into .png .svg .pdf.")] = None,
    view: Annotated[Path | None, values.page("The drive in 3D into .html, with wheel odometry and poses.")] = None,
    as_json: console.Json = False,
) -> None:
    """Fuse wheels, IMU and other sensors along a log as on board.

    Signals go to the filter in the order they were recorded; the table [robot] of the manifest says where sensors sit.
    Clocks and frames of all topics are printed. Poses are only compared with, unless [robot] says otherwise.
    """
    from grouser.logs.manifest import load_manifest
    from grouser.odometry.compare import Compared
    from grouser.robot.fuse_log import for_table, fuse_log

    given = load_manifest(manifest)
    found = None if fit is None else gr.Fit.load(fit)
    table = console.read_log([log], for_table(given), fit=found)
    with console.progress("fusing, events") as report:
        fused = fuse_log(log, manifest=given, fit=found, log=table, progress=report)
    trained = found is not None and found.training.log == table.name and found.training.samples == len(table)
    both = Compared(fused.motion, fused.run, trained, fused.wheels, fused.judged, fused.baseline)
    write_files(table, both, NAME, out, plot, view, other=WHEELS)
    result = judgement(table, both) | (dict.fromkeys(NEES) if fused.no_nees is not None else {}) | _result(fused)
    result |= {"fit": fit, "trained_on_this_log": trained, "out": out, "plot": plot, "view": view}
    console.emit(result, as_json, _print, (out, plot, view))


def _result(fused: Any) -> dict[str, Any]:
    """What the filter did, for JSON."""
    log, stream, replayed, robot, last = fused.log, fused.stream, fused.replayed, fused.robot, fused.run
    replays, again = robot.replays
    return {
        "log": log.name, "vehicle": fused.motion.vehicle.name,
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
        print_errors(result, {WHEELS: result["baseline"], NAME: result})
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
