"""`grouser check`: whether a file can be used, and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.terrain import Terrain


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", epilog="Example: grouser check my-rover.toml\n\nExample: grouser check run.npz --json")(check)


def check(
    file: Annotated[Path, typer.Argument(help="A vehicle (.toml .urdf), a terrain or a run (.npz).")],
    as_json: console.Json = False,
) -> None:
    """Read a file and say what is in it, or what is wrong with it."""
    if not file.is_file():
        raise GrouserError(f"{file}: {'is a folder, not a file' if file.is_dir() else 'no such file'}")
    kind, words, numbers = _look(file)
    if as_json:
        console.print_json({"file": str(file), "kind": kind, **numbers})
    else:
        typer.echo(f"{file}: a {kind}, fine\n{words}")


def _look(file: Path) -> tuple[str, str, dict[str, Any]]:
    """Kind, description for people, and numbers."""
    import grouser as gr
    from grouser.terrain.files import SUFFIXES

    suffix = file.suffix.lower()
    if suffix in (".toml", ".urdf"):
        from grouser.cli.vehicles import summary

        vehicle = gr.vehicle(file)
        return "vehicle", vehicle.summary(), summary(vehicle)
    if suffix == ".npz" and not _holds_terrain(file):
        run = gr.Run.load(file)
        return "run", repr(run)[1:-1], run.summary()
    if suffix in SUFFIXES:
        return _terrain(gr.terrain.read(file))
    known = ", ".join(dict.fromkeys((".toml", ".urdf", *SUFFIXES)))
    raise GrouserError(f"{file}: cannot tell what this is; files that can be checked end in {known}")


def _holds_terrain(file: Path) -> bool:
    """Whether an archive calls itself a terrain; anything else is read as a run, which says what is wrong."""
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as archive:
            return str(archive["schema"]).startswith("grouser/terrain")
    except Exception:  # damaged files raise a dozen kinds; reading it as a run names the trouble
        return False


def _terrain(ground: Terrain) -> tuple[str, str, dict[str, Any]]:
    import math

    box = [None if math.isinf(value) else float(value) for value in ground.bounds]
    names = ("xmin", "xmax", "ymin", "ymax")
    edges = " ".join("endless" if v is None else f"{name} {v:g} m" for name, v in zip(names, box, strict=True))
    return "terrain", f"{ground.description}; {edges}", {
        "terrain": ground.kind, "description": ground.description, "bounds": box,
    }  # fmt: skip
