"""Evaluation of predictions of a log: errors, consistency of their covariance, and plain odometry for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grouser import checks
from grouser.calibration.batch import gauss_newton
from grouser.calibration.likelihood import log_likelihood
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.consistency import INSIDE_2, nees, nees_band
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.log_prediction import prediction_covariance
from grouser.motion.model import MotionModel
from grouser.motion.parameters import default
from grouser.motion.plain import plain_odometry
from grouser.motion.predict import LogProblem

if TYPE_CHECKING:
    from pandas import DataFrame

    from grouser.calibration.change import Change
    from grouser.calibration.memory import Memory
    from grouser.calibration.online import OnlineFilter


COLUMNS = ("error", "covariance", "times")
"""Fields of `Errors`."""
LEAST = 8
"""Fewest intervals of a log for its own sensor lag."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Errors:
    """Prediction errors over the intervals of a log."""

    error: FloatArray
    """Measured less predicted x, y [m], yaw [rad], in the heading frame of the start, (I, 3)."""
    covariance: FloatArray
    """As predicted [m², rad², m rad], (I, 3, 3)."""
    times: FloatArray
    """(I, 2) [s]."""

    @property
    def position(self) -> FloatArray:
        """Distance of the predicted from the measured end [m], (I,)."""
        return np.asarray(np.hypot(self.error[:, 0], self.error[:, 1]))

    @property
    def nees(self) -> FloatArray:
        """Normalised squared error of x, y and yaw over its 3 degrees of freedom, (I,): 1 on average if consistent."""
        return nees(self.error, self.covariance)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether each position lies in its predicted 95 % ellipse, (I,) bool; the share of them is `inside_95`."""
        return 2.0 * nees(self.error[:, :2], self.covariance[:, :2, :2]) <= INSIDE_2

    @property
    def log_likelihood(self) -> float:
        """Mean logarithm of the probability density of an error, T (3.47): the higher, the better the prediction."""
        return log_likelihood(self.error, self.covariance) / len(self.error)

    @staticmethod
    def joined(parts: Sequence[Errors]) -> Errors:
        """Several one after another."""
        return Errors(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS})

    def only(self, chosen: IntArray) -> Errors:
        """Those of some intervals."""
        return Errors(**{name: getattr(self, name)[chosen] for name in COLUMNS})

    def to_pandas(self) -> DataFrame:
        """One row an interval, indexed by the time it starts [s]; `attrs["units"]` names the unit of each column."""
        from grouser.dataframe import Column, data_frame

        sigma = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        columns = [Column("end", "s", self.times[:, 1])]
        for name, values in (("error", self.error), ("sigma", sigma)):
            axes = zip(("x", "y", "yaw"), ("m", "m", "rad"), values.T, strict=True)
            columns += [Column(f"{name}_{axis}", unit, column) for axis, unit, column in axes]
        columns += [Column("position_error", "m", self.position), Column("nees", "", self.nees)]
        return data_frame(Column("start", "s", self.times[:, 0]), [*columns, Column("inside_95", "", self.inside)])

    def summary(self, *, consistency: bool = True) -> dict[str, Any]:
        """Plain numbers, as JSON takes them; none of the intervals is left out."""
        position, yaw = self.position, np.degrees(np.abs(self.error[:, 2]))
        out: dict[str, Any] = {
            "n": len(position),
            "intervals": len(position),
            "position_rms": float(np.sqrt(np.mean(position**2))),
            "position_mean": float(np.mean(position)),
            "position_median": float(np.median(position)),
            "yaw_rms_deg": float(np.sqrt(np.mean(yaw**2))),
            "yaw_median_deg": float(np.median(yaw)),
        }
        if consistency:
            out |= {"nees": float(np.mean(self.nees)), "nees_band": list(nees_band(len(self.nees)))}
            out |= {"inside_95": float(np.mean(self.inside))}
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Horizon:
    """Errors of predictions of one duration."""

    interval: float
    """Duration of a prediction [s]."""
    errors: Errors
    """Their errors."""

    @property
    def expected_rms(self) -> float:
        """RMS position error by the predicted covariances [m]."""
        return float(np.sqrt(np.mean(np.trace(self.errors.covariance[:, :2, :2], axis1=1, axis2=2))))

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        found = self.errors.summary()
        shown = ("position_rms", "yaw_rms_deg", "inside_95", "nees", "intervals")
        return {"interval": self.interval, **{key: found[key] for key in shown}, "expected_rms": self.expected_rms}


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """Errors of a fit on a log."""

    errors: Errors
    """Errors of the calibrated model."""
    baseline: Errors
    """Errors of plain odometry with the vehicle as its file describes it."""
    relagged: Errors | None
    """Errors of the calibrated model with the pose lag found from the other half of this log; None if not requested."""
    lags: tuple[float, float] | None
    """Those lags [s], of the first and the second half."""
    horizons: tuple[Horizon, ...] = ()
    """Errors of the calibrated model after other durations, if requested."""
    trained_on_this: bool
    """Whether the fit was made from this log: then these are not held-out errors."""
    note: str = ""
    """Share of the log that the intervals use, in words; empty if it is nearly all."""
    fixed: Errors | None = None
    """Errors of the fit as it is, where `errors` are of one that adapts, each interval before it was learned from."""
    changes: tuple[Change, ...] = ()
    """Changes of ground noticed meanwhile."""
    ground: str = ""
    """The ground of the last interval, as the memory calls it."""

    @property
    def best(self) -> Errors:
        """Errors of predictions that adapt, or with the log's own lag, or else of the fit."""
        return self.errors if self.relagged is None or self.fixed is not None else self.relagged

    def summary(self) -> dict[str, Any]:
        """As one JSON object: the numbers of `best`, and the others below their names."""
        out = self.best.summary() | {"changes": [change.summary() for change in self.changes]}
        if self.fixed is not None:
            out |= {"fixed": self.fixed.summary(), "ground": self.ground}
        out["baseline"] = self.baseline.summary(consistency=False)
        if self.relagged is not None and self.lags is not None:
            out["own_lag"] = {**self.relagged.summary(), "lag": list(self.lags)}
            out["fit_lag"] = (self.fixed or self.errors).summary()
        if self.horizons:
            out["horizons"] = [horizon.summary() for horizon in self.horizons]
        out["trained_on_this_log"] = self.trained_on_this
        return out | ({"note": self.note} if self.note else {})


