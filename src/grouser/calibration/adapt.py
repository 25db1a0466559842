"""A fit carried on: values and covariance are the prior of the next drive, whose intervals are judged, then learned.

What was learned from one log serves on another: the online filter starts from the fit, on the ground of the fit, on
another, or on one of a memory, whichever explains the first intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from grouser.calibration.change import Change
from grouser.calibration.memory import Memory
from grouser.calibration.online import ALARM, GATE, OnlineFilter, Update
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter
from grouser.motion.predict import LogProblem

NOISE_KNOWN = 0.3
"""How much the logarithm of a fitted noise may differ in another drive, one sigma."""


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
    updates = []
    for k in range(len(intervals)):
        updates.append(learner.update(problem, k))
        if learned is not None:
            learned(learner, k)
        if progress is not None:
            progress(k + 1, len(intervals))
    return Adapted(updates=updates, filter=learner)
