"""Batch estimation: Gauss–Newton on all intervals at once, robust to outliers, T (3.44), L (5.20), (5.21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.calibration.loss import LOSSES, loss_of, weight_of
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian


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
    n, m = len(problem.intervals), problem.size
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    vector = ParameterVector(motion, [q.name for q in parameters])
    p = np.array([q.value for q in parameters])
    p0 = p.copy() if centre is None else centre
    if isinstance(prior, bool):
        inverse_prior = np.diag([prior / q.sigma**2 for q in parameters]).reshape(2 * (len(p0),))
    else:
        inverse_prior = np.linalg.inv(prior)
    limits = np.array([[q.lower, q.upper] for q in parameters])
    scale = np.array([q.scale for q in parameters])

    def cost_of(p: FloatArray, r: FloatArray, L: FloatArray) -> float:
        white = _whiten(L, r)
        d2 = np.einsum("ij,ij->i", white, white)
        return float(np.sum(given * loss_of(d2, loss, m))) + float((p - p0) @ inverse_prior @ (p - p0))

    def linearised(p: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Cost, factors of R_μ, robust weights, whitened residuals and slopes at p."""
        poses, H = jacobian(problem, vector, parameters, p)
        r = problem.residuals(poses)
        R = covariance
        if R is None:
            now = vector.model(p)
            R = problem.covariance(now, problem.errors(now))
        L: FloatArray = np.linalg.cholesky(R).astype(np.float64)
        white = _whiten(L, r)
        if loss == "mixture":
            size = _enlarged(np.einsum("ij,ij->i", white, white), m)
            L, white = L * size, white / size
        robust = given * weight_of(np.einsum("ij,ij->i", white, white), loss, m)
        return cost_of(p, r, L), L, robust, white, _whiten(L, H)

    history = [p]
    damping, converged = 1e-6, False
    cost, L, robust, white, slope = linearised(p)
    information = np.einsum("i,ija,ijb->ab", robust, slope, slope)
    while len(history) <= iterations:
        gradient = np.einsum("i,ija,ij->a", robust, slope, white) - inverse_prior @ (p - p0)
        normal = information + inverse_prior
        for _ in range(12):
            step = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal) + 1e-12), gradient, rcond=None)[0]
            candidate = np.clip(p + rate * step, limits[:, 0], limits[:, 1])
            new_poses = problem.poses_at(vector, candidate[None])[0]
            whole = bool(np.isfinite(new_poses).all())
            new_cost = cost_of(candidate, problem.residuals(new_poses), L) if whole else np.inf
            if new_cost <= cost * (1.0 + 1e-12) + 1e-15:
                break
            damping = max(10.0 * damping, 1e-4)
        else:
            converged = True
            break
        change = float(np.max(np.abs(candidate - p) / scale))
        sigma = np.sqrt(np.diag(np.linalg.pinv(normal, hermitian=True)))
        settled = bool(np.all(np.abs(candidate - p) <= sigma_tolerance * sigma))
        p = candidate
        history.append(p)
        cost, L, robust, white, slope = linearised(p)
        information = np.einsum("i,ija,ijb->ab", robust, slope, slope)
        damping = max(0.1 * damping, 1e-12)
        if change < tolerance * rate or settled:
            converged = True
            break
    return BatchResult(
        values=p,
        covariance=np.linalg.pinv(information + inverse_prior, hermitian=True),
        information=information,
        weights=robust,
        slopes=L @ slope,
        iterations=len(history) - 1,
        converged=converged,
        history=np.array(history),
    )


def _whiten(L: FloatArray, r: FloatArray) -> FloatArray:
    """L⁻¹ r of each interval, for vectors (I, m) or matrices (I, m, k)."""
    white = np.linalg.solve(L, r[..., None])[..., 0] if r.ndim == 2 else np.linalg.solve(L, r)
    return white.astype(np.float64)


def _enlarged(d2: FloatArray, m: int) -> float:
    """By what the sigmas of residuals must be enlarged so that the median squared distance is that of χ²; 1 if twofold.

    The median does not see the outliers.
    """
    ratio = float(np.median(d2)) / (m * (1.0 - 2.0 / (9.0 * m)) ** 3)
    return float(np.sqrt(ratio)) if ratio > 4.0 else 1.0
