"""Candidates of a motion model that are predicted together, and predictions of intervals with their integrals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray
from grouser.motion.model import MotionModel
from grouser.motion.parameters import SENSOR, ParameterVector
from grouser.motion.velocity import slip_of


class Predicted(NamedTuple):
    """Predictions of I intervals by one model."""

    poses: FloatArray
    """Pose of the sensor at the end in its heading frame at the start, (I, 6)."""
    slopes: FloatArray
    """∂(x, y, z, yaw)/∂parameters by the convolution integral, (I, 4, np)."""
    W: FloatArray
    """Integrals of the noise components, (I, nd, nd, 4, 4): the covariance of x, y, z, yaw is Σ Q′_ab W_ab, P (17)."""
    ends: FloatArray
    """Velocity of the pose at the start and at the end, (I, 2, 4)."""
    wander: FloatArray
    """Integrals of the noise that wanders, (I, nd, 4, 4): the covariance is Σ wander_a V_a; zero if none does."""
    reach: FloatArray
    """Covariance of x, y, z, yaw with that noise at the start and at the end, per variance of it, (I, nd, 2, 4)."""
    start: FloatArray
    """Covariance of x, y, z, yaw by an uncertain velocity at the start, (I, 4, 4); only dynamics has one."""
    given: FloatArray | None = None
    """Covariance of the first and the last pose where the log gives it, (I, 2, 4, 4), NaN where it does not."""


class Candidates(NamedTuple):
    """S candidates of a motion model, of which many share a model of the velocity."""

    motions: list[MotionModel]
    """Motion models that differ in more than slip, sensor and noise."""
    which: IntArray
    """The motion model of each candidate, (S,)."""
    slip: FloatArray | None
    """Slip parameters of each, (S, k), where velocities are affine in them."""
    mounting: FloatArray
    """x, y, z, yaw [m, rad] and lag [s] of the sensor of each, (S, 5)."""

    @staticmethod
    def of_motions(motions: Sequence[MotionModel]) -> Candidates:
        """Given as motion models."""
        mounting = np.array([[getattr(m.sensor, field) for field in SENSOR] for m in motions], dtype=np.float64)
        return Candidates(list(motions), np.arange(len(motions)), None, mounting)

    @staticmethod
    def of_rows(vector: ParameterVector, X: FloatArray) -> Candidates:
        """Given as rows of parameters (S, n); a model is made only for those that need another."""
        motions, which, slip = [vector.present], np.zeros(len(X), dtype=np.int64), None
        if vector.remade:
            number_of: dict[bytes, int] = {}
            other = np.ascontiguousarray(X[:, vector.remade])
            which = np.array([number_of.setdefault(row.tobytes(), len(number_of)) for row in other])
            motions = [vector.model(X[int(np.argmax(which == m))]) for m in range(len(number_of))]
        if vector.slip:
            slip = np.array([slip_of(motions[0].model)] * len(X), dtype=np.float64)
            for column, position in vector.slip:
                slip[:, position] = X[:, column]
        return Candidates(motions, which, slip, vector.mountings(X))
