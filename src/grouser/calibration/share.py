"""Several logs fitted together: the parameters of the vehicle are the same in all, those of the ground each log's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import checks
from grouser.calibration import likelihood
from grouser.calibration.batch import gauss_newton
from grouser.calibration.calibrate import DEFAULTS, motion_model, order, rms_errors
from grouser.calibration.evaluate import Errors
from grouser.calibration.hierarchy import Hierarchy, fit_hierarchy
from grouser.calibration.linear import Linearised
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.fit import Fit, Training, undetermined
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector, is_noise, resolve, value_of, with_values
from grouser.motion.predict import LogProblem
from grouser.motion.spread import default_spread, of_ground
from grouser.motion.velocity import VelocityModel

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics

LAG = "sensor.lag"
LAG_SPREAD = 0.05
"""Spread of the lag of a pose sensor from log to log [s], one sigma, where the sensor has no `lag_spread`."""
ROUNDS = 6
"""Most alternations between parameters and noise."""
STEPS = 20
"""Most Gauss–Newton steps of a round."""
SETTLED = 1e-2
"""A step that changes no parameter by more than this share of its sigma is the last."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ground:
    """Estimates from one log, or from the part of it on one ground."""

    name: str
    """Name of the log, and the label of the ground where it was asked for."""
    intervals: int
    """Intervals used."""
    values: dict[str, float]
    """Parameters that are this ground's own, in their units (SI)."""
    sigma: dict[str, float]
    """One-sigma uncertainties, in their units."""
    position_rms: float
    """RMS position error of its intervals with these values [m]."""
    yaw_rms: float
    """[rad]."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedFit:
    """Several logs fitted together."""

    fit: Fit
    """The vehicle's parameters, the mean of the grounds', their joint covariance and the spread between grounds."""
    grounds: tuple[Ground, ...]
    """One each log, or label of a log."""
    hierarchy: Hierarchy
    """Mean and spread of all systematic parameters; no spread for those of the vehicle."""
    own: tuple[str, ...]
    """Names of the parameters that each ground has of its own."""
    left_out: tuple[Errors, ...]
    """Errors on each ground, predicted from the estimates of the others, with the spread between grounds."""
    iterations: int
    """Gauss–Newton steps taken."""
    converged: bool
    """Whether the last step was small."""

    @property
    def spread(self) -> dict[str, float]:
        """Standard deviation between grounds of each parameter that differs, in its unit."""
        sigma = dict(zip((p.name for p in self.fit.systematic), self.hierarchy.sigma.tolist(), strict=True))
        return {name: sigma[name] for name in self.own}

    @property
    def log_likelihood(self) -> float:
        """Mean logarithm of the probability density of an error on a ground that was left out."""
        return Errors.joined(self.left_out).log_likelihood

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        both = {
            g.name: {
                "intervals": g.intervals,
                "position_rms": g.position_rms,
                "yaw_rms_deg": float(np.degrees(g.yaw_rms)),
                "parameters": {n: {"value": v, "sigma": g.sigma[n]} for n, v in g.values.items()},
                "left_out": errors.summary(),
            }
            for g, errors in zip(self.grounds, self.left_out, strict=True)
        }
        done = {"log_likelihood": self.log_likelihood, "converged": self.converged}
        return {**self.fit.summary(), "grounds": both, "spread": self.spread, **done}


def calibrate_together(
    model: Kinematics | Dynamics | VelocityModel | MotionModel,
    logs: Sequence[Log],
    parameters: Sequence[str | Parameter] = DEFAULTS,
    *,
    label: str | None = None,
    own_lag: bool = True,
    interval: float | None = 2.0,
    distance: float | None = None,
    stride: float | None = None,
    loss: str = "huber",
    residual: Sequence[str] = ("x", "y", "yaw"),
    progress: Callable[[int, int], None] | None = None,
) -> SharedFit:
    """Calibrate a motion model to several logs of one vehicle at once, over intervals [s] or distances [m].

    Parameters of the vehicle (sensor, geometry, powertrain, actuator) and the noise are the same in all logs; those of
    the ground (slip, contact) are each log's own, about a mean and with a covariance between grounds that are fitted
    too. With a `label`, a column of the manifest's [labels], each of its values in a log is a ground of its own. The
    lag of the pose sensor differs from log to log unless `own_lag` is off.

    Gauss–Newton on all logs: each step solves for the vehicle and the mean with all grounds eliminated (`hierarchy`).
    """
    if isinstance(logs, Log) or not logs:
        raise CalibrationError("logs: give several logs in a list; one log is for grouser.calibrate")
    for log in logs:
        checks.instance(log, Log, "logs", "use grouser.read_log(path, manifest=…)")
    motion = motion_model(model, logs[0])
    chosen = order(resolve(motion, parameters))
    systematic = [p for p in chosen if not is_noise(p.name)]
    noise = [p.name for p in chosen if is_noise(p.name)]
    if not systematic:
        raise CalibrationError("no parameters to share but noise; name some, such as slip, sensor.x, noise")
    cut = {"interval": None if distance is not None else interval, "distance": distance}
    problems, names = _of_labels(logs, motion, label, residual=residual, stride=stride, **cut)
    if len(problems) < 2:
        raise CalibrationError(f"{names[0]}: is one ground; to separate vehicle and ground, give logs of two or more")
    spread = _expected(motion, systematic, own_lag)
    work = _Together(problems, systematic, spread, loss)
    progress = progress or (lambda done, total: None)
    now, points, taken, settled = motion, work.start(motion), 0, False
    noise_covariance = np.zeros((0, 0))
    for k in range(ROUNDS):
        last = points
        hierarchy, points, steps, converged = work.solve(now, points)
        taken += steps
        now = with_values(now, work.named(hierarchy.mean))
        if noise:
            each = zip(problems, work.motions(now, points), strict=True)
            horizons = [likelihood.Horizon(problem, motion=own) for problem, own in each]
            now, noise_covariance, _ = likelihood.maximise(horizons, now, names=noise)
        progress(k + 1, ROUNDS)
        settled = bool(np.all(np.abs(points - last) < 0.02 * work.sigma))
        if settled or not noise:
            break
    if own_lag and LAG in work.names:
        lag = work.names.index(LAG)
        now = now.replace(sensor=replace(now.sensor, lag_spread=float(hierarchy.sigma[lag])))
    between = hierarchy.between.copy()
    for k, p in enumerate(systematic):
        if not of_ground(p.name):  # the spread of the lag is in the sensor
            between[k], between[:, k] = 0.0, 0.0
    motions = work.motions(now, points)
    others = f" and {len(logs) - 1} more" if len(logs) > 1 else ""
    training = Training(
        log=f"{logs[0].name}{others}",
        samples=sum(len(log) for log in logs),
        intervals=sum(len(problem.intervals) for problem in problems),
        interval=cut["interval"],
        distance=distance,
        overlapping=any(problem.intervals.overlapping for problem in problems),
        rejected=0,
        **rms_errors(problems, motions),
        method="batch",
    )
    fit = Fit(
        model=now,
        parameters=(*systematic, *(p for p in chosen if is_noise(p.name))),
        vector=np.array([*hierarchy.mean, *(value_of(now, name) for name in noise)]),
        covariance=hierarchy.mean_covariance,
        noise_covariance=noise_covariance,
        training=training,
        undetermined=tuple(undetermined(systematic, work.information)),
        spread=between,
    )
    return SharedFit(
        fit=fit,
        grounds=work.grounds(names, motions),
        hierarchy=hierarchy,
        own=tuple(work.own(work.centre)),
        left_out=work.left_out(now),
        iterations=taken,
        converged=converged and (settled or not noise),
    )


def _of_labels(
    logs: Sequence[Log], motion: MotionModel, label: str | None, *, residual: Sequence[str], **cut: float | None
) -> tuple[list[LogProblem], list[str]]:
    """Problems and names of the grounds of some logs: one a log, or one a value of a label in a log."""
    problems: list[LogProblem] = []
    names: list[str] = []
    for log in logs:
        intervals = cut_log(log, motion, **cut)
        for name, part in ((log.name, intervals),) if label is None else _labelled(log, intervals, label):
            problems.append(LogProblem(log, motion, part, residual=residual))
            names.append(name if name not in names else f"{name} #{len(names) + 1}")
    return problems, names


def _labelled(log: Log, intervals: Intervals, label: str) -> list[tuple[str, Intervals]]:
    """Intervals by the value of a label; those where it changes belong to none."""
    if label not in log.label:
        known = ", ".join(log.label) or "none"
        raise CalibrationError(f"{log.name}: has no label {label!r:.40}; labels of its manifest's [labels]: {known}")
    column = np.asarray(log.label[label], dtype=np.float64)
    first, last = np.empty(len(intervals), dtype=np.int64), np.empty(len(intervals), dtype=np.int64)
    for k, ((low, high), (t0, t1)) in enumerate(zip(intervals.ranges, intervals.times, strict=True)):
        first[k], last[k] = low + np.searchsorted(log.time[low:high], (t0, t1))
        last[k] = min(last[k] + 1, high)
    constant = np.array([np.ptp(column[i:j]) == 0.0 for i, j in zip(first, last, strict=True)])  # not where NaN
    values = column[first]
    found = np.unique(values[constant])
    if not len(found):
        raise CalibrationError(f"{log.name}: label {label!r:.40} is constant over no interval; use another label")
    return [(f"{log.name} {label}={v:g}", intervals.only(np.flatnonzero(constant & (values == v)))) for v in found]


def _expected(motion: MotionModel, parameters: Sequence[Parameter], own_lag: bool) -> FloatArray:
    """Covariance between logs as expected: of grounds, and of the lag."""
    spread = default_spread(parameters)
    for k, p in enumerate(parameters):
        if p.name == LAG and own_lag:
            spread[k, k] = (motion.sensor.lag_spread or LAG_SPREAD) ** 2
    return spread


class _Together:
    """Gauss–Newton on several grounds; points (J, n) are the parameters of each, the vehicle's the same in all."""

    def __init__(
        self, problems: Sequence[LogProblem], parameters: list[Parameter], spread: FloatArray, loss: str
    ) -> None:
        self.problems, self.parameters, self.spread, self.loss = problems, parameters, spread, loss
        self.names = [p.name for p in parameters]
        self.centre = np.array([p.value for p in parameters])
        self.limits = np.array([[p.lower, p.upper] for p in parameters]).T
        # The prior of all together is that of one log: each takes its share.
        self.prior = np.diag([1.0 / p.sigma**2 for p in parameters]) / len(problems)
        self.sigma = np.array([p.sigma for p in parameters])
        self.information = np.zeros_like(self.prior)
        self.estimates: tuple[FloatArray, FloatArray] = np.zeros((0, 0)), np.zeros((0, 0, 0))
        """Of each ground alone, at the last step: means (J, n) and covariances (J, n, n)."""

    def named(self, values: FloatArray) -> dict[str, float]:
        """Parameters by name."""
        return dict(zip(self.names, values.tolist(), strict=True))

    def own(self, values: FloatArray) -> dict[str, float]:
        """Of all parameters by name, those that each ground has of its own."""
        differs = zip(self.named(values).items(), np.diag(self.spread), strict=True)
        return dict(pair for pair, variance in differs if variance > 0.0)

    def motions(self, motion: MotionModel, points: FloatArray) -> list[MotionModel]:
        """The motion model of each ground."""
        return [with_values(motion, self.named(p)) for p in points]

    def start(self, motion: MotionModel) -> FloatArray:
        """Each log fitted alone: a robust start."""
        wide = [replace(p, sigma=p.sigma * np.sqrt(len(self.problems))) for p in self.parameters]
        fits = [gauss_newton(problem, motion, wide, loss=self.loss, sigma_tolerance=0.1) for problem in self.problems]
        return np.array([one.values for one in fits])

    def solve(self, motion: MotionModel, points: FloatArray) -> tuple[Hierarchy, FloatArray, int, bool]:
        """Mean and spread, the points of all grounds, steps taken, and whether the last was small."""
        for k in range(STEPS):
            self.estimates = self._estimates(motion, points)
            hierarchy = fit_hierarchy(*self.estimates, self.spread)
            found = [hierarchy.ground(m, C) for m, C in zip(*self.estimates, strict=True)]
            self.sigma = np.sqrt(np.min([np.diag(C) for _, C in found], axis=0))
            last, points = points, np.clip(np.array([m for m, _ in found]), *self.limits)
            if np.all(np.abs(points - last) <= SETTLED * self.sigma):
                return hierarchy, points, k + 1, True
        return hierarchy, points, STEPS, False

    def _estimates(self, motion: MotionModel, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimate of each ground alone by a Gauss–Newton step, (J, n), and its covariance, (J, n, n)."""
        means, covariances, total = [], [], np.zeros_like(self.prior)
        vector = ParameterVector(motion, self.names)
        for problem, p in zip(self.problems, points, strict=True):
            at = Linearised.of(problem, vector, self.parameters, p, loss=self.loss, far=True)
            information, gradient = at.normal()
            total += information
            covariance = np.linalg.inv(information + self.prior)
            means.append(p + covariance @ (gradient + self.prior @ (self.centre - p)))
            covariances.append(covariance)
        self.information = total
        return np.array(means), np.array(covariances)

    def left_out(self, motion: MotionModel) -> tuple[Errors, ...]:
        """Errors on each ground by the mean of the others, with its covariance and the spread between grounds."""
        out, vector = [], ParameterVector(motion, self.names)
        for k, problem in enumerate(self.problems):
            means, covariances = (np.delete(a, k, axis=0) for a in self.estimates)
            mean, P = fit_hierarchy(means, covariances, self.spread).new_ground()
            mean = np.clip(mean, *self.limits)
            at = Linearised.of(problem, vector, self.parameters, mean)
            R = at.covariance + at.slope @ P @ at.slope.transpose(0, 2, 1)
            out.append(Errors(error=at.residual, covariance=R, times=problem.intervals.times))
        return tuple(out)

    def grounds(self, names: Sequence[str], motions: Sequence[MotionModel]) -> tuple[Ground, ...]:
        """Estimates of each ground, with the errors of its intervals by its motion model."""
        hierarchy, out = fit_hierarchy(*self.estimates, self.spread), []
        for name, problem, motion, m, C in zip(names, self.problems, motions, *self.estimates, strict=True):
            values, (_, P) = ParameterVector(motion, self.names).values, hierarchy.ground(m, C)
            ground = Ground(
                name=name,
                intervals=len(problem.intervals),
                values=self.own(values),
                sigma=self.own(np.sqrt(np.diag(P))),
                **rms_errors([problem], [motion]),
            )
            out.append(ground)
        return tuple(out)
