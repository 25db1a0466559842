"""Mean of several grounds and covariance between them: a hierarchical fit to an estimate of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError

TYPICAL = 0.6
"""Median of the prior of the spread between grounds, as a share of the expected one: most kinds are alike."""
UNSURE = 1.0
"""Sigma of the logarithm of a spread in that prior: a factor of 2.7."""
WORTH = 3.0
"""Weight of the expected correlations of the parameters, in grounds."""
GRID = np.linspace(-6.0, 6.0, 145)
"""Where the spread of a parameter is tried, in sigmas of its logarithm."""
ITERATIONS = 300
ROUNDS = 5
SETTLED = 1e-6
"""T has settled once no entry changes by this share of the expected one."""
FLOOR = 1e-12
"""Variance that keeps matrices regular, in units of the parameters."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Hierarchy:
    """Distribution of the ground parameters over grounds."""

    mean: FloatArray
    """μ, mean over grounds, (n,), in the units of the parameters."""
    mean_covariance: FloatArray
    """Covariance of that mean, (n, n), products of their units."""
    between: FloatArray
    """T, covariance between grounds, (n, n), products of their units; each variance is its posterior mean."""
    count: int
    """Grounds it was fitted to."""

    @property
    def sigma(self) -> FloatArray:
        """Spread of the parameters between grounds, one sigma, (n,), in their units."""
        return np.asarray(np.sqrt(np.diag(self.between)))

    def new_ground(self) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and covariance (n, n) of the parameters of a new ground.

        The Gaussian with the moments of the Student distribution that the uncertainty of T gives.
        """
        return self.mean, self.between + self.mean_covariance

    def ground(self, mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and covariance (n, n) of one of its grounds, given its own estimate and those of the others."""
        K = np.linalg.solve(self.between + covariance, self.between).T
        of_mean = np.eye(len(mean)) - K
        posterior = self.between - K @ self.between + of_mean @ self.mean_covariance @ of_mean.T
        return self.mean + K @ (mean - self.mean), _symmetric(posterior)


def fit_hierarchy(
    means: FloatArray, covariances: FloatArray, spread: FloatArray, *, centre: FloatArray | None = None
) -> Hierarchy:
    """Fit the mean μ and the covariance T between grounds to estimates m_j ~ N(μ, T + C_j) of J grounds.

    means (J, n) and covariances (J, n, n) are of the grounds; spread (n, n) is T as expected before. Along parameters
    without expected spread all grounds are the same. centre (n,) is where a ground was expected; it counts as one more,
    known exactly. Without it one ground at least is needed.

    The variance of each parameter is its posterior mean under restricted likelihood and a log-normal prior of its
    spread: one ground gives 1.6 times the expected sigma, five their own within a fifth or so. Correlations are by
    expectation maximisation with an inverse-Wishart prior.
    """
    m, C, S = (np.asarray(a, dtype=np.float64) for a in (means, covariances, spread))
    n = len(S)
    if S.shape != (n, n) or m.ndim != 2 or m.shape[1] != n or C.shape != (len(m), n, n):
        raise CalibrationError(
            f"a hierarchy needs means (J, n), covariances (J, n, n) and a spread (n, n), not {m.shape}, {C.shape} and"
            f" {S.shape}"
        )
    count = len(m)
    if centre is not None:
        where = np.asarray(centre, dtype=np.float64)
        if where.shape != (n,):
            raise CalibrationError(f"centre: has shape {where.shape}; the grounds have {n} parameters")
        m, C = np.concatenate([m, where[None]]), np.concatenate([C, np.zeros((1, n, n))])
    if not len(m):
        raise CalibrationError("a hierarchy of no ground needs a centre; give one, or at least one ground")
    if not all(np.isfinite(a).all() for a in (m, C, S)):
        raise CalibrationError("a hierarchy needs finite means and covariances; leave out grounds without an estimate")
    # Sizes of the parameters, so that metres, radians and newtons compare.
    unit = np.sqrt(np.diag(S) + np.diagonal(C, axis1=1, axis2=2).mean(axis=0))
    unit[unit == 0.0] = 1.0
    both = np.outer(unit, unit)
    m, C, S = m / unit, C / both, S / both
    T = _between(m, C, S)
    mean, cov, _ = _mean(m, T, C)
    return Hierarchy(mean=mean * unit, mean_covariance=cov * both, between=T * both, count=count)


