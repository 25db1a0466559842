"""`grouser vehicles`: the shipped vehicles, and the frames of one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console

EXAMPLES = ("", "rocky7", "my.toml")


def vehicles(
    name: Annotated[str | None, typer.Argument(help="One vehicle, by name or file, with its frames.")] = None,
    as_json: console.Json = False,
) -> None:
    """List the shipped vehicles, or show the frames of one."""
    if name is not None:
        one = gr.vehicle(name)
        names = ("name", "parent", "joint", "actuated", "xyz", "rpy", "mass", "radius")
        frames = [{name: getattr(frame, name) for name in names} for frame in one.frames]
        console.emit({**summary(one), "frames": frames}, as_json, lambda _: typer.echo(one.summary()))
        return
    shipped = [gr.vehicle(each) for each in gr.vehicles.names()]
    if as_json:
        console.print_json({"vehicles": [summary(one) for one in shipped]})
        return
    rows = [(v.name, str(v.n_wheels), str(len(v.actuated)), f"{v.mass:.4g}", v.description, v.source) for v in shipped]
    console.print_table("", ("name", "wheels", "actuated", "mass [kg]", "description", "source"), rows, right=(1, 2, 3))


def summary(vehicle: gr.Vehicle) -> dict[str, Any]:
    """A vehicle in a few values."""
    return {key: getattr(vehicle, key) for key in ("name", "wheels", "actuated", "mass", "description", "source")}
