"""The step of rollouts: how much predictions change if it is halved, in sigmas of their noise."""

from __future__ import annotations

import numpy as np

from grouser.motion.model import MotionModel
from grouser.motion.predict import LogProblem

SOME = 24
"""Intervals that are looked at."""


def step_error(problem: LogProblem, motion: MotionModel) -> float:
    """Rms change of a residual if the step is halved, in its sigmas; 0 for models that are not rolled out.

    The engine is of first order, so this is about half of what the step adds to the error.
    """
    if motion.velocity_driven:
        return 0.0
    n = len(problem.intervals)
    some = problem.recut(problem.intervals.only(np.unique(np.linspace(0, n - 1, min(n, SOME)).astype(np.int64))))
    coarse = some.errors(motion)
    fine = some.poses([motion.replace(dt=0.5 * motion.dt)])[0]
    if not (np.isfinite(fine).all() and np.isfinite(coarse.poses).all()):
        return 0.0  # residuals of such rollouts are refused elsewhere
    change = some.residuals(coarse.poses) - some.residuals(fine)
    white = np.linalg.solve(np.linalg.cholesky(some.covariance(motion, coarse)), change[..., None])
    return float(np.sqrt(np.mean(white**2)))


def most_allowed(problem: LogProblem) -> float:
    """The largest `step_error` that moves no parameter of a fit by much more than its sigma."""
    return float(np.clip(1.0 / np.sqrt(len(problem.intervals) * problem.size), 0.03, 0.3))
