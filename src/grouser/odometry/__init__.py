"""Wheel odometry, signals and slip of a rover on board: L ch. 4, 5."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.motion.spread import GroundSpread
    from grouser.odometry.contact_angles import ContactAngleEstimator, ground_angles, pair_angles
    from grouser.odometry.encoder import Encoders
    from grouser.odometry.estimate import Estimate, ros_odometry, write_csv, write_tum
    from grouser.odometry.inputs import EncoderNoise
    from grouser.odometry.judge import Judgement, judge
    from grouser.odometry.log import LogOdometry, odometry_of
    from grouser.odometry.motor_slip import MotorSlipDetector, PassiveSchedule, PassiveWheelSlip
    from grouser.odometry.odometry import Odometry
    from grouser.odometry.slip_ratio import body_slip, imu_force, quasi_static_force, travel_slip
    from grouser.odometry.sources import AttitudeSource, accelerometer_attitude, bogie_angle
    from grouser.odometry.steering import Potentiometer, SteeringElasticity
    from grouser.odometry.suspicion import WheelSuspicion
    from grouser.odometry.wheel_slip import WheelSlipDetector

__all__ = [
    "AttitudeSource", "ContactAngleEstimator", "EncoderNoise", "Encoders", "Estimate", "GroundSpread", "Judgement",
    "LogOdometry", "MotorSlipDetector", "Odometry", "PassiveSchedule", "PassiveWheelSlip", "Potentiometer",
    "SteeringElasticity", "WheelSlipDetector", "WheelSuspicion", "accelerometer_attitude", "body_slip", "bogie_angle",
    "ground_angles", "imu_force", "judge", "odometry_of", "pair_angles", "quasi_static_force", "ros_odometry",
    "travel_slip", "write_csv", "write_tum",
]  # fmt: skip
lazy(__name__)
