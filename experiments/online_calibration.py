"""One model calibrated online on one log, as T §3.4 does it: errors before, meanwhile and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from grouser.calibration.calibrate import calibrate
from grouser.calibration.evaluate import errors_of
from grouser.calibration.loss import GATE
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, resolve
from grouser.motion.velocity import VelocityModel
from grouser.terrain import Terrain

SLIP_SIGMA = {"slip.p1": 0.5, "slip.p2": 0.1, "slip.p3": 0.5, "slip.p4": 0.05, "slip.p5": 0.05, "slip.p6": 0.5}
"""How large slip may be: p4, p5 turn the vehicle by so many rad a metre, the others are shares of a velocity."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """What calibration on one log gave. Errors are measured less predicted x, y [m], yaw [rad], (I, 3)."""

    log: Log
    start: MotionModel
    """The model before."""
    intervals: Intervals
    """What it was calibrated on."""
    before: FloatArray
    """Errors with the parameters it started from."""
    online: FloatArray
    """Errors of the predictions made from prior intervals alone."""
    after: FloatArray
    """Errors with the parameters at the end."""
    fit: Fit

    def judged(self, cut: Intervals) -> FloatArray:
        """Errors of the calibrated model over other intervals of the same log."""
        return errors_of(self.fit.model, self.log, cut).error


def learn(
    log: Log,
    model: Kinematics | Dynamics | VelocityModel,
    names: Sequence[str | Parameter],
    *,
    density: FloatArray,
    form: str = "diagonal",
    interval: float | None = None,
    distance: float | None = None,
    ground: Terrain | None = None,
    gate: float = GATE,
) -> Learned:
    """Calibrate online, T (3.48)–(3.54), with noise that grows in time; density: of the noise at the start, Q′.

    The ground is taken for one, as in the paper: slip does not wander and no change is looked for.
    """
    noise = Noise(density=density, form=form, grows="time")
    start = MotionModel(model=model, sensor=log.sensor, noise=noise, ground=ground)
    cut = cut_log(log, start, interval=interval, distance=distance)
    chosen = [_with_prior(p) for p in resolve(start, [*names, "noise"])]
    fit = calibrate(
        start,
        log,
        chosen,
        interval=interval,
        distance=distance,
        online=True,
        gate=gate,
        adapt=False,
        intervals=cut,
    )
    assert fit.history is not None
    return Learned(
        log=log,
        start=start,
        intervals=cut,
        before=errors_of(start, log, cut).error,
        online=fit.history.residual,
        after=errors_of(fit.model, log, cut).error,
        fit=fit,
    )


def mean_position(errors: FloatArray) -> float:
    """Mean distance of the predicted from the measured end [m]."""
    return float(np.hypot(errors[:, 0], errors[:, 1]).mean())


def mean_yaw(errors: FloatArray) -> float:
    """Mean absolute yaw error [rad]."""
    return float(np.abs(errors[:, 2]).mean())


def _with_prior(parameter: Parameter) -> Parameter:
    """Slip of a plausible size; noise with the weight of a few intervals, lest the first one decide it."""
    if parameter.name in SLIP_SIGMA:
        return replace(parameter, sigma=SLIP_SIGMA[parameter.name])
    if parameter.name.startswith("noise."):
        return replace(parameter, sigma=parameter.sigma / 12.0)
    return parameter
