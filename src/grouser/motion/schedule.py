"""Motion models along a drive, one after the other, each with the covariance of its parameters.

Errors of two of them are not independent. While the true parameters stay, what was learned in between is not part of
the later error, so that cov(e₁, e₂) is the later covariance P₂, the smaller one. Where the covariance grows again, the
parameters have drifted, and it is the earlier P₁. On another ground the errors of its parameters are new.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray
from grouser.motion.model import MotionModel
from grouser.motion.spread import of_ground

NOTHING = 1e-12
"""Variance that counts as none, as a share of the larger one of two."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Schedule:
    """K motion models of one log, each from a sample on; before the first of them the fit holds."""

    first: IntArray
    """First sample of the log with each, rising, (K,)."""
    models: tuple[MotionModel, ...]
    parameters: tuple[str, ...]
    """Names of the systematic parameters."""
    covariance: FloatArray = field(repr=False)
    """Of these parameters, (K, np, np), products of their units."""
    new_ground: np.ndarray = field(repr=False)
    """Whether each is for another ground than the one before, (K,) bool."""

    def __len__(self) -> int:
        return len(self.models)

    @property
    def of_ground(self) -> np.ndarray:
        """Which parameters change with the ground, (np,) bool."""
        return np.array([of_ground(name) for name in self.parameters], dtype=bool)


def carried(before: FloatArray, after: FloatArray, new: np.ndarray) -> FloatArray:
    """A of E[e₂ | e₁] = A e₁ for errors of parameters with covariances P₁, P₂ (n, n): A = min(P₁, P₂) P₁⁻¹.

    The smaller one is taken along the axes that both share. Errors of parameters that are `new`, (n,) bool, have no
    past.
    """
    n = len(before)
    both = np.maximum(np.diag(before), np.diag(after))
    scale = np.sqrt(np.where(both > 0.0, both, 1.0))
    unit = NOTHING * np.eye(n)
    L = np.linalg.cholesky(before / np.outer(scale, scale) + unit)
    half = np.linalg.solve(L, after / np.outer(scale, scale) + unit)
    values, U = np.linalg.eigh(np.linalg.solve(L, half.T))
    A = L @ (U * np.minimum(np.maximum(values, 0.0), 1.0)) @ U.T @ np.linalg.inv(L)
    A = A * scale[:, None] / scale
    A[new] = 0.0
    A[:, new] = 0.0
    return np.asarray(A)
