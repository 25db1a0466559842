"""What the command line gives: options that several commands share, checks of values, files for a run."""

from __future__ import annotations

import math
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.errors import GrouserError
from grouser.pictures import SUFFIXES as PICTURES

RUNS = (".npz", ".csv", ".tum", ".kitti", ".mcap", *PICTURES)
"""Kinds of files that hold a run."""
WRITTEN = ("run.npz", "run.csv", "run.tum", "run.png")
"""Files written into a folder given to --out."""


def option(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option with its help, which may name the default; `--help` only names those in a panel of `--help-all`."""
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default="(default)" not in text, **more)


steps = partial(option, panel="Steps and start")
"""An option that few people need."""
Vehicle = Annotated[
    str,
    typer.Argument(help="A name (see: grouser vehicles), a .toml or .urdf file. Also a .xacro file that makes a URDF."),
]
Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="A driving log; several files are one log.")]
Manifest = Annotated[Path, option("Meaning of the columns (.toml).")]
Interval = Annotated[str | None, option("Length of a prediction, s, or whole; 2 unless given.")]
Distance = Annotated[float | None, option("Length of a prediction, m; instead of --interval.")]
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
MODELS = ("kinematic", "dynamic")
Model = Annotated[
    str,
    option(
        "kinematic (default): wheels roll; dynamic: forces. The kinematic model has no forces; the "
        "dynamic one has masses, contact forces and actuators."
    ),
]
dynamic = partial(option, panel="Dynamic model")
"""An option of the dynamic model."""
Contact = Annotated[
    str | None, dynamic("piecewise-linear (default), pacejka, terramechanics, or a soil or tyre of grouser soils.")
]
Friction = Annotated[float | None, dynamic("Coefficient of friction; default 1; not for terramechanics.")]
Gain = Annotated[float | None, dynamic("Torque per rate error, N m/(rad/s); default: exact rates.")]
Limit = Annotated[float | None, dynamic("Largest torque, N m; needs a gain.")]


def moved(name: str, *speeds: float) -> gr.Vehicle:
    """A vehicle by name or file that is to move at these speeds; what is implausible is said, no motors refused."""
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
        print(f"grouser: warning: {name}: {sentence}", file=sys.stderr, flush=True)
    return vehicle


def number(text: str) -> float:
    """A number; NaN where the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def numbers(text: str, count: int, name: str, example: str) -> list[float]:
    """Numbers with commas between, as many as asked for."""
    values = [number(part) for part in text.split(",")]
    if len(values) != count or not all(math.isfinite(value) for value in values):
        raise GrouserError(f"{name}: {text!r:.60} is not {count} numbers with commas between, such as {example}")
    return values


def lengths(text: str, name: str, example: str) -> list[float]:
    """Positive numbers with commas between."""
    values = [number(part) for part in text.split(",")]
    if not all(math.isfinite(value) and value > 0.0 for value in values):
        raise GrouserError(f"{name}: {text!r:.60} is not positive numbers with commas between, such as {example}")
    return values


def pose(text: str | None, heading: float | None, name: str = "--start") -> tuple[float, float, float] | None:
    """x, y [m] and yaw [rad] of --start and --heading; x and y are NaN where only a heading is given, None without."""
    x, y, yaw = math.nan, math.nan, 0.0
    if text is not None:
        found = [number(part) for part in text.split(",")]
        if len(found) not in (2, 3) or not all(math.isfinite(value) for value in found):
            raise GrouserError(f"{name}: {text!r:.60} is neither x,y nor x,y,yaw, such as 80,40 or 80,40,90")
        x, y, yaw = (*found, 0.0)[:3]
        if len(found) == 3 and heading is not None:
            raise GrouserError(f"--heading: {name} has a yaw already; leave one of them out")
    if heading is not None:
        yaw = heading
        if not math.isfinite(yaw):
            raise GrouserError(f"--heading: {yaw:g} is not a number of degrees")
    return None if text is None and heading is None else (x, y, math.radians(yaw))


def start_pose(text: str | None, heading: float | None, on: gr.terrain.Terrain) -> tuple[float, float, float]:
    """x, y [m] and yaw [rad] where a vehicle starts on a ground: as asked for, or its origin, or its middle."""
    x, y, yaw = pose(text, heading) or (math.nan, math.nan, 0.0)
    xmin, xmax, ymin, ymax = on.bounds
    if math.isfinite(x):
        if not (xmin <= x <= xmax and ymin <= y <= ymax):
            from grouser.terrain.source import covers

            raise GrouserError(
                f"--start: x = {x:.10g}, y = {y:.10g} m is not on the map, which covers {covers(on.bounds)}; such as "
                f"--start {0.5 * (xmin + xmax):.10g},{0.5 * (ymin + ymax):.10g}"
            )
        return x, y, yaw
    if xmin <= 0.0 <= xmax and ymin <= 0.0 <= ymax:
        return 0.0, 0.0, yaw
    from grouser.cli.console import remark
    from grouser.terrain.place import middle
    from grouser.terrain.source import covers

    x, y = middle(on)
    remark(
        f"grouser: the map covers {covers(on.bounds)}, and x = 0, y = 0 is not on it: starts near its middle; "
        f"elsewhere with --start, here --start {x:.10g},{y:.10g}"
    )
    return x, y, yaw


def terrain(text: str) -> gr.terrain.Terrain:
    """The ground of --terrain; progress where it takes long to read, and what was assumed of it, on stderr."""
    from grouser.cli import console

    with console.slowly(f"reading {text:.60}") as report:
        found = gr.terrain.parse(text, progress=report)
    for note in found.notes:
        console.remark(f"grouser: {note}")
    return found


def ground(text: str | None) -> gr.terrain.Terrain | None:
    """The ground of --terrain, if it is given."""
    return None if text is None else terrain(text)


def one_of(value: str, known: tuple[str, ...], name: str) -> str:
    """A name out of several."""
    if value not in known:
        raise GrouserError(f"{name}: {value!r:.40} is not one of {', '.join(known)}")
    return value


def refuse(options: dict[str, Any], why: str) -> None:
    """Refuses options that do not belong here, by name; None is one that was not given."""
    for name, value in options.items():
        if value is not None:
            raise GrouserError(f"{name}: {why}")


def whole(value: int, least: int, most: int, name: str) -> int:
    """A whole number within bounds."""
    if not least <= value <= most:
        raise GrouserError(f"{name}: {value} is not between {least} and {most}")
    return value


def finite(value: float, name: str) -> float:
    """A number that is neither NaN nor infinite."""
    if not math.isfinite(value):
        raise GrouserError(f"{name}: {value:g} is not a finite number")
    return value


def positive(value: float, name: str, *, or_zero: bool = False) -> float:
    """A finite number above zero, or at least zero."""
    if not (math.isfinite(value) and (value > 0.0 or (or_zero and value == 0.0))):
        raise GrouserError(f"{name}: {value:g} is not a {'number of at least 0' if or_zero else 'positive number'}")
    return value


def prediction(interval: str | None, distance: float | None) -> tuple[float | None, float | None]:
    """Lengths of predictions, --interval [s] and --distance [m], of which one may be given; both None: whole runs."""
    if interval is not None and distance is not None:
        raise GrouserError("--distance: a prediction has a duration or a distance; leave --interval or --distance out")
    if interval == "whole":
        return None, None
    if interval is not None and not math.isfinite(number(interval)):
        raise GrouserError(f"--interval: {interval!r:.40} is neither a number of seconds nor whole")
    length = positive(2.0 if interval is None else number(interval), "--interval")
    return length, None if distance is None else positive(distance, "--distance")


def make_folder(path: Path) -> Path:
    """A folder that exists from now on."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GrouserError(f"{path}: this folder cannot be made: {error.strerror or error}") from None
    return path


def run_files(out: list[Path] | None, view: Path | None) -> list[Path]:
    """Files of --out and --view, in folders that exist from now on."""
    files = []
    for path in out or []:
        if path.is_dir() or not path.suffix:
            files += [path / name for name in WRITTEN]
        elif path.suffix.lower() in RUNS:
            files.append(path)
        else:
            raise GrouserError(f"--out: {path} must end in one of {', '.join(RUNS)}, or be a folder")
    if view is not None:
        if view.suffix.lower() not in (".html", ".htm"):
            raise GrouserError(f"--view: {view} does not end in .html; a page that plays the run does")
        files.append(view)
    for file in files:
        make_folder(file.parent)
    return files


def dynamics(
    rover: gr.Vehicle,
    contact: str | None,
    friction: float | None,
    gain: float | None,
    limit: float | None,
    speed: float,
) -> gr.Dynamics:
    """The dynamic model of these options; speed [m/s] as in `contact_named`."""
    from grouser.contact.named import contact_named

    if limit is not None and gain is None:
        raise GrouserError("--torque-limit: exact rates have no torque limit; add --actuator-gain")
    actuator = None
    if gain is not None:
        positive(gain, "--actuator-gain", or_zero=True)
        most = math.inf if limit is None else positive(limit, "--torque-limit")
        actuator = gr.actuation.PI(gain=gain, limit=most)
    named = contact_named(contact or "piecewise-linear", rover, friction=friction, speed=max(abs(speed), 0.1))
    return gr.Dynamics(rover, contact=named, actuator=actuator)
