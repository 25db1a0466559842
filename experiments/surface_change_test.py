"""The monitor's test for a change of ground (`_kernels/robot/ground.py`) on windows of slip and current.

Windows of measurements x_k (slip, log of the current, …) have a usual level m, learned when the test begins and
followed slowly, and a variance S. Here the level is known well, on a level floor at a constant speed: the band of the
test is zero, nothing is forgotten, and three windows are needed, so that one or two outliers never are a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from grouser._compile.jit import entry
from grouser._kernels.robot import ground
from grouser.checks import FloatArray

LEARNED = 1.5
"""Time in which the usual level is learned [s]."""
BOUND = 4.0
"""Largest λ of one window."""
OUTLIER = 3.5
"""Sigmas to which a measurement is clipped."""
KNOWN = 20.0
"""Windows that the spread given beforehand counts for."""


@dataclass(frozen=True, kw_only=True)
class ChangeTest:
    """What is known beforehand; features are in the order of the columns of x."""

    window: float = 0.2
    """Length of a window [s]."""
    spread: tuple[float, ...] = (0.07, 0.10)
    """One sigma of a window of each feature: of the speed ratio and of the log of the current."""
    drift: tuple[float, ...] = (0.005, 0.01)
    """How much a level may wander on one ground, one sigma after a second; it grows with the root of time."""
    shifts: tuple[tuple[float, ...], ...] = ((0.1, 0.2, 0.4), (0.2, 0.4, 0.8))
    """Sizes of changes of each feature, either way: slip by 10 to 40 %, current by a fifth to double."""
    false_alarms: float = 1.0
    """An hour, at most, if windows are independent."""

    @property
    def alarm(self) -> float:
        """A: windows between false alarms."""
        return 3600.0 / (self.window * self.false_alarms)

    @property
    def hypotheses(self) -> FloatArray:
        """All combinations of shifts but no shift at all, (h, features)."""
        sizes = [(0.0, *one, *(-size for size in one)) for one in self.shifts]
        return np.array([one for one in product(*sizes) if any(one)])


@dataclass(frozen=True)
class Usual:
    """A level with its variance, and the variance of a window about it, (features,) each."""

    level: FloatArray
    variance: FloatArray
    window: FloatArray

    def off(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Clipped deviation of a window from the level and its variance, (features,) each."""
        S = self.variance + self.window
        return np.clip(x - self.level, -OUTLIER * np.sqrt(S), OUTLIER * np.sqrt(S)), S

    def after(self, away: FloatArray, drift: FloatArray) -> Usual:
        """The level after a window; `drift`: variance that it gains till the next."""
        gain = self.variance / (self.variance + self.window)
        return Usual(self.level + gain * away, (1.0 - gain) * self.variance + drift, self.window)


def learn(x: FloatArray, spread: FloatArray) -> Usual:
    """The level of windows (n, features) of one ground; their spread is weighed against the one given."""
    n = len(x)
    middle = np.median(x, axis=0)
    level = middle + np.clip(x - middle, -3.0 * spread, 3.0 * spread).mean(axis=0)
    squares = (np.clip(x - level, -3.0 * spread, 3.0 * spread) ** 2).sum(axis=0)
    window = (KNOWN * spread**2 + squares) / (KNOWN + n - 1.0)
    return Usual(level, window / n, window)


@entry
def advance(ratios, shifts, off, variance, out):  # type: ignore[no-untyped-def]
    """The monitor's test takes a window; out: [band, weight], (2, features). Returns the mean of the ratios."""
    for i in range(off.size):
        out[0, i] = 0.0
        out[1, i] = 1.0 / variance[i]
    return ground.advance(ratios, shifts, off, out[0], out[1], BOUND, 1.0)


def find_changes(x: FloatArray, test: ChangeTest) -> tuple[list[int], FloatArray]:
    """Windows at which a change is reported, and the log of the statistic over A, (n,), NaN while a level is learned.

    Causal: an alarm at a window depends on it and those before. After an alarm the new level is learned.
    """
    shifts, spread = test.hypotheses, np.array(test.spread)
    drift = np.array(test.drift) ** 2 * test.window
    learned, n = round(LEARNED / test.window), len(x)
    alarms: list[int] = []
    statistic, out = np.full(n, np.nan), np.zeros((2, len(spread)))
    first = 0
    while first + learned < n:
        usual, R = learn(x[first : first + learned], spread), np.zeros(len(shifts))
        k = first + learned
        while k < n:
            away, S = usual.off(x[k])
            statistic[k] = np.log(advance(R, shifts, away, S, out) / test.alarm)
            if statistic[k] > 0.0:
                alarms.append(k)
                break
            usual = usual.after(away, drift)
            k += 1
        first = k + 1
    return alarms, statistic
