"""`grouser simulate`: one run, to numbers, files and pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, values
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.simulation.run import Run
    from grouser.vehicles import Vehicle

WRITTEN = ("run.npz", "run.csv", "run.tum", "run.png")
"""What a folder given to --out is filled with."""
SUFFIXES = (".npz", ".csv", ".tum", ".kitti", ".mcap", ".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
STEPS, KINEMATIC, DYNAMIC = "Steps and start", "Kinematic model", "Dynamic model"
"""Panels of `--help-all`; `--help` only names what is in them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "simulate",
        epilog="Example: grouser simulate zoe --terrain rough:rms=.15,length=.8,seed=1\n\n"
        "Example: grouser simulate zoe --terrain ramp:height=1.5,deg=20 --speed 1 --out run.png\n\n"
        "Example: grouser simulate rocky7 --curvature 0.3 --out results --view run.html --json\n\n"
        "Example: grouser simulate landtamer --model dynamic --contact pacejka --friction 0.6 --actuator-gain 2000",
    )(simulate)


def simulate(
    vehicle: Annotated[str, typer.Argument(help="A name (see: grouser vehicles), a .toml or .urdf file.")],
    terrain: Annotated[
        str,
        typer.Option(
            help="flat (default), slope:deg=10, ramp:…, rough:…, or a file. In full ramp:height=1.5,deg=20 and "
            "rough:rms=.15,length=.8,seed=1; a file is .npz .asc .tif .stl .obj or .ply.",
            show_default=False,
        ),
    ] = "flat",
    speed: Annotated[float, typer.Option(help="Commanded speed, m/s; negative backs up.")] = 1.0,
    curvature: Annotated[float, typer.Option(help="Commanded curvature, 1/m, left positive.")] = 0.0,
    duration: Annotated[float, typer.Option(help="How long to drive, s.")] = 10.0,
    dt: Annotated[float, typer.Option(help="Step, s.", rich_help_panel=STEPS)] = 0.04,
    start: Annotated[str, typer.Option(help="x,y,yaw to start from: m, m, degrees.", rich_help_panel=STEPS)] = "0,0,0",
    model: Annotated[
        str,
        typer.Option(
            help="kinematic (default): wheels roll; dynamic: masses, forces. The kinematic model has no forces; the "
            "dynamic one has masses, contact forces and actuators.",
            show_default=False,
        ),
    ] = "kinematic",
    integrator: Annotated[
        str | None,
        typer.Option(
            help="euler (default); rk4 for the kinematic, midpoint for the dynamic model.", rich_help_panel=STEPS
        ),
    ] = None,
    slip: Annotated[
        str | None,
        typer.Option(help="Body slip p1,…,p6 (thesis section 2.3); others: in Python.", rich_help_panel=KINEMATIC),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(help="piecewise-linear (default), pacejka or terramechanics.", rich_help_panel=DYNAMIC),
    ] = None,
    friction: Annotated[
        float | None,
        typer.Option(help="Coefficient of friction, 1 unless given; soil has none.", rich_help_panel=DYNAMIC),
    ] = None,
    actuator_gain: Annotated[
        float | None,
        typer.Option(help="Torque per rate error, N m/(rad/s); joints obey unless given.", rich_help_panel=DYNAMIC),
    ] = None,
    torque_limit: Annotated[
        float | None, typer.Option(help="Largest torque, N m; needs a gain.", rich_help_panel=DYNAMIC)
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="Folder or file: .npz .csv .tum .kitti .mcap .png .svg .pdf. May be repeated."),
    ] = None,
    view: Annotated[Path | None, typer.Option(help="A page that plays the run in 3D (.html).")] = None,
    as_json: console.Json = False,
) -> None:
    """Drive one vehicle over one ground and say where it went."""
    targets = [file for path in out or [] for file in _files(path)]
    targets += [] if view is None else [_page(view)]
    x, y, yaw = values.numbers(start, 3, "--start", "0,0,90")
    kinematic = {"--slip": slip}
    dynamic = {
        "--contact": contact,
        "--friction": friction,
        "--actuator-gain": actuator_gain,
        "--torque-limit": torque_limit,
    }
    _refuse_others(model, kinematic, dynamic)

    import grouser as gr

    drive = gr.drive.arc(speed, curvature)
    pose = (x, y, math.radians(yaw))
    ground = gr.terrain.parse(terrain)
    rover = gr.vehicle(vehicle)
    flat = gr.Kinematics(rover, integrator=(integrator or "euler") if model == "kinematic" else "euler")
    if model == "kinematic":
        parameters = None if slip is None else values.numbers(slip, 6, "--slip", "-0.1,0,-0.1,0,0,-0.1")
        moving = flat.replace(slip=None if parameters is None else gr.slip.BodySlip(parameters))
        run = gr.simulate(moving, ground, drive, duration=duration, dt=dt, start=pose)
    else:
        forced = _dynamics(rover, contact or "piecewise-linear", friction, actuator_gain, torque_limit, speed)
        forced = forced.replace(integrator=integrator or "euler")
        run = gr.simulate(forced, ground, drive, duration=duration, dt=dt, start=pose)
    commanded = None
    if any(file.suffix in (".png", ".svg", ".pdf") for file in targets):
        commanded = gr.simulate(flat, gr.terrain.plane(), drive, duration=duration, dt=dt, start=pose)
    written = [file for file in targets if _write(run, commanded, file)]

    result: dict[str, Any] = {**run.summary(), "model": model, **_forces(run), "files": [str(file) for file in written]}
    if as_json:
        console.print_json(result)
    else:
        _print(result, terrain)
    if run.status is not gr.Status.OK:
        console.remark(f"grouser: the run ended after {run.steps * run.dt:g} s: {run.status.meaning}")
        raise typer.Exit(1)


