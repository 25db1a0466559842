"""Parameters drawn together from a fit: its values and their covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import StudyError
from grouser.motion.fit import Fit

LEFT_OUT = ("sensor", "noise", "powertrain")
"""Parts that runs of a study do not have."""


@dataclass(frozen=True, eq=False)
class FitDraws:
    """A normal distribution of several parameters."""

    names: tuple[str, ...]
    mean: FloatArray
    """(n,), in their units."""
    factor: FloatArray
    """Lower triangle L of the covariance L Lᵀ, (n, n)."""

    @classmethod
    def of(cls, fit: Fit, others: Sequence[str], where: str) -> FitDraws:
        """Of the parameters that move a vehicle; those named in `others` have a distribution of their own."""
        systematic = fit.names[: len(fit.covariance)]
        used = [k for k, n in enumerate(systematic) if n.partition(".")[0] not in LEFT_OUT and n not in others]
        if not used:
            raise StudyError(f"{where}: the fit has no parameter of vehicle, slip or contact left to draw")
        factor = _cholesky(fit.covariance[np.ix_(used, used)], where)
        return cls(tuple(systematic[k] for k in used), fit.vector[used], factor)

    def values(self, u: FloatArray) -> FloatArray:
        """Values at levels u (n, number of names) of independent uniform distributions, in their units."""
        from scipy.special import ndtri

        # Sums term by term: a matrix product may add in another order on another machine.
        z = ndtri(u)
        out = np.tile(self.mean, (len(u), 1))
        for k in range(len(self.names)):
            for j in range(k + 1):
                out[:, k] += self.factor[k, j] * z[:, j]
        return out


def _cholesky(covariance: FloatArray, where: str) -> FloatArray:
    """L with L Lᵀ = covariance; a direction without variance has none."""
    n = len(covariance)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            left = float(covariance[i, j]) - sum(float(L[i, k] * L[j, k]) for k in range(j))
            if i == j:
                if not left >= -1e-9 * abs(float(covariance[i, i])):
                    raise StudyError(f"{where}: the covariance of the fit is not positive; calibrate again")
                L[i, i] = math.sqrt(max(left, 0.0))
            else:
                L[i, j] = left / L[j, j] if L[j, j] > 0.0 else 0.0
    return L
