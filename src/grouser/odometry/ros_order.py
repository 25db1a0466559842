"""Covariances as ROS messages want them: position before rotation, row by row, poses in the axes of the fixed frame."""

from __future__ import annotations

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray

NOT_OBSERVED = 1e6
"""Variance of a velocity that nothing measures [m²/s², rad²/s²]: a message has no other way to say so."""

_LINEAR_FIRST = np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])


def pose_rows(covariance: FloatArray, quaternion: FloatArray) -> FloatArray:
    """Of a pose's error (rotation, translation) in body axes, T_true = T_est · Exp(δ), to (36,) in the world's axes."""
    R = rotation.from_quaternion(quaternion)
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = R
    rows: FloatArray = (both @ covariance @ both.T)[_LINEAR_FIRST].ravel()
    return rows


def twist_rows(covariance: FloatArray, observed: np.ndarray | None = None) -> FloatArray:
    """Of a twist (ω, v) in body axes, to (36,); entries that are not observed have a variance of `NOT_OBSERVED`."""
    matrix = covariance
    if observed is not None and not observed.all():
        matrix = np.where(np.outer(observed, observed), covariance, np.diag(np.full(6, NOT_OBSERVED)))
    rows: FloatArray = matrix[_LINEAR_FIRST].ravel()
    return rows