def _refuse_others(model: str, kinematic: dict[str, Any], dynamic: dict[str, Any]) -> None:
    """Options of the model that was not asked for are a mistake, not silence."""
    if model not in ("kinematic", "dynamic"):
        raise GrouserError(f"--model: {model!r:.40} is not one of kinematic, dynamic")
    other, others = ("dynamic", dynamic) if model == "kinematic" else ("kinematic", kinematic)
    for option, value in others.items():
        if value is not None:
            raise GrouserError(f"{option}: is for the {other} model; add --model {other}, or leave it out")


def _dynamics(
    rover: Vehicle, contact: str, friction: float | None, gain: float | None, limit: float | None, speed: float
) -> Dynamics:
    import grouser as gr
    from grouser.contact.named import contact_named

    if limit is not None and gain is None:
        raise GrouserError("--torque-limit: an actuator that obeys exactly has no limit; add --actuator-gain")
    actuator = None
    if gain is not None:
        values.not_negative(gain, "--actuator-gain")
        most = math.inf if limit is None else values.positive(limit, "--torque-limit")
        actuator = gr.actuation.PI(gain=gain, limit=most)
    named = contact_named(contact, rover, friction=friction, speed=max(abs(speed), 0.1))
    return gr.Dynamics(rover, contact=named, actuator=actuator)


def _forces(run: Run) -> dict[str, Any]:
    """What only the dynamic model knows, in a few numbers."""
    if run.contact.force is None or run.solver is None or len(run.time) == 0:
        return {}
    power, on_wheels = run.power, run.contact.power
    return {
        "mean_wheel_load": [float(f) for f in run.contact.force[..., 2].mean(axis=0)],
        "newton_iterations": float(run.solver.iterations.mean()),
        "halved_steps": run.halved_steps,
        "mean_power": None if power is None else float(power.sum(axis=1).mean()),
        "mean_contact_power": None if on_wheels is None else [float(p) for p in on_wheels.mean(axis=0)],
    }


def _page(path: Path) -> Path:
    if path.suffix.lower() not in PAGES:
        raise GrouserError(f"--view: {path} does not end in .html; a page that plays the run does")
    values.make_folder(path.parent)
    return path


def _files(path: Path) -> list[Path]:
    suffix = path.suffix.lower()
    if suffix in SUFFIXES and not path.is_dir():
        values.make_folder(path.parent)
        return [path]
    if suffix and not path.is_dir():
        raise GrouserError(f"--out: {path} ends in {suffix}; give a folder, or a file ending in {', '.join(SUFFIXES)}")
    return [values.make_folder(path) / name for name in WRITTEN]


def _write(run: Run, commanded: Run | None, file: Path) -> bool:
    suffix = file.suffix.lower()
    if suffix == ".npz":
        run.save(file)
    elif suffix == ".csv":
        run.to_csv(file)
    elif suffix == ".tum":
        run.to_tum(file)
    elif suffix == ".kitti":
        run.to_kitti(file)
    elif suffix == ".mcap":
        run.to_mcap(file)
    elif suffix in PAGES:
        run.view(file)
    elif len(run.time) == 0:
        return False  # there is nothing to draw
    else:
        from grouser.view import plot_run

        plot_run(run, file, commanded=commanded if commanded is not None and len(commanded.time) else None)
    return True


def _print(result: dict[str, Any], terrain: str) -> None:
    position = result["final_position"]
    pairs = [
        ("status", str(result["status"])),
        ("drove", f"{result['distance']:.3f} m in {result['seconds']:g} s"),
        ("ended at", " ".join(f"{name} {v:+.3f}" for name, v in zip("xyz", position, strict=False)) + " m"),
        ("final yaw", f"{math.degrees(result['final_yaw']):+.2f}°"),
        ("mean contact speed", f"{result['mean_contact_speed']:.4f} m/s"),
    ]
    if "mean_wheel_load" in result:
        pairs.append(("mean wheel load", " ".join(f"{f:.1f}" for f in result["mean_wheel_load"]) + " N"))
        pairs.append(("mean power", f"{result['mean_power']:.2f} W"))
        pairs.append(("of the ground on wheels", " ".join(f"{p:.2f}" for p in result["mean_contact_power"]) + " W"))
        pairs.append(("Newton iterations", f"{result['newton_iterations']:.2f} per step"))
    if result["deficient_steps"]:
        pairs.append(("underdetermined steps", str(result["deficient_steps"])))
    console.print_pairs(f"{result['vehicle']} on {terrain}", pairs)
    for file in result["files"]:
        typer.echo(f"wrote {file}")
