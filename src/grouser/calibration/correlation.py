"""Covariance of parameters where the errors of intervals are correlated: slip that wanders goes on into the next."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.model import MotionModel
from grouser.motion.predict import ERRORS, LogProblem


def correlated_covariance(
    problem: LogProblem, motion: MotionModel, H: FloatArray, weights: FloatArray, covariance: FloatArray
) -> FloatArray:
    """Covariance (np, np) of parameters that were fitted as if intervals were independent.

    For scores Gᵀ e with G = w R⁻¹ H it is A⁻¹ (A + Σ Gₖᵀ Cₖₗ Gₗ) A⁻¹, with A⁻¹ the `covariance` of independent
    intervals and Cₖₗ the covariance of the errors of two intervals by noise that wanders. Poses that two intervals
    share would lower it; that is left out.
    """
    noise = motion.noise
    if noise.wander is None or not motion.velocity_driven or not len(problem.intervals):
        return covariance
    predicted = problem.errors(motion)
    G = weights[:, None, None] * np.linalg.solve(problem.covariance(motion, predicted), H)
    # Covariance of each score with the noise at the start and the end of its interval, (I, nd, 2, np).
    four = np.zeros((len(G), 4, G.shape[2]))
    for row, component in enumerate(problem.rows):
        if component in ERRORS:
            four[:, ERRORS.index(int(component))] = G[:, row]
    reach = np.einsum("iaec,icp->iaep", predicted.reach, four)
    way = _way(problem, motion) / noise.length
    extra = np.zeros_like(covariance)
    before = np.zeros((len(noise.components), len(covariance)))
    for k in range(len(G)):
        if k == 0 or problem.intervals.segment[k] != problem.intervals.segment[k - 1]:
            before[:] = 0.0
        else:
            before *= np.exp(-max(way[k, 0] - way[k - 1, 1], 0.0))
        both = np.einsum("a,ap,aq->pq", noise.wander, before, reach[k, :, 0])
        extra += both + both.T
        before = before * np.exp(way[k, 0] - way[k, 1]) + reach[k, :, 1]
    return np.asarray(covariance + covariance @ extra @ covariance)


def _way(problem: LogProblem, motion: MotionModel) -> FloatArray:
    """Distance driven, or time, since the start of its stretch at the start and the end of each interval, (I, 2)."""
    time, intensity = problem.inputs.time, problem.intensity(motion)
    cut = problem.intervals
    out = np.empty((len(cut), 2))
    for low, high in np.unique(cut.ranges, axis=0):
        here = (cut.ranges == (low, high)).all(axis=1)
        steps = 0.5 * (intensity[low + 1 : high] + intensity[low : high - 1]) * np.diff(time[low:high])
        path = np.concatenate([[0.0], np.cumsum(steps)])
        out[here] = np.interp(cut.times[here] - motion.sensor.lag, time[low:high], path)
    return out
