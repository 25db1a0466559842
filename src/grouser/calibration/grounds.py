"""Several grounds as one problem: the intervals of logs, each with the motion model of its own ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.candidates import Predicted
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.predict import LogProblem


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


class PredictedGrounds(NamedTuple):
    """Predictions of the intervals of several grounds."""

    poses: FloatArray
    """Of all intervals, (I, 6)."""
    parts: tuple[Predicted, ...]
    """Of each ground."""


class Grounds(LogProblem):
    """Problems of several grounds as one, for what is common to all of them: their noise."""

    def __init__(self, problems: Sequence[LogProblem], motions: Sequence[MotionModel]) -> None:
        """Each problem is predicted by its own motion model."""
        self.problems, self.motions = problems, motions

    def errors(  # type: ignore[override]
        self, motion: MotionModel, chosen: slice = slice(None), slopes: FloatArray | None = None
    ) -> PredictedGrounds:
        """Of all intervals; each ground by its own model, with the noise of this one."""
        both = zip(self.problems, self.motions, strict=True)
        parts = tuple(problem.errors(own.replace(noise=motion.noise)) for problem, own in both)
        return PredictedGrounds(np.concatenate([part.poses for part in parts]), parts)

    def residuals(self, poses: FloatArray, chosen: slice = slice(None)) -> FloatArray:
        """Measured less predicted of all intervals, (I, m)."""
        ends = np.cumsum([len(problem.intervals) for problem in self.problems])[:-1]
        each = zip(self.problems, np.split(poses, ends), strict=True)
        return np.concatenate([problem.residuals(own) for problem, own in each])

    def covariance(  # type: ignore[override]
        self, motion: MotionModel, predicted: PredictedGrounds, *, other_log: bool = False
    ) -> FloatArray:
        """R_μ of all intervals, (I, m, m), by the noise of one motion model."""
        each = zip(self.problems, predicted.parts, strict=True)
        return np.concatenate([problem.covariance(motion, part, other_log=other_log) for problem, part in each])

    def process_covariance(  # type: ignore[override]
        self, densities: FloatArray, predicted: PredictedGrounds
    ) -> FloatArray:
        """Covariances that process noise of some densities (k, nd, nd) gives, (I, k, m, m)."""
        each = zip(self.problems, predicted.parts, strict=True)
        return np.concatenate([problem.process_covariance(densities, part) for problem, part in each])

    def covariance_slopes(  # type: ignore[override]
        self, motion: MotionModel, predicted: PredictedGrounds, names: Sequence[str]
    ) -> FloatArray:
        """∂R_μ/∂s for noise parameters by name, (I, ns, m, m)."""
        each = zip(self.problems, predicted.parts, strict=True)
        return np.concatenate([problem.covariance_slopes(motion, part, names) for problem, part in each])
