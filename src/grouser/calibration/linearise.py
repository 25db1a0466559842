"""An interval as a linear measurement of systematic parameters, at any estimates of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.candidates import Predicted
from grouser.motion.intervals import wrapped
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector
from grouser.motion.predict import ERRORS, LogProblem
from grouser.motion.sensitivity import STEP, jacobian


class Linearise:
    """Predictions of an interval and their slopes.

    Where the velocity is affine in the slip parameters one integral gives both, P (11), (12), and differences give the
    slopes by the sensor's mounting and lag; other parameters need differences throughout.
    """

    def __init__(self, motion: MotionModel, parameters: Sequence[Parameter]) -> None:
        """The systematic parameters."""
        self.vector = ParameterVector(motion, [p.name for p in parameters])
        self.parameters = list(parameters)
        vector = self.vector
        self.affine = bool(vector.slip) and not vector.remade
        self._slip = [column for column, _ in vector.slip]
        self._other = [k for k in range(len(self.parameters)) if k not in self._slip]

    def __call__(self, problem: LogProblem, k: int, X: FloatArray) -> tuple[FloatArray, FloatArray, Predicted]:
        """y = r + H x (S, m) and H (S, m, n) of interval k at rows x of X (S, n), and the prediction at the first."""
        one = slice(k, k + 1)
        if not self.affine:
            return self._by_differences(problem, one, X)
        predicted = problem.errors_at(self.vector, X, one)
        rows = [ERRORS.index(int(row)) for row in problem.rows]
        H = np.zeros((len(X), problem.size, X.shape[1]))
        H[:, :, self._slip] = predicted.slopes[:, rows]
        if self._other:
            H[:, :, self._other] = self._of_sensor(problem, one, X)
        columns: list[Any] = [None if part is None else part[:1] for part in predicted]
        return self._measured(problem, one, predicted.poses, H, X), H, Predicted(*columns)

    def _measured(self, problem: LogProblem, one: slice, poses: FloatArray, H: FloatArray, X: FloatArray) -> FloatArray:
        r = np.stack([problem.residuals(pose[None], one)[0] for pose in poses])
        return np.asarray(r + np.einsum("smn,sn->sm", H, X))

    def _of_sensor(self, problem: LogProblem, one: slice, X: FloatArray) -> FloatArray:
        """Slopes by the parameters that are not of slip, (S, m, k), by central differences."""
        k = len(self._other)
        step = STEP * np.array([self.parameters[j].scale for j in self._other])
        moved = np.repeat(X, 2 * k, axis=0).reshape(len(X), 2, k, -1)
        for i, j in enumerate(self._other):
            moved[:, 0, i, j] += step[i]
            moved[:, 1, i, j] -= step[i]
        poses = problem.poses_at(self.vector, moved.reshape(-1, X.shape[1]), one).reshape(len(X), 2, k, -1)
        slopes = wrapped(poses[:, 0] - poses[:, 1])[..., problem.rows] / (2.0 * step[:, None])
        return np.asarray(slopes.swapaxes(1, 2))

    def _by_differences(
        self, problem: LogProblem, one: slice, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, Predicted]:
        n = X.shape[1]
        predicted = problem.errors(self.vector.model(X[0]) if n else self.vector.motion, one)
        if not n:
            return problem.residuals(predicted.poses, one), np.zeros((1, problem.size, 0)), predicted
        found = [jacobian(problem, self.vector, self.parameters, x, one) for x in X]
        poses, H = (np.concatenate(part) for part in zip(*found, strict=True))
        return self._measured(problem, one, poses, H, X), H, predicted


def shortening(problem: LogProblem, motion: MotionModel, predicted: Predicted) -> FloatArray:
    """How much shorter the way is, on average, because yaw noise bends it, as the residual has it, (m,) [m, rad].

    E[cos θ] = 1 − σ²/2 along the way, with a variance of yaw that grows evenly: a quarter of that at the end. Left out,
    it would be taken for forward slip.
    """
    variance = float(np.einsum("ab,ab->", motion.noise.density, predicted.W[0, :, :, 3, 3]))
    way = np.where(problem.rows < 2, 0.25 * variance * predicted.poses[0, problem.rows], 0.0)
    return np.asarray(way)
