"""`grouser rolling`: a vehicle with round tyres rolls without slip over smooth ground."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, values
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.rolling import Design, RollingModel
    from grouser.simulation.run import Run

PICTURES = (".png", ".svg", ".pdf")
SUFFIXES = (".npz", ".csv", ".tum", ".kitti", ".mcap", *PICTURES)
PAGES = (".html", ".htm")
JOINTS, STEPS = "Joints", "Steps and start"
"""Panels of `--help-all`; `--help` only names what is in them."""


EXAMPLES = (
    "pvc --compare pvc_locked --duration 10",
    "pvc --terrain rough:rms=.3,length=3,seed=1,interpolation=spline",
    "pvc --terrain hills.npz --compare pvc_locked --out run.png --view run.html",
)


def rolling(
    vehicle: Annotated[
        str,
        typer.Argument(help="One with round tyres: pvc, pvc_four, … or a file. Vehicle files are .toml or .urdf."),
    ],
    terrain: Annotated[
        str,
        typer.Option(
            help="flat (default), slope:deg=10, rough:…,interpolation=spline. It must be smooth; a file of a spline "
            "is, too.",
            show_default=False,
        ),
    ] = "flat",
    drive: Annotated[float, typer.Option(help="Desired rate of every wheel, rad/s.")] = 1.0,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            help="Desired rate of one joint, joint=rad/s; 0 unless given; may be repeated.", rich_help_panel=JOINTS
        ),
    ] = None,
    joint: Annotated[
        list[str] | None,
        typer.Option(help="Where a joint starts, joint=rad or m; may be repeated.", rich_help_panel=JOINTS),
    ] = None,
    duration: Annotated[float, typer.Option(help="How long to roll, s.")] = 30.0,
    dt: Annotated[float, typer.Option(help="Step, s.", rich_help_panel=STEPS)] = 0.01,
    sigma: Annotated[
        float, typer.Option(help="How fast a violated contact is closed, 1/s.", rich_help_panel=STEPS)
    ] = 5.0,
    start: Annotated[str, typer.Option(help="x,y,yaw to start from: m, m, degrees.", rich_help_panel=STEPS)] = "0,0,0",
    compare: Annotated[
        list[str] | None,
        typer.Option(help="Another design led along the same straight path. Its slip is compared; may be repeated."),
    ] = None,
    friction: Annotated[
        float, typer.Option(help="Coefficient of friction of the slip compared.", rich_help_panel="Comparison")
    ] = 0.6,
    out: Annotated[
        list[Path] | None,
        typer.Option(help="A file: .npz .csv .tum .kitti .mcap .png .svg .pdf. May be repeated."),
    ] = None,
    view: Annotated[Path | None, typer.Option(help="A page that plays the run in 3D (.html).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Designs compared, into a .png, .svg or .pdf file.")] = None,
    as_json: console.Json = False,
) -> None:
    """Roll a vehicle without slip: its freedoms and where it goes.

    It also says how well contact and rolling hold.
    """
    x, y, yaw = values.numbers(start, 3, "--start", "0,0,90")
    for file in out or []:
        if file.suffix.lower() not in SUFFIXES:
            raise GrouserError(f"--out: {file} must end in one of {', '.join(SUFFIXES)}")
    if view is not None and view.suffix.lower() not in PAGES:
        raise GrouserError(f"--view: {view} does not end in .html; a page that plays the run does")
    values.not_negative(friction, "--friction")
    if plot is not None and not compare:
        raise GrouserError("--plot: draws designs compared; add --compare VEHICLE, or use --out for the run")
    if terrain.startswith("rough:") and "interpolation" not in terrain:
        raise GrouserError("--terrain: rough ground has edges; add interpolation=spline to it")

    import grouser as gr

    ground = gr.terrain.parse(terrain)
    model = gr.rolling.RollingModel(gr.vehicle(vehicle), ground, sigma=values.positive(sigma, "--sigma"))
    rates = {**dict.fromkeys(model.vehicle.wheels, drive), **_pairs(rate, "--rate")}
    place = (x, y, math.radians(yaw))
    begin = model.start(*place, joints=_pairs(joint, "--joint"))
    gr.rolling.roll(model, rates=rates, duration=dt, dt=dt, start=begin)  # compiles
    began = time.perf_counter()
    run = gr.rolling.roll(model, rates=rates, duration=duration, dt=dt, start=begin)
    seconds = time.perf_counter() - began
    designs: dict[str, Design] = {}
    if compare:
        chosen = [model.vehicle, *(gr.vehicle(name) for name in compare)]
        speed = abs(drive) * float(model.vehicle.arrays.radius.mean())
        designs = gr.rolling.compare(
            chosen, ground, speed=speed, start=place, duration=duration, dt=dt, friction=friction
        )
    files = [str(file) for file in [*(out or []), *([view] if view else [])] if _write(run, file)]
    if plot is not None:
        from grouser.view.rolling import plot_designs

        plot_designs(designs, plot, title=f"Kinematic slip on {terrain}")
        files.append(str(plot))
    result = {
        **gr.rolling.measure(run).summary(),
        **_mobility(model, begin.state, begin.contact),
        "terrain": terrain,
        "sigma": sigma,
        "dt": dt,
        "seconds": round(seconds, 4),
        "designs": [design.summary() for design in designs.values()],
        "files": files,
    }
    if as_json:
        console.print_json(result)
    else:
        _print(result)
    if run.status is not gr.Status.OK:
        console.remark(f"grouser: the run ended after {run.steps * run.dt:g} s: {run.status.meaning}")
        raise typer.Exit(1)


def _pairs(given: list[str] | None, option: str) -> dict[str, float]:
    """Numbers by joint name."""
    out = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (name.strip() and equals and math.isfinite(number)):
            raise GrouserError(f"{option}: {text!r:.60} is not joint=number, such as phi1=0.1")
        out[name.strip()] = number
    return out


def _mobility(model: RollingModel, state: Any, contact: Any) -> dict[str, Any]:
    """The rank decision at the start."""
    found = model.mobility(state, contact)
    return {
        "singular_values": [float(value) for value in found.singular_values],
        "rank_gap": found.gap,
        "rank_is_sure": found.is_sure,
    }


def _write(run: Run, file: Path) -> bool:
    if len(run.time) < 2 and file.suffix.lower() in PICTURES:
        return False  # there is nothing to draw
    values.make_folder(file.parent)
    run.write(file)
    return True


def _print(result: dict[str, Any]) -> None:
    freedoms, most = result["degrees_of_freedom"], result["degrees_of_freedom_most"]
    span = str(freedoms) if freedoms == most else f"{freedoms} to {most}"
    unsure = "" if result["rank_is_sure"] else "; at the start the count is not sure"
    pairs = [
        ("status", str(result["status"])),
        ("degrees of freedom", f"{span} (gap of singular values {result['rank_gap']:.1e}{unsure})"),
        ("rolled", f"{result['distance']:.3f} m in {result['seconds_simulated']:g} s"),
        ("ended at", " ".join(f"{a} {v:+.3f}" for a, v in zip("xyz", result["final_position"], strict=False)) + " m"),
    ]
    for name, key, unit in (
        ("closure error", "closure_error_max", ""),
        ("contact points apart", "contact_gap_max", " m"),
        ("normals from opposite", "normal_error_max", " rad"),
        ("slip measured from poses", "rolling_residual_max", " m/s"),
    ):
        if result.get(key) is not None:
            pairs.append((name, f"at most {result[key]:.1e}{unit}"))
    pairs.append(("took", f"{result['seconds']:.3f} s"))
    console.print_pairs(f"{result['vehicle']} rolls on {result['terrain']}", pairs)
    if result["designs"]:
        typer.echo("")
        rows = [
            (
                d["vehicle"],
                str(d["degrees_of_freedom"]),
                f"{1000 * d['slip_per_metre']:.3g}",
                f"{d['energy_per_metre']:.3g}",
                f"{d['power_max']:.3g}",
            )
            for d in result["designs"]
        ]
        columns = ("design", "freedoms", "slip [mm/m]", "lost [J/m]", "most [W]")
        console.print_table("led along one straight path", columns, rows, right=(1, 2, 3, 4))
    for file in result["files"]:
        typer.echo(f"wrote {file}")
