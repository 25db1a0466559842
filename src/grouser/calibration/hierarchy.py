"""What grounds have in common and how much they differ: a hierarchical fit over estimates of several grounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError

WORTH = 3.0
"""How many grounds the expected spread counts as: three felt grounds weigh as much as the expectation."""
ITERATIONS = 1000
SETTLED = 1e-8
"""The spread has settled once no entry changes by this share of the expected spread."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Hierarchy:
    """Distribution of the ground parameters over grounds."""

    mean: FloatArray
    """μ, mean over grounds, (n,), in the units of the parameters."""
    mean_covariance: FloatArray
    """Covariance of that mean, (n, n), products of their units."""
    between: FloatArray
    """Posterior mean of T, the covariance between grounds, (n, n), products of their units."""
    count: int
    """Grounds it was fitted to."""
    freedom: float
    """Degrees of freedom of T, a count: of the grounds, and of the expectation it was fitted with."""

    @property
    def sigma(self) -> FloatArray:
        """Spread between grounds, one sigma, (n,), in the units of the parameters."""
        return np.asarray(np.sqrt(np.diag(self.between)))

    def new_ground(self) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and covariance (n, n) of the parameters of a ground that has not been felt yet.

        The Gaussian with the moments of the Student distribution that the uncertainty of T gives.
        """
        return self.mean, self.between + self.mean_covariance


def fit_hierarchy(
    means: FloatArray, covariances: FloatArray, spread: FloatArray, *, centre: FloatArray | None = None
) -> Hierarchy:
    """Fit the mean μ and the covariance T between grounds to estimates m_j ~ N(μ, T + C_j) of J grounds.

    means (J, n) and covariances (J, n, n) are of the grounds; spread (n, n) is T as expected before, an inverse-Wishart
    prior that counts as `WORTH` grounds. Along directions without expected spread all grounds are the same. centre (n,)
    is where a ground was expected; it counts as one more, known exactly. Without it one ground at least is needed.

    Expectation maximisation with the grounds and μ as hidden variables: T of restricted likelihood, with a prior. Its
    posterior mean is d/(d − 1) times as large, with d grounds and expected ones: few grounds may have been alike.
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
    freedom = WORTH + len(m) - 1.0
    T = _between(m, C, S) * freedom / (freedom - 1.0)
    mean, cov, _ = _mean(m, T, C)
    return Hierarchy(mean=mean * unit, mean_covariance=cov * both, between=T * both, count=count, freedom=freedom + 1.0)


def _between(m: FloatArray, C: FloatArray, S: FloatArray) -> FloatArray:
    """The most likely T, in units of the parameters."""
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
    floor = 1e-12 * np.eye(len(T))  # neither spread nor noise in a direction: all grounds must agree there
    inverse = np.linalg.inv(T + C + floor).astype(np.float64)
    cov = _symmetric(np.linalg.inv(inverse.sum(axis=0)))
    return np.asarray(cov @ np.einsum("jab,jb->a", inverse, m)), cov, inverse


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (matrix + matrix.T))
