"""Constrained kinematics: the velocity of a vehicle, given its contacts. T §2.2, 2.3."""

from grouser.collision.frames import frame_jacobian, frame_poses
from grouser.kinematics.actuation import Actuation, actuate
from grouser.kinematics.model import Kinematics, Velocity, Weights
from grouser.kinematics.rollover import RolloverMargin, rollover_margin
from grouser.kinematics.step import Step

__all__ = [
    "Actuation",
    "Kinematics",
    "RolloverMargin",
    "Step",
    "Velocity",
    "Weights",
    "actuate",
    "frame_jacobian",
    "frame_poses",
    "rollover_margin",
]
