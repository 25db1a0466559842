"""`grouser plan`: a path across a map, its simulated drive, cost and chance of failure."""

from __future__ import annotations

import dataclasses
import math
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import grouser as gr
from grouser.cli import console, driven, values
from grouser.cli.values import option, requires

if TYPE_CHECKING:
    from grouser.plan import KeepOut

CRITERIA, MODELS = values.one_of("energy", "time", "risk"), values.one_of(*driven.MODELS, "auto")
PROBABILITY = requires(lambda value: 0.0 < value < 1.0, "{:g} is not a chance between 0 and 1, such as 0.05")
SPEED = requires(lambda value: 0.0 < value <= 100.0, "{:g} m/s is not above 0 and at most 100 m/s")
SHOWN = 4
"""Refused paths that are printed; JSON has all."""
EXAMPLES = (
    "zoe --from -8,-6 --to 9,7 --out plan.png",
    "zoe --terrain rough:rms=.2,length=2,seed=3 --from -12,-8 --to 12,10 --view plan.html",
    "husky --terrain dem.tif --from 0,0 --to 80,40 --fit fit.toml --risk .01 --view plan.html",
    "zoe --terrain rough:rms=.2,length=2,seed=3 --from -12,-8 --to 12,10,90 --keep-out 0,0,3 --minimise time --json",
)


def plan(
    vehicle: driven.Vehicle,
    begin: Annotated[str, option("Start x,y or x,y,yaw: m, m, degrees.", "--from")],
    goal: Annotated[str, option("Goal x,y or x,y,yaw: m, m, degrees.", "--to")],
    terrain: Annotated[str, option("Ground, as for simulate; rough (default).")] = "rough:rms=.15,length=.8,seed=1",
    minimise: Annotated[str, option("energy (default), time or risk.", check=CRITERIA)] = "energy",
    risk: Annotated[float, option("Largest chance of failure.", check=PROBABILITY)] = 0.05,
    fit: Annotated[Path | None, option("Calibrated model with its uncertainty (.toml).")] = None,
    model: Annotated[
        str | None,
        option("kinematic (default), dynamic, or auto: dynamic where needed.", panel="Model", check=MODELS),
    ] = None,
    keep_out: Annotated[list[str] | None, option("x,y,radius [m], or a raster file. May be repeated.")] = None,
    max_speed: Annotated[float, option("Largest speed, m/s.", check=SPEED)] = 1.0,
    samples: Annotated[int, option("Samples of the controller in each step.", check=values.whole(8, 1_000_000))] = 300,
    seed: Annotated[
        int, option("Seed of all that is random. The same seed gives the same plan.", check=values.whole(0, 10**9))
    ] = 1,
    soil_raster: driven.SoilFile = None,
    soil: driven.SoilLaws = None,
    out: Annotated[Path | None, values.picture("Picture: .png .svg or .pdf.")] = None,
    view: Annotated[Path | None, values.page("Page that plays the drive in 3D (.html).")] = None,
    as_json: console.Json = False,
) -> None:
    """Plan a path across a map; predict its cost and chance of failure."""
    start, end = _place(begin, "--from"), _place(goal, "--to")
    rover, bare = gr.vehicle(vehicle), values.terrain(terrain)
    from grouser.plan.places import window  # not for --help

    forces = model == "dynamic"
    moving: Any = gr.Dynamics(rover) if forces else gr.Kinematics(rover)
    if model == "auto":
        moving = gr.plan.Auto(moving, gr.Dynamics(rover))
    if fit is not None:
        values.refuse({"--model": model}, driven.FIT_MOVES)
        moving = driven.load_fit(fit, rover, bare)
        forces = driven.has_forces(moving)
    ground = driven.with_soils(bare, soil_raster, soil, rover, forces=forces, speed=max_speed)
    limits = dataclasses.replace(gr.plan.Limits.of(rover), speed=max_speed)
    with console.progress("planning") as report:
        found = gr.plan.plan(
            moving, ground, start, end, minimise=minimise, risk=risk, samples=samples, seed=seed, limits=limits,
            keep_out=_keep_out(keep_out or [], window(ground, start, end)), progress=report,
        )  # fmt: skip
    files = values.make_folders([out, view])
    title = f"{rover.name}: least {minimise}"
    if out is not None:
        found.plot(out, title=title)
    if view is not None:
        found.view(view, title=title)
    console.emit({**found.summary(), "files": files}, as_json, _print, files)
    if not found.reached:
        console.fail(f"the goal is not reached: {found.reason}")


def _place(text: str, name: str) -> tuple[float, ...]:
    """x, y [m] and maybe yaw [rad]."""
    count = 3 if text.count(",") == 2 else 2
    x, y, *yaw = values.numbers(text, count, name, "80,40 or 80,40,90")
    return (x, y, *map(math.radians, yaw))


def _keep_out(given: list[str], box: tuple[float, float, float, float]) -> KeepOut | None:
    """All of --keep-out within xmin, xmax, ymin, ymax [m] together; None where there is none."""
    if not given:
        return None
    files = [one for one in given if Path(one).suffix.lower() in (".npz", ".tif", ".tiff", ".asc")]
    circles = [values.numbers(one, 3, "--keep-out", "4,2,1.5, nor a raster") for one in given if one not in files]
    found = [gr.plan.KeepOut.read(one, box) for one in files]
    found += [gr.plan.KeepOut.circles(circles, box)] * bool(circles)
    return reduce(or_, found)


def _print(result: dict[str, Any]) -> None:
    sure = "not known: no --fit, the model is taken as exact"
    failing = sure if result["reached"] else "certain: the predicted drive does not reach the goal"
    if result["reached"] and result["uncertain"]:
        most = f"below {100.0 * result['risk_most']:.2g} % (95 % confidence)"
        failing = f"{100.0 * result['risk']:.2g} % of {result['drawn_models']} drives with drawn models; {most}"
    pairs = [
        ("reached", "yes" if result["reached"] else "no"),
        ("drives", _cost(result)),
        ("chance of failure", failing),
    ]
    if result["least_tip_margin_deg"] is not None:  # else it does not begin
        pairs.append(("least tip margin", f"{result['least_tip_margin_deg']:.1f}°"))
        pairs.append(("largest slip", f"{100.0 * result['largest_slip']:.1f} %"))
    if "ellipses" in result:
        steered, blind = (_sigma(result[name][-1]) for name in ("ellipses", "ellipses_without_feedback"))
        pairs.append(("sigma at the end", f"{steered:.2f} m, without feedback {blind:.2f} m"))
    pairs += [("refused", f"{one['way']}: {one['reason']}") for one in result["refused"][:SHOWN]]
    if len(result["refused"]) > SHOWN:
        pairs.append(("", f"and {len(result['refused']) - SHOWN} more paths"))
    if result["route_cost"] is not None:
        routes = [{"minimise": result["minimise"], **result["route_cost"]}, *result["alternatives"]]
        pairs += [(f"route, least {one['minimise']}", _cost(one)) for one in routes]
    if result["reached"] and result["reason"]:
        pairs.append(("note", result["reason"]))
    console.print_pairs(f"{result['vehicle']}: least {result['minimise']}", pairs)


def _cost(path: dict[str, Any]) -> str:
    """Length, duration and energy of a path."""
    return f"{path['distance']:.1f} m in {path['duration']:.0f} s with {path['energy']:.0f} J"


def _sigma(ellipse: dict[str, Any]) -> float:
    """Largest standard deviation of a place in any direction [m]."""
    (a, b), (_, d) = ellipse["covariance"]
    return math.sqrt(0.5 * (a + d) + math.hypot(0.5 * (a - d), b))
