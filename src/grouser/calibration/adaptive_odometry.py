"""Slip learned while a log is driven, for its odometry: what was known of the model at each of its samples.

Nothing that comes later is used. Poses teach slip; they correct neither position nor yaw of the odometry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grouser.calibration.adapt import adapt
from grouser.calibration.change import Change
from grouser.calibration.memory import Memory
from grouser.calibration.online import OnlineFilter
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.schedule import Schedule


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """What was learned along a log."""

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
    """Learn slip along a log, starting from a fit, from each interval [s] between poses once it is over.

    Grounds of a `memory`, which is left as it is, are recalled. A log without such an interval teaches nothing.
    """
    found = _Record(fit, log)
    intervals = _cut(log, fit.model, interval)
    if intervals is None:
        return Learned(schedule=found.schedule())

    def learned(learner: OnlineFilter, k: int) -> None:
        found.add(learner, _sample_after(log, intervals, k, learner.calibrated.sensor.lag))

    own = None if memory is None else memory.copy()
    adapted = adapt(fit, log, intervals, memory=own, learned=learned, progress=progress)
    return Learned(
        schedule=found.schedule(),
        changes=tuple(adapted.changes),
        ground=adapted.filter.ground,
        intervals=len(intervals),
    )


def uncertainty(learner: OnlineFilter) -> FloatArray:
    """Covariance (np, np) of the systematic parameters about their estimate, whichever ground it turns out to be.

    While several grounds may explain the last intervals, it is that of all of them by their probabilities.
    """
    if learner.open is None:
        return learner.P.copy()
    weight = np.exp(learner.open.log_weight[0])
    off = learner.open.p[0] - learner.p
    inside = learner.open.P[0] + off[:, :, None] * off[:, None, :]
    return np.asarray(np.einsum("h,hij->ij", weight / weight.sum(), inside))


class _Record:
    """Models and covariances by the sample from which they hold."""

    def __init__(self, fit: Fit, log: Log) -> None:
        self._names = tuple(p.name for p in fit.systematic)
        self._end = len(log)
        self._ground: str | None = None
        self._rows: dict[int, tuple[MotionModel, FloatArray, bool]] = {}

    def add(self, learner: OnlineFilter, sample: int) -> None:
        """What a filter knows from a sample on; of two from the same on, the later one holds."""
        new = self._ground not in (None, learner.ground)
        self._ground = learner.ground
        if sample in self._rows:
            new |= self._rows[sample][2]
        if sample < self._end:
            self._rows[sample] = learner.calibrated, uncertainty(learner), new

    def schedule(self) -> Schedule:
        """All of them."""
        n, rows = len(self._names), list(self._rows.values())
        return Schedule(
            first=np.array(list(self._rows), dtype=np.int64),
            models=tuple(row[0] for row in rows),
            parameters=self._names,
            covariance=np.array([row[1] for row in rows]).reshape(-1, n, n),
            new_ground=np.array([row[2] for row in rows], dtype=bool),
        )


def _cut(log: Log, motion: MotionModel, interval: float) -> Intervals | None:
    """Intervals of a log; None where it has none."""
    if len(log.poses) < 2:
        return None
    try:
        return cut_log(log, motion, interval=interval)
    except CalibrationError:
        return None


def _sample_after(log: Log, intervals: Intervals, k: int, lag: float) -> int:
    """First sample at which interval k is over: its last pose has come, and so have the samples it is predicted from.

    A pose whose stamp is early, lag < 0, is compared with samples that come after it.
    """
    low, high = intervals.ranges[k].tolist()
    end = float(intervals.times[k, 1]) + max(-lag, 0.0)
    return int(low + np.searchsorted(log.time[low:high], end))
