"""Wheel-ground contact models: the force the ground puts on a wheel, T App. C."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.contact.base import Contact
    from grouser.contact.erp_cfm import ErpCfm
    from grouser.contact.function import FunctionContact, model
    from grouser.contact.ishigami import Ishigami
    from grouser.contact.pacejka import MagicFormula, Pacejka
    from grouser.contact.piecewise import PiecewiseLinear
    from grouser.contact.table import Table, TableError

__all__ = [
    "Contact",
    "ErpCfm",
    "FunctionContact",
    "Ishigami",
    "MagicFormula",
    "Pacejka",
    "PiecewiseLinear",
    "Table",
    "TableError",
    "model",
]

lazy(__name__)
