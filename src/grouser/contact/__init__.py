"""Wheel-ground contact models: force and torque of the ground on a wheel, T App. C."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.contact.base import Contact, law
    from grouser.contact.ishigami import Ishigami, ShearModulus
    from grouser.contact.library import Entry, entry, names, soil, tyre
    from grouser.contact.pacejka import MagicFormula, Pacejka
    from grouser.contact.piecewise import ErpCfm, PiecewiseLinear
    from grouser.contact.ruts import Ruts
    from grouser.contact.table import Table, TableError

__all__ = [
    "Contact",
    "Entry",
    "ErpCfm",
    "Ishigami",
    "MagicFormula",
    "Pacejka",
    "PiecewiseLinear",
    "Ruts",
    "ShearModulus",
    "Table",
    "TableError",
    "entry",
    "law",
    "names",
    "soil",
    "tyre",
]

lazy(__name__)
