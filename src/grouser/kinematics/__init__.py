"""Constrained kinematics: the velocity of a vehicle, given its contacts. T §2.2, 2.3."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.collision.frames import frame_jacobian, frame_poses
    from grouser.kinematics.actuation import Actuation, actuate
    from grouser.kinematics.inverse import InverseKinematics, JointMotion, Limits
    from grouser.kinematics.model import Kinematics, Velocity, Weights
    from grouser.kinematics.rollover import RolloverMargin, rollover_margin
    from grouser.kinematics.step import Step

__all__ = [
    "Actuation",
    "InverseKinematics",
    "JointMotion",
    "Kinematics",
    "Limits",
    "RolloverMargin",
    "Step",
    "Velocity",
    "Weights",
    "actuate",
    "frame_jacobian",
    "frame_poses",
    "rollover_margin",
]

lazy(__name__)
