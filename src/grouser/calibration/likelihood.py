"""Noise by maximum likelihood, T (3.46) with its sign mended: the Q′ under which the residuals are most probable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.predict import LogProblem


def log_likelihood(residuals: FloatArray, covariance: FloatArray) -> float:
    """Σ log N(rₖ; 0, Rₖ), T (3.47)."""
    L = np.linalg.cholesky(covariance)
    white = np.linalg.solve(L, residuals[..., None])[..., 0]
    logdet = 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum()
    return float(-0.5 * (np.sum(white**2) + logdet + residuals.size * np.log(2.0 * np.pi)))


def maximise(problem: LogProblem, motion: MotionModel, *, names: Sequence[str] = ()) -> tuple[MotionModel, FloatArray]:
    """The motion model with the most likely noise, and the covariance of its parameters (in the order of the names).

    `names` chooses parameters of the process noise and of the sensor's; none: all of the process noise.
    """
    from scipy.optimize import minimize

    noise = motion.noise
    chosen = list(names) or list(noise.names)
    process = [n for n in chosen if n in noise.names]
    sensor = [n.partition(".")[2] for n in chosen if n not in noise.names]
    form = _Form(noise, [noise.names.index(n) for n in process])
    predicted = problem.errors(motion)
    r = problem.residuals(predicted.poses)

    def unpack(x: FloatArray) -> MotionModel:
        changed = {field: float(np.exp(v)) for field, v in zip(sensor, x[form.free :], strict=True)}
        return motion.replace(
            noise=replace(noise, density=form.density(x[: form.free])), sensor=replace(motion.sensor, **changed)
        )

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        """Negative log-likelihood per interval, and its gradient: ½ tr(R⁻¹ ∂R) − ½ rᵀ R⁻¹ ∂R R⁻¹ r."""
        now = unpack(x)
        R = problem.covariance(now, predicted)
        slopes = problem.process_covariance(form.slopes(x[: form.free]), predicted)
        if sensor:
            of_sensor = problem.covariance_slopes(now, predicted, [f"sensor.{field}" for field in sensor])
            size = np.array([getattr(now.sensor, field) for field in sensor])  # the coordinate is a logarithm
            slopes = np.concatenate([slopes, of_sensor * size[:, None, None]], axis=1)
        white = np.linalg.solve(R, r[..., None])[..., 0]
        gradient = np.einsum("ixab,iba->x", slopes, np.linalg.inv(R)) - np.einsum("ia,ixab,ib->x", white, slopes, white)
        return -log_likelihood(r, R) / len(r), 0.5 * gradient / len(r)

    start = np.concatenate([form.start, [np.log(max(getattr(motion.sensor, field), 1e-3)) for field in sensor]])
    bounds = [(-14.0, 14.0)] * form.free + [(np.log(1e-5), np.log(10.0))] * len(sensor)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    best = unpack(found.x)
    # Inverse Fisher information: F_kl = ½ Σ tr(R⁻¹ ∂R/∂s_k R⁻¹ ∂R/∂s_l).
    R = problem.covariance(best, predicted)
    A = np.linalg.solve(R[:, None], problem.covariance_slopes(best, predicted, chosen))
    return best, np.linalg.pinv(0.5 * np.einsum("ikab,ilba->kl", A, A), hermitian=True)


class _Form:
    """Free coordinates of Q′ that keep it positive: logarithms of its diagonal, or of its Cholesky factor's."""

    def __init__(self, noise: Noise, chosen: list[int]) -> None:
        self.noise, self.chosen = noise, chosen
        n = len(noise.components)
        self.diagonal = noise.form == "diagonal"
        self.units = np.sqrt(np.maximum(np.diag(noise.density), 1e-6))
        self.i, self.j = np.tril_indices(n)
        if not chosen:
            self.start = np.zeros(0)
        elif self.diagonal:
            self.start = np.log(np.maximum(np.diag(noise.density)[chosen] / self.units[chosen] ** 2, 1e-5))
        else:  # all of it, whichever were chosen: they are correlated
            C = np.linalg.cholesky(noise.density / np.outer(self.units, self.units) + 1e-9 * np.eye(n))[self.i, self.j]
            self.start = np.where(self.i == self.j, np.log(np.maximum(np.abs(C), 1e-4)), C)
        self.free = len(self.start)

    def _factor(self, x: FloatArray) -> FloatArray:
        C = np.zeros_like(self.noise.density)
        C[self.i, self.j] = np.where(self.i == self.j, np.exp(x), x)
        return self.units[:, None] * C

    def density(self, x: FloatArray) -> FloatArray:
        """Q′ at coordinates x."""
        if not self.chosen:
            return self.noise.density
        if self.diagonal:
            density = self.noise.density.copy()
            density[self.chosen, self.chosen] = np.exp(x) * self.units[self.chosen] ** 2
            return density
        C = self._factor(x)
        return np.asarray(C @ C.T)

    def slopes(self, x: FloatArray) -> FloatArray:
        """∂Q′/∂x, shape (free, nd, nd)."""
        n = len(self.noise.components)
        out = np.zeros((self.free, n, n))
        if self.diagonal:
            for k, i in enumerate(self.chosen):
                out[k, i, i] = np.exp(x[k]) * self.units[i] ** 2
            return out
        C = self._factor(x)
        for k in range(self.free):
            i, j = int(self.i[k]), int(self.j[k])
            step = self.units[i] * (np.exp(x[k]) if i == j else 1.0)
            out[k, i] += step * C[:, j]
            out[k, :, i] += step * C[:, j]
        return out
