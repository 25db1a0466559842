"""Whole slip angles and whole rim speeds held out: the model against linear interpolation of the measurements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from experiments.single_wheel_data import Points
from experiments.single_wheel_fit import predict
from grouser.checks import FloatArray
from grouser.contact import Ishigami

Values = Callable[[Points], FloatArray]
"""What is interpolated, shape (n, 3) for n points."""


def across_angles(known: Points, asked: Points, values: Values) -> FloatArray:
    """Values of known points between the slip angles next to that of each asked one, at its wheel and rim speed.

    A wheel yawed the other way has the opposite lateral force, so slip angle 0 lies between −30° and 30°. Beyond the
    last known angle its values hold.
    """
    found = np.empty((len(asked), 3))
    of_known = values(known)
    for i, (wheel, rim, angle) in enumerate(zip(asked.wheel, asked.rim_speed, asked.angle, strict=True)):
        same = (known.wheel == wheel) & (known.rim_speed == rim)
        angles, means = _means(known.angle[same], of_known[same])
        mirrored = angles > 0.0
        angles = np.concatenate([-angles[mirrored][::-1], angles])
        means = np.concatenate([means[mirrored][::-1] * (1.0, -1.0, 1.0), means])
        found[i] = [np.interp(angle, angles, column) for column in means.T]
    return found


def across_slips(known: Points, asked: Points, values: Values) -> FloatArray:
    """Values of known points between the slip ratios next to that of each asked one, at its wheel and slip angle.

    Beyond the known slip ratios the line through the last two is extrapolated.
    """
    found = np.empty((len(asked), 3))
    of_known = values(known)
    for i, (wheel, angle, slip) in enumerate(zip(asked.wheel, asked.angle, asked.slip, strict=True)):
        same = (known.wheel == wheel) & (known.angle == angle)
        _, means = _means(known.rim_speed[same], np.column_stack((known.slip[same], of_known[same])))
        at = int(np.searchsorted(means[:, 0], slip).clip(1, len(means) - 1))
        low, high = means[at - 1], means[at]
        found[i] = low[1:] + (high[1:] - low[1:]) * (slip - low[0]) / (high[0] - low[0])
    return found


def measured(points: Points) -> FloatArray:
    """By quantity, shape (n, 3)."""
    return points.measured


def corrected(
    model: Ishigami, known: Points, asked: Points, between: Callable[[Points, Points, Values], FloatArray]
) -> FloatArray:
    """The model's prediction with what it leaves of the known points, interpolated, added to it."""
    return predict(model, asked) + between(known, asked, lambda points: points.measured - predict(model, points))


def _means(group: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Every group and the means of its values, in ascending order."""
    names = np.unique(group)
    return names, np.array([values[group == name].mean(axis=0) for name in names])
