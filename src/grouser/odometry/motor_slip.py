"""Slip seen in the motors, L §5.1: a wheel that loses its grip speeds up at the same power, or needs less at its speed.

The first is L's [18] for torque-controlled wheels. The second is L's own idea for wheels whose controllers hold the
speed, as the LRU's do. L warns that body oscillations make motor torques noisy: the scatter is therefore learned while
driving, and a wheel is judged in its sigmas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import check, time_stamp

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class MotorSlip:
    """What the motors of n wheels show at one moment."""

    spinning: BoolArray
    """The rate has risen while the power has not, (n,)."""
    unloaded: BoolArray
    """The power has fallen while the rate has not, (n,)."""
    rate_sigmas: FloatArray
    """Rate less what was usual, in sigmas; > 0 is faster in the direction it turns, (n,)."""
    power_sigmas: FloatArray
    """Power less what was usual, in sigmas, (n,)."""
    ready: BoolArray
    """Whether enough was seen to know what is usual, (n,)."""


class MotorSlipDetector:
    """Learns the usual rate and power of each wheel and notices when one leaves them without the other."""

    def __init__(
        self,
        n: int,
        *,
        memory: float = 1.0,
        sigmas: float = 5.0,
        steady: float = 2.0,
        rate_floor: float = 0.02,
        power_floor: float = 0.05,
        patience: float = 2.0,
    ) -> None:
        """n wheels. What is usual is learned over a time `memory` [s].

        sigmas: of a change that counts; steady: sigmas within which the other has not changed; rate_floor [rad/s],
        power_floor [W, or the unit of what is given]: least scatter that is believed; patience: time [s] after which a
        change is taken for the new usual.
        """
        self.n = check.count(n, "n", most=1000)
        self._memory, self._patience = check.positive(memory, "memory"), check.positive(patience, "patience")
        self._sigmas, self._steady = check.positive(sigmas, "sigmas"), check.positive(steady, "steady")
        if self._steady >= self._sigmas:
            raise OdometryError(f"steady: {self._steady:g} sigmas must be fewer than sigmas = {self._sigmas:g}")
        self._floor = np.array([check.positive(rate_floor, "rate_floor"), check.positive(power_floor, "power_floor")])
        self._mean = np.full((2, self.n), np.nan)
        self._variance = np.zeros((2, self.n))
        self._seen = np.zeros(self.n)
        self._odd = np.zeros(self.n)
        self._time: float | None = None

    def update(self, t: float, rates: ArrayLike, power: ArrayLike, commands: ArrayLike | None = None) -> MotorSlip:
        """One sample: time [s], wheel rates [rad/s] and motor power [W], or currents, both (n,), NaN where missing.

        commands: rates that were asked for; what is judged is then the rate less its command, so that a commanded
        change is no slip.
        """
        now = time_stamp(t)
        rate, used = self._row(rates, "rates"), np.abs(self._row(power, "power"))
        # Faster is in the direction the wheel turns, or was told to.
        told = np.zeros(self.n) if commands is None else self._row(commands, "commands")
        sense = np.where((told if commands is not None else rate) < 0.0, -1.0, 1.0)
        sample = np.stack([sense * (rate - told), used])
        dt = 0.0 if self._time is None else now - self._time
        if self._time is not None and dt <= 0.0:
            none = np.zeros(self.n, dtype=bool)
            return MotorSlip(none, none, np.zeros(self.n), np.zeros(self.n), self._ready)
        self._time = now
        good = np.isfinite(sample).all(axis=0)
        deviation = sample - self._mean
        z = np.where(good & self._ready, deviation / np.hypot(np.sqrt(self._variance), self._floor[:, None]), 0.0)
        spinning = (z[0] > self._sigmas) & (z[1] < self._steady)
        unloaded = (z[1] < -self._sigmas) & (np.abs(z[0]) < self._steady)
        odd = spinning | unloaded
        self._odd = np.where(odd, self._odd + dt, 0.0)
        self._learn(sample, deviation, good & (~odd | (self._odd > self._patience)), dt)
        return MotorSlip(spinning, unloaded, z[0], z[1], self._ready)

    def _learn(self, sample: FloatArray, deviation: FloatArray, use: BoolArray, dt: float) -> None:
        """Exponentially forgetting mean and variance; a plain mean until the memory is full."""
        new = use & np.isnan(self._mean[0])
        self._mean[:, new] = sample[:, new]
        old = use & ~new
        self._seen[use] += dt
        if not old.any():
            return
        share = -math.expm1(-dt / self._memory)
        g = np.maximum(share, dt / np.maximum(self._seen[old], dt))
        self._mean[:, old] += g * deviation[:, old]
        self._variance[:, old] = (1.0 - g) * (self._variance[:, old] + g * deviation[:, old] ** 2)

    @property
    def _ready(self) -> BoolArray:
        result: BoolArray = self._seen >= 0.5 * self._memory
        return result

    def _row(self, value: ArrayLike, name: str) -> FloatArray:
        row = np.asarray(value, dtype=np.float64)
        if row.shape != (self.n,):
            raise OdometryError(f"{name}: has shape {row.shape}, needs ({self.n},), one per wheel")
        return row
