"""Slip models out of files: made from their recipes."""

from __future__ import annotations

from grouser.checks import shown
from grouser.errors import SimulationError
from grouser.law import Recipe
from grouser.slip.body import BodySlip, DriveFrameSlip, Slip

KINDS: dict[str, type[BodySlip]] = {"BodySlip": BodySlip, "DriveFrameSlip": DriveFrameSlip}


def slip_of(recipe: Recipe) -> Slip:
    """The slip model of a recipe."""
    settings = dict(recipe.values)
    kind = settings.pop("law", None)
    if kind not in KINDS:
        raise SimulationError(f"slip model {shown(kind)} of a file is not one of {', '.join(KINDS)}")
    try:
        return KINDS[kind](**settings)
    except TypeError as error:
        raise SimulationError(f"slip model {kind} of a file does not fit this version: {error}") from None
