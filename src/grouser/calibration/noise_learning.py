"""Noise learned while driving: the coefficients of a covariance, from scores and information of innovations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grouser.calibration.interval_filter import set_state, state_of
from grouser.checks import FloatArray
from grouser.motion.candidates import Predicted
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector, default
from grouser.motion.predict import LogProblem

LONGEST_STEP = 1.0
"""A step changes a density at most by this in its logarithm."""
CORRELATED, MOST_CORRELATED = 0.3, 0.9
"""Correlations of noisy velocities, one sigma before any interval, and at most: few intervals make Q′ look singular."""
MOST_DOUBT = 1.0
"""Largest sigma of the logarithm of a density: without information it would grow without limit."""
DAMPED = 0.7
"""Share of a step that is taken: whole steps oscillate between entries of Q′ when intervals are few."""
STATE = ("phi", "centre", "precision", "information")
NEW_GROUND = 0.3
"""Sigma of the difference of the logarithm of a density on another ground."""


class NoiseLearner:
    """Coefficients φ of the covariance R = fixed + Σ φ_j B_j of an interval, with a prior that keeps them from zero.

    φ are entries of Q′ and squares of the sensor's sigmas. What must be positive is learned by its logarithm, by Fisher
    scoring: where intervals say nothing of a small noise, the score of its logarithm vanishes and the prior decides.
    """

    def __init__(self, motion: MotionModel, parameters: Sequence[Parameter]) -> None:
        """The parameters of the noise to learn, of the process and of the sensor."""
        noise = motion.noise
        self.form = noise.form
        if noise.form == "cholesky":  # the same Q′ by its entries; R is linear in them
            motion = motion.replace(noise=replace(noise, form="full"))
            parameters = [default(motion, p.name) if p.name in noise.names else p for p in parameters]
        self.motion, c = motion, noise.components
        self.names = names = [p.name for p in parameters]
        self._vector = ParameterVector(motion, names)
        self.of_sensor = np.array([n not in noise.names for n in names], dtype=bool)
        self._entry = {n: noise.pairs[noise.names.index(n)] for n in names if n in noise.names[: len(noise.pairs)]}
        """Row and column in Q′ of those that are entries of it."""
        covariances = {n: (f"noise.{c[i]}", f"noise.{c[j]}") for n, (i, j) in self._entry.items() if i != j}
        self.positive = np.array([n not in covariances for n in names], dtype=bool)
        self._of_pair = np.array([[a in covariances.get(b, ()) for b in names] for a in names], dtype=float)
        """Of which two densities a covariance is, (ns, ns): rows are densities."""
        value = np.array([p.value for p in parameters], dtype=np.float64)
        sigma = np.array([p.sigma for p in parameters], dtype=np.float64)
        bounds = np.array([[p.lower, p.upper] for p in parameters]).reshape(-1, 2)
        self.bounds = np.where(self.of_sensor[:, None], bounds * np.abs(bounds), bounds)
        self.phi = np.clip(np.where(self.of_sensor, value**2, value), *self.bounds.T)
        self.centre = self._free(self.phi)
        relative = np.minimum(np.arcsinh(sigma / np.maximum(np.abs(value), 1e-300)), 2.0)
        relative *= np.where(self.of_sensor, 2.0, 1.0)
        precision = np.where(self.positive, relative, CORRELATED) ** -2.0
        self.precision: FloatArray = np.diag(precision).reshape(2 * (len(names),))
        self._model: tuple[FloatArray, MotionModel] | None = None
        self.information = self.precision.copy()
        """Of the free coordinates, prior included, at the last step."""

    def _sizes(self, phi: FloatArray) -> FloatArray:
        """√(φ_i φ_j) of the two densities of each covariance, (ns,); 1 of what is none."""
        logarithm = np.log(np.where(self.positive, np.maximum(phi, 1e-300), 1.0))
        return np.asarray(np.exp(0.5 * (logarithm @ self._of_pair)) * ~self.positive + self.positive)

    def _free(self, phi: FloatArray) -> FloatArray:
        """Free coordinates: logarithms of positive coefficients, correlations of the others."""
        return np.where(self.positive, np.log(np.maximum(phi, 1e-300)), phi / self._sizes(phi))

    @property
    def _slope(self) -> FloatArray:
        """∂φ/∂(free coordinate), (ns,)."""
        return np.where(self.positive, self.phi, self._sizes(self.phi))

    def bases(self, problem: LogProblem, predicted: Predicted) -> tuple[FloatArray, FloatArray]:
        """The part of R that is not learned (I, m, m), and B (I, ns, m, m)."""
        now = self.model
        R = problem.covariance(now, predicted)
        if not self.names:
            return R, np.zeros((len(R), 0, *R.shape[1:]))
        B = problem.covariance_slopes(now, predicted, self.names)
        B = B / np.where(self.of_sensor, 2.0 * self._entries, 1.0)[:, None, None]
        return R - np.einsum("j,ijab->iab", self.phi, B), B

    def lasting(self, problem: LogProblem, predicted: Predicted) -> FloatArray:
        """Difference of the covariance of an interval as a part of a long drive from its own, (I, m, m).

        Noise that wanders is correlated between successive intervals, which have less information than independent
        ones: to learn from, it counts as the white noise that moves the vehicle as far in the long run.
        """
        noise = self.model.noise
        if noise.wander is None:
            return np.zeros((len(predicted.poses), problem.size, problem.size))
        white = self.model.replace(noise=replace(noise, density=noise.long_run, wander=None))
        return problem.covariance(white, predicted) - problem.covariance(self.model, predicted)

    @property
    def _entries(self) -> FloatArray:
        """Entries of Q′, and sigmas of the sensor, (ns,), in their units."""
        return np.where(self.of_sensor, np.sqrt(np.maximum(self.phi, 0.0)), self.phi)

    @property
    def values(self) -> FloatArray:
        """Densities, and sigmas of the sensor, (ns,), in their units: as the form of the noise has them."""
        values = self._entries
        if self.form != "cholesky":
            return values
        own = replace(self.model.noise, form="cholesky")
        values[: len(own.names)] = own.values
        return values

    @property
    def model(self) -> MotionModel:
        """The motion model with this noise."""
        if not self.names:
            return self.motion
        if self._model is None or not np.array_equal(self._model[0], self.phi):
            self._model = (self.phi.copy(), self._vector.model(self._entries))
        return self._model[1]

    @property
    def covariance(self) -> FloatArray:
        """Covariance of `values`, (ns, ns)."""
        slope = np.where(self.of_sensor, 0.5 * np.sqrt(np.maximum(self.phi, 1e-300)), self._slope)
        found = np.linalg.inv(self.information) * np.outer(slope, slope)
        if self.form != "cholesky":
            return np.asarray(found)
        own = replace(self.model.noise, form="cholesky")
        k = len(own.pairs)
        entries = np.array([[dQ[i, j] for dQ in own.slopes()] for i, j in own.pairs])  # ∂(entries of Q′)/∂U
        back = np.eye(len(found))
        back[:k, :k] = np.linalg.pinv(entries)
        return np.asarray(back @ found @ back.T)

    @property
    def doubt(self) -> FloatArray:
        """Uncertainty of the logarithm of each positive coefficient, one sigma, (ns,); of a covariance half of both."""
        sigma = np.minimum(np.sqrt(np.diag(np.linalg.inv(self.information))), MOST_DOUBT) * self.positive
        return np.asarray(np.where(self.positive, sigma, 0.5 * (sigma @ self._of_pair)))

    @property
    def mean(self) -> FloatArray:
        """Coefficients at the mean of their distribution, (ns,): above the most probable ones while little is known."""
        return np.asarray(self.phi * np.exp(0.5 * self.doubt**2))

    @property
    def high(self) -> FloatArray:
        """Coefficients a sigma above that, (ns,)."""
        return np.asarray(self.phi * np.exp(0.5 * self.doubt**2 + self.doubt))

    def step(self, score: FloatArray, information: FloatArray) -> float:
        """One step of Fisher scoring; returns the largest change of a free coordinate."""
        if not self.names:
            return 0.0
        slope, u = self._slope, self._free(self.phi)
        self.information = np.outer(slope, slope) * information + self.precision
        change = np.linalg.solve(self.information, slope * score - self.precision @ (u - self.centre))
        change = np.clip(DAMPED * change, -LONGEST_STEP, LONGEST_STEP)
        moved = u + change
        before = self.phi
        grown = np.clip(np.where(self.positive, np.exp(moved), 0.0), *self.bounds.T)
        correlation = np.clip(moved, -MOST_CORRELATED, MOST_CORRELATED) * self._sizes(grown)
        self.phi = np.where(self.positive, grown, correlation)
        if not self.positive.all():  # covariances: Q′ must stay positive definite
            density = self.model.noise.density
            self.phi = np.array(
                [density[self._entry[n]] if n in self._entry else v for n, v in zip(self.names, self.phi, strict=True)]
            )
        return float(np.max(np.abs(self._free(self.phi) - self._free(before))))

    def begin_ground(self) -> None:
        """The estimate becomes the prior on another ground, with a larger covariance."""
        covariance = np.linalg.inv(self.information) + NEW_GROUND**2 * np.eye(len(self.names))
        self.centre = self._free(self.phi)
        self.precision = np.linalg.inv(covariance).astype(np.float64)
        self.information = self.precision.copy()

    @property
    def state(self) -> dict[str, object]:
        """As plain numbers."""
        return state_of(self, STATE)

    @state.setter
    def state(self, state: dict[str, object]) -> None:
        set_state(self, STATE, state)
