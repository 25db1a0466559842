"""The online filter: systematic and stochastic parameters from one interval after another, T (3.48)–(3.54)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, is_noise, value_of, with_values
from grouser.motion.predict import LogProblem, Predicted
from grouser.motion.sensitivity import jacobian

GATE = 90.0
"""Squared Mahalanobis distance beyond which an interval moves no systematic parameter, T §3.4.1."""
NOISE_GATE = 1000.0
"""The same for noise parameters: high, so that rare large errors count and uncertainty stays honest, T Fig. 3.11."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Update:
    """What one interval did to the filter."""

    time: float
    """Time stamp of the interval's end [s]."""
    residual: FloatArray
    """Measured less predicted, before the update [m, rad], (m,)."""
    innovation: FloatArray
    """Covariance of the residual as the filter saw it: noise and uncertain parameters [m², rad²], (m, m)."""
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
        self.p = np.array([q.value for q in self.systematic])
        self.P = np.diag([q.sigma**2 for q in self.systematic]) if self.systematic else np.zeros((0, 0))
        self.s = np.array([q.value for q in self.stochastic])
        self.S = np.diag([q.sigma**2 for q in self.stochastic]) if self.stochastic else np.zeros((0, 0))
        self.updates = 0
        self.rejected = 0

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
        return with_values(self.motion, dict(zip(self.names, self.values.tolist(), strict=True)))

    def update(self, problem: LogProblem, k: int) -> Update:
        """Learn from interval k of a problem."""
        now, predicted, H = self._predict(problem, k)
        duration = float(problem.intervals.duration[k])
        if self.systematic:
            self.P += np.diag([q.drift**2 * duration for q in self.systematic])  # (3.49)
        r = problem.residuals(predicted.poses, slice(k, k + 1))[0]
        R = problem.covariance(now, predicted)[0]
        innovation = H @ self.P @ H.T + R  # (3.51)
        distance = float(r @ np.linalg.solve(innovation, r))  # (3.68), a squared distance
        accepted = bool(distance <= self.gate)
        noise_accepted = bool(distance <= self.noise_gate)
        if accepted and self.systematic:
            self.p, self.P = kalman_update(self.p, self.P, r, H, R)
            self.p = np.array([q.clip(v) for q, v in zip(self.systematic, self.p, strict=True)])
        if noise_accepted and self.stochastic:
            self.S += np.diag([q.drift**2 * duration for q in self.stochastic])
            self._learn_noise(problem, now, r, innovation, predicted)
        self.updates += 1
        self.rejected += not accepted
        sigma = np.sqrt(np.concatenate([np.diag(self.P), np.diag(self.S)]))
        end = float(problem.intervals.times[k, 1])
        return Update(
            time=end,
            residual=r,
            innovation=innovation,
            distance=distance,
            accepted=accepted,
            noise_accepted=noise_accepted,
            values=self.values,
            sigma=sigma,
        )

    def _predict(self, problem: LogProblem, k: int) -> tuple[MotionModel, Predicted, FloatArray]:
        """The present model, its prediction of interval k, and the slopes of that by the systematic parameters."""
        now, one = self.calibrated, slice(k, k + 1)
        H = np.zeros((problem.size, 0))
        if self.systematic:
            H = jacobian(problem, now, self.systematic, self.p, one)[1][0]
        return now, problem.errors(now, one), H

    def _learn_noise(
        self, problem: LogProblem, now: MotionModel, r: FloatArray, innovation: FloatArray, predicted: Predicted
    ) -> None:
        """T (3.28)–(3.42): the outer product of the residual observes its covariance.

        The prediction is the innovation's covariance, not R_μ alone: while parameters are uncertain residuals are
        larger than their noise, and Q′ must not be blamed for it.
        """
        names = [q.name for q in self.stochastic]
        I, J = np.triu_indices(len(r))
        slopes = problem.covariance_slopes(now, predicted, names)[0]
        R_sigma = outer_product_covariance(high_covariance(innovation, slopes, self.S))
        self.s, self.S = kalman_update(self.s, self.S, r[I] * r[J] - innovation[I, J], slopes[:, I, J].T, R_sigma)
        self.s = np.array([q.clip(v) for q, v in zip(self.stochastic, self.s, strict=True)])
        bounded = with_values(now, dict(zip(names, self.s.tolist(), strict=True)))  # keeps Q′ positive definite
        self.s = np.array([value_of(bounded, name) for name in names])

    @property
    def state(self) -> dict[str, object]:
        """All that the filter remembers, as plain numbers."""
        return {
            "p": self.p.tolist(),
            "P": self.P.tolist(),
            "s": self.s.tolist(),
            "S": self.S.tolist(),
            "updates": self.updates,
            "rejected": self.rejected,
        }

    @state.setter
    def state(self, state: dict[str, object]) -> None:
        for name, now in (("p", self.p), ("P", self.P), ("s", self.s), ("S", self.S)):
            value = np.array(state[name], dtype=np.float64).reshape(now.shape)
            setattr(self, name, value)
        self.updates, self.rejected = int(str(state["updates"])), int(str(state["rejected"]))


def kalman_update(
    x: FloatArray, P: FloatArray, y: FloatArray, H: FloatArray, R: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """T (3.51)–(3.54); the covariance by Joseph's form, which stays symmetric and positive."""
    S = H @ P @ H.T + R
    K = np.linalg.solve(S, H @ P).T
    A = np.eye(len(x)) - K @ H
    after = A @ P @ A.T + K @ R @ K.T
    return x + K @ y, 0.5 * (after + after.T)


def outer_product_covariance(R: FloatArray) -> FloatArray:
    """R_σ of T (3.36): covariance of the upper triangle of r rᵀ for r of zero mean and covariance R."""
    I, J = np.triu_indices(len(R))
    result: FloatArray = R[np.ix_(I, I)] * R[np.ix_(J, J)] + R[np.ix_(I, J)] * R[np.ix_(J, I)]
    return result


def high_covariance(R: FloatArray, slopes: FloatArray, S: FloatArray) -> FloatArray:
    """R with every noise parameter a sigma higher, for slopes ∂R/∂s (ns, m, m) and their covariance S (ns, ns).

    R_σ is quadratic in R. After a few small residuals R at the estimate is far too small; with R_σ of it the filter
    would be sure of a Q′ that is wrong, and stay so. As S shrinks R_σ becomes that of T (3.36).
    """
    values, vectors = np.linalg.eigh(slopes)
    sizes = (vectors * np.abs(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    result: FloatArray = R + np.einsum("k,kij->ij", np.sqrt(np.maximum(np.diag(S), 0.0)), sizes)
    return result
