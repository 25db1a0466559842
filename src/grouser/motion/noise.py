"""Process noise of a motion model: white, T (3.13), (3.39)–(3.41), and slip that wanders from place to place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from grouser.checks import Checker, FloatArray
from grouser.errors import CalibrationError

checks = Checker(CalibrationError)
COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")
"""Entries of a body velocity, in order: turn rates about, speeds along x, y, z."""
FORMS = ("diagonal", "full", "cholesky")
GROWTH = ("distance", "time")


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise:
    """White noise on some components of the body velocity, with its spectral density Q′, and noise that wanders.

    Over a time t, or a distance, white noise moves the vehicle by √(q t), one sigma. Noise that wanders is a slip error
    that stays the same over about a `length`: first-order Gauss–Markov noise. Over less it moves the vehicle in
    proportion to the distance, over more as white noise of density 2 wander length does.
    """

    components: tuple[str, ...] = ("vx", "vy", "wz")
    """Which velocities are noisy, of `COMPONENTS`."""
    density: FloatArray = field(default_factory=lambda: np.diag([1e-3, 1e-3, 1e-3]))
    """Q′, symmetric positive semidefinite, shape (nd, nd) [m², rad² per second, or per metre as it grows]."""
    form: str = "diagonal"
    """How Q′ is made of parameters: "diagonal", "full" (its upper triangle, T (3.39)) or "cholesky" (U, T (3.40))."""
    grows: str = "distance"
    """With "time", T (3.13), or with the "distance" the wheels roll: a vehicle at rest is not moved by slip."""

    wander: FloatArray | None = None
    """Variance of the noise that wanders, (nd,) [m², rad² per m², or per s², as it grows]; None: there is none."""
    length: float = 5.0
    """Distance [m], or time [s] as it grows, over which the correlation of noise that wanders falls to 1/e."""

    LOWEST: ClassVar[float] = 1e-9
    """Smallest density that calibration gives, in its unit."""
    HIGHEST: ClassVar[float] = 1e2
    """Largest, in its unit."""
    EXPECTED: ClassVar[dict[str, tuple[float, float]]] = {"v": (1e-4, 1e-4), "w": (2e-5, 1e-5)}
    """Density and wander, in their units, of speeds and of turn rates: assumed where a log does not determine them.

    After a metre, or a second: 1 cm and 0.26° of white noise; slip that wanders by 1 % and by 0.18°.
    """

    def __post_init__(self) -> None:
        for name in self.components:
            checks.choice(name, "noise component", COMPONENTS)
        checks.choice(self.form, "noise form", FORMS)
        checks.choice(self.grows, "noise grows", GROWTH)
        n = len(self.components)
        density = np.array(self.density, dtype=np.float64)
        if density.shape != (n, n) or not np.isfinite(density).all() or np.abs(density - density.T).max() > 1e-9:
            raise CalibrationError(f"noise density: must be a finite symmetric matrix of shape ({n}, {n})")
        if np.linalg.eigvalsh(density)[0] < -1e-9 * max(float(np.trace(density)), 1e-30):
            raise CalibrationError("noise density: is not positive semidefinite")
        object.__setattr__(self, "density", density)
        checks.positive(self.length, "noise length [m or s]")
        if self.wander is not None:
            wander = np.array(self.wander, dtype=np.float64)
            if wander.shape != (n,) or not np.isfinite(wander).all() or (wander < 0.0).any():
                raise CalibrationError(f"noise wander: must be {n} variances, one of each component")
            object.__setattr__(self, "wander", wander)

    @property
    def memory(self) -> float:
        """The length of noise that wanders, in its unit; 0 if none does."""
        return 0.0 if self.wander is None else self.length

    @property
    def long_run(self) -> FloatArray:
        """Density of white noise that in the long run moves a vehicle as far as this, (nd, nd) [as `density`]."""
        return self.density if self.wander is None else self.density + 2.0 * self.length * np.diag(self.wander)

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
        """Names of the parameters: noise.vx, …, noise.vx_vy for a covariance, noise.wander_vx, …."""
        c = self.components
        white = [f"noise.{c[i]}" if i == j else f"noise.{c[i]}_{c[j]}" for i, j in self.pairs]
        return (*white, *(() if self.wander is None else (f"noise.wander_{name}" for name in c)))

    @property
    def expected(self) -> dict[str, float]:
        """`EXPECTED` by the name of the parameter, of densities and variances, in their units."""
        c = self.components
        white = {f"noise.{name}": self.EXPECTED[name[0]][0] for name in c}
        return white | {f"noise.wander_{name}": self.EXPECTED[name[0]][1] for name in c}

    @property
    def values(self) -> FloatArray:
        """The parameters s, in their units."""
        matrix: FloatArray = self.density
        if self.form == "cholesky":
            regular = matrix + np.eye(len(matrix)) * max(1e-12 * float(np.trace(matrix)), 1e-18)
            matrix = np.linalg.cholesky(regular).T.astype(np.float64)
        white = [matrix[i, j] for i, j in self.pairs]
        return np.array([*white, *(() if self.wander is None else self.wander)])

    def with_values(self, values: FloatArray) -> Noise:
        """The same noise with other parameters; Q′ is kept positive definite and within its bounds."""
        white, wander = np.split(np.asarray(values, dtype=np.float64), [len(self.pairs)])
        upper = self._upper(white)
        density = upper.T @ upper if self.form == "cholesky" else np.where(upper == 0.0, upper.T, upper)
        kept = None if self.wander is None else np.clip(wander, self.LOWEST, self.HIGHEST)
        return replace(self, density=bounded(density, self.LOWEST, self.HIGHEST), wander=kept)

    def _upper(self, values: FloatArray) -> FloatArray:
        """Parameters as the upper triangle of a matrix (nd, nd)."""
        matrix = np.zeros_like(self.density)
        for (i, j), value in zip(self.pairs, values, strict=True):
            matrix[i, j] = value
        return matrix

    def slopes(self) -> FloatArray:
        """∂Q′/∂s of the parameters of the white noise, which come first, shape (ns, nd, nd)."""
        out = np.zeros((len(self.pairs), *self.density.shape))
        U = self._upper(self.values[: len(self.pairs)]) if self.form == "cholesky" else None
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
