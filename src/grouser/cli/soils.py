"""`grouser soils`: the library of soils and tyres; and `--soils FILE --soil 0=dry_sand …`, soils by place."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.contact.library import Entry
    from grouser.terrain import Terrain
    from grouser.vehicles import Vehicle

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
PANEL = "Soils by place"
FORM = "CLASS=MODEL, such as 0=pacejka:friction=.8, 1=dry_sand or 1=slip:-.1,0,-.1,0,0,-.1"
SoilFile = Annotated[Path | None, option("Raster of soil classes, .tif or .npz; needs --soil.", "--soils", panel=PANEL)]
SoilLaws = Annotated[
    list[str] | None,
    option(
        "What a class is; repeated. Contact models (dynamic): pacejka:friction=.8, piecewise-linear:friction=.1, "
        "terramechanics, or a soil or tyre of grouser soils; slip (kinematic): slip:p1,…,p6; or own, the model's.",
        metavar="CLASS=MODEL",
        panel=PANEL,
    ),
]


def with_soils(
    ground: Terrain, file: Path | None, given: list[str] | None, vehicle: Vehicle, *, dynamic: bool, speed: float
) -> Terrain:
    """The ground with the soils of --soils and --soil, for a model; speed [m/s] as in `contact_named`."""
    if file is None and given:
        raise GrouserError("--soil: which class lies where is in a raster; add --soils FILE")
    if file is None:
        return ground
    if not given:
        raise GrouserError(f"--soils: what its classes are is missing; add --soil {FORM}")
    from grouser import terrain

    laws: dict[int, Any] = {}
    names: list[str] = []
    for text in given:
        kind, equals, model = (part.strip() for part in text.partition("="))
        if not equals or not kind.isdecimal() or not model:
            raise GrouserError(f"--soil: {text!r:.60} is not {FORM}")
        if int(kind) in laws:
            raise GrouserError(f"--soil: class {kind} is given twice; give it once")
        laws[int(kind)] = _law(model, vehicle, dynamic, speed)
        names.append(f"{kind}: {model}")
    return terrain.soils(ground, file, laws, names=names)


def _law(text: str, vehicle: Vehicle, dynamic: bool, speed: float) -> Any:
    """The model of a class, None for the model's own."""
    name, _, rest = text.partition(":")
    if name == "own":
        return None
    if (name == "slip") == dynamic:
        other = "kinematic" if dynamic else "dynamic"
        instead = "a contact model" if dynamic else "slip"
        raise GrouserError(
            f"--soil: {name!r:.40} is for the {other} model; add --model {other}, or give {instead} or own"
        )
    if name == "slip":
        from grouser.slip import BodySlip

        return BodySlip(values.numbers(rest, 6, "--soil slip", "-0.1,0,-0.1,0,0,-0.1"))
    from grouser.contact.named import contact_named

    made = contact_named(name, vehicle, speed=max(abs(speed), 0.1))
    changes = dict(_pair(item) for item in filter(None, rest.split(",")))
    if not changes:
        return made
    if isinstance(made, dict):
        raise GrouserError(f"--soil: {name} has no parameters here; leave {rest!r:.40} out, or use Python")
    return made.replace(**changes)


def _pair(text: str) -> tuple[str, float]:
    name, equals, value = (part.strip() for part in text.partition("="))
    try:
        number = float(value)
    except ValueError:
        equals = ""
        number = 0.0
    if not equals or not name:
        raise GrouserError(f"--soil: {text!r:.40} is not a parameter and a number, such as friction=.8")
    return name, number


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
