"""Integrated prediction error minimisation, T ch. 3: parameters that predict the intervals of a log best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from grouser import checks
from grouser.calibration import likelihood
from grouser.calibration.batch import gauss_newton
from grouser.calibration.doubts import doubts
from grouser.calibration.online import GATE, NOISE_GATE, OnlineFilter, Update
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.model import Model
from grouser.motion.fit import Fit, History, Training, undetermined
from grouser.motion.intervals import Intervals, cut_log, wrapped
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, is_noise, resolve, value_of, with_values
from grouser.motion.powertrain import Powertrain
from grouser.motion.predict import LogProblem
from grouser.motion.step_error import most_allowed, step_error
from grouser.motion.velocity import VelocityModel

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.terrain import Terrain

DEFAULTS = ("slip", "sensor.x", "sensor.y", "sensor.lag", "noise", "sensor.time_noise")
"""What a first fit calibrates."""
ROUNDS = 6
"""Most alternations of a batch between systematic parameters and noise."""
HALVINGS = 3
"""Fits of a model that is rolled out, each with half the step of the one before, until the step does not matter."""
MOST_WORK = 4e5
"""Rollout steps of a linearisation, some seconds, above which the step is not halved but a warning given."""
SETTLED = 1e-3
"""A step of a batch that changes no parameter by more than this share of its sigma is the last."""


def calibrate(
    model: Kinematics | Dynamics | VelocityModel | MotionModel,
    log: Log,
    parameters: Sequence[str | Parameter] = DEFAULTS,
    *,
    interval: float | None = 2.0,
    distance: float | None = None,
    stride: float | None = None,
    online: bool = False,
    loss: str = "huber",
    prior: bool = True,
    residual: Sequence[str] = ("x", "y", "yaw"),
    ground: Terrain | None = None,
    sensor: Sensor | None = None,
    noise: Noise | None = None,
    powertrain: Powertrain | None = None,
    gate: float = GATE,
    noise_gate: float = NOISE_GATE,
    intervals: Intervals | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Calibrate parameters of a motion model to a log.

    Every interval of the log is predicted from its first pose, the wheel rates, joint angles and attitude, and its
    end compared with the last pose. `online` filters interval after interval, T (3.48)–(3.54), as a robot would while
    it drives; otherwise all are fitted at once, outliers weighing less (`loss`), with noise of maximum likelihood.
    Parameters are names, groups ("slip", "sensor", "noise") or `Parameter` with priors of your own.
    """
    if not isinstance(model, (Model, VelocityModel, MotionModel)):
        raise CalibrationError(f"model: {model!r:.60} is not a model; use grouser.Kinematics(vehicle) or another")
    checks.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    motion = motion_model(model, log, ground=ground, sensor=sensor, noise=noise, powertrain=powertrain)
    chosen = order(resolve(motion, parameters))
    if not chosen:
        raise CalibrationError("no parameters to calibrate; name some, such as slip, sensor.x, noise")
    if intervals is None:
        intervals = cut_log(log, motion, interval=interval, distance=distance, stride=stride)
    problem = LogProblem(log, motion, intervals, residual=residual)
    length = {"interval": None if distance is not None else interval, "distance": distance}
    progress = progress or (lambda done, total: None)
    if not online:
        fit: Fit | None = None
        for _ in range(HALVINGS):
            found = _batch(problem, motion, chosen, length, loss=loss, prior=prior, progress=progress, begin=fit)
            fit, error = _sampled(found, log), step_error(problem, found.model)
            if error <= most_allowed(problem) or _work(problem, motion, chosen) > MOST_WORK:
                break
            motion = motion.replace(dt=0.5 * motion.dt)
        assert fit is not None
        if error > most_allowed(problem):
            words = f"steps of {fit.model.dt:g} s change predictions by {error:.2g} of their sigma; give a shorter dt"
            return replace(fit, warnings=(*fit.warnings, words))
        return fit
    learner = OnlineFilter(motion, chosen, gate=gate, noise_gate=noise_gate)
    updates = []
    for k in range(len(intervals)):
        updates.append(learner.update(problem, k))
        progress(k + 1, len(intervals))
    training = _training(problem, learner.calibrated, length, learner.rejected, "online")
    return _sampled(fit_of_filter(learner, training, updates), log)


def _work(problem: LogProblem, motion: MotionModel, parameters: Sequence[Parameter]) -> float:
    """Steps of all rollouts of one linearisation."""
    return float(problem.intervals.duration.sum()) / motion.dt * (1 + 2 * len(parameters))


def _sampled(fit: Fit, log: Log) -> Fit:
    """When between two samples a command came is not known: a delay is no more certain than a period over √12."""
    covariance = fit.covariance.copy()
    for k, p in enumerate(fit.systematic):
        if p.name == "powertrain.delay":
            covariance[k, k] += log.report.period**2 / 12.0
    return replace(fit, covariance=covariance)


