"""Odometry of a log and plain odometry of the same log, both judged by its poses where it has some."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.errors import OdometryError
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.plain import plain_odometry
from grouser.motion.schedule import Schedule
from grouser.motion.spread import SAME_GROUND
from grouser.odometry.gyro import gyro_problems
from grouser.odometry.judge import Judgement, judge
from grouser.odometry.log import LogOdometry, Progress, odometry_of
from grouser.vehicles.catalog import vehicle


@dataclass(frozen=True, eq=False)
class Compared:
    """Both odometries and their judgements."""

    motion: MotionModel  # of the fit, or of the vehicle that the manifest names
    run: LogOdometry  # with the requested model and options
    trained: bool  # whether the fit was made from this very log
    plain: LogOdometry | None = None  # of the vehicle as its file describes it; it and both judgements need two poses
    judged: Judgement | None = None
    baseline: Judgement | None = None
    fixed: Judgement | None = None  # of the fit as it is, where `run` has a schedule


def compare(
    log: Log,
    fit: Fit | None = None,
    *,
    gyro: bool = False,
    same_ground: bool = False,
    schedule: Schedule | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Run and judge odometry along a log; without a fit it is plain odometry itself. Each odometry is run once.

    gyro: turn rates are those of the gyro. schedule: models learned during the drive. progress: is called with the
    percentage done, and 100.
    """
    motion = fit.model if fit is not None else uncalibrated(log)
    plain_motion = plain_odometry(motion, log)
    trained = fit is not None and fit.training.log == log.name and fit.training.samples == len(log)
    judging = len(log.poses) >= 2
    # The pose sensor does not see full turns while it is blind; the best odometry there is counts them.
    usable = log.gyro is not None and bool(np.isfinite(log.gyro[:, 2]).any()) and not gyro_problems(log)
    counting = judging and not gyro and usable
    is_plain = fit is None and not gyro
    steps = 2 if is_plain else 3 if schedule is None else 5
    stages = iter(_stages(progress, 1 + counting + judging * steps))
    model, ground = plain_motion if fit is None else fit, SAME_GROUND if same_ground or trained else None
    run = odometry_of(model, log, gyro=gyro, ground=ground, schedule=schedule, progress=next(stages))
    if not judging:
        return Compared(motion, run, trained)
    turns = odometry_of(motion, log, gyro=True, quiet=True, progress=next(stages)) if counting else run
    judged = judge(run, log, motion.sensor, turns=turns, progress=next(stages))
    if is_plain:
        return Compared(motion, run, trained, run, judged, judged)
    plain = odometry_of(plain_motion, log, quiet=True, progress=next(stages))
    baseline = judge(plain, log, motion.sensor, turns=turns, progress=next(stages))
    fixed = None
    if schedule is not None:
        still = odometry_of(model, log, gyro=gyro, ground=ground, quiet=True, progress=next(stages))
        fixed = judge(still, log, motion.sensor, turns=turns, progress=next(stages))
    return Compared(motion, run, trained, plain, judged, baseline, fixed)


def _stages(progress: Progress | None, count: int) -> list[Progress | None]:
    """A progress function for each of n steps of equal weight."""

    def stage(k: int, call: Progress) -> Progress:
        return lambda done, total: call((100 * k + 100 * done // total) // count, 100)

    return [None if progress is None else stage(k, progress) for k in range(count)]


def uncalibrated(log: Log) -> MotionModel:
    """Plain kinematics of the vehicle that the manifest of a log names."""
    if log.vehicle is None:
        raise OdometryError(f"{log.name}: its manifest names no vehicle; name it there, vehicle = '…', or give a fit")
    return MotionModel(model=Kinematics(vehicle(log.vehicle)), sensor=log.sensor)
