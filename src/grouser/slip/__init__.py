"""Slip the wheels cannot avoid, as a velocity of the body: T §2.3."""

from grouser.slip.body import BodySlip, DriveFrameSlip, Slip, law

__all__ = ["BodySlip", "DriveFrameSlip", "Slip", "law"]
