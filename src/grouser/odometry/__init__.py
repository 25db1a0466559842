"""Wheel odometry, slip and signals of a rover on board: L ch. 4, 5."""

from grouser.odometry.estimate import Estimate
from grouser.odometry.jacobians import WheelJacobians, wheel_jacobians
from grouser.odometry.noise import EncoderNoise
from grouser.odometry.odometry import Odometry
from grouser.odometry.output import ros_odometry, write_csv, write_tum

__all__ = [
    "EncoderNoise",
    "Estimate",
    "Odometry",
    "WheelJacobians",
    "ros_odometry",
    "wheel_jacobians",
    "write_csv",
    "write_tum",
]
