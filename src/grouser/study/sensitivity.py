"""How a measure depends on parameters: Sobol indices, response curves with confidence bands, shares of variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray

DRAWS = 200
"""Bootstrap draws of a confidence interval."""
CONFIDENCE = 1.96
"""Half width of a 95 % band in standard errors."""


class Indices(NamedTuple):
    """Sobol indices of d parameters with 95 % intervals, shares of the variance."""

    first: FloatArray
    """Share that a parameter alone explains, (d,)."""
    total: FloatArray
    """Share that is gone once it is known, with all its interactions, (d,)."""
    first_interval: FloatArray
    """Lower and upper bound, a ratio, (2, d)."""
    total_interval: FloatArray
    """Likewise, a ratio, (2, d)."""
    samples: int
    """Base samples of which every run gave a number."""


def sobol_indices(f_a: FloatArray, f_b: FloatArray, f_ab: FloatArray, *, draws: int = DRAWS, seed: int = 0) -> Indices:
    """Indices from runs at A and B (n,), and at A with each column in turn from B (n, d); those with NaN are left out.

    NaN where fewer than two base samples are left, or all are the same.
    First order by Saltelli et al. (2010), total by Jansen (1999); intervals by bootstrap over the base samples.
    """
    good = np.isfinite(f_a) & np.isfinite(f_b) & np.isfinite(f_ab).all(axis=1)
    a, b, ab = f_a[good], f_b[good], f_ab[good]
    if len(a) < 2 or not np.ptp(np.concatenate([a, b])):
        none = np.full((2, ab.shape[1]), np.nan)
        return Indices(none[0], none[0], none, none, len(a))
    first, total = _indices(a, b, ab)
    rng = np.random.default_rng(seed)
    drawn = [_indices(a[k], b[k], ab[k]) for k in (rng.integers(0, len(a), len(a)) for _ in range(draws))]
    of_first, of_total = (np.nanquantile([one[i] for one in drawn], (0.025, 0.975), axis=0) for i in (0, 1))
    return Indices(first, total, of_first, of_total, len(a))


def _indices(a: FloatArray, b: FloatArray, ab: FloatArray) -> tuple[FloatArray, FloatArray]:
    both = np.concatenate([a, b])
    middle, variance = both.mean(), both.var()
    if variance <= 0.0:
        return np.full(ab.shape[1], np.nan), np.full(ab.shape[1], np.nan)
    first = ((b - middle)[:, None] * (ab - a[:, None])).mean(axis=0) / variance
    total = 0.5 * ((a[:, None] - ab) ** 2).mean(axis=0) / variance
    return first, total


class Response(NamedTuple):
    """Mean of a measure in bins of a parameter, with a 95 % band."""

    x: FloatArray
    """Mean of the parameter in each bin, (bins,)."""
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    share: float
    """Share of the variance that the parameter alone explains, estimated by the bins; a ratio, 0 … 1."""


def response(x: FloatArray, y: FloatArray, bins: int | None = None) -> Response:
    """Response of y to x by bins of equally many rows, or by value where x has few; what is NaN is left out."""
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    n = len(y)
    if n == 0:
        none = np.empty(0)
        return Response(none, none, none, none, 0.0)
    levels, which = np.unique(x, return_inverse=True)
    count = max(2, min(20, int(np.sqrt(n) / 2))) if bins is None else bins
    if len(levels) > count:
        which = np.empty(n, dtype=np.int64)
        which[np.argsort(x, kind="stable")] = np.arange(n) * count // n
    size = np.bincount(which)
    mean_x, mean = np.bincount(which, x) / size, np.bincount(which, y) / size
    left = np.bincount(which, (y - mean[which]) ** 2)
    error = np.sqrt(left / np.maximum(size - 1, 1) / size)
    k, total = len(size), float(((y - y.mean()) ** 2).sum())
    # ε²: without the part that bins of noise would explain.
    share = 1.0 - (left.sum() / max(n - k, 1)) / (total / max(n - 1, 1)) if total > 0.0 and n > k else 0.0
    return Response(mean_x, mean, mean - CONFIDENCE * error, mean + CONFIDENCE * error, float(np.clip(share, 0.0, 1.0)))
