"""The gyro of a log made ready for odometry: standstills of the vehicle, bias and lag of the gyro.

They come from the log's own sensors, never from its poses. While the wheels stand the gyro reads its bias. The lag is
the shift, in addition to the manifest's, under which the turn rates of gyro and wheels agree best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import Log
from grouser.logs.report import Problem
from grouser.odometry.inputs import BoolArray
from grouser.vehicles import Vehicle

STILL = 0.02  # Wheel rate below which a wheel stands [rad/s]
REST = 1.0  # How long all wheels must stand for the vehicle to be at rest [s]
SETTLING = 0.5  # Left out at both ends of a rest [s]: the body rocks after a stop, and clocks differ
LEAST_REST = 2.0  # Shortest standstill that gives the bias [s]
UNKNOWN_BIAS = 0.003  # One sigma of the bias after too short a standstill to estimate it [rad/s]; assumed
UNKNOWN_NOISE = 0.005  # One sigma of a turn rate where the log is too short to estimate it [rad/s]
LONGEST_LAG = 0.3  # Largest remaining lag that is tried, of either sign [s]
LEAST_TURN = 0.5  # Least turning from which a lag is estimated [rad]
ALIKE = 0.5  # Share of the gyro's power that the wheels must explain for a lag to be accepted
HOLE = 0.5  # Longest hole in the gyro's data that is filled by interpolation [s]
SCALE = 0.003  # One sigma of the gyro's scale factor; assumed, not of any one sensor's data sheet


@dataclass(frozen=True, eq=False, kw_only=True)
class GyroSignal:
    """Turn rates on the clock of the wheels, bias removed, with their uncertainty."""

    rates: FloatArray
    """About the body's x, y, z, (n, 3) [rad/s]; zero at rest, NaN where the gyro was silent for longer than `HOLE`."""
    bias: FloatArray
    """Bias that was subtracted, (3,) [rad/s]."""
    bias_sigma: float
    """One sigma of the bias about z [rad/s]."""
    lag: float | None
    """Lag of the gyro in addition to the manifest's [s]; None: it cannot be estimated, and none is removed."""
    noise: float
    """One sigma of one turn rate about z while driving [rad/s], by its differences from sample to sample."""
    rest: float
    """Standstill from which the bias was estimated [s]."""


def at_rest(log: Log, vehicle: Vehicle) -> BoolArray:
    """Whether the vehicle is at rest at each sample, (n,): all measured wheels have stood for `REST` around it."""
    measured = [np.abs(log.rates[wheel]) < STILL for wheel in vehicle.wheels if wheel in log.rates]
    stands = np.logical_and.reduce(measured) if measured else np.zeros(len(log), np.bool_)
    return _lasting(stands, log, REST, 0.0)


def gyro_problems(log: Log) -> list[Problem]:
    """Problems of the gyro (sign, unit, axis) that the checks of a log found."""
    return [one for one in log.report.problems if one.key.startswith("gyro.")]


def gyro_signal(log: Log, vehicle: Vehicle, turn_rate: FloatArray) -> GyroSignal:
    """The gyro of a log; `turn_rate` (n,) [rad/s] is that of the wheels, about the body's z axis.

    A gyro that the poses contradict is refused.
    """
    if log.gyro is None or not np.isfinite(log.gyro[:, 2]).any():
        raise LogError(
            f"{log.name}: has no gyro about the body's z axis; name its columns in [gyro] of the manifest, or do"
            " without the gyro"
        )
    if wrong := gyro_problems(log):
        raise LogError(f"{log.name}: odometry by this gyro would be wrong; {wrong[0]}")
    rest = at_rest(log, vehicle)
    rates = _filled(log)
    known = _lasting(rest, log, REST, SETTLING) & np.isfinite(rates).all(axis=1)
    seconds = float(known.sum() * log.report.period)
    noise = _noise(rates[:, 2], ~rest, log)
    bias, bias_sigma = np.zeros(3), UNKNOWN_BIAS
    if seconds >= LEAST_REST:
        bias, bias_sigma = rates[known].mean(axis=0), _sigma_of_mean(rates[:, 2], known, log)
    rates = rates - bias
    lag = _lag(rates[:, 2], turn_rate, log)
    if lag is not None:
        rates = _shifted(rates, log, lag)
    rates[rest] = 0.0
    return GyroSignal(rates=rates, bias=bias, bias_sigma=bias_sigma, lag=lag, noise=noise, rest=seconds)


