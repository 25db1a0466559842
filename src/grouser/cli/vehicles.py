"""`grouser vehicles`: the shipped vehicles, and the frames of one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console

DESCRIBED = 46
"""Characters of a description in the list, so that its lines have fewer than 100."""
EXAMPLES = ("", "rocky7", "my.toml")


def vehicles(
    name: Annotated[str | None, typer.Argument(help="One vehicle, by name or file, with its frames.")] = None,
    as_json: console.Json = False,
) -> None:
    """List the shipped vehicles, or show the frames of one."""
    if name is not None:
        one = gr.vehicle(name)
        names = (
            "name",
            "parent",
            "joint",
            "actuated",
            "xyz",
            "rpy",
            "mass",
            "radius",
            "rollers",
            "slides",
            "turns_with",
        )
        frames = [{name: getattr(frame, name) for name in names} for frame in one.frames]
        console.emit({**summary(one), "frames": frames}, as_json, lambda _: typer.echo(one.summary()))
        return
    shipped = [gr.vehicle(each) for each in gr.vehicles.names()]
    if as_json:
        console.print_json({"vehicles": [summary(one) for one in shipped]})
        return
    rows = [
        (v.name, v.kinds_of_wheels, str(len(v.actuated)), f"{v.mass:.4g}", cut(v.description, DESCRIBED))
        for v in shipped
    ]
    console.print_table("", ("name", "wheels", "motors", "mass [kg]", "description"), rows, right=(2, 3))
    typer.echo("\ngrouser vehicles NAME shows one whole, with the source of its numbers")


def cut(text: str, most: int) -> str:
    """The first words of a text, in a given number of characters or fewer."""
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def summary(vehicle: gr.Vehicle) -> dict[str, Any]:
    """A vehicle in a few values."""
    return {
        key: getattr(vehicle, key)
        for key in ("name", "wheels", "kinds_of_wheels", "actuated", "mass", "description", "source")
    }


def vehicle_found(vehicle: gr.Vehicle) -> tuple[str, str, dict[str, Any]]:
    """Kind, description for people, and numbers of a vehicle, with warnings of what is implausible."""
    from grouser.vehicles.plausible import implausible

    problems = [{"severity": "warning", "problem": sentence} for sentence in implausible(vehicle)]
    words = [vehicle.summary(), *(f"warning: {one['problem']}" for one in problems)]
    return "vehicle", "\n".join(words), {**summary(vehicle), "problems": problems}
