"""A library of soils and tyres: contact models whose numbers come with their sources. Data: contact/data/*.toml."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from grouser import contact
from grouser.checks import listed, nearest
from grouser.contact.base import Contact
from grouser.errors import SimulationError
from grouser.files import read_toml
from grouser.law import Recipe

SCHEMA = "grouser/soils@1"
DATA = Path(__file__).with_name("data")
KINDS = {"soil": ("soils.toml", "soils"), "tyre": ("tyres.toml", "tyres")}
"""File and table of each kind of entry."""
ASSUMED = "assumed"
ABOUT = ("title", "law", "source", "remark")
DEGREES = ("friction_angle", "destructive_angle")
STORED = ("ErpCfm", "Ishigami", "Pacejka", "PiecewiseLinear", "Table")
"""Contact models that a file may hold."""
PARTS = ("MagicFormula", "ShearModulus")
"""Parts of such models."""


@dataclass(frozen=True)
class Number:
    """A number of a law, or a few that belong together, and where it comes from."""

    value: Any
    """In its unit; a pair or a table for parts of a law."""
    unit: str
    """Such as Pa; 1 for a ratio."""
    source: str
    """A citation, or "assumed"."""
    key: str
    """The source in one word."""


@dataclass(frozen=True)
class Entry:
    """A soil or tyre."""

    name: str
    """By which `soil` and `tyre` know it."""
    kind: str
    """"soil" or "tyre"."""
    title: str
    """What it is, in a few words."""
    law: str
    """Class in `grouser.contact`."""
    source: str
    """Where most of its numbers come from."""
    key: str
    """The source in one word."""
    remark: str
    """What else is to be known."""
    numbers: Mapping[str, Number]
    """By the names of the law's fields; angles in degrees."""

    @property
    def model(self) -> Contact:
        """The contact model; numbers that the entry does not give are those of the law."""
        return contact_of(Recipe(self.recipe(), "contact"))

    def recipe(self) -> dict[str, Any]:
        """The model as a file holds it, in SI units."""
        values = {
            name: math.radians(number.value) if name in DEGREES else number.value
            for name, number in self.numbers.items()
        }
        return {"law": self.law, **values}


def contact_of(recipe: Recipe) -> Contact:
    """The contact model of a recipe, as a file has it."""
    made: Contact = recipe.made(contact, STORED, PARTS)
    return made


def soil(name: str) -> Contact:
    """A soil for rigid wheels by name, such as "dry_sand": terramechanics with numbers from the literature.

    `grouser soils` lists them, `entry(name)` has numbers, units and sources; change numbers by `.replace(cohesion=…)`.
    """
    return _of_kind(name, "soil").model


def tyre(name: str) -> Contact:
    """A tyre on firm ground by name, such as "gravel"; see `soil`."""
    return _of_kind(name, "tyre").model


def entry(name: str) -> Entry:
    """A soil or tyre with its numbers, their units and sources."""
    known = entries()
    if name not in known:
        raise SimulationError(
            f"there is no soil or tyre {name!r:.40}; {nearest(str(name), list(known))}there are {listed(known)}"
        )
    return known[name]


def names(kind: str = "") -> tuple[str, ...]:
    """Names of the soils, of the tyres, or of both."""
    return tuple(one.name for one in entries().values() if kind in ("", one.kind))


@cache
def entries() -> dict[str, Entry]:
    """All soils, then all tyres, by name."""
    found: dict[str, Entry] = {}
    for kind, (file, table) in KINDS.items():
        tables = read_toml(DATA / file, SCHEMA, SimulationError)
        for name, row in tables[table].items():
            found[name] = _entry(name, kind, row, tables["sources"], tables["common"])
    return found


def _of_kind(name: str, kind: str) -> Entry:
    found = entries().get(name)
    if found is None:
        known = names(kind)
        hint = nearest(str(name), known)
        raise SimulationError(f"there is no {kind} {name!r:.40}; {hint}{kind}s are {listed(known)}")
    if found.kind != kind:
        other = found.kind
        raise SimulationError(f"'{name}' is a {other}, not a {kind}; use grouser.contact.{other}('{name}')")
    return found


def _entry(name: str, kind: str, row: dict[str, Any], sources: dict[str, str], common: dict[str, Any]) -> Entry:
    law, key = row.get("law", "Ishigami"), row["source"]
    cited = {ASSUMED: ASSUMED, **sources}
    units = _units(law)
    numbers = {}
    shared = {field: given for field, given in common.items() if field in units}
    for field, given in {**shared, **{k: v for k, v in row.items() if k not in ABOUT}}.items():
        sourced = isinstance(given, list) and isinstance(given[-1], str)
        value, origin = given if sourced else (given, key)
        if field in ("longitudinal", "lateral"):
            value = {"law": "MagicFormula", **value}
        numbers[field] = Number(value, units[field], cited[origin], origin)
    if kind == "soil" and "destructive_angle" not in numbers:
        wedge = 45.0 - 0.5 * numbers["friction_angle"].value
        numbers["destructive_angle"] = Number(wedge, "deg", sources["wedge"], "wedge")
    return Entry(name, kind, row["title"], law, cited[key], key, row.get("remark", ""), numbers)


def _units(law: str) -> dict[str, str]:
    """Unit of each field of a law; angles are given in degrees here."""
    units = {field.name: field.metadata.get("unit", "1") for field in fields(getattr(contact, law))}
    return {**units, **dict.fromkeys(set(DEGREES) & set(units), "deg"), "shear_x": "m, m/rad", "shear_y": "m, m/rad"}
