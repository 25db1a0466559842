"""`grouser simulate`: one run, to numbers, files and pictures."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any

import grouser as gr
from grouser.cli import console, driven, values
from grouser.cli.driven import dynamic, of_fit, steps
from grouser.cli.values import finite, option, positive
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
    vehicle: driven.Vehicle,
    terrain: driven.Ground = "flat",
    speed: Annotated[float, option("Commanded speed, m/s; negative is backwards.", check=finite)] = 1.0,
    curvature: Annotated[float, option("Commanded curvature, 1/m, left positive.", check=finite)] = 0.0,
    duration: Annotated[float, option("Duration of the drive, s.", check=positive)] = 10.0,
    left: Annotated[
        float, steps("Commanded speed to the left, m/s, of vehicles that can move sideways.", check=finite)
    ] = 0.0,
    turn: Annotated[float | None, steps("Commanded turn rate, rad/s; instead of --curvature.", check=finite)] = None,
    dt: Annotated[float, steps("Step, s.", check=positive)] = 0.04,
    start: driven.Start = None,
    heading: driven.Heading = None,
    model: driven.Model = "kinematic",
    integrator: Annotated[
        str | None, steps("euler (default); rk4 for the kinematic, midpoint for the dynamic model.")
    ] = None,
    slip: Annotated[str | None, kinematic("Body slip p1,…,p6 (thesis section 2.3); others: in Python.")] = None,
    contact: driven.Contact = None,
    friction: driven.Friction = None,
    actuator_gain: Annotated[
        float | None, dynamic("Torque per rate error, N m/(rad/s); default: exact rates.", check=values.not_negative)
    ] = None,
    torque_limit: Annotated[float | None, dynamic("Largest torque, N m; needs a gain.", check=positive)] = None,
    fit: driven.FitFile = None,
    samples: driven.Samples = None,
    seed: Annotated[int, of_fit("Seed of the samples.", check=values.SEED)] = 0,
    soil_raster: driven.SoilFile = None,
    soil: driven.SoilLaws = None,
    out: values.RunFiles = None,
    view: values.RunPage = None,
    as_json: console.Json = False,
) -> None:
    """Simulate one drive of a vehicle over a ground and print the result."""
    targets = values.run_files(out, view)
    laws = {
        "--slip": slip, "--contact": contact, "--friction": friction, "--actuator-gain": actuator_gain,
        "--torque-limit": torque_limit,
    }  # fmt: skip
    driven.refuse_other_model(model, laws)
    if torque_limit is not None and actuator_gain is None:
        raise GrouserError("--torque-limit: exact rates have no torque limit; add --actuator-gain")
    if turn is not None and curvature != 0.0:
        raise GrouserError("--turn and --curvature both set the turn rate; give one")
    driven.check_samples(samples, fit)
    drive = gr.drive.twist(speed, left, speed * curvature if turn is None else turn)
    rover, bare = driven.moved(vehicle, speed, left, turn or 0.0), values.terrain(terrain)
    place = driven.start_pose(start, heading, bare)
    forces, flat = model == "dynamic", gr.Kinematics(rover)
    moving: Any
    if fit is not None:
        given = {"--slip": slip, "--integrator": integrator, "--model": model if forces else None}
        values.refuse(given, driven.FIT_MOVES)
        moving = driven.load_fit(fit, rover, bare)
        forces = driven.has_forces(moving)
        model = driven.MODELS[forces]
    elif forces:
        gain, limit = actuator_gain, math.inf if torque_limit is None else torque_limit
        moving = gr.Dynamics(
            rover,
            contact=driven.contact_model(contact, rover, friction, speed),
            actuator=None if gain is None else gr.actuation.PI(gain=gain, limit=limit),
            integrator=integrator or "euler",
        )
    else:
        moving = flat = flat.replace(integrator=integrator or "euler")
        if slip is not None:
            moving = flat.replace(slip=gr.slip.BodySlip(values.numbers(slip, 6, "--slip", driven.SLIP)))
    ground = driven.with_soils(bare, soil_raster, soil, rover, forces=forces, speed=speed)
    if warning := gr.terrain.steep_warning(ground):
        console.remark(f"grouser: {warning}")
    run = gr.simulate(moving, ground, drive, duration=duration, dt=dt, start=place, samples=samples, seed=seed)
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
    pairs += console.outcome_pairs(result)
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
    console.print_remarks(result)
