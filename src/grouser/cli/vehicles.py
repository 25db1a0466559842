"""`grouser vehicles`: the shipped vehicles, and the frames of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console

if TYPE_CHECKING:
    from grouser.vehicles import Vehicle

EXAMPLES = ("", "rocky7", "my.toml")


def vehicles(
    name: Annotated[str | None, typer.Argument(help="One vehicle, by name or file, with its frames.")] = None,
    as_json: console.Json = False,
) -> None:
    """List the shipped vehicles, or show the frames of one."""
    import grouser as gr

    if name is not None:
        one = gr.vehicle(name)
        if as_json:
            console.print_json({**summary(one), "frames": [_frame(one, i) for i in range(len(one.frames))]})
        else:
            typer.echo(one.summary())
        return
    shipped = [gr.vehicle(each) for each in gr.vehicles.names()]
    if as_json:
        console.print_json({"vehicles": [summary(one) for one in shipped]})
        return
    rows = [(v.name, str(v.n_wheels), str(len(v.actuated)), f"{v.mass:.4g}", v.description, v.source) for v in shipped]
    console.print_table("", ("name", "wheels", "actuated", "mass [kg]", "description", "source"), rows, right=(1, 2, 3))


def summary(vehicle: Vehicle) -> dict[str, Any]:
    """A vehicle in a few values."""
    return {
        "name": vehicle.name,
        "wheels": list(vehicle.wheels),
        "actuated": list(vehicle.actuated),
        "mass": vehicle.mass,
        "description": vehicle.description,
        "source": vehicle.source,
    }


def _frame(vehicle: Vehicle, i: int) -> dict[str, Any]:
    frame = vehicle.frames[i]
    return {
        "name": frame.name,
        "parent": frame.parent,
        "joint": frame.joint,
        "actuated": frame.actuated,
        "xyz": [float(value) for value in frame.xyz],
        "rpy": [float(value) for value in frame.rpy],
        "mass": frame.mass,
        "radius": frame.radius,
    }
