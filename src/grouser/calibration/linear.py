"""The intervals of a log linearised about given parameters, and the change of a fit if some of them are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.calibration.loss import squared_distance, weight_of
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals
from grouser.motion.parameters import Parameter, ParameterVector
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian


@dataclass(frozen=True, eq=False, kw_only=True)
class Linearised:
    """Residuals of I intervals, slopes of their prediction by the parameters, and robust weights."""

    residual: FloatArray
    """Measured less predicted [m, rad], (I, m)."""
    slope: FloatArray
    """Slopes of the prediction by the parameters, (I, m, np), per unit of each."""
    covariance: FloatArray
    """Of the residuals, without the uncertainty of the parameters [m², rad²], (I, m, m)."""
    weight: FloatArray
    """Robust weight of each interval, (I,)."""
    enlarged: float
    """Factor of the covariance by which distances were divided before the weights were found."""

    @staticmethod
    def of(
        problem: LogProblem,
        vector: ParameterVector,
        parameters: tuple[Parameter, ...] | list[Parameter],
        values: FloatArray,
        *,
        loss: str = "mixture",
        far: bool = False,
        covariance: FloatArray | None = None,
    ) -> Linearised:
        """About the values (np,) of some parameters, with R_μ of the noise there, or a given covariance (I, m, m).

        `far`: before a fit most residuals are large, and a mixture would take all of them for outliers; weights are
        then those of a larger covariance.
        """
        poses, H = jacobian(problem, vector, parameters, values)
        r = problem.residuals(poses)
        if covariance is None:
            motion = vector.model(values)
            covariance = problem.covariance(motion, problem.errors(motion))
        d2 = squared_distance(r, covariance)
        enlarged = _enlarged(d2, problem.size) if far and loss == "mixture" else 1.0
        weight = weight_of(d2 / enlarged, loss, problem.size)
        return Linearised(residual=r, slope=H, covariance=covariance, weight=weight, enlarged=enlarged)

    def normal(self, chosen: IntArray | slice = slice(None)) -> tuple[FloatArray, FloatArray]:
        """Information Σ w Hᵀ R⁻¹ H (np, np) and gradient Σ w Hᵀ R⁻¹ r (np,) of some intervals."""
        H, weight = self.slope[chosen], self.weight[chosen, None, None]
        G = weight * np.linalg.solve(self.covariance[chosen], H)
        return np.einsum("ija,ijb->ab", G, H), np.einsum("ija,ij->a", G, self.residual[chosen])


def left_out(fit: Fit, log: Log, cut: Intervals, fold: IntArray) -> tuple[FloatArray, FloatArray]:
    """Errors (I, 3) and their covariance (I, 3, 3) of each fold of intervals (I,), predicted by a fit to the others.

    The fit without a fold is one Gauss–Newton step from the fit to all: p + (N − N_k)⁻¹ (g − g_k), with N the normal
    matrix and g the gradient, priors included. Predictions are nearly linear over so small a change. The noise is that
    of the fit to all.
    """
    values, vector = fit.vector[: len(fit.covariance)], ParameterVector(fit.model, [p.name for p in fit.systematic])
    about = Linearised.of(LogProblem(log, fit.model, cut), vector, fit.systematic, values)
    normal, gradient = about.normal()
    prior = np.array([p.sigma for p in fit.systematic]) ** -2.0
    normal = normal + np.diag(prior)
    gradient = gradient - prior * (values - [p.value for p in fit.systematic])
    error, covariance = about.residual.copy(), about.covariance.copy()
    for k in np.unique(fold):
        mine = np.flatnonzero(fold == k)
        own_normal, own_gradient = about.normal(mine)
        P, H = np.linalg.pinv(normal - own_normal, hermitian=True), about.slope[mine]
        error[mine] -= H @ (P @ (gradient - own_gradient))
        covariance[mine] += H @ P @ H.transpose(0, 2, 1)
    return error, covariance


def _enlarged(d2: FloatArray, m: int) -> float:
    """Factor of the covariance that makes the median of squared distances (I,) that of χ²; 1 if it is below 4.

    The median does not depend on outliers.
    """
    ratio = float(np.median(d2)) / (m * (1.0 - 2.0 / (9.0 * m)) ** 3)
    return ratio if ratio > 4.0 else 1.0
