"""Enhanced slip: the calibrated slip model corrected by a fused velocity, L (6.2)–(6.4).

Signs are ours, v_true = v_odometry + v_slip, so a wheel that slips while it climbs has v_slip against v_odometry. L
subtracts slip: its u and y are the negatives of ours, and so is its state. The slip ratio s is positive in both when
the vehicle falls behind its wheels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.odometry.slip_ratio import THRESHOLD, ratio

SLOW_TURN = 0.05
"""Turn rate [rad/s] up to which its slip counts as none (ours: about the threshold of (6.4) at an LRU's wheels)."""


@dataclass(frozen=True, kw_only=True)
class SlipFilter:
    """The Kalman filter of L §6.1, the same for forward, left and turn: x ← F x + G u, y = H x, with H = 1.

    F, G, Q act once a period. Samples that come more or less often are given their dt, and the filter takes dt/period
    of its steps, so that its time constant in seconds and its weights do not depend on the sampling rate.
    """

    memory: float = 0.2
    """F, a share, 0 ≤ F < 1: what stays of the last estimate after a period."""
    trust: float = 0.8
    """G, a share, ≥ 0: what the model's slip adds. F + G = 1 follows a constant slip without bias."""
    process: float = 1.0
    """Q [m²/s² and rad²/s²], > 0."""
    measurement: float = 5.0
    """R [m²/s² and rad²/s²], > 0: of the fused velocity, which shakes with the body."""
    period: float = 0.1
    """Time of one step of the filter [s], > 0. L gives none. 0.1 s makes a time constant of 0.056 s, which smooths the
    shaking of the body and is shorter than any change of a rover's speed."""
    fault_time: float = 2.0
    """Time constant [s], > 0, with which the last good slip decays while an input is faulty."""

    def __post_init__(self) -> None:
        if not 0.0 <= checks.number(self.memory, "slip filter memory") < 1.0:
            raise SimulationError(f"slip filter memory: {self.memory:g} is not at least 0 and below 1")
        checks.not_negative(self.trust, "slip filter trust")
        for name in ("process", "measurement", "period", "fault_time"):
            checks.positive(getattr(self, name), f"slip filter {name}")

    @property
    def steady_covariance(self) -> float:
        """P [m²/s²] before a measurement after many of them: the positive root of P² + (R (1 − F²) − Q) P − Q R = 0."""
        b = self.measurement * (1.0 - self.memory**2) - self.process
        return 0.5 * (math.sqrt(b * b + 4.0 * self.process * self.measurement) - b)

    @property
    def steady_gain(self) -> float:
        """K = P/(P + R) after many measurements, a share."""
        p = self.steady_covariance
        return p / (p + self.measurement)


class SlipEstimate:
    """The running filter: the slip velocity (forward, left [m/s], turn [rad/s]) and its covariance."""

    def __init__(self, settings: SlipFilter | None = None) -> None:
        """With L's matrices, unless settings say otherwise."""
        self.settings = checks.instance(
            settings or SlipFilter(), SlipFilter, "settings", "use grouser.traction.SlipFilter(…)"
        )
        self.slip = np.zeros(3)
        """v_slip = v_true − v_odometry, shape (3,)."""
        self.covariance = 0.0
        """P after the last sample, the same for each component [m²/s² and rad²/s²]."""

    def update(
        self, model_slip: ArrayLike, odometry: ArrayLike, fused: ArrayLike | None, dt: float | None = None
    ) -> FloatArray:
        """One sample, shape (3,): the model's slip, the odometry before slip, and the fused velocity (None: it is
        missing); dt: time since the last one [s], None: one period of the filter."""
        f = self.settings
        u = checks.array(model_slip, "model_slip", (3,))
        v = checks.array(odometry, "odometry", (3,))
        steps = 1.0 if dt is None else checks.positive(dt, "dt") / f.period
        if fused is None:
            self._approach(f.trust / (1.0 - f.memory) * u, f.memory**steps)
            most = f.process / (1.0 - f.memory**2)
            self.covariance = most + (self.covariance - most) * f.memory ** (2.0 * steps)
            return self.slip
        y = checks.array(fused, "fused", (3,)) - v  # (6.2), negated: our slip is added to the odometry
        before = f.memory**2 * self.covariance + f.process
        gain = before / (before + f.measurement)
        stays = (1.0 - gain) * f.memory  # of the estimate after one step with this gain
        self._approach(((1.0 - gain) * f.trust * u + gain * y) / (1.0 - stays), stays**steps)
        self.covariance = self._covariance_after(steps)
        return self.slip

    def decay(self, towards: ArrayLike, dt: float) -> FloatArray:
        """After a fault, (3,) [m/s, rad/s]: the last good slip decays over dt [s] towards what is still known."""
        stays = math.exp(-checks.positive(dt, "dt") / self.settings.fault_time)
        self._approach(checks.array(towards, "towards", (3,)), stays)
        return self.slip

    def _approach(self, end: FloatArray, stays: float) -> None:
        self.slip = end + stays * (self.slip - end)

    def _covariance_after(self, steps: float) -> float:
        """P after a number of steps with measurements, which need not be whole.

        One step is P ← R (F² P + Q)/(F² P + Q + R). With its fixed points p and q the ratio (P − p)/(P − q) is
        multiplied by the same number in each.
        """
        f = self.settings
        p = f.measurement * f.steady_gain
        if f.memory**2 == 0.0:
            return p
        # The product of the fixed points is −Q R/F².
        q = -f.process * f.measurement / (f.memory**2 * p)
        each = (f.memory**2 * p + f.process + f.measurement) / (f.memory**2 * q + f.process + f.measurement)
        ratio = (self.covariance - p) / (self.covariance - q) * each**-steps
        return float((p - q * ratio) / (1.0 - ratio))


def slip_vector(slip: ArrayLike, odometry: ArrayLike) -> FloatArray:
    """s of forward, left and turn separately, shape (3,), > 0 slips, < 0 skids; zero where the odometry is slow.

    One number for all is `grouser.odometry.slip_ratio.body_slip` (6.4), or `travel_slip` with its sign.
    """
    v_slip, v = checks.array(slip, "slip", (3,)), checks.array(odometry, "odometry", (3,))
    return ratio(-v_slip, v, np.array([THRESHOLD, THRESHOLD, SLOW_TURN]))
