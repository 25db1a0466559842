"""Integrated prediction error minimisation, T ch. 3: parameters that predict the intervals of a log best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from grouser import checks
from grouser.calibration import likelihood
from grouser.calibration.batch import BatchResult, correlated_covariance, gauss_newton
from grouser.calibration.loss import GATE
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
from grouser.motion.sensitivity import jacobian, most_allowed, step_error
from grouser.motion.spread import default_spread
from grouser.motion.velocity import VelocityModel

if TYPE_CHECKING:
    from grouser.calibration.memory import Memory
    from grouser.calibration.online import OnlineFilter, Update
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.terrain import Terrain

DEFAULTS = ("slip", "sensor.x", "sensor.y", "sensor.lag", "noise", "sensor.time_noise")
"""Default parameters of a fit."""
ROUNDS = 6
"""Most alternations of a batch between systematic parameters and noise."""
HORIZONS = (0.5, 2.5, 5.0)
"""Lengths of further intervals for the likelihood of the noise, as ratios to that of the fit: 1, 5, 10 s for 2 s."""
SAMPLE = 1600
"""Most intervals of a length for the likelihood of the noise: an hour of them determines it to a few per cent."""
TOGETHER = 40
"""Successive intervals in such a sample."""
FEWEST = 8
"""Fewest intervals of a length for the likelihood of the noise."""
LENGTHS = (2.0, 5.0, 15.0)
"""Correlation lengths of slip that wanders; the likelihood selects one [m, or s where it grows with time]."""
FAR = 5.0
"""Distance from its prior, in prior sigmas, at which a parameter is reported."""
HALVINGS = 3
"""Most fits of a model that is rolled out, each with half the step of the one before."""
MOST_WORK = 4e5
"""Rollout steps of a linearisation, some seconds; with more the step is not halved, and the fit has a warning."""
SETTLED = 1e-3
"""A batch ends when no parameter changes by more than this share of its sigma."""
ROUGHLY = 0.1
"""The same for the first round, as its noise is a guess."""


def calibrate(
    model: Kinematics | Dynamics | VelocityModel | MotionModel | Fit,
    log: Log,
    parameters: Sequence[str | Parameter] = DEFAULTS,
    *,
    interval: float | None = 2.0,
    distance: float | None = None,
    stride: float | None = None,
    online: bool = False,
    loss: str = "mixture",
    prior: bool = True,
    residual: Sequence[str] = ("x", "y", "yaw"),
    ground: Terrain | None = None,
    sensor: Sensor | None = None,
    noise: Noise | None = None,
    powertrain: Powertrain | None = None,
    gate: float = GATE,
    adapt: bool = True,
    memory: Memory | None = None,
    intervals: Intervals | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Calibrate parameters of a motion model to a log.

    Every interval of the log is predicted from its first pose, the wheel rates, joint angles and attitude, and its
    end compared with the last pose. `online` filters interval after interval, T (3.48)–(3.54), as a robot would while
    it drives; otherwise all are fitted at once, outliers weighing less (`loss`), with noise of maximum likelihood.
    Parameters are names, groups ("slip", "sensor", "noise") or `Parameter` with priors of your own.

    A fit in place of the model carries it on: its values and full covariance are the prior, of its own parameters.
    Online the filter adapts: slip may wander, a change of ground is noticed, and grounds of a `memory` are recalled,
    which then also holds those felt in this log.
    """
    if not isinstance(model, (Model, VelocityModel, MotionModel, Fit)):
        raise CalibrationError(f"model: {model!r:.60} is not a model; use grouser.Kinematics(vehicle) or another")
    checks.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    covariance: FloatArray | None = None
    if isinstance(model, Fit):
        from grouser.calibration.adapt import start_of

        motion, chosen, covariance = start_of(model, lag_spread=log.sensor.lag_spread)
    else:
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
        known: bool | FloatArray = prior
        if isinstance(model, Fit) and covariance is not None and prior:  # another ground than that of the fit
            spread = default_spread(model.systematic) if model.spread is None else model.spread
            known = covariance + spread
        fit: Fit | None = None
        for _ in range(HALVINGS):
            found = _batch(problem, motion, chosen, length, loss=loss, prior=known, progress=progress, begin=fit)
            fit, error = _sampled(found, log), step_error(problem, found.model)
            if error <= most_allowed(problem) or _work(problem, motion, chosen) > MOST_WORK:
                break
            motion = motion.replace(dt=0.5 * motion.dt)
        assert fit is not None
        if error > most_allowed(problem):
            words = f"steps of {fit.model.dt:g} s change predictions by {error:.2g} of their sigma; give a shorter dt"
            return replace(fit, warnings=(*fit.warnings, words))
        return fit
    from grouser.calibration.adapt import update_along
    from grouser.calibration.online import OnlineFilter

    learner = OnlineFilter(motion, chosen, covariance=covariance, gate=gate, adapt=adapt, memory=memory)
    updates = update_along(learner, problem, progress=progress)
    training = _training(problem, learner.calibrated, length, learner.rejected, "online")
    if memory is not None:
        learner.remember()
    return _sampled(fit_of_filter(learner, training, updates), log)


