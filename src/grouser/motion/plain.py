"""Plain odometry: the motion model of a vehicle as its file describes it, before any calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grouser.logs import Log
from grouser.motion.model import MotionModel
from grouser.motion.planar import DifferentialDrive
from grouser.vehicles.catalog import names, vehicle

if TYPE_CHECKING:
    from grouser.kinematics import Kinematics
    from grouser.vehicles import Vehicle


def plain_odometry(motion: MotionModel, log: Log) -> MotionModel:
    """Odometry before any calibration: differential drive if nothing steers, else rolling without slip."""
    # A log may name a vehicle that only its fit holds.
    own = log.vehicle is None or (log.vehicle == motion.vehicle.name and log.vehicle not in names())
    shape = motion.vehicle if own else vehicle(str(log.vehicle))
    if shape.joints != motion.vehicle.joints:
        shape = motion.vehicle
    return MotionModel(model=_model(shape), sensor=log.sensor, noise=motion.noise)


def _model(shape: Vehicle) -> Kinematics | DifferentialDrive:
    if not shape.steering:
        return DifferentialDrive(vehicle=shape)
    from grouser.kinematics import Kinematics

    return Kinematics(shape)
