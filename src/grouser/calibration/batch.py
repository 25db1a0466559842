"""Batch estimation: Gauss–Newton on all intervals at once, robust to outliers, T (3.44), L (5.20), (5.21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from grouser.calibration.linear import Linearised
from grouser.calibration.loss import LOSSES, loss_of, squared_distance
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector
from grouser.motion.predict import ERRORS, LogProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchResult:
    """Where Gauss–Newton ended."""

    values: FloatArray
    """Parameters, (np,)."""
    covariance: FloatArray
    """Covariance of the parameters, prior included, (np, np)."""
    information: FloatArray
    """Information of the log alone, without the prior, (np, np): the inverse of its covariance, where it has one."""
    weights: FloatArray
    """Robust weight of each interval, 1 or less, (I,)."""
    slopes: FloatArray
    """∂residual/∂parameters of each interval, (I, m, np)."""
    iterations: int
    """Steps taken."""
    converged: bool
    """Whether the last step was small."""
    history: FloatArray
    """Parameters after each step, (iterations + 1, np)."""


def gauss_newton(
    problem: LogProblem,
    motion: MotionModel,
    parameters: Sequence[Parameter],
    *,
    loss: str = "mixture",
    prior: bool | FloatArray = True,
    rate: float = 1.0,
    iterations: int = 30,
    tolerance: float = 1e-6,
    sigma_tolerance: float = 0.0,
    weights: FloatArray | None = None,
    covariance: FloatArray | None = None,
    centre: FloatArray | None = None,
) -> BatchResult:
    """Minimise Σ wₖ ρ(rₖᵀ Rₖ⁻¹ rₖ), T (3.44), by Levenberg–Marquardt; `rate` < 1 shortens steps, L (5.21).

    R_μ is that of the model's present noise, or `covariance` (I, m, m). Weights are of whole intervals, L (5.20). The
    loss "mixture" gives outliers no weight at all; far from the optimum, where most residuals are, R_μ is enlarged.
    It has converged once a step changes no parameter by `tolerance` of its scale, or by `sigma_tolerance` of its sigma.
    Each parameter's prior counts as one measurement of it, at its value or at `centre` (np,); `prior` may be the
    covariance (np, np) of all.
    """
    if loss not in LOSSES:
        raise CalibrationError(f"loss {loss!r:.40} is not one of {', '.join(LOSSES)}")
    given = np.ones(len(problem.intervals)) if weights is None else np.asarray(weights, dtype=np.float64)
    vector, parameters = ParameterVector(motion, [q.name for q in parameters]), list(parameters)
    p = np.array([q.value for q in parameters])
    p0 = p.copy() if centre is None else centre
    if isinstance(prior, bool):
        inverse_prior = np.diag([prior / q.sigma**2 for q in parameters]).reshape(2 * (len(p0),))
    else:
        inverse_prior = np.linalg.inv(prior)
    lower, upper, scale = np.array([[q.lower, q.upper, q.scale] for q in parameters]).T

    def cost_of(p: FloatArray, r: FloatArray, R: FloatArray) -> float:
        losses = loss_of(squared_distance(r, R), loss, problem.size)
        return float(np.sum(given * losses)) + float((p - p0) @ inverse_prior @ (p - p0))

    def linearised(p: FloatArray) -> tuple[Linearised, float, FloatArray, FloatArray]:
        """Linearised intervals, cost, information of the log, and gradient with the prior at p."""
        found = Linearised.of(problem, vector, parameters, p, loss=loss, far=True, covariance=covariance)
        found = replace(found, weight=given * found.weight, covariance=found.covariance * found.enlarged)
        information, gradient = found.normal()
        cost = cost_of(p, found.residual, found.covariance)
        return found, cost, information, gradient - inverse_prior @ (p - p0)

    history = [p]
    damping, converged = 1e-6, False
    at, cost, information, gradient = linearised(p)
    while len(history) <= iterations:
        normal = information + inverse_prior
        for _ in range(12):
            step = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal) + 1e-12), gradient, rcond=None)[0]
            candidate = np.clip(p + rate * step, lower, upper)
            poses = problem.poses_at(vector, candidate[None])[0]
            new_cost = np.inf
            if np.isfinite(poses).all():
                new_cost = cost_of(candidate, problem.residuals(poses), at.covariance)
            if new_cost <= cost * (1.0 + 1e-12) + 1e-15:
                break
            damping = max(10.0 * damping, 1e-4)
        else:
            converged = True
            break
        change = np.abs(candidate - p)
        sigma = np.sqrt(np.diag(np.linalg.pinv(normal, hermitian=True)))
        p = candidate
        history.append(p)
        at, cost, information, gradient = linearised(p)
        damping = max(0.1 * damping, 1e-12)
        if np.max(change / scale) < tolerance * rate or np.all(change <= sigma_tolerance * sigma):
            converged = True
            break
    return BatchResult(
        values=p,
        covariance=np.linalg.pinv(information + inverse_prior, hermitian=True).astype(np.float64),
        information=information,
        weights=at.weight,
        slopes=at.slope,
        iterations=len(history) - 1,
        converged=converged,
        history=np.array(history),
    )


def correlated_covariance(problem: LogProblem, motion: MotionModel, found: BatchResult) -> FloatArray:
    """Covariance (np, np) of parameters where slip that wanders correlates the errors of successive intervals.

    For scores Gᵀ e with G = w R⁻¹ H it is A⁻¹ (A + Σ Gₖᵀ Cₖₗ Gₗ) A⁻¹, with A⁻¹ the covariance of independent intervals
    and Cₖₗ the covariance of the errors of two intervals by noise that wanders. Poses that two intervals share would
    lower it; that is left out.
    """
    noise, covariance = motion.noise, found.covariance
    if noise.wander is None or not motion.velocity_driven or not len(problem.intervals):
        return covariance
    predicted = problem.errors(motion)
    G = found.weights[:, None, None] * np.linalg.solve(problem.covariance(motion, predicted), found.slopes)
    # Covariance of each score with the noise at the start and the end of its interval, (I, nd, 2, np).
    four = np.zeros((len(G), 4, G.shape[2]))
    for row, component in enumerate(problem.rows):
        if component in ERRORS:
            four[:, ERRORS.index(int(component))] = G[:, row]
    reach = np.einsum("iaec,icp->iaep", predicted.reach, four)
    path = _path(problem, motion) / noise.length
    extra = np.zeros_like(covariance)
    before = np.zeros((len(noise.components), len(covariance)))
    for k in range(len(G)):
        if k == 0 or problem.intervals.segment[k] != problem.intervals.segment[k - 1]:
            before[:] = 0.0
        else:
            before *= np.exp(-max(path[k, 0] - path[k - 1, 1], 0.0))
        both = np.einsum("a,ap,aq->pq", noise.wander, before, reach[k, :, 0])
        extra += both + both.T
        before = before * np.exp(path[k, 0] - path[k, 1]) + reach[k, :, 1]
    return np.asarray(covariance + covariance @ extra @ covariance)


def _path(problem: LogProblem, motion: MotionModel) -> FloatArray:
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
