"""Slip seen in the motors, L §5.1: a wheel that loses its grip speeds up at the same power, or needs less at its speed.

The first is L's [18] for torque-controlled wheels, the second L's own for wheels whose controllers hold the speed. Body
oscillations make motor torques noisy, L Fig. 4.5: the scatter is learned while driving, and changes are tested in its
sigmas, sample by sample, and by a cumulative sum of smoothed samples, which detects a change within the ripple.

Slip measured with passive wheels, L §5.2.1: a wheel without torque turns with the ground and shows its true speed.
Wheels are switched off one after another in random order, each for 100 ms, with 500 ms between in which all drive. L
recommends it for rovers stiffer than the LRU, whose bogies swing when a motor lets go: the first part is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import BoolArray, check, row, time_stamp
from grouser.odometry.slip_ratio import wheel_slip


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
    evidence: FloatArray
    """Logarithm of the likelihood of slip over that of none, since it began to rise, (n,)."""
    ready: BoolArray
    """Whether there were enough samples for the mean and variance, (n,)."""


SMOOTH = 0.2  # Time over which ripple of power and rate is smoothed [s]; values twice as far apart are independent
SHIFT = 4.0  # Change that is looked for in smoothed values, in their sigmas


class MotorSlipDetector:
    """Estimates the usual rate and power of each wheel and detects when one changes without the other.

    One sample beyond `sigmas` counts at once. A change within the ripple is found by a cumulative sum (Page's test) of
    smoothed values: while power and rate scatter as they are used to, its mean time between false alarms of a wheel is
    at least `hours`.
    """

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
        usual: float = 5.0,
        hours: float = 10.0,
    ) -> None:
        """n wheels. Means and variances are estimated over a time `memory` [s].

        sigmas: of a change that counts; steady: sigmas within which the other has not changed; rate_floor [rad/s],
        power_floor [W, or the unit of what is given]: least scatter; patience: time [s] until a change is usual.
        usual: time [s] over which the scatter of smoothed values is estimated.
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
        self._usual = check.positive(usual, "usual")
        self._alarm = math.log(3600.0 * check.positive(hours, "hours") / (2.0 * SMOOTH))
        self._smooth = np.full((2, self.n), np.nan)
        self._level, self._spread = np.full((2, self.n), np.nan), np.zeros((2, self.n))
        self._sums = np.zeros((2, self.n))  # of evidence for spinning, for being unloaded
        self._time: float | None = None

    def update(self, t: float, rates: ArrayLike, power: ArrayLike, commands: ArrayLike | None = None) -> MotorSlip:
        """One sample: time [s], wheel rates [rad/s] and motor power [W], or currents, both (n,), NaN where missing.

        commands: commanded rates; then the rate less its command is tested, so that a commanded change is no slip.
        """
        now = time_stamp(t)
        rate, used = row(rates, "rates", self.n, "wheel"), np.abs(row(power, "power", self.n, "wheel"))
        # Faster is in the direction the wheel turns, or is commanded to.
        commanded = np.zeros(self.n) if commands is None else row(commands, "commands", self.n, "wheel")
        sense = np.where((commanded if commands is not None else rate) < 0.0, -1.0, 1.0)
        sample = np.stack([sense * (rate - commanded), used])
        dt = 0.0 if self._time is None else now - self._time
        if self._time is not None and dt <= 0.0:
            none = np.zeros(self.n)
            return MotorSlip(none > 0.0, none > 0.0, none, none, self._sums.max(axis=0), self._ready)
        self._time = now
        good = np.isfinite(sample).all(axis=0)
        deviation = sample - self._mean
        z = np.where(good & self._ready, deviation / np.hypot(np.sqrt(self._variance), self._floor[:, None]), 0.0)
        spinning = (z[0] > self._sigmas) & (z[1] < self._steady)
        unloaded = (z[1] < -self._sigmas) & (np.abs(z[0]) < self._steady)
        self._add_up(sample, good, dt)
        spinning |= self._sums[0] >= self._alarm
        unloaded |= self._sums[1] >= self._alarm
        odd = spinning | unloaded
        self._odd = np.where(odd, self._odd + dt, 0.0)
        self._learn(sample, deviation, good & (~odd | (self._odd > self._patience)), dt)
        return MotorSlip(spinning, unloaded, z[0], z[1], self._sums.max(axis=0), self._ready)

    def _add_up(self, sample: FloatArray, good: BoolArray, dt: float) -> None:
        """Page's test of smoothed samples: one has changed by SHIFT sigmas, the other by less than half of that."""
        new = good & np.isnan(self._smooth[0])
        self._smooth[:, new] = self._level[:, new] = sample[:, new]
        old = good & ~new
        self._smooth[:, old] -= math.expm1(-dt / SMOOTH) * (sample - self._smooth)[:, old]
        deviation = np.where(old, self._smooth - self._level, 0.0)
        z = deviation / np.hypot(np.sqrt(self._spread), 0.2 * self._floor[:, None])
        change = np.stack([np.where(z[1] < 0.5 * SHIFT, z[0], 0.0), np.where(np.abs(z[0]) < 0.5 * SHIFT, -z[1], 0.0)])
        full = old & (self._seen >= self._usual)
        gain = SHIFT * (change - 0.5 * SHIFT) * dt / (2.0 * SMOOTH)
        self._sums = np.clip(np.where(full, self._sums + gain, 0.0), 0.0, self._alarm + 2.0)
        # What may be slip is not usual yet, and slip is not before it has lasted.
        use = old & ((self._sums.max(axis=0) < 1.0) | (self._odd > self._patience))
        share = np.maximum(-math.expm1(-dt / self._usual), dt / np.maximum(self._seen[use], dt))
        self._level[:, use] += share * deviation[:, use]
        self._spread[:, use] = (1.0 - share) * (self._spread[:, use] + share * deviation[:, use] ** 2)

    def _learn(self, sample: FloatArray, deviation: FloatArray, use: BoolArray, dt: float) -> None:
        """Exponentially forgetting mean and variance; a plain mean until the memory is full."""
        new = use & np.isnan(self._mean[0])
        self._mean[:, new] = sample[:, new]
        old = use & ~new
        self._seen[use] += dt
        g = np.maximum(-math.expm1(-dt / self._memory), dt / np.maximum(self._seen[old], dt))
        self._mean[:, old] += g * deviation[:, old]
        self._variance[:, old] = (1.0 - g) * (self._variance[:, old] + g * deviation[:, old] ** 2)

    @property
    def _ready(self) -> BoolArray:
        return np.asarray(self._seen >= 0.5 * self._memory)


class PassiveSchedule:
    """Which wheel is off when: every wheel once a round, in an order that a seed makes."""

    def __init__(self, n: int, *, off: float = 0.1, pause: float = 0.5, seed: int = 0, start: float = 0.0) -> None:
        """n wheels, each off for a time [s]; before each, all drive for a pause [s]."""
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
        self._free = np.zeros(3)  # sums of time and rate of the wheel that is off, and of samples
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
        n = len(self._radius)
        rate = row(rates, "rates", n, "wheel")
        if off is not None:
            off = check.count(off, "off", least=0, most=n - 1)
        if self._time is not None and now <= self._time:
            return None
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        found = None
        if off != self._off:
            found, self._off = self._finish(), off
            self._since, self._before, self._free = now, self._driven, np.zeros(3)
        driving = np.isfinite(rate)
        if off is not None:
            if now - self._since >= self._settle - 1e-9 and driving[off]:
                self._free += (now, rate[off], 1.0)
            driving[off] = False
        share = -math.expm1(-dt / self._memory)
        usual = np.where(np.isnan(self._driven), rate, self._driven + share * (rate - self._driven))
        self._driven = np.where(driving, usual, self._driven)
        return found

    def _finish(self) -> float | None:
        """The slip of the wheel that was off until now."""
        off = self._off
        if off is None or not self._free[2]:
            return None
        middle, turned = (self._free[:2] / self._free[2]).tolist()
        others = np.arange(len(self._radius)) != off
        before, after = self._before[others], self._driven[others]
        known = np.isfinite(before) & np.isfinite(after)
        drove = float(np.abs(before[known]).sum())
        change = float(np.abs(after[known]).sum()) / drove if drove > 0.0 else 1.0
        driven = self._before[off] * change
        rim, free = driven * self._radius[off], turned * self._radius[off]
        if not math.isfinite(rim) or abs(rim) <= self._threshold:
            return None
        slip = float(wheel_slip(rim, free, threshold=self._threshold))
        self._two = [*self._two, (middle, slip)][-2:]
        return slip
