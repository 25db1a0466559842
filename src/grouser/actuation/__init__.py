"""Actuators of joints: ideal, controlled and limited, motors, shared drives, or a user's own. T (2.73)."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.actuation.actuators import PI, Actuator, DCMotor, SharedDrive, law

__all__ = ["PI", "Actuator", "DCMotor", "SharedDrive", "law"]

lazy(__name__)