def evaluate(
    fit: Fit | MotionModel,
    log: Log,
    *,
    interval: float | None = 2.0,
    distance: float | None = None,
    horizons: Sequence[float] = (),
    own_lag: bool | None = False,
    same_drive: bool = False,
    adapt: bool = False,
    memory: Memory | None = None,
) -> Evaluation:
    """Predict every moving interval [s], or distance [m], of a log from its first pose and inputs; compare its end.

    Neither position nor yaw is used inside an interval. The lag of the pose sensor is that of the fit; `own_lag` adds
    the errors with the lag of each half of this log found from intervals of the other half: the lag of a robot's
    sensors differs from day to day; None: where the log's sensor has a `lag_spread`. `same_drive`: the log is another
    part of the one that was fitted, with its lag.
    `horizons`: further durations [s], each judged over the whole log. `adapt`: each interval is judged, then learned
    from, starting from the fit; grounds of a `memory`, which is left as it is, are recalled.
    """
    if not isinstance(fit, (Fit, MotionModel)):
        raise CalibrationError(f"fit: {fit!r:.60} is not a fit; use grouser.Fit.load(path) or what calibrate returned")
    checks.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    motion = fit.model if isinstance(fit, Fit) else fit
    cut = cut_log(log, motion, interval=interval, distance=distance)
    trained = isinstance(fit, Fit) and fit.made_from(log)
    other = not (trained or same_drive)
    cuts = {float(T): cut_log(log, motion, interval=T) for T in horizons}
    if adapt and not isinstance(fit, Fit):
        raise CalibrationError("a model without a fit has no covariance to adapt from; calibrate it first")
    if own_lag is None:
        own_lag = log.sensor.lag_spread > 0.0 and other and not adapt and len(cut) >= LEAST
    own = _own_lags(motion, log, cut) if own_lag else None
    learner: OnlineFilter | None = None

    def judged(cut: Intervals) -> Errors:
        """Errors of predictions; of a fit that adapts each is made before its interval was learned from."""
        nonlocal learner
        if not (adapt and isinstance(fit, Fit)):
            return errors_of(fit, log, cut, other_log=other)
        from grouser.calibration.adapt import adapt as adapt_along

        found = adapt_along(fit, log, cut, memory=None if memory is None else memory.copy())
        learner = learner or found.filter
        return Errors(error=found.error, covariance=found.covariance, times=cut.times)

    def relagged(cut: Intervals) -> Errors | None:
        return None if own is None else _with_lags(fit, log, cut, own, other)

    errors = judged(cut)
    further = {T: None if adapt else relagged(one) for T, one in cuts.items()}
    return Evaluation(
        errors=errors,
        baseline=errors_of(plain_odometry(motion, log), log, cut),
        relagged=relagged(cut),
        lags=None if own is None else own.lags,
        horizons=tuple(Horizon(interval=T, errors=further[T] or judged(one)) for T, one in cuts.items()),
        trained_on_this=trained,
        note=cut.note,
        fixed=errors_of(fit, log, cut, other_log=other) if adapt else None,
        changes=tuple(learner.changes) if learner else (),
        ground=learner.ground if learner else "",
    )


