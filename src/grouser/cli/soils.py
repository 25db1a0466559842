"""`grouser soils`: the library of soils and tyres."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console

if TYPE_CHECKING:
    from grouser.contact.library import Entry

EXAMPLES = ("", "dry_sand", "gravel --json")
COLUMNS = {
    "cohesion": ("c [kPa]", 1e-3),
    "friction_angle": ("φ [°]", 1.0),
    "n": ("n", 1.0),
    "k_c": ("k_c [kN/m^(n+1)]", 1e-3),
    "k_phi": ("k_φ [kN/m^(n+2)]", 1e-3),
    "isotropic_shear": ("K [mm]", 1e3),
}
"""Numbers of a soil in the table: their heads, and what they are multiplied by."""


def soils(
    name: Annotated[str | None, typer.Argument(help="One soil or tyre, with all numbers and sources.")] = None,
    as_json: console.Json = False,
) -> None:
    """List the soils and tyres with sources, or show the numbers of one.

    Use them by name: --contact dry_sand, --soil 0=dry_sand, gr.contact.soil("dry_sand"), gr.contact.tyre("gravel").
    """
    from grouser.contact import library

    if name is not None:
        one = library.entry(name)
        console.emit(_as_json(one), as_json, lambda _: _print_one(one))
        return
    found = list(library.entries().values())
    if as_json:
        console.print_json({kind + "s": [_as_json(one) for one in found if one.kind == kind] for kind in library.KINDS})
        return
    grounds, tyres = ([one for one in found if one.kind == kind] for kind in library.KINDS)
    heads = ("soil", *(head for head, _ in COLUMNS.values()), "source")
    rows = [(one.name, *(_cell(one, field) for field in COLUMNS), one.key) for one in grounds]
    console.print_table("", heads, rows, right=range(1, 1 + len(COLUMNS)))
    typer.echo("")
    rows = [(one.name, one.title, one.law, f"{one.numbers['friction'].value:g}", one.key) for one in tyres]
    console.print_table("", ("tyre", "", "law", "μ", "source"), rows, right=(3,))
    typer.echo("")
    _print_sources({one.key: one.source for one in found})
    typer.echo("All numbers, units and sources: grouser soils NAME")


def _cell(one: Entry, field: str) -> str:
    """A number of a soil in the table; – where its law has others."""
    number = one.numbers.get(field)
    return "–" if number is None else f"{number.value * COLUMNS[field][1]:.4g}"


def _print_one(one: Entry) -> None:
    about = f"{one.name}: {one.title}, for {one.law}" + (f"; {one.remark}" if one.remark else "")
    typer.echo("\n".join([*textwrap.wrap(about, console.WIDE), ""]))
    rows = [(field, _shown(number.value), number.unit, number.key) for field, number in one.numbers.items()]
    console.print_table("", ("number", "value", "unit", "source"), rows)
    typer.echo("")
    _print_sources({number.key: number.source for number in one.numbers.values()})


def _print_sources(sources: dict[str, str]) -> None:
    """What the words in the column of sources mean."""
    for key, source in sources.items():
        if key != source:
            typer.echo("\n".join(textwrap.wrap(f"{key}: {source}", console.WIDE, subsequent_indent="  ")))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items() if name != "law")
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, (list, tuple)) else f"{value:g}"


def _as_json(one: Entry) -> dict[str, Any]:
    """An entry as JSON types."""
    return {
        "name": one.name, "kind": one.kind, "title": one.title, "law": one.law, "source": one.source,
        "remark": one.remark,
        "numbers": {
            field: {"value": number.value, "unit": number.unit, "source": number.source}
            for field, number in one.numbers.items()
        },
    }  # fmt: skip
