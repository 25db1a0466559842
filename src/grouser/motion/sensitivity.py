"""Sensitivities of predictions to parameters: by differences of whole predictions, or by the convolution integral."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.kinematics import Kinematics
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, default, value_of, with_values
from grouser.motion.predict import ERRORS, LogProblem
from grouser.motion.velocity import VelocityModel, twists

STEP = 1e-4
"""Difference taken, as a share of a parameter's scale, of models that are smooth."""
ROLLOUT_STEP = 1e-3
"""The same for rollouts over a ground, whose contacts are found to a tolerance."""


def jacobian(
    problem: LogProblem,
    motion: MotionModel,
    parameters: Sequence[Parameter],
    values: FloatArray,
    chosen: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Poses (I, 6) and H = ∂pose/∂p (I, m, np) by central differences: all candidates in one call, T (3.27).

    H is the slope of the prediction, so that an innovation r = measured − predicted moves p toward the truth (errata).
    """
    names = [p.name for p in parameters]
    step = STEP if motion.velocity_driven else ROLLOUT_STEP
    candidates = [with_values(motion, dict(zip(names, values, strict=True)))]
    between = np.empty(len(names))
    for k, p in enumerate(parameters):
        # At a bound the difference is one-sided.
        ends = [p.clip(values[k] + sign * step * p.scale) for sign in (1.0, -1.0)]
        between[k] = ends[0] - ends[1]
        for end in ends:
            moved = values.copy()
            moved[k] = end
            candidates.append(with_values(motion, dict(zip(names, moved, strict=True))))
    poses = problem.poses(candidates, chosen)
    difference = poses[1::2] - poses[2::2]
    difference[..., 3:] = np.remainder(difference[..., 3:] + np.pi, 2.0 * np.pi) - np.pi
    H = np.moveaxis(difference / between[:, None, None], 0, -1)
    return poses[0], np.ascontiguousarray(H[:, problem.rows])


def convolution(
    problem: LogProblem, motion: MotionModel, names: Sequence[str], chosen: slice = slice(None)
) -> tuple[FloatArray, FloatArray]:
    """Poses and H for parameters of the velocity alone, by one integral instead of one prediction each.

    P (11), L (5.28). Exact where the slope of the velocity is; that is found by differences where a model does not
    give it in closed form.
    """
    if not motion.velocity_driven:
        raise CalibrationError("the convolution integral needs a velocity-driven model: attitude must be an input")
    slopes = velocity_slopes(problem, motion, names, chosen)
    predicted = problem.errors(motion, chosen, slopes)
    H = np.zeros((len(predicted.poses), 6, len(names)))
    H[:, ERRORS] = predicted.slopes
    return predicted.poses, H[:, problem.rows]


def velocity_slopes(
    problem: LogProblem, motion: MotionModel, names: Sequence[str], chosen: slice = slice(None)
) -> FloatArray:
    """∂(ω, v)/∂p at the samples of some intervals, shape (n, 6, np)."""
    inputs = problem._window(chosen)[1]
    model = motion.model
    if isinstance(model, VelocityModel):
        known = model.slopes(inputs, list(names))
        if known is not None:
            return known
    assert isinstance(model, (Kinematics, VelocityModel))
    out = np.empty((len(inputs.time), 6, len(names)))
    for k, name in enumerate(names):
        if name.split(".")[0] in ("sensor", "noise"):
            raise CalibrationError(f"{name} is no parameter of the velocity; take differences instead")
        ends = []
        h = STEP * default(motion, name).scale
        for sign in (1.0, -1.0):
            moved = with_values(motion, {name: value_of(motion, name) + sign * h}).model
            assert isinstance(moved, (Kinematics, VelocityModel))
            ends.append(twists(moved, inputs))
        out[:, :, k] = (ends[0] - ends[1]) / (2.0 * h)
    return out
