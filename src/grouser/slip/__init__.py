"""Slip the wheels cannot avoid, as a velocity of the body: T §2.3."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.slip.body import BodySlip, DriveFrameSlip, Slip, law

__all__ = ["BodySlip", "DriveFrameSlip", "Slip", "law"]

lazy(__name__)
