"""The whole benchmark: all pieces of work are prepared first, then timed in turn."""

from collections.abc import Callable, Sequence
from itertools import count, islice
from typing import Any

import numpy as np

from grouser.bench.engine import (
    BATCHES,
    CASES,
    ROLLOUTS,
    Case,
    batches,
    machine,
    maps,
    stepped,
    steps,
    with_ratio,
)  # fmt: skip
from grouser.bench.rounds import Sample, Spread, Work, cores_of, interleave, report_of
from grouser.calibration import OnlineFilter, PerturbativeFilter, cut_log, log_of_motion
from grouser.calibration.calibrate import order
from grouser.kinematics import Kinematics
from grouser.logs.log import Sensor
from grouser.motion import LogProblem, MotionModel, Noise, Perturbative, resolve
from grouser.odometry import EncoderNoise, Odometry
from grouser.plan import MPPI, CommandRate, Cost, Goal, TipMargin
from grouser.simulation import settle
from grouser.slip import BodySlip
from grouser.vehicles import vehicle

ROUNDS, QUICK_ROUNDS = 50, 10
INTERVALS = 150
"""Two-second intervals at 20 Hz of the simulated log; after the last one the filters continue with the first."""
TOGETHER, BATCH = 5, 400
"""Updates of a filter in one timing, about 4 to 10 ms, and of odometry, about 5 ms; one timing warms up."""

SAMPLES, PLANNED, PLAN_DT = 1000, 35, 0.08
"""Samples of a command of the planner, their steps, and the step [s]."""
THREADS = (1, 2)
EVERY = 5
"""Commands take 0.1 to 0.5 s, so they are timed in every fifth round only."""


def measure(*, quick: bool = False, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """All cases, with the machine they ran on; JSON types only."""
    groups = {
        "cases": [steps(case, dt) for case in CASES for dt in ROLLOUTS],
        "batch": [work for case in BATCHES for work in batches(case)],
        "calibration": [_kinematic(), _perturbative()],
        "odometry": [odometry_update()],
        "stepping": [work for case in BATCHES for work in stepped(case)],
        "planning": [work for case in BATCHES for work in commands(case)],
        "maps": maps(),
    }
    works = [work for group in groups.values() for work in group]
    samples = iter(interleave(works, QUICK_ROUNDS if quick else ROUNDS, progress=progress))
    reports = {name: [work.report(next(samples)) for work in group] for name, group in groups.items()}
    one, pairs = reports["odometry"][0], with_ratio(reports["maps"])
    twins = zip(reports["stepping"][::2], reports["stepping"][1::2], strict=True)
    stepping = [_overhead(step, kernel) for step, kernel in twins]
    return {"machine": machine(), **reports, "odometry": one, "stepping": stepping, "maps": pairs}


def _overhead(step: dict[str, Any], kernel: dict[str, Any]) -> dict[str, Any]:
    """A step from Python, the same in the kernel alone, and what Python adds: medians [µs]."""
    us = kernel["us_kernel"]
    return {**step, "us_kernel": us, "us_overhead": round(step["us_per_step"] - us, 2)}


def _problem(motion: MotionModel) -> LogProblem:
    """A Warthog that weaves over a hilly field for five minutes, simulated by the motion model."""
    t = np.arange(0.0, 2.0 * INTERVALS + 1.0, 0.05)
    left, right = 3.0 + 2.0 * np.sin(0.31 * t), 3.0 + 2.0 * np.sin(0.43 * t + 1.0)
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
    """CPU time of one update of a filter by a two-second interval."""
    intervals = count()

    def update(updates: int) -> int:
        for k in islice(intervals, updates):
            learner.update(problem, k % INTERVALS)
        return updates

    def more(spread: Spread, samples: Any) -> dict[str, Any]:
        return {"ms_fastest": round(spread.minimum, 3), "updates": TOGETHER * len(samples)}

    update(TOGETHER)
    about = {"filter": name, "parameters": len(learner.names), "interval": 2.0}
    return Work(lambda: update(TOGETHER), report_of(about, "ms_per_update", 3, scale=1e3, more=more))


def odometry_update() -> Work:
    """Updates of the LRU that steers on a slope, with the model of a fit. `us_wall` is wall time."""
    lru = vehicle("lru1")
    slip = BodySlip([-0.7457, -0.1093, -0.0303, -0.0187, -0.0062, -0.0627])
    odometry = Odometry(MotionModel(model=Kinematics(lru, slip=slip), noise=Noise()), noise=EncoderNoise.lru())
    rates, angles = np.zeros((2, 200, lru.n_joints))
    phase = np.linspace(0.0, 2.0 * np.pi, 200)
    for wheel in lru.wheels:
        rates[:, lru.joint_index(wheel)] = 4.0 + np.sin(phase)
    for one in lru.steering:
        front = 1.0 if lru.wheel_positions[lru.wheels.index(one.joint.removeprefix("steer")), 0] > 0.0 else -1.0
        angles[:, lru.joint_index(one.joint)] = 0.2 * front * np.sin(phase)
    attitude = [(float(0.1 * np.cos(p)), float(0.1 * np.sin(p))) for p in phase]
    samples_in = count()

    def update() -> int:
        for i in islice(samples_in, BATCH):
            row = i % 200
            odometry.update(0.01 * i, rates[row], angles[row], attitude[row])
        return BATCH

    def more(spread: Spread, samples: Any) -> dict[str, Any]:
        wall = Spread.of([s.wall for s in samples], scale=1e6).median
        updates = BATCH * len(samples)
        return {"us_fastest": round(spread.minimum, 2), "us_wall": round(wall, 2), "updates": updates}

    update()
    about = {"vehicle": "lru1", "model": "6 slip parameters, process noise, encoder noise"}
    return Work(update, report_of(about, "us_per_update", 2, scale=1e6, more=more))


def commands(
    case: Case, *, samples: int = SAMPLES, steps: int = PLANNED, dt: float = PLAN_DT, threads: Sequence[int] = THREADS
) -> list[Work]:
    """Wall time of one MPPI command on rough ground; a command that is not timed warms each of them up."""
    model, ground = case.model(), case.ground()
    start = settle(model.vehicle, ground, penetration=model.penetration).state
    cost = Cost(Goal(8.0, 3.0), TipMargin(), CommandRate())
    about = {**case.about(), "samples": samples, "steps": steps, "dt": dt}

    def work(n: int) -> Work:
        controller = MPPI(model, ground, cost, horizon=steps * dt, dt=dt, samples=samples, threads=n)

        def command() -> int:
            controller.command(start)
            return 1

        def more(spread: Spread, timings: Sequence[Sample]) -> dict[str, Any]:
            rate = 1.0 / spread.median
            speed = {"hertz": round(rate, 2), "steps_per_second": round(rate * samples * steps)}
            return {**speed, "threads": n, "cores": cores_of(timings), "repeats": len(timings)}

        command()
        return Work(command, report_of(about, "seconds", 5, clock="wall", more=more), every=EVERY, threads=n)

    return [work(n) for n in threads]
