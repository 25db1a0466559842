"""`grouser simulate`: one run, to numbers, files and pictures."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import grouser as gr
from grouser.cli import console, fitted, soils, values
from grouser.cli.values import option, steps
from grouser.errors import GrouserError
from grouser.pictures import SUFFIXES as PICTURES

EXAMPLES = (
    "zoe --terrain rough:rms=.15,length=.8,seed=1",
    "zoe --terrain ramp:height=1.5,deg=20 --speed 1 --out run.png",
    "rocky7 --curvature 0.3 --out results --view run.html --json",
    "landtamer --model dynamic --contact pacejka --friction 0.6 --actuator-gain 2000",
    "husky --fit fit.toml --terrain slope:deg=10 --samples 500 --seed 1",
    "robotino --speed 0.1 --left 0.2 --turn 0.3",
    "husky --model dynamic --contact dry_sand --actuator-gain 200",
    "husky --model dynamic --soils ice.tif --soil 0=pacejka:friction=.8 --soil 1=pacejka:friction=.1",
)
kinematic = partial(option, panel="Kinematic model")


def simulate(
    vehicle: values.Vehicle,
    terrain: values.Ground = "flat",
    speed: Annotated[float, option("Commanded speed, m/s; negative is backwards.")] = 1.0,
    curvature: Annotated[float, option("Commanded curvature, 1/m, left positive.")] = 0.0,
    duration: Annotated[float, option("Duration of the drive, s.")] = 10.0,
    left: Annotated[float, steps("Commanded speed to the left, m/s, of vehicles that can move sideways.")] = 0.0,
    turn: Annotated[float | None, steps("Commanded turn rate, rad/s; instead of --curvature.")] = None,
    dt: Annotated[float, steps("Step, s.")] = 0.04,
    start: values.Start = None,
    heading: values.Heading = None,
    model: values.Model = "kinematic",
    integrator: Annotated[
        str | None, steps("euler (default); rk4 for the kinematic, midpoint for the dynamic model.")
    ] = None,
    slip: Annotated[str | None, kinematic("Body slip p1,…,p6 (thesis section 2.3); others: in Python.")] = None,
    contact: values.Contact = None,
    friction: values.Friction = None,
    actuator_gain: values.Gain = None,
    torque_limit: values.Limit = None,
    fit: fitted.FitFile = None,
    samples: fitted.Samples = None,
    seed: Annotated[int, fitted.of_fit("Seed of the samples.")] = 0,
    soil_raster: soils.SoilFile = None,
    soil: soils.SoilLaws = None,
    out: Annotated[
        list[Path] | None, option("Folder or file: .npz .csv .tum .kitti .mcap .png .svg .pdf. May be repeated.")
    ] = None,
    view: Annotated[Path | None, option("Page that plays the run in 3D (.html).")] = None,
    as_json: console.Json = False,
) -> None:
    """Drive one vehicle over one ground and print where it went."""
    targets = values.run_files(out, view)
    values.pose(start, heading)
    for name, value in (("--speed", speed), ("--curvature", curvature), ("--left", left), ("--turn", turn or 0.0)):
        values.finite(value, name)
    values.positive(duration, "--duration")
    values.positive(dt, "--dt")
    values.one_of(model, values.MODELS, "--model")
    others: dict[str, Any] = {"--slip": slip} if model == "dynamic" else {
        "--contact": contact, "--friction": friction, "--actuator-gain": actuator_gain, "--torque-limit": torque_limit
    }  # fmt: skip
    other = "kinematic" if model == "dynamic" else "dynamic"
    values.refuse(others, f"is for the {other} model; add --model {other}, or leave it out")

    if turn is not None and curvature != 0.0:
        raise GrouserError("--turn and --curvature say the same in two ways; give one")
    drive = gr.drive.twist(speed, left, speed * curvature if turn is None else turn)
    rover, bare = values.moved(vehicle, speed, left, turn or 0.0), values.terrain(terrain)
    place = values.start_pose(start, heading, bare)
    fitted.check_samples(samples, fit)
    values.whole(seed, 0, 2**63 - 1, "--seed")
    calibrated = None
    if fit is not None:
        given = {**others, "--slip": slip, "--integrator": integrator, "--model": "" if model == "dynamic" else None}
        values.refuse(given, "the fit says how the vehicle moves; leave it out, or leave out --fit")
        calibrated = fitted.load_fit(fit, rover, bare)
        model = "dynamic" if getattr(calibrated.model.model, "dynamic", False) else "kinematic"
    ground = soils.with_soils(bare, soil_raster, soil, rover, dynamic=model == "dynamic", speed=speed)
    warning = gr.terrain.steep_warning(ground)
    if warning:
        console.remark(f"grouser: {warning}")
    flat = gr.Kinematics(rover, integrator=(integrator or "euler") if model == "kinematic" else "euler")
    driven: Any = flat
    if calibrated is not None:
        driven = calibrated
    elif model == "dynamic":
        driven = values.dynamics(rover, contact, friction, actuator_gain, torque_limit, speed)
        driven = driven.replace(integrator=integrator or "euler")
    elif slip is not None:
        driven = flat.replace(slip=gr.slip.BodySlip(values.numbers(slip, 6, "--slip", "-0.1,0,-0.1,0,0,-0.1")))
    run = gr.simulate(driven, ground, drive, duration=duration, dt=dt, start=place, samples=samples, seed=seed)
    pictures = [file for file in targets if file.suffix.lower() in PICTURES]
    for file in targets:
        if file not in pictures:
            run.write(file)
    if pictures and len(run.time) > 0:
        from grouser.view.plot import plot_run

        commanded = gr.simulate(flat, gr.terrain.plane(), drive, duration=duration, dt=dt, start=place)
        for file in pictures:
            plot_run(run, file, commanded=commanded if len(commanded.time) else None)
    written = [file for file in targets if file not in pictures or len(run.time) > 0]
    result: dict[str, Any] = {**run.summary(), "model": model, **_forces(run), "files": written}
    console.emit(result, as_json, lambda one: _print(one, terrain), written)
    console.check_status(run)


def _forces(run: gr.Run) -> dict[str, Any]:
    """Forces, power and iterations of a dynamic run, in a few numbers."""
    if run.contact.force is None or run.solver is None or len(run.time) == 0:
        return {}
    power, on_wheels = run.power, run.contact.power
    return {
        "mean_wheel_load": run.contact.force[..., 2].mean(axis=0).tolist(),
        "newton_iterations": float(run.solver.iterations.mean()),
        "halved_steps": run.halved_steps,
        "mean_power": None if power is None else float(power.sum(axis=1).mean()),
        "mean_contact_power": None if on_wheels is None else on_wheels.mean(axis=0).tolist(),
    }


def _print(result: dict[str, Any], terrain: str) -> None:
    pairs = [
        ("status", str(result["status"])),
        ("drove", f"{result['distance']:.3f} m in {result['seconds']:g} s"),
        ("ended at", console.place(result["final_position"])),
        ("final yaw", f"{math.degrees(result['final_yaw']):+.2f}°"),
        ("mean contact speed", f"{result['mean_contact_speed']:.4f} m/s"),
    ]
    if "mean_wheel_load" in result:
        pairs += [
            ("mean wheel load", " ".join(f"{f:.1f}" for f in result["mean_wheel_load"]) + " N"),
            ("mean power", f"{result['mean_power']:.2f} W"),
            ("power on the wheels", " ".join(f"{p:.2f}" for p in result["mean_contact_power"]) + " W"),
            ("Newton iterations", f"{result['newton_iterations']:.2f} per step"),
        ]
    pairs += console.happened_pairs(result)
    if result.get("final_sigma") is not None:
        x, y, z = result["final_sigma"]
        pairs.append(
            ("sigma at the end", f"x {x:.3f}, y {y:.3f}, z {z:.3f} m, yaw {result['final_yaw_sigma_deg']:.2f}°")
        )
        ended = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in result["samples_ended"].items())
        pairs.append(("samples", ended))
    if result.get("hull_touched") is not None:
        pairs.append(("hull", f"touched the ground at t = {result['hull_touched']:g} s"))
    if result["deficient_steps"]:
        pairs.append(("underdetermined steps", str(result["deficient_steps"])))
    console.print_pairs(f"{result['vehicle']} on {terrain}", pairs)
    console.say_remarks(result)