def errors_of(fit: Fit | MotionModel, log: Log, intervals: Intervals, *, other_log: bool = False) -> Errors:
    """Errors over given intervals; a fit's covariance adds the uncertainty of its parameters.

    Of another log than that of the fit, the sensor's lag and the ground are uncertain by their spread.
    """
    motion = fit.model if isinstance(fit, Fit) else fit
    problem = LogProblem(log, motion, intervals, encoders=False)
    predicted = problem.errors(motion)
    R = prediction_covariance(problem, fit, predicted, other_log=other_log)
    return Errors(error=problem.residuals(predicted.poses), covariance=R, times=intervals.times)


class OwnLags(NamedTuple):
    """Lags of the pose sensor of a log, found from one half of it for the other."""

    lags: tuple[float, float]
    """Of the first and of the second half [s]."""
    sigma: float
    """Their uncertainty, one sigma [s]."""
    segment: int
    """Stretch of the log in which the second half begins."""
    time: float
    """Time stamp at which it begins [s]."""

    def first(self, intervals: Intervals) -> NDArray[np.bool_]:
        """Which intervals begin in the first half, (I,); each stretch may have a clock of its own."""
        segment = intervals.segment
        return np.where(segment == self.segment, intervals.times[:, 0] < self.time, segment < self.segment)


def _own_lags(motion: MotionModel, log: Log, cut: Intervals) -> OwnLags:
    """The lag of each half of a log."""
    if len(cut) < LEAST:
        raise CalibrationError(
            f"{log.name}: has {len(cut)} intervals, too few to find the lag of its sensor from half of them"
        )
    half = len(cut) // 2
    found = [_lag(motion, log, cut.only(part)) for part in np.split(np.arange(len(cut)), [half])]
    (first, sigma), (second, other_sigma) = found
    return OwnLags((first, second), max(sigma, other_sigma), int(cut.segment[half]), float(cut.times[half, 0]))


def _with_lags(fit: Fit | MotionModel, log: Log, cut: Intervals, own: OwnLags, other: bool) -> Errors:
    """Errors where each half of the log has the lag found from the other half."""
    first = own.first(cut)
    halves = [(np.flatnonzero(first), own.lags[1]), (np.flatnonzero(~first), own.lags[0])]
    parts = [
        errors_of(_relagged(fit, lag, own.sigma), log, cut.only(rows), other_log=other)
        for rows, lag in halves
        if len(rows)
    ]
    return Errors.joined(parts).only(np.argsort(np.concatenate([rows for rows, _ in halves])))


def _relagged(fit: Fit | MotionModel, lag: float, sigma: float) -> Fit | MotionModel:
    """The same with another lag, known to a sigma [s], in place of one that differs from log to log."""
    motion = fit.model if isinstance(fit, Fit) else fit
    motion = motion.replace(sensor=replace(motion.sensor, lag=lag, lag_spread=sigma))
    if not isinstance(fit, Fit):
        return motion
    covariance, vector = fit.covariance.copy(), fit.vector.copy()
    for k, p in enumerate(fit.systematic):
        if p.name == "sensor.lag":
            covariance[k], covariance[:, k], vector[k] = 0.0, 0.0, lag
    return replace(fit, model=motion, covariance=covariance, vector=vector)


def _lag(motion: MotionModel, log: Log, intervals: Intervals) -> tuple[float, float]:
    """The sensor's lag [s] under which intervals of a log are predicted best, and its sigma."""
    problem = LogProblem(log, motion, intervals, encoders=False)
    found = gauss_newton(problem, motion, [default(motion, "sensor.lag")], prior=False, tolerance=1e-4)
    return float(found.values[0]), float(np.sqrt(found.covariance[0, 0]))
