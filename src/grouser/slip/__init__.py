"""Slip the wheels cannot avoid, as a velocity of the body: T §2.3."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.slip.body import BodySlip, Slip
    from grouser.slip.drive_frame import DriveFrameSlip
    from grouser.slip.function import function

__all__ = ["BodySlip", "DriveFrameSlip", "Slip", "function"]

lazy(__name__)
