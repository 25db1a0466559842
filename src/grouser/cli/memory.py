"""`grouser memory`: the grounds that online calibrations have stored, with their parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option

EXAMPLES = (
    "grounds.toml",
    'grounds.toml --name "ground 1=grass"',
    'grounds.toml --merge "grass=ground 3"',
    "grounds.toml --export new-robot.toml",
)


def memory(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Memory of `grouser calibrate --memory` (.toml).")],
    name: Annotated[list[str] | None, option("OLD=NEW, another name for a ground; may be repeated.")] = None,
    merge: Annotated[list[str] | None, option("FIRST=SECOND, two that are one ground; may be repeated.")] = None,
    forget: Annotated[list[str] | None, option("A ground to remove; may be repeated.")] = None,
    export: Annotated[Path | None, option("File for the grounds, wider by a visit of another robot (.toml).")] = None,
    as_json: console.Json = False,
) -> None:
    """List the grounds of a memory; name, merge, remove or export them.

    A memory that one robot learned serves as prior for another of the same kind.
    """
    known = gr.calibration.Memory.load(file)
    for text in name or ():
        known.rename(*values.pair(text, "--name", "OLD=NEW, such as 'ground 1=grass'"))
    for text in merge or ():
        known.merge(*values.pair(text, "--merge", "FIRST=SECOND, such as 'ground 1=grass'"))
    for text in forget or ():
        known.forget(text)
    if name or merge or forget:
        known.save(file)
    for other in values.make_folders([export]):
        known.for_another_robot().save(other)
    result = {**known.summary(), "file": file, "exported": export}
    console.emit(result, as_json, _print, [export])


def _print(result: dict[str, Any]) -> None:
    grounds = result["grounds"]
    typer.echo(f"{result['vehicle']}, {result['model']} model: {len(grounds)} grounds")
    signals = sorted({signal for g in grounds for signal in g["feel"]})
    names = result["parameters"]
    # Parameters with the largest effect on speed and turning; --json has all.
    shown = [n for n in ("slip.p2", "slip.p6", "slip.a1", "slip.a10", "contact.friction") if n in names] or names[:3]
    rows = [
        (
            g["name"], f"{g['seconds']:.0f} s", str(g["visits"]),
            *(f"{g['parameters'][n]['value']:.3f} ± {g['parameters'][n]['sigma']:.3f}" for n in shown),
            *(f"{g['feel'][s]['mean']:.3g} ± {g['feel'][s]['sigma']:.2g}" if s in g["feel"] else "" for s in signals),
        )
        for g in grounds
    ]  # fmt: skip
    if rows:
        columns = ("ground", "driven", "visits", *shown, *signals)
        console.print_table("", columns, rows, right=tuple(range(1, len(columns))))
    spread = ", ".join(f"{n} {result['spread'][n]:.3f}" for n in shown)
    typer.echo(f"spread between grounds, one sigma: {spread}")
