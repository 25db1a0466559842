"""On board: the monitor that reports when the robot is stuck or slides, or when the ground has changed."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.robot.monitor import Alarm, Condition, Monitor
    from grouser.robot.monitor_settings import MonitorSettings
    from grouser.robot.response import Recovery, Response

__all__ = ["Alarm", "Condition", "Monitor", "MonitorSettings", "Recovery", "Response"]

lazy(__name__)