def _work(problem: LogProblem, motion: MotionModel, parameters: Sequence[Parameter]) -> float:
    """Steps of all rollouts of one linearisation."""
    return float(problem.intervals.duration.sum()) / motion.dt * (1 + 2 * len(parameters))


def _sampled(fit: Fit, log: Log) -> Fit:
    """The fit with the sampling error of a delay in its covariance: variance period²/12."""
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
    prior = np.diag([1.0 / p.sigma**2 for p in filter.systematic]).reshape(filter.P.shape)
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
        changes=tuple(change.summary() for change in filter.changes),
        history=History(**history) if updates else None,
    )


def _batch(
    problem: LogProblem,
    motion: MotionModel,
    parameters: list[Parameter],
    length: dict[str, float | None],
    *,
    loss: str,
    prior: bool | FloatArray,
    progress: Callable[[int, int], None],
    begin: Fit | None = None,
) -> Fit:
    """Alternates: parameters given the noise, then the most likely noise given the residuals of several horizons.

    Of a long log it does so with a sample of the intervals; with that noise the parameters are then fitted to all.
    """
    whole, problem = problem, _sample(problem)
    others = [_sample(other) for other in _horizons(whole, motion, length)]
    names_of_noise = [p.name for p in parameters if p.name in motion.noise.names]
    wanders = bool(others) and others[-1].intervals.duration.mean() > 2.0 * problem.intervals.duration.mean()
    if wanders and motion.noise.wander is None and len(names_of_noise) == len(motion.noise.names):
        motion = motion.replace(noise=replace(motion.noise, wander=np.full(len(motion.noise.components), 1e-5)))
        parameters = order([*parameters, *resolve(motion, motion.noise.names[len(names_of_noise) :])])
    systematic = [p for p in parameters if not is_noise(p.name)]
    stochastic = [p for p in parameters if is_noise(p.name)]
    names, centre = [p.name for p in systematic], np.array([p.value for p in systematic])
    now, result, start, settled = motion, None, systematic, True
    if begin is not None:  # where another fit ended; the prior does not change
        now = with_values(motion, begin.values)
        start = [replace(p, value=begin.values[p.name]) for p in systematic]
    noise_covariance = np.zeros((0, 0))
    histories = [np.zeros((0, len(systematic)))]

    def fitted(problem: LogProblem, tolerance: float, steps: int) -> tuple[BatchResult, MotionModel]:
        """Parameters of the intervals of a problem, from where the last fit ended; the prior does not change."""
        found = gauss_newton(
            problem, now, start, loss=loss, prior=prior, centre=centre, sigma_tolerance=tolerance, iterations=steps
        )
        histories.append(found.history)
        there = with_values(now, dict(zip(names, found.values.tolist(), strict=True)))
        return replace(found, covariance=correlated_covariance(problem, there, found)), there

    # A rollout takes thousands of times as long as a sum over samples: fewer steps; the fit warns if they were too few.
    steps, most, near = (30, ROUNDS, SETTLED) if motion.velocity_driven else (8, ROUNDS // 2, 0.05)
    rounds = most if systematic and stochastic else 1
    for k in range(rounds):
        if systematic:
            result, now = fitted(problem, near if k > 0 or rounds == 1 else ROUGHLY, steps)
            change = np.abs(result.values - [p.value for p in start])
            settled = k > 0 and bool(np.all(change < 0.02 * np.sqrt(np.diag(result.covariance))))
            start = [replace(p, value=float(v)) for p, v in zip(systematic, result.values, strict=True)]
        if stochastic:
            now, noise_covariance, _ = _most_likely(
                [problem, *others], now, systematic, result, stochastic, loss, LENGTHS if k < 2 else ()
            )
        progress(k + 1, rounds)
        if settled:
            break
    if result is not None and problem is not whole:
        result, now = fitted(whole, ROUGHLY, 2)
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
        training=_training(whole, now, length, down, "batch"),
        undetermined=() if result is None else tuple(undetermined(systematic, result.information)),
        warnings=doubts(
            systematic,
            np.zeros(0) if result is None else result.values,
            problem.intervals,
            converged=result is None or result.converged,
        ),
        history=history,
    )


