"""Options that several commands share, checks of their values, and files that commands write."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
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
Check = Callable[[Any, str], Any]
"""Returns the value of an option or refuses it; it gets the value and the option's name."""


def option(text: str, *names: str, panel: str | None = None, check: Check | None = None, **more: Any) -> Any:
    """An option with its help, which may name the default; `--help` only names those in a panel of `--help-all`."""
    if check is not None:
        more["callback"] = lambda context, parameter, value: value if value is None else check(value, parameter.opts[0])
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default="(default)" not in text, **more)


def requires(holds: Callable[[Any], bool], otherwise: str) -> Check:
    """A check: the value is returned where a condition holds; `otherwise` is the error, with a place for the value."""

    def check(value: Any, name: str) -> Any:
        if not holds(value):
            raise GrouserError(f"{name}: {otherwise.format(value)}")
        return value

    return check


def one_of(*known: str) -> Check:
    """One of these names."""
    return requires(known.__contains__, f"{{!r:.40}} is not one of {', '.join(known)}")


def whole(least: int, most: int) -> Check:
    """A whole number within bounds."""
    return requires(lambda value: least <= value <= most, f"{{}} is not between {least} and {most}")


def ending(*suffixes: str) -> Check:
    """A file whose name ends in one of these."""
    return requires(lambda path: path.suffix.lower() in suffixes, f"{{}} must end in {' or '.join(suffixes)}")


finite = requires(math.isfinite, "{:g} is not a finite number")
positive = requires(lambda value: 0.0 < value < math.inf, "{:g} is not a positive number")
not_negative = requires(lambda value: 0.0 <= value < math.inf, "{:g} is not a number of at least 0")
picture, page = partial(option, check=ending(*PICTURES)), partial(option, check=ending(".html", ".htm"))
npz_file, toml_file = partial(option, check=ending(".npz")), partial(option, check=ending(".toml"))
SEED = whole(0, 2**63 - 1)
Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="A driving log; several files are one log.")]
Manifest = Annotated[Path, option("Meaning of the columns (.toml).")]
Interval = Annotated[str | None, option("Length of a prediction, s, or whole; 2 unless given.")]
OfAdapt = Annotated[Path | None, option("With --adapt: grounds to recall (.toml); it is not changed.")]
OtherGround = Annotated[str | None, option("Ground of the calibration, if other than flat.")]
together = partial(option, panel="Several logs")
Jobs = Annotated[int, together("Processes of this machine that share the work.", check=whole(1, 1024))]
Scheduler = Annotated[str | None, together("A Dask scheduler that shares the work, such as tcp://host:8786.")]
RunFiles = Annotated[
    list[Path] | None, option("Folder or file: .npz .csv .tum .kitti .mcap .png .svg .pdf. May be repeated.")
]
RunPage = Annotated[Path | None, page("Page that plays the run in 3D (.html).")]


def number(text: str) -> float:
    """A number; NaN where the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def numbers(text: str, count: int, name: str, example: str) -> list[float]:
    """Numbers with commas between, as many as asked for."""
    values = [number(part) for part in text.split(",")]
    if len(values) != count or not all(map(math.isfinite, values)):
        raise GrouserError(f"{name}: {text!r:.60} is not {count} numbers with commas between, such as {example}")
    return values


def pair(text: str, name: str, form: str) -> tuple[str, str]:
    """The two sides of an equals sign; `form` shows what the option takes, with an example."""
    first, sign, second = (part.strip() for part in text.partition("="))
    if not (first and sign and second):
        raise GrouserError(f"{name}: {text!r:.60} is not {form}")
    return first, second


def number_pair(text: str, name: str, form: str) -> tuple[str, float]:
    """A name and a finite number with an equals sign between."""
    key, value = pair(text, name, form)
    if not math.isfinite(number(value)):
        raise GrouserError(f"{name}: {text!r:.60} is not {form}")
    return key, number(value)


def terrain(text: str) -> gr.terrain.Terrain:
    """The ground of --terrain; progress where it takes long to read, and what was assumed of it, on stderr."""
    from grouser.cli import console

    with console.progress(f"reading {text:.60}", patience=console.SLOW) as report:
        found = gr.terrain.parse(text, progress=report)
    for note in found.notes:
        console.remark(f"grouser: {note}")
    return found


def ground(text: str | None) -> gr.terrain.Terrain | None:
    """The ground of --terrain, if it is given."""
    return None if text is None else terrain(text)


def refuse(options: dict[str, Any], why: str) -> None:
    """Refuses options that do not belong here, by name; None is one that was not given."""
    for name, value in options.items():
        if value is not None:
            raise GrouserError(f"{name}: {why}")


def prediction(interval: str | None, distance: float | None) -> tuple[float | None, float | None]:
    """Lengths of predictions, --interval [s] and --distance [m], of which one may be given; both None: whole runs."""
    if interval is not None and distance is not None:
        raise GrouserError("--distance: a prediction has a duration or a distance; leave --interval or --distance out")
    if interval == "whole":
        return None, None
    if interval is not None and not math.isfinite(number(interval)):
        raise GrouserError(f"--interval: {interval!r:.40} is neither a number of seconds nor whole")
    return positive(2.0 if interval is None else number(interval), "--interval"), distance


def make_folder(path: Path) -> Path:
    """A folder that exists from now on."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GrouserError(f"{path}: this folder cannot be made: {error.strerror or error}") from None
    return path


def make_folders(files: Iterable[Path | None]) -> list[Path]:
    """Files to be written, without those that were not asked for, in folders that exist from now on."""
    wanted = [file for file in files if file is not None]
    for file in wanted:
        make_folder(file.parent)
    return wanted


def run_files(out: list[Path] | None, view: Path | None) -> list[Path]:
    """Files of --out and --view, in folders that exist from now on."""
    files: list[Path | None] = []
    for path in out or []:
        if path.is_dir() or not path.suffix:
            files += [path / name for name in WRITTEN]
        elif path.suffix.lower() in RUNS:
            files.append(path)
        else:
            raise GrouserError(f"--out: {path} must end in one of {', '.join(RUNS)}, or be a folder")
    return make_folders([*files, view])
