"""What the command line gives: options that several commands share, checks of values, files for a run."""

from __future__ import annotations

import math
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
Vehicle = Annotated[str, typer.Argument(help="A name (see: grouser vehicles), a .toml or .urdf file.")]
Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="A driving log; several files are one log.")]
Manifest = Annotated[Path, option("Meaning of the columns (.toml).")]
Interval = Annotated[str | None, option("Length of a prediction, s, or whole; 2 unless given.")]
Distance = Annotated[float | None, option("Length of a prediction, m; instead of --interval.")]
Start = Annotated[str, steps("Start x,y,yaw: m, m, degrees.")]


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


def start_pose(text: str) -> tuple[float, float, float]:
    """x, y [m] and yaw [rad] of --start."""
    x, y, yaw = numbers(text, 3, "--start", "0,0,90")
    return x, y, math.radians(yaw)


def ground(text: str | None) -> gr.terrain.Terrain | None:
    """The ground of --terrain, if it is given."""
    return None if text is None else gr.terrain.parse(text)


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
