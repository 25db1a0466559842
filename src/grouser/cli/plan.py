"""`grouser plan`: a way across a map, driven in prediction, with its cost and its chance of failure."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import grouser as gr
from grouser.cli import console, fitted, soils, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.pictures import SUFFIXES as PICTURES

EXAMPLES = (
    "zoe --from -8,-6 --to 9,7 --out plan.png",
    "zoe --terrain rough:rms=.2,length=2,seed=3 --from -12,-8 --to 12,10 --view plan.html",
    "husky --terrain dem.tif --from 0,0 --to 80,40 --fit fit.toml --risk .01 --view plan.html",
    "zoe --terrain rough:rms=.2,length=2,seed=3 --from -12,-8 --to 12,10 --keep-out 0,0,3 --minimise time --json",
)


def plan(
    vehicle: values.Vehicle,
    begin: Annotated[str, option("Start x,y or x,y,yaw: m, m, degrees.", "--from")],
    goal: Annotated[str, option("Goal x,y or x,y,yaw: m, m, degrees.", "--to")],
    terrain: Annotated[
        str, option("Ground with an edge, as for simulate; rough (default).")
    ] = "rough:rms=.15,length=.8,seed=1",
    minimise: Annotated[str, option("energy (default), time or risk.")] = "energy",
    risk: Annotated[float, option("Largest chance of failure.")] = 0.05,
    fit: Annotated[Path | None, option("Calibrated model with its uncertainty (.toml).")] = None,
    keep_out: Annotated[list[str] | None, option("Round keep-out x,y,radius, m. May be repeated.")] = None,
    max_speed: Annotated[float, option("Largest speed, m/s.")] = 1.0,
    samples: Annotated[int, option("Samples of the controller in each step.")] = 300,
    seed: Annotated[int, option("Seed of all that is random. The same seed gives the same plan.")] = 1,
    soil_raster: soils.SoilFile = None,
    soil: soils.SoilLaws = None,
    out: Annotated[Path | None, option("Picture: .png .svg or .pdf.")] = None,
    view: Annotated[Path | None, option("Page that plays the drive in 3D (.html).")] = None,
    as_json: console.Json = False,
) -> None:
    """Find a way across a map; predict its cost and chance of failure."""
    values.one_of(minimise, ("energy", "time", "risk"), "--minimise")
    values.whole(samples, 8, 1_000_000, "--samples")
    values.whole(seed, 0, 10**9, "--seed")
    if not 0.0 < risk < 1.0:
        raise GrouserError(f"--risk: {risk:g} is not a chance between 0 and 1")
    for name, file, endings in (("--out", out, PICTURES), ("--view", view, (".html",))):
        if file is not None and file.suffix.lower() not in endings:
            raise GrouserError(f"{name}: {file} must end in {' or '.join(endings)}")
    start, end = _place(begin, "--from"), _place(goal, "--to")
    rover, bare = gr.vehicle(vehicle), gr.terrain.parse(terrain)
    model: Any = gr.Kinematics(rover) if fit is None else fitted.load_fit(fit, rover, bare)
    ground = soils.with_soils(bare, soil_raster, soil, rover, dynamic=False, speed=max_speed)
    circles = [values.numbers(one, 3, "--keep-out", "4,2,1.5") for one in keep_out or ()]
    limits = gr.plan.Limits.of(rover)
    limits = gr.plan.Limits(**{**vars(limits), "speed": values.positive(max_speed, "--max-speed")})
    with console.progress("planning") as report:
        found = gr.plan.plan(
            model, ground, start, end, minimise=minimise, risk=risk, samples=samples, seed=seed, limits=limits,
            keep_out=gr.plan.KeepOut.circles(circles, ground.bounds) if circles else None, progress=report,
        )  # fmt: skip
    files = [file for file in (out, view) if file is not None]
    for file in files:
        values.make_folder(file.parent)
    if out is not None:
        found.plot(out)
    if view is not None:
        found.view(view, title=f"{rover.name}: plan")
    result = {**found.summary(), "minimise": minimise, "files": files}
    console.emit(result, as_json, _print, files)
    if not found.reached:
        console.fail(f"the goal is not reached: {found.reason}")


def _place(text: str, name: str) -> tuple[float, ...]:
    """x, y [m] and maybe yaw [rad]."""
    count = 3 if text.count(",") == 2 else 2
    x, y, *yaw = values.numbers(text, count, name, "80,40 or 80,40,90")
    return (x, y, *map(math.radians, yaw))


def _print(result: dict[str, Any]) -> None:
    pairs = [
        ("reached", "yes" if result["reached"] else "no"),
        ("drives", f"{result['distance']:.2f} m in {result['duration']:.1f} s"),
        ("energy", f"{result['energy']:.0f} J"),
        ("chance of failure", f"{100.0 * result['risk']:.2g} %" if result["uncertain"] else "not known: no --fit"),
        ("least tip margin", f"{result['least_tip_margin_deg']:.1f}°"),
        ("largest slip", f"{100.0 * result['largest_slip']:.0f} %"),
    ]
    pairs += [("refused", one["reason"]) for one in result["refused"]]
    if result["reason"]:
        pairs.append(("note", result["reason"]))
    console.print_pairs(f"{result['vehicle']}: least {result['minimise']}", pairs)