def _between(m: FloatArray, C: FloatArray, S: FloatArray) -> FloatArray:
    """T in units of the parameters."""
    spread = np.sqrt(np.diag(S))
    T = S
    for _ in range(ROUNDS):
        # The others' estimates of parameters without spread, of the vehicle, sharpen those of each ground.
        own, variance = _given_common(m, C, T, spread > 0.0)
        sigma = np.sqrt(_variances(own, variance, spread))
        last, T = T, S * np.outer(sigma, sigma) / np.maximum(np.outer(spread, spread), 1e-300)
        if np.abs(T - last).max() <= SETTLED * max(float(np.abs(S).max()), 1e-300):
            break
    like = _correlated(m, C, T)
    scale = sigma / np.sqrt(np.maximum(np.diag(like), 1e-300))
    return np.asarray(like * np.outer(scale, scale))


def _variances(m: FloatArray, c: FloatArray, spread: FloatArray) -> FloatArray:
    """Posterior mean of each parameter's variance between grounds, (n,), of estimates and variances (J, n)."""
    size = TYPICAL * spread * np.exp(UNSURE * GRID)[:, None]
    total = (size**2)[:, None] + c  # (G, J, n)
    weight = 1.0 / np.maximum(total, 1e-300)
    sums = weight.sum(axis=1)
    mean = (weight * m).sum(axis=1) / sums
    cost = (np.log(np.maximum(total, 1e-300)) + weight * (m - mean[:, None]) ** 2).sum(axis=1) + np.log(sums)
    p = np.exp(-0.5 * (cost - cost.min(axis=0)) - 0.5 * GRID[:, None] ** 2)
    return np.asarray((p * size**2).sum(axis=0) / p.sum(axis=0))


def _given_common(m: FloatArray, C: FloatArray, T: FloatArray, own: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Estimates and variances (J, n) of each ground's own parameters, given the common ones of all grounds."""
    variance = np.diagonal(C, axis1=1, axis2=2).copy()
    if own.all() or not own.any():
        return m, variance
    mean, _, _ = _mean(m, T, C)
    k, v = np.flatnonzero(own), np.flatnonzero(~own)
    across = C[:, k[:, None], v]
    A = np.linalg.solve(C[:, v[:, None], v] + FLOOR * np.eye(len(v)), across.transpose(0, 2, 1)).transpose(0, 2, 1)
    moved = m.copy()
    moved[:, k] += (A @ (mean - m)[:, v, None])[..., 0]
    variance[:, k] = np.maximum(variance[:, k] - np.einsum("jkv,jkv->jk", A, across), 0.0)
    return moved, variance


def _correlated(m: FloatArray, C: FloatArray, S: FloatArray) -> FloatArray:
    """The most likely T with an inverse-Wishart prior about S: the grounds and μ are hidden variables."""
    T = S
    for _ in range(ITERATIONS):
        mean, cov, inverse = _mean(m, T, C)
        # Posterior of each ground less μ, with μ uncertain: K d, covariance T − K T + K cov Kᵀ.
        K = T @ inverse
        off = (K @ (m - mean)[..., None])[..., 0]
        felt = np.einsum("ja,jb->ab", off, off) + (T - K @ T + K @ cov @ K.transpose(0, 2, 1)).sum(axis=0)
        last, T = T, _symmetric((WORTH * S + felt) / (WORTH + len(m)))
        if np.abs(T - last).max() <= SETTLED * max(float(np.abs(S).max()), 1e-300):
            break
    return T


def _mean(m: FloatArray, T: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """μ given T, its covariance, and (T + C_j)⁻¹ of each ground, (J, n, n)."""
    floor = FLOOR * np.eye(len(T))  # neither spread nor noise in a direction: all grounds must agree there
    inverse = np.linalg.inv(T + C + floor).astype(np.float64)
    cov = _symmetric(np.linalg.inv(inverse.sum(axis=0)))
    return np.asarray(cov @ np.einsum("jab,jb->a", inverse, m)), cov, inverse


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (matrix + matrix.T))
