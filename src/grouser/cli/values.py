"""What the command line gives: options that several commands share, and checks of values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from grouser.errors import GrouserError


def option(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option with its help; `--help` only names options that stand in a panel of `--help-all`."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


STEPS = "Steps and start"
"""Panel of options that few people need."""
Vehicle = Annotated[str, typer.Argument(help="A name (see: grouser vehicles), a .toml or .urdf file.")]
Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="A driving log; several files are one log.")]
Manifest = Annotated[Path, option("Meaning of the columns (.toml).")]
Interval = Annotated[float | None, option("Length of a prediction, s; 2 unless given.")]
Distance = Annotated[float | None, option("Length of a prediction, m; instead of --interval.")]
Start = Annotated[str, option("Start x,y,yaw: m, m, degrees.", panel=STEPS)]


def numbers(text: str, count: int, name: str, example: str) -> list[float]:
    """Numbers with commas between, as many as asked for."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(value) for value in values):
        raise GrouserError(f"{name}: {text!r:.60} is not {count} numbers with commas between, such as {example}")
    return values


def start_pose(text: str) -> tuple[float, float, float]:
    """x, y [m] and yaw [rad] of --start."""
    x, y, yaw = numbers(text, 3, "--start", "0,0,90")
    return x, y, math.radians(yaw)


def one_of(value: str, known: tuple[str, ...], name: str) -> str:
    """A name out of several."""
    if value not in known:
        raise GrouserError(f"{name}: {value!r:.40} is not one of {', '.join(known)}")
    return value


def whole(value: int, least: int, most: int, name: str) -> int:
    """A whole number within bounds."""
    if not least <= value <= most:
        raise GrouserError(f"{name}: {value} is not between {least} and {most}")
    return value


def positive(value: float, name: str) -> float:
    """A finite number above zero."""
    if not (math.isfinite(value) and value > 0.0):
        raise GrouserError(f"{name}: {value:g} is not a positive number")
    return value


def not_negative(value: float, name: str) -> float:
    """A finite number, zero or above."""
    if not (math.isfinite(value) and value >= 0.0):
        raise GrouserError(f"{name}: {value:g} is not a number of at least 0")
    return value


def prediction(interval: float | None, distance: float | None) -> tuple[float, float | None]:
    """Lengths of predictions, --interval [s] and --distance [m], of which one may be given."""
    if interval is not None and distance is not None:
        raise GrouserError("--distance: a prediction has a duration or a distance; leave --interval or --distance out")
    length = positive(2.0 if interval is None else interval, "--interval")
    return length, None if distance is None else positive(distance, "--distance")


def make_folder(path: Path) -> Path:
    """A folder that exists from now on."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GrouserError(f"{path}: this folder cannot be made: {error.strerror or error}") from None
    return path
