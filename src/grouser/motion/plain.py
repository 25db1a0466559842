"""Plain odometry: the motion model of a vehicle as its file describes it, before any calibration."""

from __future__ import annotations

from grouser import kinematics
from grouser.logs import Log
from grouser.motion.model import MotionModel
from grouser.motion.planar import DifferentialDrive
from grouser.vehicles.catalog import names, vehicle


def plain_odometry(motion: MotionModel, log: Log) -> MotionModel:
    """Odometry before any calibration: rolling without slip; differential drive if nothing steers."""
    # A log may name a vehicle that only its fit holds.
    own = log.vehicle is None or (log.vehicle == motion.vehicle.name and log.vehicle not in names())
    shape = motion.vehicle if own else vehicle(str(log.vehicle))
    if shape.joints != motion.vehicle.joints:
        shape = motion.vehicle
    rolls = shape.steering or shape.drives_any_way
    model = kinematics.Kinematics(shape) if rolls else DifferentialDrive(vehicle=shape)
    return MotionModel(model=model, sensor=log.sensor, noise=motion.noise)
