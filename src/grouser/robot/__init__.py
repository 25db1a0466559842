"""On board: the chain from encoders, IMU and other sensors to one pose with covariance, and its alarms."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.robot.estimate import RobotEstimate
    from grouser.robot.monitor import Alarm, Condition, Monitor
    from grouser.robot.monitor_settings import MonitorSettings
    from grouser.robot.response import Recovery, Response
    from grouser.robot.robot import Robot
    from grouser.robot.settings import RobotSettings

__all__ = [
    "Alarm", "Condition", "Monitor", "MonitorSettings", "Recovery", "Response", "Robot", "RobotEstimate",
    "RobotSettings",
]  # fmt: skip

lazy(__name__)
