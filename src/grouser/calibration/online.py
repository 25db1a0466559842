"""The online filters: systematic and stochastic parameters from one interval after another, T (3.48)–(3.54), P."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs.log import IntArray
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, ParameterVector, is_noise, resolve
from grouser.motion.predict import ERRORS, LogProblem, Predicted
from grouser.motion.sensitivity import jacobian
from grouser.motion.slip_surface import NAMES, Perturbative

GATE = 90.0
"""Squared Mahalanobis distance beyond which an interval moves no systematic parameter, T §3.4.1."""
NOISE_GATE = 1000.0
"""The same for noise parameters: high, so that rare large errors count in the noise, T Fig. 3.11."""
COMPONENTS = ("vx", "vy", "wz")
"""Noisy velocities of the perturbative filter: δV_x, δV_y, δV_θ."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Update:
    """The effect of one interval on the filter."""

    time: float
    """Time stamp of the interval's end [s]."""
    residual: FloatArray
    """Measured less predicted, before the update [m, rad], (m,)."""
    innovation: FloatArray
    """Predicted covariance of the residual: noise and uncertain parameters [m², rad²], (m, m)."""
    distance: float
    """Squared Mahalanobis distance of the residual, T (3.68)."""
    accepted: bool
    """Whether it moved the systematic parameters."""
    noise_accepted: bool
    """Whether it moved the noise parameters."""
    values: FloatArray
    """All parameters after it, (n,), in their units."""
    sigma: FloatArray
    """Their one-sigma uncertainties, (n,), in their units."""


class OnlineFilter:
    """An extended Kalman filter whose state is the parameters; constant memory, one interval at a time.

    The residual r observes the systematic parameters and its outer product those of the noise. Their errors are
    uncorrelated (third moments of a Gaussian vanish) and neither prediction depends on the other's parameters, so the
    joint filter of T §3.2.4 is two filters that share the covariance of r.
    """

    def __init__(
        self,
        motion: MotionModel,
        parameters: Sequence[Parameter],
        *,
        gate: float = GATE,
        noise_gate: float = NOISE_GATE,
    ) -> None:
        """Parameters start at their values with their prior sigmas; infinite gates reject nothing."""
        self.motion = motion
        self.parameters = list(parameters)
        self.systematic = [p for p in parameters if not is_noise(p.name)]
        self.stochastic = [p for p in parameters if is_noise(p.name)]
        if not self.parameters:
            raise CalibrationError("no parameters to calibrate; name some, such as slip, sensor.x, noise")
        self.gate, self.noise_gate = float(gate), float(noise_gate)
        self._vector = ParameterVector(motion, self.names)
        self._systematic = ParameterVector(motion, [q.name for q in self.systematic])
        self._noise = ParameterVector(motion, [q.name for q in self.stochastic])
        self._noisy: MotionModel | None = None
        """The motion model given, with the present noise."""
        self.p, self.P = _prior(self.systematic)
        self.s, self.S = _prior(self.stochastic)
        self.updates = self.rejected = 0

    @property
    def values(self) -> FloatArray:
        """All parameters, systematic first, (n,), in their units."""
        return np.concatenate([self.p, self.s])

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [q.name for q in (*self.systematic, *self.stochastic)]

    @property
    def calibrated(self) -> MotionModel:
        """The motion model with the present parameters."""
        return self._vector.model(self.values)

    def update(self, problem: LogProblem, k: int) -> Update:
        """Learn from interval k of a problem."""
        now, predicted, H = self._linearise(problem, k)
        duration = float(problem.intervals.duration[k])
        if self.systematic:
            self.P += np.diag([q.drift**2 * duration for q in self.systematic])  # (3.49)
        r = problem.residuals(predicted.poses, slice(k, k + 1))[0]
        R = problem.covariance(now, predicted)[0]
        innovation = H @ self.P @ H.T + R  # (3.51)
        distance = float(r @ np.linalg.solve(innovation, r))  # (3.68), a squared distance
        accepted, noise_accepted = distance <= self.gate, distance <= self.noise_gate
        if accepted and self.systematic:
            self.p, self.P = kalman_update(self.p, self.P, r, H, R)
            self.p = np.array([q.clip(v) for q, v in zip(self.systematic, self.p, strict=True)])
        if noise_accepted and self.stochastic:
            self.S += np.diag([q.drift**2 * duration for q in self.stochastic])
            self._learn_noise(problem, now, r, innovation, predicted)
        self.updates += 1
        self.rejected += not accepted
        return Update(
            time=float(problem.intervals.times[k, 1]),
            residual=r,
            innovation=innovation,
            distance=distance,
            accepted=accepted,
            noise_accepted=noise_accepted,
            values=self.values,
            sigma=np.sqrt(np.concatenate([np.diag(self.P), np.diag(self.S)])),
        )

    def _linearise(self, problem: LogProblem, k: int) -> tuple[MotionModel, Predicted, FloatArray]:
        """The present model, its prediction of interval k, and the slopes of that by the systematic parameters."""
        now, one = self.calibrated, slice(k, k + 1)
        H = np.zeros((problem.size, 0))
        if self.systematic:
            H = jacobian(problem, self._systematic, self.systematic, self.p, one)[1][0]
        return now, problem.errors(now, one), H

    def _learn_noise(
        self, problem: LogProblem, now: MotionModel, r: FloatArray, innovation: FloatArray, predicted: Predicted
    ) -> None:
        """T (3.28)–(3.42): the outer product of the residual observes its covariance.

        The prediction is the innovation's covariance, not R_μ alone: while parameters are uncertain residuals are
        larger than their noise, which is no sign of a larger Q′.
        """
        I, J = upper_triangle(len(r))
        slopes = problem.covariance_slopes(now, predicted, self._noise.names)[0]
        R_sigma = outer_product_covariance(high_covariance(innovation, slopes, self.S))
        self.s, self.S = kalman_update(self.s, self.S, r[I] * r[J] - innovation[I, J], slopes[:, I, J].T, R_sigma)
        self.s = np.array([q.clip(v) for q, v in zip(self.stochastic, self.s, strict=True)])
        self._noisy = self._noise.model(self.s)  # keeps Q′ positive definite
        self.s = self._noise.read(self._noisy)

    @property
    def state(self) -> dict[str, object]:
        """The whole state of the filter, as plain numbers."""
        matrices = {name: getattr(self, name).tolist() for name in ("p", "P", "s", "S")}
        return {**matrices, "updates": self.updates, "rejected": self.rejected}

    @state.setter
    def state(self, state: dict[str, object]) -> None:
        for name in ("p", "P", "s", "S"):
            setattr(self, name, np.array(state[name], dtype=np.float64).reshape(getattr(self, name).shape))
        self.updates, self.rejected = int(str(state["updates"])), int(str(state["rejected"]))
        self._noisy = None


