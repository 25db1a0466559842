"""`grouser node`: the chain on board over ROS 2 topics, live."""

from __future__ import annotations

import math
import signal
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

EXAMPLES = (
    "--manifest robot.toml --fit fit.toml",
    "--manifest robot.toml --fit fit.toml --checkpoint node.npz --foxglove",
    "--manifest robot.toml --transport zenoh --for 60 --json",
)
TRANSPORTS = {"dds": "grouser.node.dds:DdsTransport", "zenoh": "grouser.node.zenoh_transport:ZenohTransport"}


def node(
    manifest: Annotated[Path, option("Topics and their meaning (.toml).")],
    fit: Annotated[Path | None, option("File of `grouser calibrate` (.toml); default: no slip.")] = None,
    transport: Annotated[str, option("dds or zenoh.", check=values.one_of(*TRANSPORTS))] = "dds",
    domain: Annotated[int | None, option("ROS domain; default: ROS_DOMAIN_ID, else 0.")] = None,
    rate: Annotated[float, option("Highest rate of odometry, Hz.", check=values.positive)] = 50.0,
    checkpoint: Annotated[Path | None, option("Continue from this file (.npz), written every second.")] = None,
    foxglove: Annotated[bool, option("Serve a live view to Foxglove.", "--foxglove")] = False,
    foxglove_port: Annotated[int | None, option("The same at this port; 0 takes a free one.")] = None,
    network: Annotated[bool, option("Leave this computer; default: loopback.", "--network")] = False,
    seconds: Annotated[float | None, option("End after so many seconds.", "--for", check=values.positive)] = None,
    as_json: console.Json = False,
) -> None:
    """Estimate the pose of a robot live, from its ROS 2 topics.

    It publishes /odom, /tf, /diagnostics and alarms, and needs no ROS installation. Ctrl-C ends it and prints counts
    and latency.
    """
    from grouser.logs.manifest import load_manifest
    from grouser.node.checkpoint import CheckpointError, Checkpoints, read_checkpoint
    from grouser.node.inputs import Inputs, rooted
    from grouser.node.runner import Node, NodeSettings
    from grouser.robot.robot import restore, state_of

    join = resolve_name(TRANSPORTS[transport])  # a library that is missing is named before anything is compiled
    signals = load_manifest(manifest)
    if fit is not None:
        robot = gr.Robot(gr.Fit.load(fit), signals)
    elif signals.vehicle is not None:
        robot = gr.Robot(gr.vehicle(signals.vehicle), signals)
    else:
        raise GrouserError(f"{signals.file}: names no vehicle; add --fit, or vehicle = … to it")
    name = robot.vehicle.name
    note, datum = "", None  # datum: origin of GPS fixes
    if checkpoint is not None:
        values.make_folder(checkpoint.parent)
        try:
            if (state := read_checkpoint(checkpoint, name)) is not None:
                restore(robot, state)
                datum = state.get("datum")
                note = (
                    f"continues from {checkpoint.name}; motion while the node was not running is extrapolated at best"
                )
        except (GrouserError, ValueError) as problem:
            raise CheckpointError(f"{checkpoint}: {str(problem).removeprefix(f'{checkpoint}: ')}") from None
    inputs = Inputs(signals, robot.vehicle.joints, datum=datum)
    carrier = join(domain=domain, network=network)
    view, close_view = (
        _view(robot.vehicle, foxglove_port) if foxglove or foxglove_port is not None else (None, lambda: None)
    )
    table = signals.robot.topics
    settings = NodeSettings(
        rate=rate, topic=rooted(table.odom), frame=table.odom_frame, child=table.base_frame, transform=table.tf,
        diagnostics=rooted(table.diagnostics), monitor=rooted(table.monitor),
    )  # fmt: skip
    try:
        saved = None if checkpoint is None else Checkpoints(checkpoint, name)
        live = Node(
            robot,
            inputs,
            carrier,
            settings,
            vehicle=name,
            checkpoints=saved,
            view=view,
            note=note,
            save=lambda: state_of(robot),
        )
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, lambda *_: live.stop())
        heard = ", ".join(dict.fromkeys(one.name for one in inputs.topics))
        console.remark(f"grouser: {name} over {transport}; listens to {heard}; publishes {settings.topic}")
        for line in inputs.mounts.lines(signals):
            console.remark(f"grouser: {line}")
        live.run(math.inf if seconds is None else seconds)
        result = {"vehicle": name, "transport": transport, "resumed": bool(note), **live.summary()}
    finally:
        carrier.close()
        close_view()
    console.emit(result, as_json, _print)


def _view(vehicle: Any, port: int | None) -> Any:
    from grouser.node.foxglove_view import PORT, LiveView, slip_of

    live = LiveView(port=PORT if port is None else port, vehicle=vehicle)
    console.remark(f"grouser: live view at ws://127.0.0.1:{live.port} ({live.url})")

    def show(odometry: Any, estimate: Any, states: Any) -> None:
        told = {"excluded": estimate.excluded, "monitor": estimate.alarms, "slip": slip_of(estimate)}
        live.show(odometry, **told, diagnostics=states)

    return show, live.close


def _print(result: dict[str, Any]) -> None:
    counts = ", ".join(f"{count} on {name}" for name, count in result["messages"].items())
    lost, ms = result["lost"], result["latency_ms"]
    typer.echo(f"{result['vehicle']}: {counts or 'no messages'}; {result['published']} estimates published")
    typer.echo(f"lost: {lost['queue']} in the queue, {lost['way']} on the way; {result['damaged']} damaged")
    typer.echo(f"latency: median {ms['median']:.2f} ms, 99 % {ms['p99']:.2f} ms, longest {ms['longest']:.2f} ms")
    typer.echo(f"memory: {result['memory_mb']:.1f} MB")
    if result["position"] is not None:
        typer.echo(f"at {console.place(result['position'])}")
    for reason, count in (result["left_out"] | result["transport_faults"]).items():
        typer.echo(f"{count} messages not used: {reason}")
    for kind, count in result["faults"].items():
        typer.echo(f"{count} signals with a fault: {kind}")
