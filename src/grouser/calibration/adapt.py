"""A fit updated along another log: each interval is predicted and judged, then the online filter learns from it.

Values and covariance of the fit are the prior. The filter starts on the ground of the fit, on another, or on one of a
memory, whichever explains the first intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from grouser.calibration.change import Change
from grouser.calibration.loss import GATE
from grouser.calibration.memory import Memory
from grouser.calibration.online import ALARM, OnlineFilter, Update
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter
from grouser.motion.predict import LogProblem
from grouser.motion.schedule import Schedule

NOISE_KNOWN = 0.3
"""Sigma of the difference of the logarithm of a fitted noise in another drive."""


def start_of(fit: Fit, *, lag_spread: float = 0.0) -> tuple[MotionModel, list[Parameter], FloatArray]:
    """The fitted model, its parameters with their values as priors, and the covariance of the systematic ones.

    The lag of a robot's pose sensor differs from day to day, by `lag_spread` [s]. Sigmas of the systematic parameters
    stay those before any driving, of which the spread between grounds is a share: what is known now is the covariance.
    """
    if not len(fit.covariance):
        raise CalibrationError("the fit has no systematic parameter; fit slip first, such as --parameters slip,noise")
    sigma, covariance = fit.sigma, fit.covariance.copy()
    parameters = []
    for k, (p, value) in enumerate(zip(fit.parameters, fit.vector.tolist(), strict=True)):
        # Slip keeps its sigma before any driving, of which the spread between grounds is a share (`default_spread`).
        spread = p.sigma
        if k >= len(covariance):
            spread = float(np.hypot(sigma[p.name], NOISE_KNOWN * abs(value))) or p.sigma
        elif p.name == "sensor.lag":
            covariance[k, k] += lag_spread**2
        # A fit may end at a bound, or a little beyond by rounding.
        parameters.append(replace(p, value=value, sigma=spread, lower=min(p.lower, value), upper=max(p.upper, value)))
    return fit.model, parameters, covariance


@dataclass(frozen=True, eq=False, kw_only=True)
class Adapted:
    """Predictions of the intervals of a log, each before it was learned from."""

    updates: list[Update]
    """One per interval."""
    filter: OnlineFilter
    """As the last interval left it."""

    @property
    def error(self) -> FloatArray:
        """Measured less predicted x, y [m], yaw [rad], (I, 3)."""
        return np.array([update.residual for update in self.updates])

    @property
    def covariance(self) -> FloatArray:
        """As predicted [m², rad², m rad], (I, 3, 3)."""
        return np.array([update.innovation for update in self.updates])

    @property
    def changes(self) -> list[Change]:
        """Changes of ground that were noticed."""
        return self.filter.changes


def adapt(
    fit: Fit,
    log: Log,
    intervals: Intervals,
    *,
    memory: Memory | None = None,
    gate: float = GATE,
    alarm: float = ALARM,
    progress: Callable[[int, int], None] | None = None,
    learned: Callable[[OnlineFilter, int], None] | None = None,
) -> Adapted:
    """Drive along a log, starting from a fit: predict an interval, judge it, learn from it, continue with the next.

    `gate` is a squared Mahalanobis distance, `alarm` a number of intervals, both as for `OnlineFilter`. learned: is
    called with the filter and the number of the interval after each.
    """
    motion, parameters, covariance = start_of(fit, lag_spread=max(log.sensor.lag_spread, fit.model.sensor.lag_spread))
    learner = OnlineFilter(motion, parameters, covariance=covariance, gate=gate, alarm=alarm, memory=memory)
    problem = LogProblem(log, motion, intervals, encoders=False)
    return Adapted(updates=update_along(learner, problem, progress=progress, learned=learned), filter=learner)


def update_along(
    learner: OnlineFilter,
    problem: LogProblem,
    *,
    progress: Callable[[int, int], None] | None = None,
    learned: Callable[[OnlineFilter, int], None] | None = None,
) -> list[Update]:
    """Update a filter with all intervals of a problem, one after another."""
    updates = []
    for k in range(len(problem.intervals)):
        updates.append(learner.update(problem, k))
        if learned is not None:
            learned(learner, k)
        if progress is not None:
            progress(k + 1, len(problem.intervals))
    return updates


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """Models and changes of ground along a log."""

    schedule: Schedule
    """Models by sample."""
    changes: tuple[Change, ...] = ()
    """Changes of ground that were noticed."""
    ground: str = ""
    """The ground at the end, as the memory calls it."""
    intervals: int = 0
    """Intervals that were learned from."""


def learned_along(
    fit: Fit,
    log: Log,
    *,
    interval: float = 2.0,
    memory: Memory | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Learned:
    """Slip for the odometry of a log: learned along it, starting from a fit, from each interval [s] once it is over.

    Poses correct neither position nor yaw of the odometry, and nothing that comes later is used. Grounds of a `memory`,
    which is left as it is, are recalled. From a log without an interval nothing is learned.
    """
    rows: dict[int, tuple[MotionModel, FloatArray, bool]] = {}
    ground: str | None = None
    adapted: Adapted | None = None
    intervals: Intervals | None = None
    with suppress(CalibrationError):  # no interval
        intervals = cut_log(log, fit.model, interval=interval)
    if intervals is not None:

        def learned(learner: OnlineFilter, k: int) -> None:
            """Keep the estimate from the sample on at which the interval is over; of two, the later one."""
            nonlocal ground
            sample = _sample_after(log, intervals, k, learner.calibrated.sensor.lag)
            new = ground not in (None, learner.ground) or (sample in rows and rows[sample][2])
            ground = learner.ground
            if sample < len(log):
                rows[sample] = learner.calibrated, uncertainty(learner), new

        own = None if memory is None else memory.copy()
        adapted = adapt(fit, log, intervals, memory=own, learned=learned, progress=progress)
    models, covariances, new = zip(*rows.values(), strict=True) if rows else ((), (), ())
    n = len(fit.systematic)
    schedule = Schedule(
        first=np.array(list(rows), dtype=np.int64),
        models=models,
        parameters=tuple(p.name for p in fit.systematic),
        covariance=np.array(covariances).reshape(-1, n, n),
        new_ground=np.array(new, dtype=bool),
    )
    if adapted is None:
        return Learned(schedule=schedule)
    changes, ground = tuple(adapted.changes), adapted.filter.ground
    return Learned(schedule=schedule, changes=changes, ground=ground, intervals=len(adapted.updates))


def uncertainty(learner: OnlineFilter) -> FloatArray:
    """Covariance (np, np) of the systematic parameters about their estimate.

    While several grounds may explain the last intervals, it is that of their mixture by their probabilities.
    """
    if learner.open is None:
        return learner.P.copy()
    weight = np.exp(learner.open.log_weight[0])
    off = learner.open.p[0] - learner.p
    inside = learner.open.P[0] + off[:, :, None] * off[:, None, :]
    return np.asarray(np.einsum("h,hij->ij", weight / weight.sum(), inside))


def _sample_after(log: Log, intervals: Intervals, k: int, lag: float) -> int:
    """First sample at which interval k is over: its last pose is known, and so are the samples of its prediction.

    A pose whose stamp is early, lag < 0, is compared with samples that come after it.
    """
    low, high = intervals.ranges[k].tolist()
    end = float(intervals.times[k, 1]) + max(-lag, 0.0)
    return int(low + np.searchsorted(log.time[low:high], end))
