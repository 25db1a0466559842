"""Noise by maximum likelihood, T (3.46) with its sign mended: the noise under which the residuals are most probable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from grouser.calibration.loss import loss_of, squared_distance, weight_of
from grouser.checks import FloatArray
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.predict import LogProblem

WEAK = np.log(10.0)
"""Sigma of the logarithm of a density or variance by its prior."""
STEPS = 100
"""Most steps of a search."""
SMALL = 1e-6
"""A step that raises the logarithm of the likelihood by less is the last."""
SMALLEST, LARGEST = 1e-5, 10.0
"""Bounds of a sensor's noise [m, rad, s]."""


class Horizon(NamedTuple):
    """A log cut into intervals of one length, or the intervals on one ground."""

    problem: LogProblem
    uncertain: FloatArray | None = None
    """Covariance of the residuals by that of the parameters, (I, m, m), which fitting them took from the residuals."""
    motion: MotionModel | None = None
    """Motion model of its own ground, except for the noise; None: the common one."""


def log_likelihood(residuals: FloatArray, covariance: FloatArray) -> float:
    """Σ log N(rₖ; 0, Rₖ), T (3.47)."""
    twice = squared_distance(residuals, covariance) + np.linalg.slogdet(covariance)[1]
    return float(-0.5 * (twice.sum() + residuals.size * np.log(2.0 * np.pi)))


class MostLikely(NamedTuple):
    """The most likely noise."""

    motion: MotionModel
    """The motion model with it."""
    covariance: FloatArray
    """Of its parameters, in the order of their names, (ns, ns)."""
    value: float
    """Logarithm of the likelihood and the prior there, per interval."""