def _horizons(problem: LogProblem, motion: MotionModel, length: dict[str, float | None]) -> list[LogProblem]:
    """The log cut into shorter and longer intervals; lengths with too few intervals are left out."""
    cut = next((name for name, value in length.items() if value is not None), None)
    if cut is None or not motion.velocity_driven:
        return []
    found = []
    for share in HORIZONS:
        own = length | {cut: share * float(length[cut] or 0.0)}
        try:
            intervals = cut_log(problem.log, motion, **own)
        except CalibrationError:  # none that long
            continue
        if len(intervals) >= FEWEST:
            found.append(problem.recut(intervals))
    return found


def _sample(problem: LogProblem) -> LogProblem:
    """The problem with at most about `SAMPLE` of its intervals: some that follow one another, then some further on."""
    count = len(problem.intervals)
    if count <= SAMPLE:
        return problem
    firsts = np.linspace(0, count - TOGETHER, SAMPLE // TOGETHER).astype(np.int64)
    chosen = np.unique(firsts[:, None] + np.arange(TOGETHER))
    return problem.recut(problem.intervals.only(chosen))


def _most_likely(
    problems: list[LogProblem],
    motion: MotionModel,
    systematic: list[Parameter],
    result: BatchResult | None,
    stochastic: list[Parameter],
    loss: str,
    lengths: Sequence[float],
) -> likelihood.MostLikely:
    """The motion model with the most likely noise and correlation length."""
    horizons = []
    for problem in problems:
        uncertain = None
        if result is not None:
            own = problem is problems[0]
            H = result.slopes if own else jacobian(problem, motion, systematic, result.values)[1]
            uncertain = H @ result.covariance @ H.transpose(0, 2, 1)
        horizons.append(likelihood.Horizon(problem, uncertain))
    names = [p.name for p in stochastic]
    robust = "none" if loss == "none" else "mixture"
    if not (lengths and any(name.startswith("noise.wander") for name in names)):
        return likelihood.maximise(horizons, motion, names=names, loss=robust)
    starts = [motion.replace(noise=replace(motion.noise, length=length)) for length in lengths]
    return max((likelihood.maximise(horizons, one, names=names, loss=robust) for one in starts), key=lambda m: m.value)


def rms_errors(problems: Sequence[LogProblem], motions: Sequence[MotionModel]) -> dict[str, float]:
    """RMS position [m] and yaw errors [rad] over the intervals of some logs, each predicted by its motion model."""
    each = zip(problems, motions, strict=True)
    error = np.concatenate([wrapped(one.intervals.measured - one.poses([own])[0, :, :6]) for one, own in each])
    rms = np.sqrt(np.mean(np.square(error), axis=0))
    return {"position_rms": float(np.hypot(rms[0], rms[1])), "yaw_rms": float(rms[5])}


def _training(
    problem: LogProblem, motion: MotionModel, length: dict[str, float | None], rejected: int, method: str
) -> Training:
    return Training(
        log=problem.log.name,
        samples=len(problem.log),
        intervals=len(problem.intervals),
        interval=length["interval"],
        distance=length["distance"],
        overlapping=problem.intervals.overlapping,
        rejected=rejected,
        **rms_errors([problem], [motion]),
        method=method,
    )


def doubts(
    parameters: Sequence[Parameter],
    values: FloatArray,
    intervals: Intervals | None = None,
    *,
    converged: bool = True,
) -> tuple[str, ...]:
    """Sentences about systematic parameters with these values, and about the intervals they were found from."""
    found = [intervals.note] if intervals is not None and intervals.note else []
    if not converged:
        found.append("the fit stopped at its limit of steps before it settled; its values may not be the best")
    for p, value in zip(parameters, values.tolist(), strict=True):
        near = 1e-6 * max(p.scale, abs(value), 1e-300)
        for bound, word in ((p.lower, "smallest"), (p.upper, "largest")):
            if np.isfinite(bound) and abs(value - bound) <= near and abs(p.value - bound) > near:
                found.append(
                    f"{p.name} ran to {value:.4g}, the {word} value it may have: the log does not fit this model, or"
                    " does not determine it"
                )
                break
        else:
            if abs(value - p.value) > FAR * p.sigma:
                found.append(
                    f"{p.name} = {value:.4g} is {abs(value - p.value) / p.sigma:.0f} sigmas from its prior"
                    f" {p.value:.4g} ± {p.sigma:.2g}: check the log and the vehicle, or give another prior"
                )
    return tuple(found)
