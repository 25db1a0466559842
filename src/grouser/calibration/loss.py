"""Robust losses of squared Mahalanobis distances: the weight of outliers, the same for parameters and for noise."""

from __future__ import annotations

import math

import numpy as np

from grouser.checks import FloatArray

GATE = 1e4
"""Squared Mahalanobis distance beyond which an interval has no weight online; below, outliers weigh little."""
LOSSES = ("mixture", "huber", "cauchy", "none")
SHARE = 0.01
"""Share of outliers that a mixture assumes. It acts by its logarithm: many more are separated from the rest as well."""
WIDTH = 5.0
"""Assumed ratio of the errors of outliers to the noise."""


def squared_distance(residual: FloatArray, covariance: FloatArray) -> FloatArray:
    """rᵀ R⁻¹ r, (…,), of residuals (…, m) with covariances (…, m, m)."""
    return np.asarray(np.einsum("...a,...a->...", residual, np.linalg.solve(covariance, residual[..., None])[..., 0]))


def turn(m: int) -> float:
    """Squared distance at which Huber's loss becomes linear: about the 95 % point of χ² with m degrees of freedom."""
    return float(m + 1.65 * np.sqrt(2.0 * m) + 1.0)


def huber(d2: FloatArray, k2: float) -> FloatArray:
    """Huber's loss of squared distances: quadratic up to the distance k, linear beyond it."""
    return np.where(d2 <= k2, d2, 2.0 * np.sqrt(k2 * np.maximum(d2, 1e-300)) - k2)


def loss_of(d2: FloatArray, loss: str, m: int) -> FloatArray:
    """Loss of squared distances of m freedoms.

    A "mixture" is −2 log of a density, relative to that of a Gaussian at zero: of each interval most of it is the
    Gaussian, the rest a multivariate Cauchy distribution `WIDTH` times wider, of outliers. With log det R it is a
    likelihood of the noise too. Without outliers its maximum is that of the Gaussian to about 0.1 %.
    """
    if loss == "huber":
        return huber(d2, turn(m))
    if loss == "cauchy":
        k2 = turn(m)
        return np.asarray(k2 * np.log1p(d2 / k2))
    if loss == "mixture":
        return np.asarray(-2.0 * np.logaddexp(math.log1p(-SHARE) - 0.5 * d2, _outlier(d2, m)))
    return d2


def weight_of(d2: FloatArray, loss: str, m: int) -> FloatArray:
    """Derivative of the loss by the squared distance."""
    if loss == "huber":
        k2 = turn(m)
        return np.where(d2 <= k2, 1.0, np.sqrt(k2 / np.maximum(d2, k2)))
    if loss == "cauchy":
        return np.asarray(1.0 / (1.0 + d2 / turn(m)))
    if loss == "mixture":
        good = 1.0 / (1.0 + np.exp(np.minimum(_outlier(d2, m) - math.log1p(-SHARE) + 0.5 * d2, 700.0)))
        return np.asarray(good + (1.0 - good) * (1.0 + m) / (WIDTH**2 + d2))
    return np.ones_like(d2)


def _outlier(d2: FloatArray, m: int) -> FloatArray:
    """Logarithm of the density of outliers times their share, relative to a Gaussian density at zero."""
    peak = math.lgamma(0.5 * (1 + m)) - math.lgamma(0.5) + 0.5 * m * math.log(2.0) - m * math.log(WIDTH)
    return np.asarray(math.log(SHARE) + peak - 0.5 * (1.0 + m) * np.log1p(d2 / WIDTH**2))
