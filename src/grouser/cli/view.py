"""`grouser view`: saved runs as one page that plays them in 3D."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

EXAMPLES = (
    "run.npz",
    "before.npz after.npz --out both.html --mesh body=hull.stl",
    "--fan fan.npz --terrain rough:rms=.15,length=.8,seed=1",
)


def view(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Files of `grouser simulate --out run.npz`. Several share one page."),
    ] = None,
    out: Annotated[Path | None, values.page("The page (.html); default: next to the first run.")] = None,
    fan: Annotated[Path | None, option("File of `grouser rollout --every K --out`. Runs are then optional.")] = None,
    terrain: Annotated[str | None, option("Ground of a fan, or of runs without one. Given as for simulate.")] = None,
    mesh: Annotated[
        list[str] | None, option("Draw a frame as a mesh (.stl .obj .dae); may be repeated.", metavar="FRAME=FILE")
    ] = None,
    title: Annotated[str, option("Title of the page; default: names of the runs.")] = "",
    as_json: console.Json = False,
) -> None:
    """Make one HTML file that shows runs in 3D.

    It opens from disk, needs no network, and can be mailed.
    """
    form = "a frame and a file, such as body=hull.stl"
    meshes = {frame: Path(file) for frame, file in (values.pair(text, "--mesh", form) for text in mesh or [])}
    files = runs or []
    if not files and (fan is None or terrain is None):
        raise GrouserError("give a run, or a fan of rollouts with --fan and its ground with --terrain")
    page = [*files, *([fan] if fan else [])][0].with_suffix(".html") if out is None else out
    from grouser.cli.arcs import read_fan
    from grouser.view.page import view_runs

    values.make_folder(page.parent)
    stems = [file.stem for file in files]  # with their folders where two are alike
    loaded = [gr.Run.load(file) for file in files]
    names = stems if len(set(stems)) == len(stems) else [str(file.with_suffix("")) for file in files]
    rollouts = None if fan is None else read_fan(fan)
    view_runs(loaded, page, names=names, fan=rollouts, ground=values.ground(terrain), meshes=meshes, title=title)
    size = page.stat().st_size
    summaries = [{"file": file, **run.summary()} for file, run in zip(files, loaded, strict=True)]
    result = {"file": page, "bytes": size, "runs": summaries}
    console.emit(result, as_json, lambda _: typer.echo(f"wrote {page} ({size / 1e6:.1f} MB); open it in a browser"))
