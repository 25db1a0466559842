"""Contact models out of files: made from their recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grouser import contact as models
from grouser.checks import shown
from grouser.contact.base import Contact
from grouser.errors import SimulationError
from grouser.law import Recipe

KINDS = ("ErpCfm", "Ishigami", "Pacejka", "PiecewiseLinear", "Table")
PARTS = ("MagicFormula", "ShearModulus")


def contact_of(recipe: Recipe) -> Contact:
    """The contact model of a recipe."""
    made: Contact = _made(recipe.values, KINDS)
    return made


def _made(values: Mapping[str, Any], known: tuple[str, ...]) -> Any:
    settings = dict(values)
    kind = settings.pop("law", None)
    if kind not in known:
        raise SimulationError(f"contact model {shown(kind)} of a file is not one of {', '.join(known)}")
    for name, value in settings.items():
        if isinstance(value, Mapping):
            settings[name] = _made(value, KINDS if name == "model" else PARTS)
        elif isinstance(value, list):
            settings[name] = tuple(value)
    try:
        return getattr(models, kind)(**settings)
    except TypeError as error:
        raise SimulationError(f"contact model {kind} of a file does not fit this version: {error}") from None
