"""Speed of online calibration: CPU time of one update of a filter by a two-second interval, on one core."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from grouser.calibration import (
    LogProblem,
    MotionModel,
    Noise,
    OnlineFilter,
    Perturbative,
    PerturbativeFilter,
    cut_log,
    log_of_motion,
    resolve,
)
from grouser.calibration.calibrate import order
from grouser.kinematics import Kinematics
from grouser.logs.log import Sensor
from grouser.slip import BodySlip
from grouser.vehicles import vehicle

INTERVALS = 150
"""Two-second intervals at 20 Hz of the simulated log."""


def time_filters(*, quick: bool = False) -> list[dict[str, Any]]:
    """Median CPU time of an update of the six-parameter and of the perturbative filter; JSON types only."""
    updates = 30 if quick else INTERVALS - 10
    return [_kinematic(updates), _perturbative(updates)]


def _problem(motion: MotionModel) -> LogProblem:
    """A Warthog that weaves over a hilly field for five minutes, as the motion model says."""
    t = np.arange(0.0, 2.0 * INTERVALS + 1.0, 0.05)
    left = 3.0 + 2.0 * np.sin(0.31 * t)
    right = 3.0 + 2.0 * np.sin(0.43 * t + 1.0)
    attitude = np.stack([0.1 * np.sin(0.11 * t), 0.15 * np.sin(0.07 * t)], axis=1)
    rates = {"FL": left, "BL": left, "FR": right, "BR": right}
    log = log_of_motion(motion, t, rates, attitude=attitude, poses_every=2)
    return LogProblem(log, motion, cut_log(log, motion))


def _kinematic(updates: int) -> dict[str, Any]:
    model = Kinematics(vehicle("warthog"), slip=BodySlip([-0.3, -0.04, -0.5, -0.02, 0.01, 0.0]))
    motion = MotionModel(model=model, sensor=Sensor(x=0.1, y=0.02), noise=Noise())
    parameters = order(resolve(motion, ["slip", "sensor.x", "sensor.y", "noise"]))
    return _timed("kinematic, 6 slip + 2 sensor + noise", OnlineFilter(motion, parameters), _problem(motion), updates)


def _perturbative(updates: int) -> dict[str, Any]:
    motion = MotionModel(model=Perturbative(vehicle=vehicle("warthog")), noise=Noise(form="full"))
    problem = _problem(motion)
    learner = PerturbativeFilter(problem, motion, order(resolve(motion, ["slip", "noise"])))
    return _timed("perturbative, 13 + 6 states", learner, problem, updates)


def _timed(name: str, learner: OnlineFilter, problem: LogProblem, updates: int) -> dict[str, Any]:
    times = []
    for k in range(updates + 5):
        began = time.process_time()
        learner.update(problem, k)
        if k >= 5:  # the first ones compile and fill caches
            times.append(time.process_time() - began)
    return {
        "filter": name,
        "parameters": len(learner.names),
        "interval": 2.0,
        "ms_per_update": round(1e3 * statistics.median(times), 3),
        "ms_fastest": round(1e3 * min(times), 3),
        "updates": updates,
    }
