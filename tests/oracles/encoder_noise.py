"""Noise of rates that are differences of counted steps, as L §4.5.1 reports it: the reference for the encoders."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray


def variance_at_rate(rate: ArrayLike, steps_per_turn: float, period: float) -> FloatArray:
    """The same at known rates [rad/s]: q² f (1 − f)/T², with f the fraction of a step that is left over in a period."""
    q = 2.0 * math.pi / steps_per_turn
    T = period
    f = np.mod(np.asarray(rate) * T / q, 1.0)
    result: FloatArray = (q / T) ** 2 * f * (1.0 - f)
    return result


def steps_for(variance: float, period: float) -> float:
    """Steps per turn whose counting alone gives a variance [rad²/s²] of rates at a period [s]."""
    q = math.sqrt(6.0 * variance) * period
    return 2.0 * math.pi / q


def steps_and_ripple(slow: tuple[float, float], fast: tuple[float, float]) -> tuple[float, float]:
    """Steps per turn, and variance [rad²/s²] of true ripple in speed, from (period, variance) at two periods.

    Ripple is that of the speed itself, slow enough not to average out over a period: variance = ripple + q²/(6 T²).
    This is one way how ten times more variance at a tenth of the period can be, L §4.5.1; a fast signal that is
    filtered before it is read is another. L says too little to decide.
    """
    (T, a), (t, b) = ((p, v) for p, v in (slow, fast))
    counting = (b - a) / (t**-2 - T**-2) if t != T else -1.0
    ripple = a - counting / T**2
    if counting <= 0.0 or ripple < 0.0:
        raise ValueError(
            f"variances {a:g} at {T:g} s and {b:g} at {t:g} s are not those of ripple and counting; the shorter period "
            f"must have more, at most {(T / t) ** 2:g} times"
        )
    return 2.0 * math.pi / math.sqrt(6.0 * counting), ripple
