"""Fusion of IMU, wheel odometry and relative poses: an error-state Kalman filter. L §4.6."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.fusion.estimate import FusionEstimate
    from grouser.fusion.filter import Fusion
    from grouser.fusion.sensor_log import FusedPath, SensorLog, fuse
    from grouser.fusion.settings import FusionSettings

__all__ = ["FusedPath", "Fusion", "FusionEstimate", "FusionSettings", "SensorLog", "fuse"]

lazy(__name__)