class PerturbativeFilter(OnlineFilter):
    """The online filter for a `Perturbative` model and one log, lean enough for every control cycle.

    The velocity is affine in the slip parameters, so one integral over an interval gives the prediction P (12), its
    Jacobian P (11) and the noise integrals P (17) at once. State and measurement of the stochastic filter are elements
    of Ξ and of Π (errata).
    """

    def __init__(
        self,
        problem: LogProblem,
        motion: MotionModel,
        parameters: Sequence[Parameter] | None = None,
        *,
        gate: float = GATE,
        noise_gate: float = NOISE_GATE,
    ) -> None:
        """Parameters are of the slip surface and the noise; None: all 13 and all 6, Ξ in its full form."""
        if not isinstance(motion.model, Perturbative):
            raise CalibrationError(f"the perturbative filter is for Perturbative, not {type(motion.model).__name__}")
        if parameters is None:
            noise = motion.noise if motion.noise.components == COMPONENTS else Noise(grows=motion.noise.grows)
            motion = motion.replace(noise=replace(noise, form="full"))
            parameters = resolve(motion, ["slip", "noise"])
        wrong = [q.name for q in parameters if q.name not in NAMES and q.name not in motion.noise.names]
        if wrong:
            raise CalibrationError(f"{wrong[0]} is not of the slip surface or the noise; use OnlineFilter for it")
        super().__init__(motion, parameters, gate=gate, noise_gate=noise_gate)
        self.problem = problem
        self._rows = [ERRORS.index(int(row)) for row in problem.rows]

    def _linearise(self, problem: LogProblem, k: int) -> tuple[MotionModel, Predicted, FloatArray]:
        """By one integral over the interval, of the problem the filter was made for."""
        if problem is not self.problem:
            raise CalibrationError("the perturbative filter is made for one log; make another for this problem")
        if self._noisy is None:
            self._noisy = self._noise.model(self.s)
        predicted = problem.errors_at(self._systematic, self.p, slice(k, k + 1))
        return self._noisy, predicted, predicted.slopes[0, self._rows]


def _prior(parameters: Sequence[Parameter]) -> tuple[FloatArray, FloatArray]:
    """Values (n,) and covariance (n, n) that parameters start from."""
    sigma = np.array([q.sigma for q in parameters])
    return np.array([q.value for q in parameters]), np.diag(sigma**2).reshape(len(sigma), len(sigma))


def kalman_update(
    x: FloatArray, P: FloatArray, y: FloatArray, H: FloatArray, R: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """T (3.51)–(3.54); the covariance by Joseph's form, which stays symmetric and positive."""
    S = H @ P @ H.T + R
    K = np.linalg.solve(S, H @ P).T
    A = np.eye(len(x)) - K @ H
    after = A @ P @ A.T + K @ R @ K.T
    return x + K @ y, 0.5 * (after + after.T)


@lru_cache(maxsize=8)
def upper_triangle(m: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the upper triangle of an (m, m) matrix."""
    return np.triu_indices(m)


def outer_product_covariance(R: FloatArray) -> FloatArray:
    """R_σ of T (3.36): covariance of the upper triangle of r rᵀ for r of zero mean and covariance R."""
    I, J = upper_triangle(len(R))
    return np.asarray(R[np.ix_(I, I)] * R[np.ix_(J, J)] + R[np.ix_(I, J)] * R[np.ix_(J, I)])


def high_covariance(R: FloatArray, slopes: FloatArray, S: FloatArray) -> FloatArray:
    """R with every noise parameter a sigma higher, for slopes ∂R/∂s (ns, m, m) and their covariance S (ns, ns).

    R_σ is quadratic in R. After a few small residuals R at the estimate is far too small; with R_σ of it the filter
    would become certain of a wrong Q′ and not recover. As S shrinks R_σ becomes that of T (3.36).
    """
    values, vectors = np.linalg.eigh(slopes)
    sizes = (vectors * np.abs(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray(R + np.einsum("k,kij->ij", np.sqrt(np.maximum(np.diag(S), 0.0)), sizes))
