"""Slip the wheels cannot avoid, as a velocity of the body: T §2.3."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.slip.body import BodySlip, DriveFrameSlip, Slip, SurfaceSlip, law

__all__ = ["BodySlip", "DriveFrameSlip", "Slip", "SurfaceSlip", "law"]

lazy(__name__)
