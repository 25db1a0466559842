"""What odometry along a log knows of its parameters: those of the fit, the ground, bias and scale of the gyro."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.schedule import Schedule, carried
from grouser.motion.spread import SAME_GROUND, GroundSpread
from grouser.odometry.gyro import SCALE, GyroSignal


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge:
    """Uncertain parameters in each of the K epochs of a log, in which they stay; without learning there is one."""

    parameters: tuple[str, ...]
    """Names of all np of them."""
    fitted: tuple[tuple[str, float], ...]
    """Name and scale of those that are the fit's, which come first, units as in `Fit`."""
    first: IntArray
    """First sample of each epoch, rising from 0, (K,)."""
    covariance: FloatArray
    """(K, np, np), products of their units."""
    carried: FloatArray
    """How much of the error before each epoch is left in it, (K, np, np): E[e | e before] = carried · e before."""

    def epoch(self, samples: IntArray) -> IntArray:
        """Number of the epoch of each sample."""
        return np.searchsorted(self.first, samples, side="right") - 1


def knowledge_of(
    model: object, signal: GyroSignal | None, ground: GroundSpread, schedule: Schedule | None = None
) -> Knowledge:
    """Parameters that are uncertain: of the fit, then the ground, bias and scale of the gyro, with their covariance.

    The ground differs from that of the fit by what the fit knows of it (`Fit.spread`), else by `ground`, until the
    schedule has learned its slip.
    """
    chosen: list[int] = []
    fitted: tuple[tuple[str, float], ...] = ()
    covariance = np.zeros((0, 0))
    if isinstance(model, Fit) and len(model.covariance):
        chosen = [k for k, p in enumerate(model.systematic) if not p.name.startswith("sensor.")]
        covariance = np.asarray(model.covariance)[np.ix_(chosen, chosen)]
        if model.spread is not None and ground != SAME_GROUND:  # it was learned, and takes the place of the default
            covariance, ground = covariance + model.spread[np.ix_(chosen, chosen)], SAME_GROUND
        fitted = tuple((model.systematic[k].name, model.systematic[k].scale) for k in chosen)
    sigmas = {"ground.speed": ground.speed, "ground.turn": ground.turn, "ground.drift": ground.drift}
    if signal is not None:
        sigmas |= {"gyro.bias": signal.bias_sigma, "gyro.scale": SCALE}
    n = len(fitted)
    C = np.diag(np.append(np.zeros(n), np.square(list(sigmas.values()))))
    C[:n, :n] = covariance
    first, covariances, left = [0], [C], [np.eye(len(C))]
    if schedule is not None and len(schedule):
        _check(schedule, model)
        index = np.ix_(chosen, chosen)
        of_ground = np.append(schedule.of_ground[chosen], np.zeros(len(sigmas), bool))
        for k, (sample, P) in enumerate(zip(schedule.first.tolist(), schedule.covariance, strict=True)):
            after = C.copy()
            after[:n, :n], after[n : n + 3] = P[index], 0.0
            left.append(carried(covariances[-1], after, of_ground & bool(schedule.new_ground[k])))
            first.append(sample)
            covariances.append(after)
    return Knowledge(
        parameters=(*(name for name, _ in fitted), *sigmas), fitted=fitted, first=np.array(first, dtype=np.int64),
        covariance=np.array(covariances), carried=np.array(left),
    )  # fmt: skip


def _check(schedule: Schedule, model: object) -> None:
    """Refuse a schedule of other parameters than the fit's."""
    if not isinstance(model, Fit) or tuple(p.name for p in model.systematic) != schedule.parameters:
        raise OdometryError("schedule: is not of the parameters of this fit; make it with the same one")