def motion_model(
    model: Kinematics | Dynamics | VelocityModel | MotionModel,
    log: Log,
    *,
    ground: Terrain | None = None,
    sensor: Sensor | None = None,
    noise: Noise | None = None,
    powertrain: Powertrain | None = None,
) -> MotionModel:
    """A model with the log's sensor, ready to be calibrated."""
    if isinstance(model, MotionModel):
        return model
    return MotionModel(
        model=model,
        sensor=log.sensor if sensor is None else sensor,
        noise=Noise() if noise is None else noise,
        powertrain=powertrain,
        ground=ground,
    )


def order(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Systematic parameters first, noise last."""
    return sorted(parameters, key=lambda p: is_noise(p.name))


def fit_of_filter(filter: OnlineFilter, training: Training, updates: Sequence[Update] = ()) -> Fit:
    """The filter's present estimate as a fit, with the history of some updates."""
    prior = np.diag([1.0 / p.sigma**2 for p in filter.systematic])
    information: FloatArray = np.linalg.pinv(filter.P, hermitian=True).astype(np.float64) - prior
    columns = [field.name for field in fields(History)]
    history = {name: np.array([getattr(update, name) for update in updates]) for name in columns}
    return Fit(
        model=filter.calibrated,
        parameters=(*filter.systematic, *filter.stochastic),
        vector=filter.values,
        covariance=filter.P.copy(),
        noise_covariance=filter.S.copy(),
        training=training,
        undetermined=tuple(undetermined(filter.systematic, information)) if filter.systematic else (),
        warnings=doubts(filter.systematic, filter.p),
        history=History(**history) if updates else None,
    )


def _batch(
    problem: LogProblem,
    motion: MotionModel,
    parameters: list[Parameter],
    length: dict[str, float | None],
    *,
    loss: str,
    prior: bool,
    progress: Callable[[int, int], None],
    begin: Fit | None = None,
) -> Fit:
    """Alternates: parameters given the noise, then the most likely noise given the residuals."""
    systematic = [p for p in parameters if not is_noise(p.name)]
    stochastic = [p for p in parameters if is_noise(p.name)]
    names, centre = [p.name for p in systematic], np.array([p.value for p in systematic])
    now, result, start, settled = motion, None, systematic, True
    if begin is not None:  # where another fit ended; the prior does not change
        now = with_values(motion, begin.values)
        start = [replace(p, value=begin.values[p.name]) for p in systematic]
    noise_covariance = np.zeros((0, 0))
    histories = [np.zeros((0, len(systematic)))]
    # A rollout takes thousands of times as long as a sum over samples: fewer steps, and the fit says if they were few.
    steps, most, near = (30, ROUNDS, SETTLED) if motion.velocity_driven else (8, ROUNDS // 2, 0.05)
    rounds = most if systematic and stochastic else 1
    for k in range(rounds):
        if systematic:
            # Later rounds continue from the last one; the prior does not change.
            result = gauss_newton(
                problem, now, start, loss=loss, prior=prior, centre=centre, sigma_tolerance=near, iterations=steps
            )
            histories.append(result.history)
            now = with_values(now, dict(zip(names, result.values.tolist(), strict=True)))
            change = np.abs(result.values - [p.value for p in start])
            settled = k > 0 and bool(np.all(change < 0.02 * np.sqrt(np.diag(result.covariance))))
            start = [replace(p, value=float(v)) for p, v in zip(systematic, result.values, strict=True)]
        if stochastic:
            now, noise_covariance = likelihood.maximise(problem, now, names=[p.name for p in stochastic])
        progress(k + 1, rounds)
        if settled:
            break
    path = np.concatenate(histories)
    values = np.concatenate([path, np.full((len(path), len(stochastic)), np.nan)], axis=1)
    history = History(
        time=np.arange(len(values), dtype=np.float64),
        values=values,
        sigma=np.full_like(values, np.nan),
        residual=np.zeros((0, problem.size)),
        distance=np.zeros(0),
        accepted=np.zeros(0, dtype=bool),
    )
    down = 0 if result is None else int(np.count_nonzero(result.weights < 0.5))
    return Fit(
        model=now,
        parameters=(*systematic, *stochastic),
        vector=np.array([*([] if result is None else result.values), *(value_of(now, p.name) for p in stochastic)]),
        covariance=np.zeros((0, 0)) if result is None else result.covariance,
        noise_covariance=noise_covariance,
        training=_training(problem, now, length, down, "batch"),
        undetermined=() if result is None else tuple(undetermined(systematic, result.information)),
        warnings=doubts(
            systematic,
            np.zeros(0) if result is None else result.values,
            problem.intervals,
            converged=result is None or result.converged,
        ),
        history=history,
    )


def _training(
    problem: LogProblem, motion: MotionModel, length: dict[str, float | None], rejected: int, method: str
) -> Training:
    error = wrapped(problem.intervals.measured - problem.poses([motion])[0, :, :6])
    return Training(
        log=problem.log.name,
        samples=len(problem.log),
        intervals=len(problem.intervals),
        **length,
        overlapping=problem.intervals.overlapping,
        rejected=rejected,
        position_rms=float(np.sqrt(np.mean(np.sum(error[:, :2] ** 2, axis=1)))),
        yaw_rms=float(np.sqrt(np.mean(error[:, 5] ** 2))),
        method=method,
    )
