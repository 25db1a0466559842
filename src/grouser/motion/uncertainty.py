"""Covariance of predictions by a fit: noise, uncertain parameters, and ground that differs from that of the fit."""

from __future__ import annotations

from grouser.checks import FloatArray
from grouser.motion.candidates import Predicted
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian
from grouser.motion.spread import GroundSpread, default_spread


def prediction_covariance(
    problem: LogProblem, fit: Fit | MotionModel, predicted: Predicted, *, other_log: bool = False
) -> FloatArray:
    """Covariance (I, m, m) of residuals: R_μ of T (3.21), and of a fit H P Hᵀ by the covariance P of its parameters.

    On another log than that of the fit the sensor's lag differs by its spread, and the ground by `Fit.spread` or, if
    the fit knows none, by the default `GroundSpread`.
    """
    motion = fit.model if isinstance(fit, Fit) else fit
    R = problem.covariance(motion, predicted, other_log=other_log)
    if not isinstance(fit, Fit) or not len(fit.covariance):
        return R
    P = fit.covariance
    if other_log and fit.spread is not None:
        P = P + fit.spread
    elif other_log and motion.velocity_driven:
        R = R + problem.ground_covariance(motion, GroundSpread())
    elif other_log:
        P = P + default_spread(fit.systematic, fit.vector)
    _, H = jacobian(problem, motion, fit.systematic, fit.vector[: len(P)])
    return R + H @ P @ H.transpose(0, 2, 1)
