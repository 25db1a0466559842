"""`grouser check`: whether a file, or the installation, can be used, and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import check_log, console
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.terrain import Terrain


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "check",
        epilog="Example: grouser check my-rover.toml\n\nExample: grouser check run.npz --json\n\n"
        "Example: grouser check drive.csv --manifest log.toml\n\nExample: grouser check --installation",
    )(check)


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="A vehicle, a terrain, a run, a log or its manifest. A vehicle is .toml or .urdf, a terrain .npz .asc "
            ".tif .stl .obj or .ply, a run .npz, a log .csv .bag .db3 or .mcap, a manifest .toml.",
        ),
    ] = None,
    manifest: Annotated[
        Path | None, typer.Option("--manifest", help="What the columns or topics of a log are (.toml).")
    ] = None,
    installation: Annotated[
        bool,
        typer.Option("--installation", help="Say versions, processor, and where compiled kernels come from."),
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Read a file and say what is in it, or what is wrong with it.

    A log may lie in several files.
    """
    if installation:
        _tell_installation(files, manifest, as_json)
        return
    if not files:
        raise GrouserError("check needs a FILE, or --installation; see: grouser check --help")
    file = files[0]
    if manifest is not None:
        kind, words, numbers = check_log.describe_log(files, manifest)
    else:
        check_log.refuse_several(files)
        kind, words, numbers = _look(file)
    if as_json:
        console.print_json({"file": str(file), "kind": kind, **numbers})
    else:
        typer.echo(f"{file}: a {kind}, fine\n{words}")


def _tell_installation(files: list[Path] | None, manifest: Path | None, as_json: bool) -> None:
    from grouser.cli.installation import describe

    if files or manifest is not None:
        raise GrouserError("--installation is about no file; leave FILE and --manifest out")
    words, facts = describe()
    if as_json:
        console.print_json(facts)
    else:
        typer.echo(words)


def _look(file: Path) -> tuple[str, str, dict[str, Any]]:
    """Kind, description for people, and numbers."""
    import grouser as gr
    from grouser.terrain.files import SUFFIXES

    if check_log.looks_like_log(file) and file.exists():
        return check_log.describe_unread(file)
    if not file.is_file():
        raise GrouserError(f"{file}: {'is a folder, not a file' if file.is_dir() else 'no such file'}")
    suffix = file.suffix.lower()
    if suffix == ".toml" and check_log.is_manifest(file):
        return check_log.describe_manifest(file)
    if suffix in (".toml", ".urdf"):
        from grouser.cli.vehicles import summary

        vehicle = gr.vehicle(file)
        return "vehicle", vehicle.summary(), summary(vehicle)
    if suffix == ".npz" and not _holds_terrain(file):
        run = gr.Run.load(file)
        return "run", repr(run)[1:-1], run.summary()
    if suffix in SUFFIXES:
        return _terrain(gr.terrain.read(file))
    known = ", ".join(dict.fromkeys((".toml", ".urdf", *SUFFIXES, ".csv", ".bag", ".db3", ".mcap")))
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
