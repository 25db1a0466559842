"""`grouser rollout`: many random arcs over one ground, in bounded memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, driven, values
from grouser.cli.values import option, positive
from grouser.errors import GrouserError

MOST_ROLLOUTS = 10_000_000
EXAMPLES = (
    "zoe --terrain rough:rms=.15,length=.8,seed=1 --seed 7",
    "husky --fit fit.toml --rollouts 100 --samples 20 --terrain slope:deg=10",
    "husky --rollouts 100000 --every 25 --out fan.npz --json",
    "husky --terrain dem.tif:crop=441000,5310000,441500,5310500 --start 441200,5310200,90 --model dynamic",
)


def rollout(
    vehicle: driven.Vehicle,
    terrain: Annotated[str, option("As for simulate.")] = "flat",
    start: driven.Start = None,
    heading: driven.Heading = None,
    model: driven.Model = "kinematic",
    rollouts: Annotated[int, option("Number of rollouts.", check=values.whole(1, MOST_ROLLOUTS))] = 1000,
    duration: Annotated[float, option("Duration of each, s.", check=positive)] = 10.0,
    dt: Annotated[float, option("Step, s.", check=positive)] = 0.04,
    seed: Annotated[int, option("Seed of the arcs. The same seed gives the same arcs.", check=values.SEED)] = 0,
    max_speed: Annotated[float, option("Speeds are uniform from 0 to this, m/s.", check=positive)] = 1.0,
    max_curvature: Annotated[float, option("Curvatures are uniform in ± this, 1/m.", check=values.not_negative)] = 0.3,
    threads: Annotated[int | None, option("Threads; default: all cores. Results do not change.")] = None,
    every: Annotated[int | None, option("Keep every K-th state in the file, not only the last.")] = None,
    out: Annotated[Path | None, values.npz_file("File for arcs, statuses and states (.npz).")] = None,
    contact: driven.Contact = None,
    friction: driven.Friction = None,
    fit: driven.FitFile = None,
    samples: driven.Samples = None,
    soil_raster: driven.SoilFile = None,
    soil: driven.SoilLaws = None,
    as_json: console.Json = False,
) -> None:
    """Roll out random arcs from one start; print where and how they end.

    It also prints how fast this was.
    """
    if every is not None and out is None:
        raise GrouserError("--every: states are kept in a file; add --out FILE.npz")
    driven.refuse_other_model(model, {"--contact": contact, "--friction": friction})
    driven.check_samples(samples, fit)
    from grouser.cli.arcs import RandomArcs
    from grouser.simulation.simulate import step_count

    rover, ground = gr.vehicle(vehicle), values.terrain(terrain)
    place = driven.start_pose(start, heading, ground)
    steps = step_count(duration, dt)
    if every is not None:
        values.whole(1, steps)(every, "--every")
    moving: Any = gr.Kinematics(rover)
    calibrated, forces = None, model == "dynamic"
    if fit is not None:
        values.refuse({"--model": model if forces else None}, driven.FIT_MOVES)
        calibrated = driven.load_fit(fit, rover, ground)
        forces = driven.has_forces(calibrated)
    elif forces:
        moving = gr.Dynamics(rover, contact=driven.contact_model(contact, rover, friction, max_speed))
    soiled = driven.with_soils(ground, soil_raster, soil, rover, forces=forces, speed=max_speed)
    arcs = RandomArcs(
        moving, soiled if calibrated is None else ground, rollouts=rollouts, steps=steps, dt=dt, seed=seed,
        max_speed=max_speed, max_curvature=max_curvature, start=place,
    )  # fmt: skip
    values.make_folders([out])
    arcs.compile()
    began = time.perf_counter()
    with console.progress(f"{rollouts} rollouts") as report:
        options: dict[str, Any] = {"threads": threads, "every": every or 0, "progress": report}
        if calibrated is None:
            numbers = arcs.run(out=out, **options)
        else:
            numbers, many = arcs.sampled(calibrated, soiled, samples=samples, seed=seed, **options)
            if out is not None:
                arcs.write(many, out)
    seconds = time.perf_counter() - began
    result = {
        "vehicle": rover.name, "model": driven.MODELS[forces], "start": list(place),
        "rollouts": rollouts, "seconds_simulated": duration, "dt": dt, "seed": seed,
        "steps_per_second": round(numbers.pop("steps") / seconds, 1),
        **numbers,
        "seconds": round(seconds, 4),
        "file": out,
    }  # fmt: skip
    console.emit(result, as_json, _print, [out])
    if result["status"].get("interrupted"):
        console.remark(f"grouser: {result['status']['interrupted']} rollouts were interrupted, by Ctrl-C")
        raise typer.Exit(console.INTERRUPTED)
    if result["status"]["ok"] == 0:
        console.fail("no rollout reached its full duration")


def _print(result: dict[str, Any]) -> None:
    mean, std = result["final_position_mean"], result["final_position_std"]
    simulated = result["steps_per_second"] * result["dt"]
    pairs = [
        ("ended", ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in result["status"].items() if n)),
        ("final positions", ", ".join(f"{a} {m:+.2f} ± {s:.2f} m" for a, m, s in zip("xyz", mean, std, strict=True))),
        ("final yaw", f"± {result['final_yaw_std']:.2f} rad"),
        ("largest tilt", _degrees(result["largest_tilt_deg"])),
        ("least tip margin", _degrees(result["least_tip_margin_deg"])),
        ("largest slip", f"{100.0 * (result['largest_slip'] or 0.0):.1f} %"),
        ("slid", f"{result['sliding']} rollouts, at most {result['largest_slide'] or 0.0:.2f} m"),
        ("took", f"{result['seconds']:.2f} s: {result['steps_per_second']:,.0f} steps/s, {simulated:,.0f} × real time"),
    ]
    if result.get("mean_sigma") is not None:
        each = ", ".join(f"{a} {s:.3f} m" for a, s in zip("xyz", result["mean_sigma"], strict=True))
        pairs.append((f"sigma of {result['samples']} samples", f"{each}, yaw {result['mean_yaw_sigma_deg']:.2f}°"))
    title = f"{result['rollouts']} rollouts of {result['seconds_simulated']:g} s, {result['vehicle']}"
    if result["energy_mean"] is not None:
        pairs.insert(-1, ("energy", f"{result['energy_mean']:.0f} J on average"))
    console.print_pairs(title, pairs)
    if result["tipping"] and result["model"] == "kinematic":  # of dynamics the status says so
        typer.echo(f"  note: in {result['tipping']} rollouts the tip margin is negative: a real vehicle would tip")


def _degrees(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1f}°"
