"""Soils by place from the command line: `--soils classes.tif --soil 0=pacejka:friction=.8 --soil 1=…`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grouser.cli import values
from grouser.cli.values import option
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.terrain import Terrain
    from grouser.vehicles import Vehicle

PANEL = "Soils by place"
FORM = "CLASS=MODEL, such as 0=pacejka:friction=.8 or 1=slip:-.1,0,-.1,0,0,-.1"
SoilFile = Annotated[Path | None, option("Raster of soil classes, .tif or .npz; needs --soil.", "--soils", panel=PANEL)]
SoilLaws = Annotated[
    list[str] | None,
    option(
        "What a class is; repeated. Contact models (dynamic): pacejka:friction=.8, piecewise-linear:friction=.1, "
        "terramechanics; slip (kinematic): slip:p1,…,p6; or own, the model's.",
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
        raise GrouserError(f"--soil: {name!r:.40} is for the {other} model; use a model for this one, or own")
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
