"""`grouser vehicles`: the shipped vehicles, and the frames of one."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console

DESCRIBED = 46
"""Characters of a description in the list, so that its lines have fewer than 100."""
FRAME = ["name", "parent", "joint", "actuated", "xyz", "rpy", "mass", "radius", "rollers", "slides", "turns_with"]
"""Fields of a frame in JSON."""
EXAMPLES = ("", "rocky7", "my.toml")


def vehicles(
    name: Annotated[str | None, typer.Argument(help="One vehicle, by name or file, with its frames.")] = None,
    as_json: console.Json = False,
) -> None:
    """List the shipped vehicles, or show the frames of one."""
    if name is not None:
        one = gr.vehicle(name)
        frames = [{field: getattr(frame, field) for field in FRAME} for frame in one.frames]
        console.emit({**summary(one), "frames": frames}, as_json, lambda _: typer.echo(one.summary()))
        return
    shipped = [gr.vehicle(each) for each in gr.vehicles.names()]
    if as_json:
        console.print_json({"vehicles": [summary(one) for one in shipped]})
        return
    rows = [
        (
            v.name,
            v.kinds_of_wheels,
            str(len(v.actuated)),
            f"{v.mass:.4g}",
            textwrap.shorten(v.description, DESCRIBED, placeholder="…"),
        )
        for v in shipped
    ]
    console.print_table("", ("name", "wheels", "motors", "mass [kg]", "description"), rows, right=(2, 3))
    typer.echo("\ngrouser vehicles NAME shows one whole, with the source of its numbers")


def summary(vehicle: gr.Vehicle) -> dict[str, Any]:
    """A vehicle in a few values."""
    return {
        key: getattr(vehicle, key)
        for key in ("name", "wheels", "kinds_of_wheels", "actuated", "mass", "description", "source")
    }
