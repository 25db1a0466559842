"""`grouser rolling`: a vehicle with round tyres rolls without slip over smooth ground."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, driven, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.pictures import SUFFIXES as PICTURES

EXAMPLES = (
    "pvc --compare pvc_locked --duration 10",
    "pvc --terrain rough:rms=.3,length=3,seed=1,interpolation=spline",
    "pvc --terrain hills.npz --compare pvc_locked --out run.png --view run.html",
)
joints = partial(option, panel="Joints")
compared = partial(option, panel="Comparison")


def rolling(
    vehicle: Annotated[
        str,
        typer.Argument(help="One with round tyres: pvc, pvc_four, … or a file. Vehicle files are .toml or .urdf."),
    ],
    terrain: Annotated[
        str,
        option(
            "flat (default), slope:deg=10, rough:…,interpolation=spline. It must be smooth; a file of a spline is, too."
        ),
    ] = "flat",
    drive: Annotated[float, option("Desired rate of every wheel, rad/s.")] = 1.0,
    rate: Annotated[
        list[str] | None, joints("Desired rate of one joint, joint=rad/s; 0 unless given; may be repeated.")
    ] = None,
    joint: Annotated[list[str] | None, joints("Where a joint starts, joint=rad or m; may be repeated.")] = None,
    duration: Annotated[float, option("How long to roll, s.")] = 30.0,
    dt: Annotated[float, driven.steps("Step, s.")] = 0.01,
    sigma: Annotated[float, driven.steps("How fast a violated contact is closed, 1/s.", check=values.positive)] = 5.0,
    start: driven.Start = None,
    heading: driven.Heading = None,
    compare: Annotated[
        list[str] | None,
        option("Another design led along the same straight path. Its slip is compared; may be repeated."),
    ] = None,
    friction: Annotated[
        float, compared("Coefficient of friction of the slip compared.", check=values.not_negative)
    ] = 0.6,
    out: values.RunFiles = None,
    view: values.RunPage = None,
    plot: Annotated[Path | None, values.picture("Designs compared, into a .png, .svg or .pdf file.")] = None,
    as_json: console.Json = False,
) -> None:
    """Roll a vehicle without slip: its freedoms and where it goes.

    It also says how well contact and rolling hold.
    """
    files = values.run_files(out, view)
    if plot is not None and not compare:
        raise GrouserError("--plot: draws designs compared; add --compare VEHICLE, or use --out for the run")
    if terrain.startswith("rough:") and "interpolation" not in terrain:
        raise GrouserError("--terrain: rough ground has edges; add interpolation=spline to it")

    ground = values.terrain(terrain)
    place = driven.start_pose(start, heading, ground)
    model = gr.rolling.RollingModel(gr.vehicle(vehicle), ground, sigma=sigma)
    rates = {**dict.fromkeys(model.vehicle.wheels, drive), **_of_joints(rate, "--rate")}
    begin = model.start(*place, joints=_of_joints(joint, "--joint"))
    gr.rolling.roll(model, rates=rates, duration=dt, dt=dt, start=begin)  # compiles
    began = time.perf_counter()
    run = gr.rolling.roll(model, rates=rates, duration=duration, dt=dt, start=begin)
    seconds = time.perf_counter() - began
    designs: dict[str, gr.rolling.Design] = {}
    if compare:
        chosen = [model.vehicle, *(gr.vehicle(name) for name in compare)]
        speed = abs(drive) * float(model.vehicle.arrays.radius.mean())
        designs = gr.rolling.compare(
            chosen, ground, speed=speed, start=place, duration=duration, dt=dt, friction=friction
        )
    if len(run.time) < 2:  # there is nothing to draw
        files = [file for file in files if file.suffix.lower() not in PICTURES]
    for file in files:
        run.write(file)
    if plot is not None:
        from grouser.view.rolling import plot_designs

        plot_designs(designs, plot, title=f"Kinematic slip on {terrain}")
        files.append(plot)
    from grouser.simulation.outcome import happened  # not for --help

    found = model.mobility(begin.state, begin.contact)
    result = {
        **happened(run),
        **gr.rolling.measure(run).summary(),
        "singular_values": found.singular_values.tolist(),
        "rank_gap": found.gap,
        "rank_is_sure": found.is_sure,
        "terrain": terrain, "sigma": sigma, "dt": dt, "seconds": round(seconds, 4),
        "designs": [design.summary() for design in designs.values()],
        "files": files,
    }  # fmt: skip
    console.emit(result, as_json, _print, files)
    console.check_status(run)


def _of_joints(given: list[str] | None, name: str) -> dict[str, float]:
    """Numbers by joint name."""
    return dict(values.number_pair(text, name, "joint=number, such as phi1=0.1") for text in given or [])


def _print(result: dict[str, Any]) -> None:
    freedoms, most = result["degrees_of_freedom"], result["degrees_of_freedom_most"]
    span = str(freedoms) if freedoms == most else f"{freedoms} to {most}"
    unsure = "" if result["rank_is_sure"] else "; at the start the count is not sure"
    pairs = [
        ("status", str(result["status"])),
        ("degrees of freedom", f"{span} (gap of singular values {result['rank_gap']:.1e}{unsure})"),
        ("rolled", f"{result['distance']:.3f} m in {result['seconds_simulated']:g} s"),
        ("ended at", console.place(result["final_position"])),
    ]
    bounds = (
        ("closure error", "closure_error_max", ""),
        ("contact points apart", "contact_gap_max", " m"),
        ("normals from opposite", "normal_error_max", " rad"),
        ("slip measured from poses", "rolling_residual_max", " m/s"),
    )
    pairs += [(n, f"at most {result[key]:.1e}{unit}") for n, key, unit in bounds if result.get(key) is not None]
    pairs += [pair for pair in console.outcome_pairs(result) if pair[0] in ("largest tilt", "least tip margin")]
    pairs.append(("took", f"{result['seconds']:.3f} s"))
    console.print_pairs(f"{result['vehicle']} rolls on {result['terrain']}", pairs)
    console.print_remarks(result)
    if result["designs"]:
        typer.echo("")
        rows = [
            (d["vehicle"], str(d["degrees_of_freedom"]), f"{1000 * d['slip_per_metre']:.3g}",
             f"{d['energy_per_metre']:.3g}", f"{d['power_max']:.3g}")
            for d in result["designs"]
        ]  # fmt: skip
        columns = ("design", "freedoms", "slip [mm/m]", "lost [J/m]", "most [W]")
        console.print_table("led along one straight path", columns, rows, right=(1, 2, 3, 4))
