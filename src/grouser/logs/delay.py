"""The delay of the pose stamps against the wheel rates, estimated from the log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray, Log
from grouser.logs.manifest import Manifest
from grouser.logs.report import Problem, warning
from grouser.logs.windows import distinct, integral

STEP = 0.05
"""Between delays that are tried [s]."""
MOST = 4000
"""Times at which wheels and poses are compared."""
NOTICEABLE = 0.1
"""A delay beyond the manifest's [s] that is reported: at 1 m/s it is ten centimetres."""
MATTERS = 0.01
"""Share of the power of speed or turn rate that a delay must explain to be reported: a tenth of the amplitude."""
LIKELIER = 40.0
"""Twice the log-likelihood ratio at which a delay is believed; windows are not quite independent."""


def lag_problems(log: Log, manifest: Manifest) -> list[Problem]:
    """A delay that differs from the manifest's by more than that may spread."""
    tried = _try_lags(log, short=False)
    found = None if tried is None else _best(tried)
    allowed = max(NOTICEABLE, 2.0 * log.sensor.lag_spread, log.report.pose_period)
    if tried is None or found is None or abs(found - log.sensor.lag) <= allowed:
        return []
    worse = float(np.interp(log.sensor.lag, tried.lag, tried.misfit)) - float(np.min(tried.misfit))
    given, best = (int(np.argmin(np.abs(tried.lag - lag))) for lag in (log.sensor.lag, found))
    if worse < LIKELIER or float(np.max(tried.unexplained[given] - tried.unexplained[best])) < MATTERS:
        return []
    late = "later" if found > log.sensor.lag else "earlier"
    message = f"the poses come {abs(found - log.sensor.lag):.2f} s {late} than the manifest says, by the wheels"
    return [warning("sensor.lag", message, f"set lag = {found:.2f} in [sensor] of {manifest.file}")]


class Tried(NamedTuple):
    """Delays that were tried, shape (k,) each."""

    lag: FloatArray
    """[s]"""
    misfit: FloatArray
    """Minus twice the log-likelihood of the poses' speed and turn rate, up to a constant."""
    unexplained: FloatArray
    """Share of the power of speed and turn rate that the rates do not explain, shape (k, 2)."""


def pose_lag(log: Log) -> float | None:
    """The delay [s] at which the poses' speed and turn rate are best explained by the wheel rates; None: unknown."""
    tried = _try_lags(log, short=True)
    return None if tried is None else _best(tried)


def _best(tried: Tried) -> float | None:
    """The most likely delay [s], if it lies between those tried and the others are clearly less likely."""
    k = int(np.argmin(tried.misfit))
    if not 0 < k < len(tried.lag) - 1 or float(np.ptp(tried.misfit)) < 0.5 * LIKELIER:
        return None
    left, middle, right = tried.misfit[k - 1 : k + 2].tolist()
    return float(tried.lag[k] + STEP * 0.5 * (left - right) / (left - 2.0 * middle + right))


def _try_lags(log: Log, *, short: bool) -> Tried | None:
    """The likelihood of delays; None where the log is too short.

    Speed and turn rate are averaged over the same window; a linear fit to all rates needs no vehicle. With `short`,
    segments of a few seconds are used too, which determine it less well.
    """
    tries = np.arange(-0.4, 0.8001, STEP)
    if not log.rates or len(log.poses) < 3 or log.report.pose_period <= 0.0:
        return None
    half, margin = 0.25, 0.25 + 0.8
    clock, pose_clock = log.elapsed, log.pose_elapsed
    begin, end = _span(log.poses.segment, pose_clock, log.n_segments)
    begin_rows, end_rows = _span(log.segment, clock, log.n_segments)
    first, last = np.maximum(begin, begin_rows)[log.segment], np.minimum(end, end_rows)[log.segment]
    at = clock[(clock - margin >= first) & (clock + margin <= last)]
    if len(at) < 50 and short:  # short windows leave no room for long delays
        margin, tries = half + 0.4, np.arange(-0.4, 0.4001, STEP)
        at = clock[(clock - margin >= first) & (clock + margin <= last)]
    if len(at) < 50:
        return None
    at = at[:: max(1, len(at) // MOST)]
    rates = distinct(log.rates.values())
    rates += [rate * angle for rate in rates[:4] for angle in list(log.angles.values())[:4]]  # a steered wheel turns it
    A = np.stack([_change(integral(rate, log.time, log.segment), clock, at, half) for rate in rates], axis=1)
    if np.max(np.abs(A)) < 1e-6:
        return None
    U, size, _ = np.linalg.svd(A, full_matrices=False)
    Q = U[:, size > 1e-6 * size[0]]
    x, y, yaw = log.poses.position[:, 0], log.poses.position[:, 1], log.poses.attitude[:, 2]
    independent = len(at) * min(1.0, log.duration / len(at) / (2.0 * half))
    shares = np.ones((len(tries), 2))
    for k, lag in enumerate(tries):
        heading = np.interp(at + lag, pose_clock, yaw)
        east, north, turn = (_change(column, pose_clock, at + lag, half) for column in (x, y, yaw))
        forward = np.cos(heading) * east + np.sin(heading) * north
        shares[k] = _unexplained(Q, forward), _unexplained(Q, turn)
    # A signal that the rates do not explain at any delay has the same share everywhere, and no influence.
    return Tried(tries, independent * np.sum(np.log(shares), axis=1), shares)


def _change(values: FloatArray, clock: FloatArray, at: FloatArray, half: float) -> FloatArray:
    """Change of a signal from `half` [s] before some times to `half` after them."""
    return np.interp(at + half, clock, values) - np.interp(at - half, clock, values)


def _unexplained(Q: FloatArray, signal: FloatArray) -> float:
    """Fraction of a signal's power outside the columns of Q, at least a millionth."""
    power = float(signal @ signal)
    if power < 1e-9:
        return 1.0
    explained = Q.T @ signal
    return max(1.0 - float(explained @ explained) / power, 1e-6)


def _span(segment: IntArray, clock: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """First and last time of each segment; an empty one has none."""
    begin, end = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(begin, segment, clock)
    np.maximum.at(end, segment, clock)
    return begin, end
