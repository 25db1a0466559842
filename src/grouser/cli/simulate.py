"""`grouser simulate`: one run, to numbers, files and pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grouser.cli import console, soils, values
from grouser.cli.values import STEPS, option
from grouser.errors import GrouserError
from grouser.pictures import SUFFIXES as PICTURES

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.simulation.run import Run
    from grouser.vehicles import Vehicle

EXAMPLES = (
    "zoe --terrain rough:rms=.15,length=.8,seed=1",
    "zoe --terrain ramp:height=1.5,deg=20 --speed 1 --out run.png",
    "rocky7 --curvature 0.3 --out results --view run.html --json",
    "landtamer --model dynamic --contact pacejka --friction 0.6 --actuator-gain 2000",
    "husky --model dynamic --soils ice.tif --soil 0=pacejka:friction=.8 --soil 1=pacejka:friction=.1",
)
WRITTEN = ("run.npz", "run.csv", "run.tum", "run.png")
"""Files written into a folder given to --out."""
WRITERS = {".npz": "save", ".csv": "to_csv", ".tum": "to_tum", ".kitti": "to_kitti", ".mcap": "to_mcap"}
"""Method of a run that writes each kind of file."""
SUFFIXES = (*WRITERS, *PICTURES)
PAGES = (".html", ".htm")
KINEMATIC, DYNAMIC = "Kinematic model", "Dynamic model"
"""Panels of `--help-all`; `--help` only names what is in them."""


def simulate(
    vehicle: values.Vehicle,
    terrain: Annotated[
        str,
        option(
            "flat (default), slope:deg=10, ramp:…, rough:…, or a file. In full ramp:height=1.5,deg=20 and "
            "rough:rms=.15,length=.8,seed=1; a file is .npz .asc .tif .stl .obj or .ply.",
            show_default=False,
        ),
    ] = "flat",
    speed: Annotated[float, option("Commanded speed, m/s; negative is backwards.")] = 1.0,
    curvature: Annotated[float, option("Commanded curvature, 1/m, left positive.")] = 0.0,
    duration: Annotated[float, option("Duration of the drive, s.")] = 10.0,
    dt: Annotated[float, option("Step, s.", panel=STEPS)] = 0.04,
    start: values.Start = "0,0,0",
    model: Annotated[
        str,
        option(
            "kinematic (default): wheels roll; dynamic: masses, forces. The kinematic model has no forces; the "
            "dynamic one has masses, contact forces and actuators.",
            show_default=False,
        ),
    ] = "kinematic",
    integrator: Annotated[
        str | None, option("euler (default); rk4 for the kinematic, midpoint for the dynamic model.", panel=STEPS)
    ] = None,
    slip: Annotated[
        str | None, option("Body slip p1,…,p6 (thesis section 2.3); others: in Python.", panel=KINEMATIC)
    ] = None,
    contact: Annotated[
        str | None, option("piecewise-linear (default), pacejka or terramechanics.", panel=DYNAMIC)
    ] = None,
    friction: Annotated[
        float | None, option("Coefficient of friction; default 1; not for terramechanics.", panel=DYNAMIC)
    ] = None,
    actuator_gain: Annotated[
        float | None, option("Torque per rate error, N m/(rad/s); default: exact rates.", panel=DYNAMIC)
    ] = None,
    torque_limit: Annotated[float | None, option("Largest torque, N m; needs a gain.", panel=DYNAMIC)] = None,
    soil_raster: soils.SoilFile = None,
    soil: soils.SoilLaws = None,
    out: Annotated[
        list[Path] | None, option("Folder or file: .npz .csv .tum .kitti .mcap .png .svg .pdf. May be repeated.")
    ] = None,
    view: Annotated[Path | None, option("Page that plays the run in 3D (.html).")] = None,
    as_json: console.Json = False,
) -> None:
    """Drive one vehicle over one ground and print where it went."""
    targets = [file for path in out or [] for file in _files(path)]
    targets += [] if view is None else [_page(view)]
    pose = values.start_pose(start)
    dynamic = {"--contact": contact, "--friction": friction, "--actuator-gain": actuator_gain,
               "--torque-limit": torque_limit}  # fmt: skip
    _refuse_others(model, {"--slip": slip}, dynamic)

    import grouser as gr

    drive = gr.drive.arc(speed, curvature)
    rover = gr.vehicle(vehicle)
    ground = soils.with_soils(
        gr.terrain.parse(terrain), soil_raster, soil, rover, dynamic=model == "dynamic", speed=speed
    )
    flat = gr.Kinematics(rover, integrator=(integrator or "euler") if model == "kinematic" else "euler")
    moving: Any = flat
    if model == "dynamic":
        moving = _dynamics(rover, contact or "piecewise-linear", friction, actuator_gain, torque_limit, speed)
        moving = moving.replace(integrator=integrator or "euler")
    elif slip is not None:
        moving = flat.replace(slip=gr.slip.BodySlip(values.numbers(slip, 6, "--slip", "-0.1,0,-0.1,0,0,-0.1")))
    run = gr.simulate(moving, ground, drive, duration=duration, dt=dt, start=pose)
    commanded = None
    if any(file.suffix.lower() in PICTURES for file in targets):
        commanded = gr.simulate(flat, gr.terrain.plane(), drive, duration=duration, dt=dt, start=pose)
    written = [str(file) for file in targets if _write(run, commanded, file)]
    result: dict[str, Any] = {**run.summary(), "model": model, **_forces(run), "files": written}
    console.emit(result, as_json, lambda one: _print(one, terrain))
    console.check_status(run.status, run.steps * run.dt)


def _refuse_others(model: str, kinematic: dict[str, Any], dynamic: dict[str, Any]) -> None:
    """Refuses options of the other model."""
    values.one_of(model, ("kinematic", "dynamic"), "--model")
    other, others = ("dynamic", dynamic) if model == "kinematic" else ("kinematic", kinematic)
    for name, value in others.items():
        if value is not None:
            raise GrouserError(f"{name}: is for the {other} model; add --model {other}, or leave it out")


def _dynamics(
    rover: Vehicle, contact: str, friction: float | None, gain: float | None, limit: float | None, speed: float
) -> Dynamics:
    import grouser as gr
    from grouser.contact.named import contact_named

    if limit is not None and gain is None:
        raise GrouserError("--torque-limit: exact rates have no torque limit; add --actuator-gain")
    actuator = None
    if gain is not None:
        values.not_negative(gain, "--actuator-gain")
        most = math.inf if limit is None else values.positive(limit, "--torque-limit")
        actuator = gr.actuation.PI(gain=gain, limit=most)
    named = contact_named(contact, rover, friction=friction, speed=max(abs(speed), 0.1))
    return gr.Dynamics(rover, contact=named, actuator=actuator)


def _forces(run: Run) -> dict[str, Any]:
    """Forces, power and iterations of a dynamic run, in a few numbers."""
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
        raise GrouserError(f"--view: {path} must end in .html")
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
    """Write one file; False where there is nothing to draw."""
    suffix = file.suffix.lower()
    if suffix in WRITERS:
        getattr(run, WRITERS[suffix])(file)
    elif suffix in PAGES:
        run.view(file)
    elif len(run.time) == 0:
        return False
    else:
        from grouser.view.plot import plot_run

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
        pairs.append(("power on the wheels", " ".join(f"{p:.2f}" for p in result["mean_contact_power"]) + " W"))
        pairs.append(("Newton iterations", f"{result['newton_iterations']:.2f} per step"))
    if result["deficient_steps"]:
        pairs.append(("underdetermined steps", str(result["deficient_steps"])))
    console.print_pairs(f"{result['vehicle']} on {terrain}", pairs)
