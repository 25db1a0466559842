"""Slopes of predictions by the convolution integral, for any parameters of the velocity: what tests compare with."""

from __future__ import annotations

import numpy as np

from grouser.motion.parameters import ParameterVector, default
from grouser.motion.predict import ERRORS
from grouser.motion.sensitivity import velocity_slope


def convolution(problem, motion, names, chosen=slice(None)):
    """Poses (I, 6) and H (I, m, np) by one integral instead of one prediction each, P (11), L (5.28).

    Exact where the slope of the velocity is: known where it is affine in slip, else a difference.
    """
    vector = ParameterVector(motion, names)
    if len(vector.slip) == len(names):
        predicted = problem.errors_at(vector, vector.values, chosen)
    else:
        inputs = problem.window(chosen)
        slopes = [velocity_slope(motion, name, default(motion, name).scale, inputs) for name in names]
        predicted = problem.errors(motion, chosen, np.stack(slopes, axis=-1))
    H = np.zeros((len(predicted.poses), 6, len(names)))
    H[:, ERRORS] = predicted.slopes
    return predicted.poses, H[:, problem.rows]
