"""A filter over the last intervals of a drive, each as a linear measurement, to learn their noise in hindsight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from grouser._kernels.calibration import intervals as kernels
from grouser.checks import FloatArray
from grouser.errors import CalibrationError

HELD = 120
"""Intervals whose linearisation is kept: so many are filtered again when the noise turns out otherwise."""


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


def make_run(count: int, shape: tuple[int, int, int], gate: float, bounds: FloatArray) -> Any:
    """Room for some intervals; shape: residuals, parameters, coefficients of the noise. Bounds (n, 2)."""
    m, n, ns = shape
    sizes: dict[str, tuple[int, ...]] = {
        "y": (count, m), "H": (count, m, n), "fixed": (count, m, m), "basis": (count, ns, m, m), "seconds": (count,),
        "lasting": (count, m, m),
        "phi": (ns,), "drift": (n,), "distance": (count,), "weight": (count,), "evidence": (count,), "score": (ns,),
        "information": (ns, ns), "R": (m, m), "L": (m, m), "G": (m, n), "r": (m,), "x": (m,), "inverse": (m, m),
        "product": (ns, m, m),
    }  # fmt: skip
    lower, upper = (np.ascontiguousarray(side) for side in bounds.T)
    arrays = {name: np.zeros(size) for name, size in sizes.items()}
    return kernels.IntervalRun(**arrays, lower=lower, upper=upper, gate=float(gate))


def put(run: Any, k: int, one: Linear) -> None:
    """Interval k of a run."""
    for name, value in one._asdict().items():
        getattr(run, name)[k] = value


class Window:
    """The last intervals on one ground, and the estimate before the first of them."""

    def __init__(self, shape: tuple[int, int, int], gate: float, bounds: FloatArray) -> None:
        """Shape: residuals, parameters, coefficients of the noise; bounds of the parameters (n, 2)."""
        self.shape, self.count = shape, 0
        self.run = make_run(HELD, shape, gate, bounds)
        self.head = (np.zeros(shape[1]), np.zeros((shape[1], shape[1])))
        """Estimate and covariance before the first interval."""

    def begin(self, p: FloatArray, P: FloatArray) -> None:
        """Forget all intervals; the estimate is this."""
        self.head, self.count = (p.copy(), P.copy()), 0

    def add(self, one: Linear, p: FloatArray, P: FloatArray) -> float:
        """Learn from one more; changes p and P. Returns the logarithm of its evidence."""
        if self.count == HELD:  # the oldest goes into the head
            self._filter(0, 1, *self.head)
            for name in (*Linear._fields, "distance", "weight", "evidence"):
                held = getattr(self.run, name)
                held[:-1] = held[1:].copy()
            self.count -= 1
        put(self.run, self.count, one)
        self.count += 1
        self._filter(self.count - 1, self.count, p, P)
        return float(self.run.evidence[self.count - 1])

    def again(self) -> tuple[FloatArray, FloatArray, float]:
        """Filter all again: estimate, covariance and the logarithm of the evidence; score and information too."""
        p, P = (one.copy() for one in self.head)
        self.run.score[:] = 0.0
        self.run.information[:] = 0.0
        self._filter(0, self.count, p, P)
        return p, P, float(self.run.evidence[: self.count].sum())

    def _filter(self, first: int, last: int, p: FloatArray, P: FloatArray) -> None:
        if kernels.filter_sequence(self.run, first, last, p, P) >= 0:
            raise CalibrationError("the covariance of a prediction is not positive definite; check the noise")

    @property
    def state(self) -> dict[str, Any]:
        """As plain numbers."""
        held = {name: getattr(self.run, name)[: self.count].tolist() for name in (*Linear._fields, "weight")}
        return {"p": self.head[0].tolist(), "P": self.head[1].tolist(), **held}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        n = self.shape[1]
        self.begin(np.array(state["p"], dtype=np.float64), np.array(state["P"], dtype=np.float64).reshape(n, n))
        self.count = len(state["seconds"])
        for name in (*Linear._fields, "weight"):
            held = getattr(self.run, name)
            held[: self.count] = np.array(state[name], dtype=np.float64).reshape(self.count, *held.shape[1:])
