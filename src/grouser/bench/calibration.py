"""Speed of online calibration: CPU time of one update of a filter by a two-second interval, on one core."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from grouser.bench.rounds import Sample, Spread, Work
from grouser.calibration import OnlineFilter, PerturbativeFilter, cut_log, log_of_motion
from grouser.calibration.calibrate import order
from grouser.kinematics import Kinematics
from grouser.logs.log import Sensor
from grouser.motion import LogProblem, MotionModel, Noise, Perturbative, resolve
from grouser.slip import BodySlip
from grouser.vehicles import vehicle

INTERVALS = 150
"""Two-second intervals at 20 Hz of the simulated log; after the last one the filters go on with the first."""
WARM = 5
"""Updates before the timed ones: the first compile and fill caches."""
TOGETHER = 5
"""Updates in one timing, about 4 to 10 ms."""


def filter_updates() -> list[Work]:
    """Updates of the six-parameter and of the perturbative filter."""
    return [_kinematic(), _perturbative()]


def _problem(motion: MotionModel) -> LogProblem:
    """A Warthog that weaves over a hilly field for five minutes, as the motion model says."""
    t = np.arange(0.0, 2.0 * INTERVALS + 1.0, 0.05)
    left = 3.0 + 2.0 * np.sin(0.31 * t)
    right = 3.0 + 2.0 * np.sin(0.43 * t + 1.0)
    attitude = np.stack([0.1 * np.sin(0.11 * t), 0.15 * np.sin(0.07 * t)], axis=1)
    rates = {"FL": left, "BL": left, "FR": right, "BR": right}
    log = log_of_motion(motion, t, rates, attitude=attitude, poses_every=2)
    return LogProblem(log, motion, cut_log(log, motion))


def _kinematic() -> Work:
    model = Kinematics(vehicle("warthog"), slip=BodySlip([-0.3, -0.04, -0.5, -0.02, 0.01, 0.0]))
    motion = MotionModel(model=model, sensor=Sensor(x=0.1, y=0.02), noise=Noise())
    parameters = order(resolve(motion, ["slip", "sensor.x", "sensor.y", "noise"]))
    return _work("kinematic, 6 slip + 2 sensor + noise", OnlineFilter(motion, parameters), _problem(motion))


def _perturbative() -> Work:
    motion = MotionModel(model=Perturbative(vehicle=vehicle("warthog")), noise=Noise(form="full"))
    problem = _problem(motion)
    learner = PerturbativeFilter(problem, motion, order(resolve(motion, ["slip", "noise"])))
    return _work("perturbative, 13 + 6 states", learner, problem)


def _work(name: str, learner: OnlineFilter, problem: LogProblem) -> Work:
    intervals = count()

    def update(updates: int) -> int:
        for _ in range(updates):
            learner.update(problem, next(intervals) % INTERVALS)
        return updates

    def report(samples: Sequence[Sample]) -> dict[str, Any]:
        spread = Spread.of([s.cpu for s in samples], scale=1e3)
        return {
            "filter": name,
            "parameters": len(learner.names),
            "interval": 2.0,
            **spread.json("ms_per_update", 3),
            "ms_fastest": round(spread.minimum, 3),
            "updates": TOGETHER * len(samples),
        }

    update(WARM)
    return Work(lambda: update(TOGETHER), report)
