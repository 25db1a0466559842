"""Wheel rates from encoder positions, L (4.42), and the noise that counting whole steps puts into them.

Over a time T a wheel at rate ω turns by ωT/q steps of q [rad], of which the counter sees the whole number below or
above: with f the fraction of a step, the difference has variance q² f (1 − f), which is q²/6 over all rates, and the
rate q²/(6 T²). What one difference adds the next takes back, so the angle never drifts. L's (4.43), .0076 to .0097
rad²/s² at T = 10 ms, is that of 2600 to 2940 steps per turn; L reports about ten times more at 1 kHz, not a hundred.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.odometry.inputs import BoolArray, check, row, time_stamp

FROZEN_BY_COMMAND = 0.1  # rad a wheel was commanded to turn without one step
FROZEN_BY_OTHERS = 1.0  # rad the other wheels turned meanwhile; larger, because a wheel may stand in a tight turn


def rate_variance(steps_per_turn: float, period: float) -> float:
    """Variance of a rate [rad²/s²] from the difference of two positions a period [s] apart: q²/(6 T²)."""
    q = 2.0 * math.pi / check.positive(steps_per_turn, "steps_per_turn")
    return q * q / (6.0 * check.positive(period, "period") ** 2)


@dataclass(frozen=True)
class Rates:
    """Wheel rates of one moment, one entry per encoder."""

    rate: FloatArray
    """[rad/s]; NaN where not known."""
    variance: FloatArray
    """From counting steps [rad²/s²]; NaN where the rate is."""
    period: FloatArray
    """Time the difference spans [s]; longer after missing samples."""
    frozen: BoolArray
    """The wheel should turn but its encoder does not: its rate must not be used."""


class Encoders:
    """Rates from positions of n encoders, sample by sample; samples may be irregular, late or missing."""

    def __init__(
        self,
        n: int,
        steps_per_turn: float,
        *,
        wrap: int | None = None,
        span: int = 1,
        fastest: float = 50.0,
        longest: float = 1.0,
    ) -> None:
        """n encoders with `steps_per_turn` steps per turn of the wheel, gear included.

        wrap: counts after which a counter wraps, such as 65536; None: it does not. span: samples a difference
        reaches back, more for less noise and more delay. fastest: rate [rad/s] that no wheel exceeds; a gap in which
        the counter could wrap unseen at this rate, or longer than `longest` [s], gives no rate.
        """
        self.n = check.count(n, "n", most=1000)
        self.step = 2.0 * math.pi / check.positive(steps_per_turn, "steps_per_turn")
        self._wrap = None if wrap is None else float(check.count(wrap, "wrap", least=2, most=2**53))
        self._span = check.count(span, "span", most=10_000)
        self._fastest = check.positive(fastest, "fastest")
        self._longest = check.positive(longest, "longest")
        self._past: list[deque[tuple[float, float]]] = [deque(maxlen=self._span + 1) for _ in range(self.n)]
        self._time: float | None = None
        self._unmoved = np.zeros((2, self.n))

    def update(self, t: float, counts: ArrayLike, expected: ArrayLike | None = None) -> Rates:
        """Rates at time t [s] from counter readings (n,), NaN where one is missing.

        expected: rates that were commanded (n,) [rad/s]; without them, or where NaN, the other wheels decide whether an
        encoder is frozen. A sample whose time does not advance gives no rates.
        """
        now = time_stamp(t)
        counts = row(counts, "counts", self.n, "encoder")
        rate, variance, period = np.full((3, self.n), np.nan)
        if self._time is not None and now <= self._time:
            return Rates(rate, variance, period, self._frozen)
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        for i in range(self.n):
            self._difference(i, now, counts[i], rate, variance, period)
        self._watch(dt, counts, rate, None if expected is None else row(expected, "expected", self.n, "encoder"))
        return Rates(rate, variance, period, self._frozen)

    def _difference(
        self, i: int, now: float, count: float, rate: FloatArray, variance: FloatArray, period: FloatArray
    ) -> None:
        past = self._past[i]
        if not math.isfinite(count):
            return
        if past:
            gap, change = now - past[-1][0], count - past[-1][1]
            if self._wrap is not None:
                change = (change + 0.5 * self._wrap) % self._wrap - 0.5 * self._wrap
                count = past[-1][1] + change  # unwrapped, so that differences over several samples are plain
                if gap * self._fastest >= 0.5 * self._wrap * self.step:
                    past.clear()  # it may have gone round once more: begin again
            if gap > self._longest or abs(change) * self.step > self._fastest * gap + self.step:
                past.clear()  # a gap too long, or a jump no wheel can make: the counter was reset
        if self._wrap is not None and abs(count) > 2.0**52:
            past.clear()
            count %= self._wrap
        past.append((now, count))
        if len(past) > 1:
            period[i] = now - past[0][0]
            rate[i] = (count - past[0][1]) * self.step / period[i]
            variance[i] = rate_variance(2.0 * math.pi / self.step, period[i])

    def _watch(self, dt: float, counts: FloatArray, rate: FloatArray, expected: FloatArray | None) -> None:
        """Count what each wheel should have turned since its encoder last moved: by command, and by the others."""
        for i in range(self.n):
            past = self._past[i]
            if not math.isfinite(counts[i]):
                continue
            if len(past) > 1 and past[-1][1] != past[-2][1]:
                self._unmoved[:, i] = 0.0
                continue
            others = np.abs(np.delete(rate, i))
            others = others[np.isfinite(others)]
            if expected is not None and math.isfinite(expected[i]):
                self._unmoved[0, i] += abs(expected[i]) * dt
            elif others.size:
                self._unmoved[1, i] += float(np.median(others)) * dt

    @property
    def _frozen(self) -> BoolArray:
        most = np.maximum([[FROZEN_BY_COMMAND], [FROZEN_BY_OTHERS]], 5.0 * self.step)
        return np.asarray(np.any(self._unmoved > most, axis=0))
