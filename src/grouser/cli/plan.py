"""`grouser plan`: a way across a map, driven in prediction, with its cost and its chance of failure."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import grouser as gr
from grouser.cli import console, fitted, soils, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.pictures import SUFFIXES as PICTURES

if TYPE_CHECKING:
    from grouser.plan import KeepOut

MODELS = ("kinematic", "dynamic", "auto")
FASTEST = 100.0
"""Largest --max-speed [m/s]."""
SHOWN = 4
"""Refused ways that are printed; JSON has all."""
EXAMPLES = (
    "zoe --from -8,-6 --to 9,7 --out plan.png",
    "zoe --terrain rough:rms=.2,length=2,seed=3 --from -12,-8 --to 12,10 --view plan.html",
    "husky --terrain dem.tif --from 0,0 --to 80,40 --fit fit.toml --risk .01 --view plan.html",
    "zoe --terrain rough:rms=.2,length=2,seed=3 --from -12,-8 --to 12,10,90 --keep-out 0,0,3 --minimise time --json",
)


def plan(
    vehicle: values.Vehicle,
    begin: Annotated[str, option("Start x,y or x,y,yaw: m, m, degrees.", "--from")],
    goal: Annotated[str, option("Goal x,y or x,y,yaw: m, m, degrees.", "--to")],
    terrain: Annotated[str, option("Ground, as for simulate; rough (default).")] = "rough:rms=.15,length=.8,seed=1",
    minimise: Annotated[str, option("energy (default), time or risk.")] = "energy",
    risk: Annotated[float, option("Largest chance of failure.")] = 0.05,
    fit: Annotated[Path | None, option("Calibrated model with its uncertainty (.toml).")] = None,
    model: Annotated[
        str | None,
        option("kinematic (default), dynamic, or auto: dynamic where it matters.", panel="Model"),
    ] = None,
    keep_out: Annotated[list[str] | None, option("x,y,radius [m], or a raster file. May be repeated.")] = None,
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
    values.one_of(model or "kinematic", MODELS, "--model")
    values.whole(samples, 8, 1_000_000, "--samples")
    values.whole(seed, 0, 10**9, "--seed")
    if not 0.0 < risk < 1.0:
        raise GrouserError(f"--risk: {risk:g} is not a chance between 0 and 1, such as 0.05")
    for name, file, endings in (("--out", out, PICTURES), ("--view", view, (".html", ".htm"))):
        if file is not None and file.suffix.lower() not in endings:
            raise GrouserError(f"{name}: {file} must end in {' or '.join(endings)}")
    if values.positive(max_speed, "--max-speed") > FASTEST:
        raise GrouserError(
            f"--max-speed: {max_speed:g} m/s is more than {FASTEST:g} m/s, too fast for a vehicle on rough ground"
        )
    start, end = _place(begin, "--from"), _place(goal, "--to")
    rover, bare = gr.vehicle(vehicle), values.terrain(terrain)
    from grouser.plan.places import window  # not for --help

    moving: Any = _model(rover, model or "kinematic")
    dynamic = model == "dynamic"
    if fit is not None:
        if model is not None:
            raise GrouserError("--model: the fit says how the vehicle moves; leave it out, or leave out --fit")
        moving = fitted.load_fit(fit, rover, bare)
        dynamic = bool(getattr(moving.model.model, "dynamic", False))
    ground = soils.with_soils(bare, soil_raster, soil, rover, dynamic=dynamic, speed=max_speed)
    limits = dataclasses.replace(gr.plan.Limits.of(rover), speed=max_speed)
    with console.progress("planning") as report:
        found = gr.plan.plan(
            moving, ground, start, end, minimise=minimise, risk=risk, samples=samples, seed=seed, limits=limits,
            keep_out=_keep_out(keep_out or [], window(ground, start, end)), progress=report,
        )  # fmt: skip
    files = [file for file in (out, view) if file is not None]
    for file in files:
        values.make_folder(file.parent)
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


def _model(rover: gr.Vehicle, name: str) -> Any:
    """The model of --model, with the defaults of its parameters."""
    if name == "kinematic":
        return gr.Kinematics(rover)
    dynamic = gr.Dynamics(rover)
    return dynamic if name == "dynamic" else gr.plan.Auto(gr.Kinematics(rover), dynamic)


def _keep_out(given: list[str], box: tuple[float, float, float, float]) -> KeepOut | None:
    """All of --keep-out within xmin, xmax, ymin, ymax [m] together; None where there is none."""
    if not given:
        return None
    files = [one for one in given if Path(one).suffix.lower() in (".npz", ".tif", ".tiff", ".asc")]
    circles = [values.numbers(one, 3, "--keep-out", "4,2,1.5, nor a raster") for one in given if one not in files]
    found = [gr.plan.KeepOut.read(one, box) for one in files]
    if circles:
        found.append(gr.plan.KeepOut.circles(circles, box))
    kept = found[0]
    for one in found[1:]:
        kept = kept | one
    return kept


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
        pairs.append(("", f"and {len(result['refused']) - SHOWN} more ways"))
    if result["route_cost"] is not None:
        ways = [{"minimise": result["minimise"], **result["route_cost"]}, *result["alternatives"]]
        pairs += [(f"route, least {one['minimise']}", _cost(one)) for one in ways]
    if result["reached"] and result["reason"]:
        pairs.append(("note", result["reason"]))
    console.print_pairs(f"{result['vehicle']}: least {result['minimise']}", pairs)


def _cost(way: dict[str, Any]) -> str:
    """What a way costs."""
    return f"{way['distance']:.1f} m in {way['duration']:.0f} s with {way['energy']:.0f} J"


def _sigma(ellipse: dict[str, Any]) -> float:
    """Largest standard deviation of a place in any direction [m]."""
    (a, b), (_, d) = ellipse["covariance"]
    return math.sqrt(0.5 * (a + d) + math.hypot(0.5 * (a - d), b))
