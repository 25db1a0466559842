"""Intervals as linear measurements of systematic parameters, and a filter over the last of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from grouser._kernels.calibration import intervals as kernels
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.candidates import Predicted
from grouser.motion.intervals import wrapped
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector
from grouser.motion.predict import ERRORS, LogProblem
from grouser.motion.sensitivity import STEP, jacobian

Limits = tuple[tuple[int, int, int], float, FloatArray]
"""Numbers of residuals, parameters and coefficients of the noise; gate; bounds of the parameters (n, 2)."""

HELD = 120
"""Intervals that are kept linearised and filtered again when the estimate of the noise changes."""


class Linear(NamedTuple):
    """An interval as a linear measurement y = H p + noise of covariance fixed + Σ φ_j basis_j."""

    y: FloatArray
    """(m,)."""
    H: FloatArray
    """(m, n)."""
    fixed: FloatArray
    """(m, m)."""
    basis: FloatArray
    """(ns, m, m)."""
    seconds: float
    """Duration [s]."""
    lasting: FloatArray
    """Covariance to learn with, beyond that of the interval alone, (m, m)."""

    def covariance(self, phi: FloatArray) -> FloatArray:
        """Covariance of the noise with coefficients φ (ns,), (m, m)."""
        return np.asarray(self.fixed + np.einsum("j,jab->ab", phi, self.basis))


def make_run(count: int, limits: Limits) -> Any:
    """Room for some intervals."""
    (m, n, ns), gate, bounds = limits
    run = kernels.IntervalRun.zeros(K=count, m=m, n=n, ns=ns, gate=float(gate))
    run.lower[:], run.upper[:] = bounds.T
    return run


def put(run: Any, k: int, one: Linear) -> None:
    """Interval k of a run."""
    for name, value in one._asdict().items():
        getattr(run, name)[k] = value


def filter_intervals(run: Any, first: int, last: int, p: FloatArray, P: FloatArray) -> None:
    """Intervals of a run one after another, T (3.49)–(3.54); p (n,) and its covariance P (n, n) change."""
    if kernels.filter_sequence(run, first, last, p, P) >= 0:
        raise CalibrationError("the covariance of a prediction is not positive definite; check the noise")


def filter_one(run: Any, interval: Linear, p: FloatArray, P: FloatArray) -> FloatArray:
    """The estimate (n,) after an interval by a run of one; p and P before it do not change."""
    put(run, 0, interval)
    after = p.copy()
    filter_intervals(run, 0, 1, after, P.copy())
    return after


def state_of(owner: Any, names: Iterable[str]) -> dict[str, Any]:
    """Arrays of an object as plain numbers."""
    return {name: getattr(owner, name).tolist() for name in names}


def set_state(owner: Any, names: Iterable[str], state: dict[str, Any]) -> None:
    """Set arrays of an object from plain numbers; their shapes and kinds stay the same."""
    for name in names:
        old = getattr(owner, name)
        setattr(owner, name, np.array(state[name], dtype=old.dtype).reshape(old.shape))


class Window:
    """The last intervals on one ground, and the estimate before the first of them."""

    def __init__(self, limits: Limits) -> None:
        self.n, self.count = limits[0][1], 0
        self.run = make_run(HELD, limits)
        self.head = (np.zeros(self.n), np.zeros((self.n, self.n)))
        """Estimate and covariance before the first interval."""

    def begin(self, p: FloatArray, P: FloatArray) -> None:
        """Forget all intervals; the estimate is this."""
        self.head, self.count = (p.copy(), P.copy()), 0

    def add(self, one: Linear, p: FloatArray, P: FloatArray) -> float:
        """Learn from one more; changes p and P. Returns the logarithm of its evidence."""
        if self.count == HELD:  # the oldest goes into the head
            filter_intervals(self.run, 0, 1, *self.head)
            for name in (*Linear._fields, "distance", "weight", "evidence"):
                held = getattr(self.run, name)
                held[:-1] = held[1:].copy()
            self.count -= 1
        put(self.run, self.count, one)
        self.count += 1
        filter_intervals(self.run, self.count - 1, self.count, p, P)
        return float(self.run.evidence[self.count - 1])

    def again(self) -> tuple[FloatArray, FloatArray, float]:
        """Filter all again: estimate, covariance and the logarithm of the evidence; score and information too."""
        p, P = (one.copy() for one in self.head)
        self.run.score[:] = 0.0
        self.run.information[:] = 0.0
        filter_intervals(self.run, 0, self.count, p, P)
        return p, P, float(self.run.evidence[: self.count].sum())

    @property
    def state(self) -> dict[str, Any]:
        """As plain numbers."""
        held = {name: getattr(self.run, name)[: self.count].tolist() for name in (*Linear._fields, "weight")}
        return {"p": self.head[0].tolist(), "P": self.head[1].tolist(), **held}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        p, P = (np.array(state[name], dtype=np.float64) for name in "pP")
        self.begin(p, P.reshape(self.n, self.n))
        self.count = len(state["seconds"])
        for name in (*Linear._fields, "weight"):
            held = getattr(self.run, name)
            held[: self.count] = np.array(state[name], dtype=np.float64).reshape(self.count, *held.shape[1:])


class Linearise:
    """Predictions of an interval and their slopes.

    Where the velocity is affine in the slip parameters one integral gives both, P (11), (12), and differences give the
    slopes by the sensor's mounting and lag; other parameters need differences throughout.
    """

    def __init__(self, motion: MotionModel, parameters: Sequence[Parameter]) -> None:
        """The systematic parameters."""
        self.vector = ParameterVector(motion, [p.name for p in parameters])
        self.parameters = list(parameters)
        self.affine = bool(self.vector.slip) and not self.vector.remade
        self._slip = [column for column, _ in self.vector.slip]
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
    """Mean loss of displacement because yaw noise bends the path, in the components of the residual, (m,) [m, rad].

    E[cos θ] = 1 − σ²/2 along the path, with a variance of yaw that grows evenly: a quarter of that at the end. Left
    out, it would be taken for forward slip.
    """
    variance = float(np.einsum("ab,ab->", motion.noise.density, predicted.W[0, :, :, 3, 3]))
    return np.where(problem.rows < 2, 0.25 * variance * predicted.poses[0, problem.rows], 0.0)
