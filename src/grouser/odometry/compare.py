"""Odometry of a log beside plain odometry of the same log, both judged by its poses where it has some."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.errors import GrouserError
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.plain import plain_odometry
from grouser.odometry.judge import Judgement, judge
from grouser.odometry.log import SAME_GROUND, LogOdometry, Progress, odometry_of
from grouser.vehicles.catalog import vehicle


@dataclass(frozen=True, eq=False)
class Compared:
    """What both odometries say."""

    motion: MotionModel
    """That of the fit, or of the vehicle that the manifest names."""
    run: LogOdometry
    """As asked for."""
    trained: bool
    """Whether the fit was made from this very log."""
    plain: LogOdometry | None = None
    """Of the vehicle as its file describes it; None, like both judgements: the log has fewer than two poses."""
    judged: Judgement | None = None
    baseline: Judgement | None = None


def compare(
    log: Log,
    fit: Fit | None = None,
    *,
    gyro: bool = False,
    same_ground: bool = False,
    progress: Progress | None = None,
) -> Compared:
    """Run and judge odometry along a log; without a fit it is plain odometry itself.

    gyro: turn rates are its. progress: told how much is done, of 100.
    """
    motion = fit.model if fit is not None else _uncalibrated(log)
    plain = plain_odometry(motion, log)
    trained = fit is not None and fit.training.log == log.name and fit.training.samples == len(log)
    spread = SAME_GROUND if same_ground or trained else None
    stages = _stages(progress, 5 if len(log.poses) >= 2 else 1)
    run = odometry_of(plain if fit is None else fit, log, gyro=gyro, ground=spread, progress=stages[0])
    if len(log.poses) < 2:
        return Compared(motion, run, trained)
    # The pose sensor does not see full turns while it is blind; the best odometry there is counts them.
    turns = run
    if not gyro and _sees_turns(log):
        turns = odometry_of(motion, log, gyro=True, quiet=True, progress=stages[1])
    judged = judge(run, log, motion.sensor, turns=turns, progress=stages[2])
    beside = odometry_of(plain, log, quiet=True, progress=stages[3])
    baseline = judge(beside, log, motion.sensor, turns=turns, progress=stages[4])
    return Compared(motion, run, trained, beside, judged, baseline)


def _stages(progress: Progress | None, count: int) -> list[Progress | None]:
    """What so many steps of equal weight tell how far they are."""
    if progress is None:
        return [None] * count

    def stage(k: int) -> Progress:
        return lambda done, total: progress((100 * k + 100 * done // total) // count, 100)

    return [stage(k) for k in range(count)]


def _uncalibrated(log: Log) -> MotionModel:
    if log.vehicle is None:
        raise GrouserError(f"{log.name}: its manifest names no vehicle; name it there, vehicle = '…', or give a fit")
    return MotionModel(model=Kinematics(vehicle(log.vehicle)), sensor=log.sensor)


def _sees_turns(log: Log) -> bool:
    return log.gyro is not None and bool(np.isfinite(log.gyro[:, 2]).any())
