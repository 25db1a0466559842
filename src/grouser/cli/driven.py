"""What a command drives: a vehicle on a ground with soils, where it starts, and a model of it or a fit."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

MODELS = ("kinematic", "dynamic")
FIT_MOVES = "the fit says how the vehicle moves; leave it out, or leave out --fit"
SOIL = "CLASS=MODEL, such as 0=pacejka:friction=.8, 1=dry_sand or 1=slip:-.1,0,-.1,0,0,-.1"
SLIP = "-0.1,0,-0.1,0,0,-0.1"
"""Slip parameters, as an example."""

steps, dynamic = partial(option, panel="Steps and start"), partial(option, panel="Dynamic model")
of_fit, by_place = partial(option, panel="Calibrated model"), partial(option, panel="Soils by place")
Vehicle = Annotated[
    str,
    typer.Argument(help="A name (see: grouser vehicles), a .toml or .urdf file. Also a .xacro file that makes a URDF."),
]
Ground = Annotated[
    str,
    option(
        "flat (default), slope:deg=10, ramp:…, rough:…, or a file. In full ramp:height=1.5,deg=20 and "
        "rough:rms=.15,length=.8,seed=1; a file is .npz .asc .tif .stl .obj or .ply. A part of a map, with means of "
        "2 × 2 nodes: dem.tif:crop=x0,y0,x1,y1,step=2."
    ),
]
Start = Annotated[
    str | None,
    option("Start x,y or x,y,yaw: m, m, degrees. On a map that lies elsewhere it is its middle unless given."),
]
Heading = Annotated[float | None, steps("Heading at the start, degrees from x to the left; instead of a yaw.")]
Model = Annotated[
    str,
    option(
        "kinematic (default): wheels roll; dynamic: forces. The kinematic model has no forces; the "
        "dynamic one has masses, contact forces and actuators.",
        check=values.one_of(*MODELS),
    ),
]
Contact = Annotated[
    str | None, dynamic("piecewise-linear (default), pacejka, terramechanics, or a soil or tyre of grouser soils.")
]
Friction = Annotated[float | None, dynamic("Coefficient of friction; default 1; not for terramechanics.")]
FitFile = Annotated[Path | None, of_fit("Fit of grouser calibrate (.toml): drive its model, with samples.")]
Samples = Annotated[
    int | None, of_fit("Drives with drawn parameters and noise; needs --fit.", check=values.whole(0, 1_000_000))
]
SoilFile = Annotated[Path | None, by_place("Raster of soil classes, .tif or .npz; needs --soil.", "--soils")]
SoilLaws = Annotated[
    list[str] | None,
    by_place(
        "What a class is; repeated. Contact models (dynamic): pacejka:friction=.8, piecewise-linear:friction=.1, "
        "terramechanics, or a soil or tyre of grouser soils; slip (kinematic): slip:p1,…,p6; or own, the model's.",
        metavar="CLASS=MODEL",
    ),
]


def moved(name: str, *speeds: float) -> gr.Vehicle:
    """A vehicle by name or file that is to move at these speeds; warns of implausible numbers, refuses no motors."""
    vehicle = gr.vehicle(name)
    if name in gr.vehicles.names():
        return vehicle
    from grouser.vehicles.plausible import implausible

    if any(speeds) and not vehicle.actuated:
        raise GrouserError(
            f"{name}: no joint has a motor, so no speed can be commanded; list the driven joints as actuated, or let it"
            " roll with --speed 0"
        )
    for sentence in implausible(vehicle):
        console.remark(f"grouser: warning: {name}: {sentence}")
    return vehicle


def pose(text: str | None, heading: float | None) -> tuple[float, float, float]:
    """x, y [m] and yaw [rad] of --start and --heading; x and y are NaN where --start is not given."""
    x, y, yaw = math.nan, math.nan, heading
    if text is not None:
        found = [values.number(part) for part in text.split(",")]
        if len(found) not in (2, 3) or not all(map(math.isfinite, found)):
            raise GrouserError(f"--start: {text!r:.60} is neither x,y nor x,y,yaw, such as 80,40 or 80,40,90")
        if len(found) == 3 and heading is not None:
            raise GrouserError("--heading: --start has a yaw already; leave one of them out")
        x, y, yaw = *found[:2], found[2] if len(found) == 3 else heading
    if yaw is not None and not math.isfinite(yaw):
        raise GrouserError(f"--heading: {yaw:g} is not a number of degrees")
    return x, y, math.radians(yaw or 0.0)


def start_pose(text: str | None, heading: float | None, on: gr.terrain.Terrain) -> tuple[float, float, float]:
    """x, y [m] and yaw [rad] where a vehicle starts on a ground: as asked for, or its origin, or its middle."""
    x, y, yaw = pose(text, heading)
    xmin, xmax, ymin, ymax = on.bounds
    if math.isnan(x) and xmin <= 0.0 <= xmax and ymin <= 0.0 <= ymax:
        return 0.0, 0.0, yaw
    if xmin <= x <= xmax and ymin <= y <= ymax:
        return x, y, yaw
    from grouser.terrain.place import middle
    from grouser.terrain.source import covers

    if not math.isnan(x):
        raise GrouserError(
            f"--start: x = {x:.10g}, y = {y:.10g} m is not on the map, which covers {covers(on.bounds)}; such as "
            f"--start {0.5 * (xmin + xmax):.10g},{0.5 * (ymin + ymax):.10g}"
        )
    x, y = middle(on)
    console.remark(
        f"grouser: the map covers {covers(on.bounds)}, and x = 0, y = 0 is not on it: starts near its middle; "
        f"elsewhere with --start, here --start {x:.10g},{y:.10g}"
    )
    return x, y, yaw


def refuse_other_model(model: str, options: dict[str, Any]) -> None:
    """Refuses options of the kinematic model where the dynamic one is asked for, and the other way round."""
    other, kinematic = MODELS[model == "kinematic"], ("--slip",)
    wrong = {name: value for name, value in options.items() if (name in kinematic) == (model == "dynamic")}
    values.refuse(wrong, f"is for the {other} model; add --model {other}, or leave it out")


def contact_model(name: str | None, rover: gr.Vehicle, friction: float | None, speed: float) -> Any:
    """The contact model of --contact and --friction; speed [m/s] as in `contact_named`."""
    from grouser.contact.named import contact_named

    return contact_named(name or "piecewise-linear", rover, friction=friction, speed=max(abs(speed), 0.1))


def load_fit(path: Path, rover: gr.Vehicle, ground: gr.terrain.Terrain) -> gr.Fit:
    """The fit of --fit, which must be of the vehicle that is to drive."""
    fit = gr.Fit.load_for(path, ground)
    if fit.model.vehicle.name != rover.name:
        raise GrouserError(f"--fit: {path} is of '{fit.model.vehicle.name}', not of '{rover.name}'; name that vehicle")
    return fit


def has_forces(fit: gr.Fit) -> bool:
    """Whether the model of a fit is dynamic."""
    return bool(getattr(fit.model.model, "dynamic", False))


def check_samples(samples: int | None, fit: Path | None) -> None:
    """Samples are of a fit."""
    if samples is not None and fit is None:
        raise GrouserError("--samples: a model alone is certain; add --fit FILE")


def with_soils(
    ground: gr.terrain.Terrain, file: Path | None, given: list[str] | None, vehicle: gr.Vehicle, *, forces: bool,
    speed: float,
) -> gr.terrain.Terrain:  # fmt: skip
    """The ground with the soils of --soils and --soil, for a model; speed [m/s] as in `contact_named`."""
    if file is None and given:
        raise GrouserError("--soil: the places of the classes are missing; add --soils FILE, a raster of classes")
    if file is None:
        return ground
    if not given:
        raise GrouserError(f"--soils: the soil of its classes is missing; add --soil {SOIL}")
    laws: dict[int, Any] = {}
    names: list[str] = []
    for text in given:
        kind, model = values.pair(text, "--soil", SOIL)
        if not kind.isdecimal():
            raise GrouserError(f"--soil: {text!r:.60} is not {SOIL}")
        if int(kind) in laws:
            raise GrouserError(f"--soil: class {kind} is given twice; give it once")
        laws[int(kind)] = _soil(model, vehicle, forces, speed)
        names.append(f"{kind}: {model}")
    return gr.terrain.soils(ground, file, laws, names=names)


def _soil(text: str, vehicle: gr.Vehicle, forces: bool, speed: float) -> Any:
    """The model of a class, None for the model's own."""
    name, _, rest = text.partition(":")
    if name == "own":
        return None
    if (name == "slip") == forces:
        other, instead = MODELS[not forces], "a contact model" if forces else "slip"
        raise GrouserError(
            f"--soil: {name!r:.40} is for the {other} model; add --model {other}, or give {instead} or own"
        )
    if name == "slip":
        return gr.slip.BodySlip(values.numbers(rest, 6, "--soil slip", SLIP))
    made = contact_model(name, vehicle, None, speed)
    form = "a parameter and a number, such as friction=.8"
    changes = dict(values.number_pair(item, "--soil", form) for item in filter(None, rest.split(",")))
    if not changes:
        return made
    if isinstance(made, dict):
        raise GrouserError(f"--soil: {name} has no parameters here; leave {rest!r:.40} out, or use Python")
    return made.replace(**changes)
