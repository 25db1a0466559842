"""Numbers of a log turned into signals: rates from counts or positions, lags removed, fresh poses apart from held."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import BoolArray, IntArray
from grouser.rotation import from_quaternion, to_rpy


def default_gap(period: float) -> float:
    """The longest hole that is not yet a gap [s]: 5 median periods, at least 0.25 s."""
    return max(5.0 * period, 0.25)


def differenced(values: FloatArray, time: FloatArray, segment: IntArray, kind: str) -> FloatArray:
    """Rate at each sample from positions, or from increments: what was counted since the sample before; shape (n,).

    The mean over the two neighbouring periods, which is the rate at the sample to second order; at the ends of
    a segment the one period there is. A count that is missing spoils the two rates it enters, a lone sample has none.
    """
    here, same = np.arange(len(time)), np.diff(segment) == 0
    before, after = here.copy(), here.copy()  # itself at the ends of a segment
    before[1:] -= same
    after[:-1] += same
    moved = values[after] - values[before]
    if kind == "increment":
        moved = np.where(before < here, values, 0.0) + np.where(after > here, values[after], 0.0)
    span = time[after] - time[before]
    rate: FloatArray = np.full(len(time), np.nan)
    np.divide(moved, span, out=rate, where=span > 0.0)
    return rate


def pieces(segment: IntArray) -> list[slice]:
    """The samples of each segment."""
    bounds = np.flatnonzero(np.diff(segment, prepend=-1, append=-1)).tolist()
    return [slice(first, end) for first, end in pairwise(bounds)]


def unlag(signal: FloatArray, time: FloatArray, segment: IntArray, lag: float) -> FloatArray:
    """The signal as it was at each sample, where a value stamped t was true at t − lag [s].

    Linear between the samples of one segment; NaN where the value would lie outside the segment.
    """
    result = np.full_like(signal, np.nan)
    for part in pieces(segment):
        result[part] = np.interp(time[part] + lag, time[part], signal[part], left=np.nan, right=np.nan)
    return result


def between(values: FloatArray, known: FloatArray, time: FloatArray, longest: float) -> FloatArray:
    """Values (k, c) of rising times, linear at other times, (m, c); NaN outside, and in holes above `longest` [s]."""
    after = np.clip(np.searchsorted(known, time), 1, len(known) - 1)
    low, high = known[after - 1], known[after]
    near = np.minimum(np.abs(time - low), np.abs(time - high)) < 1e-6
    good = (time >= known[0]) & (time <= known[-1]) & ((high - low <= longest) | near)
    return np.stack([np.where(good, np.interp(time, known, column), np.nan) for column in values.T], axis=1)


def same_signs(quaternion: FloatArray) -> FloatArray:
    """Quaternions (n, 4) of which each has the sign that lies nearer to the one before."""
    flips = np.append(False, np.sum(quaternion[1:] * quaternion[:-1], axis=1) < 0.0)[: len(quaternion)]
    return np.where(np.cumsum(flips)[:, None] % 2 == 1, -quaternion, quaternion)


def changes(values: FloatArray) -> BoolArray:
    """Rows of an array (n, k) that differ from the row before; the first does."""
    result = np.ones(len(values), np.bool_)
    result[1:] = np.any(values[1:] != values[:-1], axis=1)
    return result


def unwrap(angle: FloatArray, segment: IntArray) -> FloatArray:
    """The angle [rad] without jumps of 2π inside a segment; it begins within ±π in each."""
    result = angle.copy()
    for part in pieces(segment):
        result[part] = np.unwrap(angle[part])
    return result


def rpy_from_quaternions(quaternion: FloatArray) -> FloatArray:
    """Roll, pitch, yaw [rad], shape (m, 3), of quaternions w x y z, shape (m, 4); NaN for what is no rotation."""
    result = np.full((len(quaternion), 3), np.nan)
    good = np.all(np.isfinite(quaternion), axis=1) & np.any(quaternion != 0.0, axis=1)
    if good.any():
        result[good] = to_rpy(from_quaternion(quaternion[good]))
    return result
