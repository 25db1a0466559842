"""Convergence of a calibration: errors on held-out data while the online filter processes a log, P Fig. 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.calibration.calibrate import DEFAULTS, motion_model, order
from grouser.calibration.evaluate import errors_of
from grouser.calibration.online import OnlineFilter
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, resolve
from grouser.motion.plain import plain_odometry
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import VelocityModel
from grouser.terrain import Terrain


@dataclass(frozen=True, eq=False, kw_only=True)
class Convergence:
    """Held-out errors over training time."""

    time: FloatArray
    """Driving time processed by the filter [s], (k,); the first is 0."""
    position_rms: FloatArray
    """On the held-out log [m], (k,)."""
    yaw_rms: FloatArray
    """[rad], (k,)."""
    baseline: tuple[float, float]
    """Position [m] and yaw [rad] errors of plain odometry."""


def convergence(
    model: Kinematics | Dynamics | VelocityModel | MotionModel,
    train: Log,
    held_out: Log,
    parameters: Sequence[str | Parameter] = DEFAULTS,
    *,
    interval: float = 2.0,
    every: int = 1,
    ground: Terrain | None = None,
) -> Convergence:
    """Train online, interval after interval, and judge the model on another log after every `every` of them."""
    motion = motion_model(model, train, ground=ground)
    cut, judged = cut_log(train, motion, interval=interval), cut_log(held_out, motion, interval=interval)
    problem = LogProblem(train, motion, cut)
    filter = OnlineFilter(motion, order(resolve(motion, parameters)))
    time, found = [0.0], [_rms(motion, held_out, judged)]
    driven = 0.0
    for k in range(len(cut)):
        filter.update(problem, k)
        driven += float(cut.duration[k])
        if (k + 1) % max(every, 1) == 0 or k + 1 == len(cut):
            time.append(driven)
            found.append(_rms(filter.calibrated, held_out, judged))
    both = np.array(found)
    plain = _rms(plain_odometry(motion, held_out), held_out, judged)
    return Convergence(time=np.array(time), position_rms=both[:, 0], yaw_rms=both[:, 1], baseline=plain)


def _rms(motion: MotionModel, log: Log, intervals: Intervals) -> tuple[float, float]:
    error = errors_of(motion, log, intervals).error
    return float(np.sqrt(np.mean(np.sum(error[:, :2] ** 2, axis=1)))), float(np.sqrt(np.mean(error[:, 2] ** 2)))