def maximise(
    problem: LogProblem | Sequence[Horizon],
    motion: MotionModel,
    *,
    names: Sequence[str] = (),
    loss: str = "mixture",
) -> MostLikely:
    """The motion model with the most likely noise.

    `names` chooses parameters of the process noise and of the sensor's; none: all of the process noise. Of several
    horizons the likelihoods add up, a composite likelihood: each horizon counts the same, all together as much as the
    intervals of the first. Grounds, with motion models of their own, are independent and count in full. Outliers count
    as little as the `loss` says. A weak prior keeps densities that the log does not determine near `Noise.EXPECTED`.
    """
    horizons = [Horizon(problem)] if isinstance(problem, LogProblem) else list(problem)
    chosen = list(names) or list(motion.noise.names)
    form = _Form(motion, chosen)
    parts = [_Part(h, form, loss) for h in horizons]
    count = len(parts[0].r)
    shares = [1.0 if h.motion else count / (len(parts) * len(part.r)) for h, part in zip(horizons, parts, strict=True)]

    def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Negative logarithm of likelihood and prior, its gradient, and the information."""
        v, slopes = form.elements(x)
        total, by_v, information = form.prior(v)
        for part, share in zip(parts, shares, strict=True):
            cost, gradient, known = part.cost(v)
            total += share * cost
            by_v += share * gradient
            information += share * known
        return total, slopes @ by_v, slopes @ information @ slopes.T

    x, value = scored(objective, form.start, np.array(form.bounds))
    best = form.motion_at(x)
    # Inverse Fisher information: F_kl = ½ Σ tr(R⁻¹ ∂R/∂s_k R⁻¹ ∂R/∂s_l).
    information = np.zeros((len(chosen), len(chosen)))
    for part, share in zip(parts, shares, strict=True):
        R = part.problem.covariance(best, part.predicted)
        A = np.linalg.solve(R[:, None], part.problem.covariance_slopes(best, part.predicted, chosen))
        information += 0.5 * share * np.einsum("ikab,ilba->kl", A, A)
    covariance: FloatArray = np.linalg.pinv(information, hermitian=True).astype(np.float64)
    return MostLikely(best, covariance, -value / count)


def scored(
    objective: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]], x: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, float]:
    """Minimum of an objective within bounds (n, 2) by Fisher scoring with damped steps, and its value there.

    The objective gives value, gradient and information. A step is at most 2 in any coordinate, a logarithm.
    """
    x = np.clip(x, bounds[:, 0], bounds[:, 1])
    value, gradient, information = objective(x)
    damping = 1e-3
    for _ in range(STEPS):
        size = np.diag(information)
        step = -np.linalg.solve(information + np.diag(damping * size + 1e-9), gradient)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        candidate = np.clip(x + step, bounds[:, 0], bounds[:, 1])
        tried = objective(candidate)
        if tried[0] <= value:
            gain, damping = value - tried[0], max(0.2 * damping, 1e-6)
            x, (value, gradient, information) = candidate, tried
            if gain < SMALL:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 8.0
    return x, value


class _Part:
    """The residuals of one horizon and their covariance R = R₀ + Σ vⱼ Bⱼ, linear in the elements v of the noise."""

    def __init__(self, horizon: Horizon, form: _Form, loss: str) -> None:
        self.problem, self.loss = horizon.problem, loss
        own = form.motion if horizon.motion is None else horizon.motion.replace(noise=form.motion.noise)
        self.predicted = self.problem.errors(own)
        self.r = self.problem.residuals(self.predicted.poses)
        n, m = self.r.shape
        self.fixed = self.problem.covariance(form.without, self.predicted)
        self.B = self.problem.covariance_slopes(form.unit, self.predicted, form.names).reshape(
            n, len(form.names), m * m
        )
        self.uncertain = horizon.uncertain

    def cost(self, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """½ Σ (ρ(rᵀ R⁻¹ r) + log det R), its slopes by v: ½ Σ (tr(R⁻¹ B) − w rᵀ R⁻¹ B R⁻¹ r), and their information."""
        n, m = self.r.shape
        R = self.fixed + np.einsum("j,ija->ia", v, self.B).reshape(n, m, m)
        inverse = np.linalg.inv(R)
        white = np.einsum("iab,ib->ia", inverse, self.r)
        d2 = np.einsum("ia,ia->i", white, self.r)
        weight = weight_of(d2, self.loss, m)
        outer = white[:, :, None] * white[:, None, :] * weight[:, None, None]
        cost = np.sum(loss_of(d2, self.loss, m)) + np.sum(np.linalg.slogdet(R)[1])
        if self.uncertain is not None:
            cost += np.einsum("iab,iba->", inverse, self.uncertain)
            outer += inverse @ self.uncertain @ inverse
        slopes = 0.5 * np.einsum("ija,ia->j", self.B, (inverse - outer).reshape(n, m * m))
        A = inverse[:, None] @ self.B.reshape(n, len(v), m, m)
        mirrored = A.transpose(0, 1, 3, 2).reshape(n, len(v), m * m)
        information = 0.5 * np.tensordot(
            A.reshape(n, len(v), m * m) * weight[:, None, None], mirrored, ((0, 2), (0, 2))
        )
        return 0.5 * float(cost), slopes, information


class _Form:
    """Free coordinates x of the chosen noise that keep it positive, and the elements v of which R is linear.

    Coordinates are logarithms of the diagonal of Q′ or its Cholesky factor, of variances and of the sensor's sigmas.
    Elements are the upper triangle of Q′, variances that wander, and squares of the sensor's sigmas.
    """

    def __init__(self, motion: MotionModel, chosen: list[str]) -> None:
        noise = motion.noise
        self.motion = motion
        whole = replace(noise, form="full" if noise.form == "cholesky" else noise.form)
        white = whole.names[: len(whole.pairs)]
        self.diagonal = noise.form == "diagonal"
        any_white = any(name in white for name in chosen)
        # Of a full Q′ all elements are free, whichever were chosen: they are correlated.
        self.white = [k for k, name in enumerate(white) if name in chosen or (any_white and not self.diagonal)]
        self.wander = [k for k, c in enumerate(noise.components) if f"noise.wander_{c}" in chosen]
        self.sensor = [name.partition(".")[2] for name in chosen if name.startswith("sensor.")]
        self.pairs = [whole.pairs[k] for k in self.white]
        names = [white[k] for k in self.white] + [f"noise.wander_{noise.components[k]}" for k in self.wander]
        self.names = names + [f"sensor.{field}" for field in self.sensor]
        density, variances = noise.density.copy(), noise.wander
        for i, j in self.pairs:
            density[i, j] = density[j, i] = 0.0
        if variances is not None:
            variances = np.where(np.isin(np.arange(len(variances)), self.wander), 0.0, variances)
        silent = dict.fromkeys(self.sensor, 0.0)
        self.without = motion.replace(
            noise=replace(whole, density=density, wander=variances), sensor=replace(motion.sensor, **silent)
        )
        # ∂R/∂σ = 2 σ ∂R/∂σ²: at a half it is the slope by the square.
        self.unit = motion.replace(noise=whole, sensor=replace(motion.sensor, **dict.fromkeys(self.sensor, 0.5)))
        self.expected = noise.expected
        self._set_start(noise)

    def _set_start(self, noise: Noise) -> None:
        n = len(noise.components)
        self.units = np.sqrt(np.maximum(np.diag(noise.density), 1e-6))
        start = np.zeros(0)
        if self.diagonal and self.white:
            start = np.log(np.maximum(np.diag(noise.density)[self.white] / self.units[self.white] ** 2, 1e-5))
        elif self.white:
            C = np.linalg.cholesky(noise.density / np.outer(self.units, self.units) + 1e-9 * np.eye(n))
            i, j = np.array(self.pairs).T[::-1]  # the lower triangle
            start = np.where(i == j, np.log(np.maximum(np.abs(C[i, j]), 1e-4)), C[i, j])
        wander = np.zeros(n) if noise.wander is None else noise.wander
        start_wander = np.log(np.maximum(wander[self.wander], 1e-7))
        sigmas = [np.log(max(getattr(self.motion.sensor, field), 1e-3)) for field in self.sensor]
        self.start = np.concatenate([start, start_wander, sigmas])
        self.bounds = [(-14.0, 14.0)] * len(start)
        self.bounds += [(np.log(Noise.LOWEST), np.log(Noise.HIGHEST))] * len(self.wander)
        self.bounds += [(np.log(SMALLEST), np.log(LARGEST))] * len(self.sensor)

    def density(self, x: FloatArray) -> FloatArray:
        """Q′ at coordinates x."""
        density = self.motion.noise.density.copy()
        if self.diagonal:
            density[self.white, self.white] = np.exp(x[: len(self.white)]) * self.units[self.white] ** 2
        elif self.white:
            C = np.zeros_like(density)
            for (j, i), value in zip(self.pairs, x, strict=False):  # then x holds other noise
                C[i, j] = self.units[i] * (np.exp(value) if i == j else value)
            density = C @ C.T
        return density

    def motion_at(self, x: FloatArray) -> MotionModel:
        """The motion model with the noise of coordinates x."""
        noise, sizes = self.motion.noise, np.exp(x[len(self.white) :])
        if self.wander:
            wander = noise.wander.copy() if noise.wander is not None else np.zeros(len(noise.components))
            wander[self.wander] = sizes[: len(self.wander)]
            noise = replace(noise, wander=wander)
        sigmas = dict(zip(self.sensor, sizes[len(self.wander) :].tolist(), strict=True))
        return self.motion.replace(
            noise=replace(noise, density=self.density(x)), sensor=replace(self.motion.sensor, **sigmas)
        )

    def elements(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Elements v (k,) at coordinates x (k,), and their slopes ∂v/∂x (k of x, k of v)."""
        white, (density, sizes) = len(self.white), (self.density(x), np.exp(x[len(self.white) :]))
        powers = np.array([1.0] * len(self.wander) + [2.0] * len(self.sensor))
        v = np.concatenate([[density[i, j] for i, j in self.pairs], sizes**powers])
        slopes = np.diag(np.concatenate([v[:white], powers * v[white:]]))
        if not self.diagonal and self.white:
            i, j = np.array(self.pairs).T
            by_factor = replace(self.motion.noise, form="cholesky", density=density).slopes()[:, i, j]
            slopes[:white, :white] = (self.units[j] * np.where(i == j, np.exp(x[:white]), 1.0))[:, None] * by_factor
        return v, slopes

    def prior(self, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """½ Σ (log v − log expected)²/σ² of densities and variances, its slopes by v, and the information."""
        cost, slopes, information = 0.0, np.zeros(len(v)), np.zeros(len(v))
        for k, name in enumerate(self.names):
            if name in self.expected:
                off = np.log(v[k] / self.expected[name]) / WEAK
                cost += 0.5 * off**2
                slopes[k] = off / (WEAK * v[k])
                information[k] = 1.0 / (WEAK * v[k]) ** 2
        return cost, slopes, np.diag(information)
