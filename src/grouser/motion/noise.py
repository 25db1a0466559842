"""Process noise of a motion model: the spectral density Q′ of its velocity error, T (3.13), (3.39)–(3.41)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError

COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")
"""Entries of a body velocity, in order: turn rates about, speeds along x, y, z."""
FORMS = ("diagonal", "full", "cholesky")
GROWTH = ("distance", "time")


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise:
    """White noise on some components of the body velocity, with its spectral density Q′.

    Over a time t, or a distance, it moves the vehicle by √(q t), one sigma.
    """

    components: tuple[str, ...] = ("vx", "vy", "wz")
    """Which velocities are noisy, of `COMPONENTS`."""
    density: FloatArray = field(default_factory=lambda: np.diag([1e-3, 1e-3, 1e-3]))
    """Q′, symmetric positive semidefinite, shape (nd, nd) [m², rad² per second, or per metre as it grows]."""
    form: str = "diagonal"
    """How Q′ is made of parameters: "diagonal", "full" (its upper triangle, T (3.39)) or "cholesky" (U, T (3.40))."""
    grows: str = "distance"
    """With "time", T (3.13), or with the "distance" the wheels roll: a vehicle at rest is not moved by slip."""

    LOWEST: ClassVar[float] = 1e-9
    """Smallest density that calibration gives, in its unit."""
    HIGHEST: ClassVar[float] = 1e2
    """Largest, in its unit."""

    def __post_init__(self) -> None:
        for name in self.components:
            if name not in COMPONENTS:
                raise CalibrationError(f"noise component {name!r:.40} is not one of {', '.join(COMPONENTS)}")
        if self.form not in FORMS:
            raise CalibrationError(f"noise form {self.form!r:.40} is not one of {', '.join(FORMS)}")
        if self.grows not in GROWTH:
            raise CalibrationError(f"noise grows {self.grows!r:.40}: is not one of {', '.join(GROWTH)}")
        n = len(self.components)
        density = np.array(self.density, dtype=np.float64)
        if density.shape != (n, n) or not np.isfinite(density).all() or np.abs(density - density.T).max() > 1e-9:
            raise CalibrationError(f"noise density: must be a finite symmetric matrix of shape ({n}, {n})")
        if np.linalg.eigvalsh(density)[0] < -1e-9 * max(float(np.trace(density)), 1e-30):
            raise CalibrationError("noise density: is not positive semidefinite")
        object.__setattr__(self, "density", density)

    @cached_property
    def indices(self) -> np.ndarray:
        """Positions of the components in a velocity."""
        return np.array([COMPONENTS.index(c) for c in self.components], dtype=np.int64)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """(i, j) of each parameter, row by row of the upper triangle; the diagonal alone if Q′ is diagonal."""
        n = len(self.components)
        if self.form == "diagonal":
            return tuple((i, i) for i in range(n))
        return tuple((i, j) for i in range(n) for j in range(i, n))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters: noise.vx, …, noise.vx_vy for a covariance."""
        c = self.components
        return tuple(f"noise.{c[i]}" if i == j else f"noise.{c[i]}_{c[j]}" for i, j in self.pairs)

    @property
    def values(self) -> FloatArray:
        """The parameters s, in their units."""
        matrix: FloatArray = self.density
        if self.form == "cholesky":
            regular = matrix + np.eye(len(matrix)) * max(1e-12 * float(np.trace(matrix)), 1e-18)
            matrix = np.linalg.cholesky(regular).T.astype(np.float64)
        return np.array([matrix[i, j] for i, j in self.pairs])

    def with_values(self, values: FloatArray) -> Noise:
        """The same noise with other parameters; Q′ is kept positive definite and within its bounds."""
        upper = self._upper(values)
        density = upper.T @ upper if self.form == "cholesky" else np.where(upper == 0.0, upper.T, upper)
        return replace(self, density=bounded(density, self.LOWEST, self.HIGHEST))

    def _upper(self, values: FloatArray) -> FloatArray:
        """Parameters as the upper triangle of a matrix (nd, nd)."""
        matrix = np.zeros_like(self.density)
        for (i, j), value in zip(self.pairs, values, strict=True):
            matrix[i, j] = value
        return matrix

    def with_value(self, name: str, value: float) -> Noise:
        """The same noise with one parameter changed, in its unit."""
        values = self.values
        values[self.names.index(name)] = value
        return self.with_values(values)

    def slopes(self) -> FloatArray:
        """∂Q′/∂s, shape (ns, nd, nd)."""
        out = np.zeros((len(self.pairs), *self.density.shape))
        U = self._upper(self.values) if self.form == "cholesky" else None
        for k, (i, j) in enumerate(self.pairs):
            if U is not None:
                # Q = Uᵀ U: ∂Q = eⱼ uᵢᵀ + uᵢ eⱼᵀ with uᵢ the i-th row of U.
                out[k, j, :] += U[i]
                out[k, :, j] += U[i]
            else:
                out[k, i, j] = out[k, j, i] = 1.0
        return out


def bounded(density: FloatArray, lowest: float, highest: float) -> FloatArray:
    """The nearest symmetric matrix whose eigenvalues lie within bounds."""
    values, vectors = np.linalg.eigh(0.5 * (density + density.T))
    if values[0] < lowest or values[-1] > highest:
        density = (vectors * np.clip(values, lowest, highest)) @ vectors.T
    return 0.5 * (density + density.T)
