"""Driving by slip: inverse kinematics within limits, enhanced slip estimation, traction control and its closed loop, L
§6."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.kinematics.inverse import InverseKinematics, JointMotion, Limits
    from grouser.traction.control import (
        SlipMeasure,
        TractionControl,
        TractionController,
        TractionState,
        VelocityLimiter,
    )
    from grouser.traction.loop import ClosedLoop, LoopRecord, Sensors, drive_loop
    from grouser.traction.mode_driver import JointCommand, ModeDriver
    from grouser.traction.path import Path, PurePursuit, ellipse
    from grouser.traction.slip_filter import SlipEstimate, SlipFilter, slip_vector

__all__ = [
    "ClosedLoop",
    "InverseKinematics",
    "JointCommand",
    "JointMotion",
    "Limits",
    "LoopRecord",
    "ModeDriver",
    "Path",
    "PurePursuit",
    "Sensors",
    "SlipEstimate",
    "SlipFilter",
    "SlipMeasure",
    "TractionControl",
    "TractionController",
    "TractionState",
    "VelocityLimiter",
    "drive_loop",
    "ellipse",
    "slip_vector",
]

lazy(__name__)
