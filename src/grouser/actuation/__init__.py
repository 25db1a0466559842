"""What turns the actuated joints: ideal, controlled and limited, motors, shared drives, or a user's own. T (2.73)."""

from grouser.actuation.actuators import PI, Actuator, DCMotor, SharedDrive, law

__all__ = ["PI", "Actuator", "DCMotor", "SharedDrive", "law"]
