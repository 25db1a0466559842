"""A fit seen as a linear model of its intervals: information by interval, and what leaving some of them out changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.calibration.loss import weight_of
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian


@dataclass(frozen=True, eq=False, kw_only=True)
class Linearised:
    """Residuals and slopes of the intervals of a log about given parameters."""

    residual: FloatArray
    """Measured less predicted x, y [m], yaw [rad], (I, 3)."""
    slope: FloatArray
    """Slopes of the prediction by the parameters, (I, 3, np), per unit of each."""
    covariance: FloatArray
    """Of the residuals, without the uncertainty of the parameters [m², rad²], (I, 3, 3)."""
    information: FloatArray
    """Wᵢ Hᵢᵀ Rᵢ⁻¹ Hᵢ of each interval, (I, np, np), per product of units."""
    gradient: FloatArray
    """Wᵢ Hᵢᵀ Rᵢ⁻¹ rᵢ of each interval, (I, np), per unit."""

    @staticmethod
    def of(
        motion: MotionModel, parameters: tuple[Parameter, ...], values: FloatArray, log: Log, cut: Intervals
    ) -> Linearised:
        """About the values of some parameters; outliers weigh less, as in the fit."""
        problem = LogProblem(log, motion, cut)
        poses, H = jacobian(problem, motion, parameters, values)
        r = problem.residuals(poses)
        R = problem.covariance(motion, problem.errors(motion))
        solved: FloatArray = np.linalg.solve(R, np.concatenate([r[..., None], H], axis=2)).astype(np.float64)
        distance = np.einsum("ij,ij->i", r, solved[..., 0])
        weight = weight_of(distance, "mixture", problem.size)
        information = np.einsum("i,ija,ijb->iab", weight, H, solved[..., 1:])
        gradient = np.einsum("i,ija,ij->ia", weight, H, solved[..., 0])
        return Linearised(residual=r, slope=H, covariance=R, information=information, gradient=gradient)


def left_out(fit: Fit, log: Log, cut: Intervals, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """Errors (I, 3) and their covariance (I, 3, 3) of each fold of intervals (I,), predicted by a fit to the others.

    The fit without a fold is one Gauss–Newton step from the fit to all: p + (N − N_k)⁻¹ (g − g_k), with N the normal
    matrix and g the gradient, priors included. Predictions are nearly linear over so small a change. The noise is that
    of the fit to all.
    """
    values = fit.vector[: len(fit.covariance)]
    about = Linearised.of(fit.model, fit.systematic, values, log, cut)
    prior = np.diag([1.0 / p.sigma**2 for p in fit.systematic])
    normal = about.information.sum(axis=0) + prior
    gradient = about.gradient.sum(axis=0) - prior @ (values - [p.value for p in fit.systematic])
    error, covariance = about.residual.copy(), about.covariance.copy()
    for k in np.unique(fold):
        mine = fold == k
        P = np.linalg.pinv(normal - about.information[mine].sum(axis=0), hermitian=True)
        H = about.slope[mine]
        error[mine] -= H @ (P @ (gradient - about.gradient[mine].sum(axis=0)))
        covariance[mine] += H @ P @ H.transpose(0, 2, 1)
    return error, covariance
