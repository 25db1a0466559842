"""Slip the wheels cannot avoid, as a velocity of the body: T §2.3."""

from grouser.slip.body import BodySlip, Slip
from grouser.slip.function import function

__all__ = ["BodySlip", "Slip", "function"]
