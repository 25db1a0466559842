"""Sensitivities of predictions to parameters and to the step, and of velocities to parameters, by differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.intervals import wrapped
from grouser.motion.model import MotionModel
from grouser.motion.parameters import OF_POSE, Parameter, ParameterVector
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import Inputs, twists
from grouser.spacing import evenly

STEP = 1e-4
"""Difference taken, as a share of a parameter's scale, of models that are smooth."""
ROLLOUT_STEP = 1e-3
"""The same for rollouts over a ground, whose contacts are found to a tolerance."""
SOME = 24
"""Intervals from which the error of the step is found."""


def jacobian(
    problem: LogProblem,
    motion: MotionModel | ParameterVector,
    parameters: Sequence[Parameter],
    values: FloatArray,
    chosen: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Poses (I, 6) and H = ∂pose/∂p (I, m, np) by central differences: all candidates in one call, T (3.27).

    H is the slope of the prediction, so that an innovation r = measured − predicted moves p toward the truth (errata).
    """
    vector = ParameterVector(motion, [p.name for p in parameters]) if isinstance(motion, MotionModel) else motion
    step = STEP if vector.motion.velocity_driven else ROLLOUT_STEP
    X = np.tile(values, (1 + 2 * len(parameters), 1))
    for k, p in enumerate(parameters):
        # At a bound the difference is one-sided.
        X[1 + 2 * k, k] = p.clip(values[k] + step * p.scale)
        X[2 + 2 * k, k] = p.clip(values[k] - step * p.scale)
    poses = problem.poses_at(vector, X, chosen)
    between = np.array([X[1 + 2 * k, k] - X[2 + 2 * k, k] for k in range(len(parameters))])
    H = np.moveaxis(wrapped(poses[1::2] - poses[2::2]) / between[:, None, None], 0, -1)
    return poses[0], np.ascontiguousarray(H[:, problem.rows])


def velocity_slope(motion: MotionModel, name: str, scale: float, inputs: Inputs) -> FloatArray:
    """∂(ω, v)/∂parameter at each sample, (n, 6), by a central difference."""
    if name.split(".")[0] in OF_POSE:
        raise CalibrationError(f"{name} is no parameter of the velocity; take differences instead")
    vector, h = ParameterVector(motion, [name]), STEP * scale
    models: list[Any] = [vector.model(vector.values + step).model for step in (h, -h)]
    above, below = (twists(model, inputs) for model in models)
    return np.array((above - below) / (2.0 * h))


def step_error(problem: LogProblem, motion: MotionModel) -> float:
    """Rms change of a residual if the step is halved, in its sigmas; 0 for models that are not rolled out.

    The engine is of first order, so this is about half of what the step adds to the error.
    """
    if motion.velocity_driven:
        return 0.0
    some = problem.recut(problem.intervals.only(evenly(len(problem.intervals), SOME)))
    coarse = some.errors(motion)
    fine = some.poses([motion.replace(dt=0.5 * motion.dt)])[0]
    if not (np.isfinite(fine).all() and np.isfinite(coarse.poses).all()):
        return 0.0  # residuals of such rollouts are refused elsewhere
    change = some.residuals(coarse.poses) - some.residuals(fine)
    white = np.linalg.solve(np.linalg.cholesky(some.covariance(motion, coarse)), change[..., None])
    return float(np.sqrt(np.mean(white**2)))


def most_allowed(problem: LogProblem) -> float:
    """The largest `step_error` that moves no parameter of a fit by much more than its sigma."""
    return float(np.clip(1.0 / np.sqrt(len(problem.intervals) * problem.size), 0.03, 0.3))
