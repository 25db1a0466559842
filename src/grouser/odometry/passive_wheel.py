"""Slip measured with passive wheels, L §5.2.1: a wheel without torque turns with the ground and shows its true speed.

Wheels are switched off one after another in random order, each for 100 ms, with 500 ms between in which all drive. L
dropped it for the LRU, whose elastic bogies swing when a motor lets go, and thinks well of it for stiffer rovers: the
first part of each pause is therefore left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import check, time_stamp
from grouser.odometry.slip_ratio import wheel_slip


class PassiveSchedule:
    """Which wheel is off when: every wheel once a round, in an order that a seed makes."""

    def __init__(self, n: int, *, off: float = 0.1, pause: float = 0.5, seed: int = 0, start: float = 0.0) -> None:
        """n wheels, each off for so long [s], with a pause [s] in which all drive before every one."""
        self.n = check.count(n, "n", most=1000)
        self.off, self.pause = check.positive(off, "off"), check.positive(pause, "pause")
        self._seed = check.count(seed, "seed", least=0)
        self._start = time_stamp(start, "start")

    def wheel(self, t: float) -> int | None:
        """The wheel that is off at time t [s]; None while all drive."""
        turn, phase = divmod(time_stamp(t) - self._start, self.off + self.pause)
        if turn < 0.0 or phase < self.pause - 1e-9:
            return None
        lap, place = divmod(int(turn), self.n)
        return int(np.random.default_rng([self._seed, lap]).permutation(self.n)[place])


class PassiveWheelSlip:
    """Slip ratio of a vehicle from its passive wheels, sample by sample; between measurements it is interpolated.

    A wheel's slip is how much slower it turns free than driven, s = (ω_driven − ω_free)/ω_driven as L (5.1), where
    ω_driven is what it did just before it was switched off, scaled by what the other wheels did since.
    """

    def __init__(
        self, radius: ArrayLike, *, settle: float = 0.05, memory: float = 0.1, threshold: float = 0.02
    ) -> None:
        """Wheel radii (n,) [m]; settle: time [s] after switching off that is left out; memory: time [s] over which
        the rates of driven wheels are averaged; threshold: rim speed [m/s] below which nothing is measured."""
        self._radius = check.array(radius, "radius", (None,))
        if (self._radius <= 0.0).any():
            raise OdometryError("radius: must be positive for every wheel")
        self._settle, self._memory = check.number(settle, "settle"), check.positive(memory, "memory")
        self._threshold = check.positive(threshold, "threshold")
        n = len(self._radius)
        self._driven = np.full(n, np.nan)  # usual rate of each wheel while driven
        self._before = np.full(n, np.nan)  # of all wheels when one was switched off
        self._off: int | None = None
        self._since = 0.0
        self._sum, self._middle, self._count = 0.0, 0.0, 0
        self._time: float | None = None
        self._two: list[tuple[float, float]] = []  # the last two measurements (time, slip)

    @property
    def slip(self) -> float | None:
        """The latest slip ratio; None before the first measurement."""
        return self._two[-1][1] if self._two else None

    def at(self, t: float) -> float | None:
        """Slip ratio at a time [s], straight between the last two measurements and held beyond them."""
        if not self._two:
            return None
        times, slips = zip(*self._two, strict=True)
        return float(np.interp(time_stamp(t), times, slips))

    def update(self, t: float, rates: ArrayLike, off: int | None) -> float | None:
        """One sample: time [s], wheel rates (n,) [rad/s] and which wheel is off; the slip if one was just measured."""
        now = time_stamp(t)
        rate = np.asarray(rates, dtype=np.float64)
        n = len(self._radius)
        if rate.shape != (n,):
            raise OdometryError(f"rates: has shape {rate.shape}, needs ({n},), one per wheel")
        if off is not None:
            off = check.count(off, "off", least=0, most=n - 1)
        if self._time is not None and now <= self._time:
            return None
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        found = self._finish() if off != self._off else None
        if off is not None and off != self._off:
            self._since = now
            self._sum, self._middle, self._count = 0.0, 0.0, 0
            self._before = self._driven.copy()
        self._off = off
        if off is not None and now - self._since >= self._settle - 1e-9 and math.isfinite(rate[off]):
            self._sum += float(rate[off])
            self._middle += now
            self._count += 1
        driving = np.isfinite(rate)
        if off is not None:
            driving[off] = False
        share = -math.expm1(-dt / self._memory)
        usual = np.where(np.isnan(self._driven), rate, self._driven + share * (rate - self._driven))
        self._driven = np.where(driving, usual, self._driven)
        return found

    def _finish(self) -> float | None:
        """The slip of the wheel that was off until now."""
        off = self._off
        if off is None or not self._count:
            return None
        others = np.arange(len(self._radius)) != off
        before, after = self._before[others], self._driven[others]
        known = np.isfinite(before) & np.isfinite(after)
        drove = float(np.abs(before[known]).sum())
        change = float(np.abs(after[known]).sum()) / drove if drove > 0.0 else 1.0
        driven = self._before[off] * change
        rim, free = driven * self._radius[off], self._sum / self._count * self._radius[off]
        if not math.isfinite(rim) or abs(rim) <= self._threshold:
            return None
        slip = float(wheel_slip(rim, free, threshold=self._threshold))
        self._two = [*self._two, (self._middle / self._count, slip)][-2:]
        return slip


def interpolated(times: ArrayLike, slips: ArrayLike, at: ArrayLike) -> FloatArray:
    """Measured slip ratios at other times [s], straight in between and held at the ends, for a log as a whole."""
    t, s = check.array(times, "times", (None,)), check.array(slips, "slips", (None,))
    if len(t) != len(s) or not len(t) or (np.diff(t) <= 0.0).any():
        raise OdometryError("times, slips: must be as many, at least one, with times that rise")
    result: FloatArray = np.interp(np.asarray(at, dtype=np.float64), t, s)
    return result
