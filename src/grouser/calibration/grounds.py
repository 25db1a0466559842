"""Several grounds as one problem: the intervals of logs, each with the motion model of its own ground."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.predict import LogProblem, Predicted


def of_labels(
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


class Grounds(LogProblem):
    """Problems of several grounds as one, for what is common to all of them: their noise."""

    def __init__(self, problems: Sequence[LogProblem], motions: Sequence[MotionModel]) -> None:
        """Each problem is predicted by its own motion model."""
        self.problems, self.motions = problems, motions
        self._bounds = list(pairwise(np.cumsum([0, *(len(problem.intervals) for problem in problems)]).tolist()))

    def errors(self, motion: MotionModel, chosen: slice = slice(None), slopes: FloatArray | None = None) -> Predicted:
        """Of all intervals; each ground by its own model, with the noise of this one."""
        found = [
            problem.errors(own.replace(noise=motion.noise))
            for problem, own in zip(self.problems, self.motions, strict=True)
        ]
        return Predicted(*(np.concatenate(columns) for columns in zip(*found, strict=True)))

    def residuals(self, poses: FloatArray, chosen: slice = slice(None)) -> FloatArray:
        """Measured less predicted of all intervals, (I, m)."""
        return np.concatenate([p.residuals(poses[a:b]) for p, (a, b) in zip(self.problems, self._bounds, strict=True)])

    def covariance(self, motion: MotionModel, predicted: Predicted, *, other_log: bool = False) -> FloatArray:
        """R_μ of all intervals, (I, m, m), by the noise of one motion model."""
        return self._each(predicted, lambda problem, part: problem.covariance(motion, part, other_log=other_log))

    def process_covariance(self, densities: FloatArray, predicted: Predicted) -> FloatArray:
        """Covariances that process noise of some densities (k, nd, nd) gives, (I, k, m, m)."""
        return self._each(predicted, lambda problem, part: problem.process_covariance(densities, part))

    def covariance_slopes(self, motion: MotionModel, predicted: Predicted, names: Sequence[str]) -> FloatArray:
        """∂R_μ/∂s for noise parameters by name, (I, ns, m, m)."""
        return self._each(predicted, lambda problem, part: problem.covariance_slopes(motion, part, names))

    def _each(self, predicted: Predicted, of: Callable[[LogProblem, Predicted], FloatArray]) -> FloatArray:
        parts = (Predicted(*(column[a:b] for column in predicted)) for a, b in self._bounds)
        return np.concatenate([of(problem, part) for problem, part in zip(self.problems, parts, strict=True)])