def _lasting(true: BoolArray, log: Log, least: float, trimmed: float) -> BoolArray:
    """Samples of runs that are true for at least a time [s] within a segment, trimmed by a margin [s] at both ends."""
    result = np.zeros(len(true), np.bool_)
    time = log.elapsed
    edges = np.flatnonzero((np.diff(true.astype(np.int8)) != 0) | (np.diff(log.segment) != 0)) + 1
    for first, end in pairwise([0, *edges.tolist(), len(true)]):
        if end > first and true[first] and time[end - 1] - time[first] >= least:
            t = time[first:end]
            result[first:end] = (t >= t[0] + trimmed) & (t <= t[-1] - trimmed)
    return result


def _filled(log: Log) -> FloatArray:
    """The gyro's rates with short holes filled along lines, and held beyond the ends of a segment."""
    assert log.gyro is not None
    rates = np.array(log.gyro, dtype=np.float64)
    rates[:, ~np.isfinite(rates).any(axis=0)] = 0.0  # an axis that is not measured
    for t, column in _columns(rates, log):
        good = np.flatnonzero(np.isfinite(column))
        if len(good):
            before = np.searchsorted(good, np.arange(len(column)), side="right") - 1
            last, following = good[np.maximum(before, 0)], good[np.minimum(before + 1, len(good) - 1)]
            near = np.abs(t[following] - t[last]) <= HOLE
            near |= np.minimum(np.abs(t - t[last]), np.abs(t[following] - t)) <= 0.5 * HOLE
            column[near] = np.interp(t, t[good], column[good])[near]
    return rates


def _columns(rates: FloatArray, log: Log) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Time and rate of each axis in each segment, views of (n, 3)."""
    for first, end in pairwise(log.segment_bounds.tolist()):
        for axis in range(3):
            yield log.elapsed[first:end], rates[first:end, axis]


def _noise(rate: FloatArray, chosen: BoolArray, log: Log) -> float:
    """One sigma of white noise: second differences of a smooth signal are noise alone, √6 times as large.

    Starts and stops are not smooth; what lies beyond five sigmas of the rest counts as five.
    """
    inside = chosen[1:-1] & (np.diff(log.segment, n=2) == 0) & (log.segment[2:] == log.segment[:-2])
    second = np.diff(rate, n=2)[inside]
    second = second[np.isfinite(second)]
    if second.size == 0:
        return UNKNOWN_NOISE
    most = 5.0 * 1.4826 * float(np.median(np.abs(second)))
    return float(np.sqrt(np.mean(np.minimum(np.abs(second), most) ** 2) / 6.0))


def _sigma_of_mean(rate: FloatArray, chosen: BoolArray, log: Log) -> float:
    """One sigma of the mean of some samples, by the scatter of means over seconds: slow noise counts in full."""
    _, of = np.unique(np.floor(log.elapsed[chosen]), return_inverse=True)
    means = np.bincount(of, rate[chosen]) / np.bincount(of)
    return float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else UNKNOWN_BIAS


def _lag(gyro: FloatArray, wheels: FloatArray, log: Log) -> float | None:
    """The delay of the gyro behind the wheels [s] under which they agree best, up to a gain; None if not clear."""
    good = np.isfinite(gyro) & np.isfinite(wheels)
    time = log.elapsed
    if good.sum() < 10 or float(np.sum(np.abs(wheels[good])) * log.report.period) < LEAST_TURN:
        return None
    step = min(0.01, 0.5 * log.report.period) if log.report.period > 0.0 else 0.01
    count = int(LONGEST_LAG / step)
    tries = step * np.arange(-count, count + 1)
    inside = good & (time >= time[0] + LONGEST_LAG) & (time <= time[-1] - LONGEST_LAG)
    w, moments, known, rates = wheels[inside], time[inside], time[good], gyro[good]
    misfit = np.empty(len(tries))
    for k, lag in enumerate(tries):
        g = np.interp(moments + lag, known, rates)
        misfit[k] = 1.0 - float(g @ w) ** 2 / max(float(g @ g) * float(w @ w), 1e-30)
    k = int(np.argmin(misfit))
    if not 0 < k < len(tries) - 1 or misfit[k] > ALIKE:
        return None
    left, middle, right = misfit[k - 1 : k + 2]
    return float(tries[k] + step * 0.5 * (left - right) / max(left - 2.0 * middle + right, 1e-30))


def _shifted(rates: FloatArray, log: Log, lag: float) -> FloatArray:
    """Rates as they were at each sample, where a value stamped t was true at t − lag; ends of a segment are held."""
    result = rates.copy()
    for t, column in _columns(result, log):
        good = np.isfinite(column)
        if good.any():
            silent = np.interp(t + lag, t, (~good).astype(np.float64)) > 0.5
            column[:] = np.where(silent, np.nan, np.interp(t + lag, t[good], column[good]))
    return result
