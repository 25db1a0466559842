"""Ridge regression of the motion over an interval on 37 numbers of its inputs: what a model with meaning must beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.motion.intervals import Intervals
from grouser.motion.planar import nominal_model
from grouser.motion.slip_surface import gravity
from grouser.motion.velocity import inputs_of
from grouser.vehicles import Vehicle

STEPS = 80  # of an interval, for its integrals
BEFORE = 0.5  # s: history before an interval
WIDTHS = tuple((10.0 ** np.arange(-3.0, 2.1, 0.5)).tolist())
LAGS = (0.10, 0.15, 0.20)  # s
BLOCK = 45.0  # s: blocks of time that are held out to choose the width and the lag

FEATURES = (
    "S v", "S w", "S |w|", "S |v|", "S v |w|", "S v w", "S v v", "S v |v|", "S w |w|",
    "S gx", "S gy", "S |v| gx", "S |v| gy",
    "V W", "V W²", "V W³", "V |W|",
    "V1 W1", "V1 W2", "V2 W1", "V2 W2", "V1 W1²", "V2 W1²", "V2 W1 W2", "V2 W2²",
    "V2 − V1", "W2 − W1", "v start", "v end", "w start", "w end", "v end · W", "v start · w start", "v end · w end",
    "v start − v before", "w start − w before", "duration",
)  # fmt: skip
"""v, w: speed and turn rate of the wheels; gx, gy: gravity in the body; S: integral over the interval; V, W: S v, S w,
of its first (1) and second half (2); before: half a second before the start."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted regression."""

    mean: FloatArray
    scale: FloatArray
    offset: FloatArray
    slopes: FloatArray

    def __call__(self, features: FloatArray) -> FloatArray:
        """Predicted x, y [m], yaw [rad], (I, 3)."""
        return np.asarray((features - self.mean) / self.scale @ self.slopes + self.offset)


def features(log: Log, cut: Intervals, vehicle: Vehicle, lag: float) -> FloatArray:
    """`FEATURES` of every interval, (I, 37), of inputs earlier than the poses by a lag [s]."""
    inputs = inputs_of(log, vehicle)
    twist, g = nominal_model(vehicle).twists(inputs), gravity(inputs.attitude)
    rows = []
    for (t0, t1), (low, high) in zip(cut.times - lag, cut.ranges, strict=True):
        stretch, t = slice(low, high), np.linspace(t0, t1, STEPS + 1)
        signals = (twist[:, 3], twist[:, 2], *g)
        v, w, gx, gy = (np.interp(t, log.time[stretch], one[stretch]) for one in signals)
        before = [np.interp(t0 - BEFORE, log.time[stretch], one[stretch]) for one in signals[:2]]
        h, half = (t1 - t0) / STEPS, STEPS // 2

        def sum_of(x: FloatArray, h: float = h) -> float:
            return float(h * (x.sum() - 0.5 * (x[0] + x[-1])))

        v1, v2, w1, w2 = (sum_of(x) for x in (v[: half + 1], v[half:], w[: half + 1], w[half:]))
        V, W = v1 + v2, w1 + w2
        integrands = (v, w, abs(w), abs(v), v * abs(w), v * w, v * v, v * abs(v), w * abs(w))
        downhill = (gx, gy, abs(v) * gx, abs(v) * gy)
        rows.append([
            *(sum_of(x) for x in integrands), *(sum_of(x) for x in downhill),
            V * W, V * W**2, V * W**3, V * abs(W),
            v1 * w1, v1 * w2, v2 * w1, v2 * w2, v1 * w1**2, v2 * w1**2, v2 * w1 * w2, v2 * w2**2,
            v2 - v1, w2 - w1, v[0], v[-1], w[0], w[-1], v[-1] * W, v[0] * w[0], v[-1] * w[-1],
            v[0] - before[0], w[0] - before[1], t1 - t0,
        ])  # fmt: skip
    return np.array(rows)


def fit(X: FloatArray, Y: FloatArray, width: float) -> Ridge:
    """Least squares with a penalty on slopes of features of unit scale."""
    mean, scale, offset = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9), Y.mean(axis=0)
    Z = (X - mean) / scale
    slopes = np.linalg.solve(Z.T @ Z + width * np.eye(Z.shape[1]), Z.T @ (Y - offset))
    return Ridge(mean, scale, offset, slopes)


def chosen(log: Log, cut: Intervals, vehicle: Vehicle) -> tuple[Ridge, float, float]:
    """The regression whose penalty and lag predict left-out blocks of the log best, the lag [s] and the penalty.

    Errors of x, y and yaw count by the size of those of the best for each.
    """
    Y = cut.measured[:, [0, 1, 5]]
    block = ((cut.times[:, 0] - cut.times[0, 0]) // BLOCK).astype(int)
    errors = {}
    for lag in LAGS:
        X = features(log, cut, vehicle, lag)
        for width in WIDTHS:
            # Overlapping intervals on the edge of a block share samples with it; a block is much longer.
            left = [Y[block == k] - fit(X[block != k], Y[block != k], width)(X[block == k]) for k in np.unique(block)]
            errors[lag, width] = np.sqrt(np.mean(np.concatenate(left) ** 2, axis=0))
    best = np.min(list(errors.values()), axis=0)
    lag, width = min(errors, key=lambda key: float(np.sum((errors[key] / best) ** 2)))
    return fit(features(log, cut, vehicle, lag), Y, width), lag, width


def own_lag(regression: Ridge, log: Log, cut: Intervals, vehicle: Vehicle, lag: float) -> FloatArray:
    """Errors (I, 3) with the lag that predicts positions best, of each half of a log found from the other half."""
    Y, shifts = cut.measured[:, [0, 1, 5]], np.arange(-0.16, 0.165, 0.02)
    errors = np.stack([Y - regression(features(log, cut, vehicle, lag + shift)) for shift in shifts])
    squares = np.sum(errors[..., :2] ** 2, axis=2)
    half = len(cut) // 2
    first, second = (int(np.argmin(part.sum(axis=1))) for part in (squares[:, :half], squares[:, half:]))
    return np.concatenate([errors[second, :half], errors[first, half:]])
