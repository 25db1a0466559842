"""The prediction of a whole log: every interval with its covariance, by noise, uncertain parameters and ground."""

from __future__ import annotations

from dataclasses import dataclass

from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.motion.candidates import Predicted
from grouser.motion.fit import Fit
from grouser.motion.intervals import cut_log, wrapped
from grouser.motion.model import MotionModel
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian
from grouser.motion.spread import GroundSpread, default_spread


@dataclass(frozen=True, eq=False, kw_only=True)
class LogPrediction:
    """Predicted and measured motion over the intervals of a log."""

    times: FloatArray
    """Time stamps of the first and last pose of each [s], (I, 2)."""
    pose: FloatArray
    """Predicted pose at the end in the heading frame of the start, (I, 6): x, y, z [m], roll, pitch, yaw [rad]."""
    covariance: FloatArray
    """Covariance of its errors against the measured x, y [m], yaw [rad], sensor noise included, (I, 3, 3)."""
    measured: FloatArray
    """Motion by the pose sensor, (I, 6): x, y, z [m], roll, pitch, yaw [rad]."""

    @property
    def error(self) -> FloatArray:
        """Measured less predicted x, y [m] and yaw [rad], (I, 3)."""
        return wrapped(self.measured - self.pose)[:, [0, 1, 5]]


def predict_log(
    motion: MotionModel | Fit, log: Log, *, interval: float | None = 2.0, distance: float | None = None
) -> LogPrediction:
    """Predict every interval of a log, by time [s] or distance [m]; a fit adds the uncertainty of its parameters."""
    model = motion if isinstance(motion, MotionModel) else motion.model
    cut = cut_log(log, model, interval=interval, distance=distance)
    problem = LogProblem(log, model, cut, encoders=False)
    predicted = problem.errors(model)
    other_log = isinstance(motion, MotionModel) or not motion.made_from(log)
    return LogPrediction(
        times=cut.times,
        pose=predicted.poses,
        covariance=prediction_covariance(problem, motion, predicted, other_log=other_log),
        measured=cut.measured,
    )


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
