"""Encoders as observations of the powertrain: the travel of driven joints over parts of an interval."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.intervals import Intervals
from grouser.motion.powertrain import Powertrain
from grouser.motion.velocity import Inputs
from grouser.vehicles import Vehicle

PARTS = 4
"""Parts of an interval whose travel is compared: finer ones determine delay and time constant better."""
LEAST_SHARE = 0.02
"""Least scatter of travel in a second, one sigma, as a share of the rms travel: no powertrain is exactly of first
order, and too small a scatter makes a filter overconfident before it has converged."""
LENGTH = 0.5
"""Parts from which the scatter is found [s]."""


class Encoders:
    """Measured travel of the driven joints of a log, and that of other rates: the wheels of a side are one."""

    def __init__(self, log: Log, vehicle: Vehicle, inputs: Inputs, commands: FloatArray) -> None:
        """commands (n, nj) [rad/s or m/s], NaN where not logged."""
        self.log, self.inputs, self.commands = log, inputs, commands
        both = np.isfinite(commands).all(axis=0) & np.isfinite(inputs.rates).all(axis=0)
        joints = np.flatnonzero(both)
        y = dict(zip((vehicle.arrays.wheel - 1).tolist(), vehicle.wheel_positions[:, 1].tolist(), strict=True))
        sides: dict[object, list[int]] = {}
        for j in joints.tolist():
            sides.setdefault(float(np.sign(round(y[j], 6))) if j in y else f"joint {j}", []).append(j)
        self.groups = [np.array(group) for group in sides.values()]
        """Joints whose mean rate is one observation, indices."""

    @property
    def size(self) -> int:
        """Number of observations of an interval."""
        return PARTS * len(self.groups)

    def travel(self, rates: FloatArray, intervals: Intervals, lag: float, first: int = 0) -> FloatArray:
        """Travel of each group in each part of each interval, (I, m), of rates (k, nj) from sample `first` on.

        It is divided by the root of the part's duration [rad/√s or m/√s], so that its variance is `scatter`². lag [s]:
        of the poses that bound the intervals. Rates change linearly from sample to sample.
        """
        mean = np.stack([rates[:, group].mean(axis=1) for group in self.groups], axis=1)
        time = self.inputs.time[first : first + len(rates)]
        steps = np.diff(time)[:, None] * 0.5 * (mean[1:] + mean[:-1])
        way = np.concatenate([np.zeros((1, len(self.groups))), np.cumsum(steps, axis=0)])
        share = np.linspace(0.0, 1.0, PARTS + 1)
        edges = intervals.times[:, :1] - lag + intervals.duration[:, None] * share
        k = self._before(edges, intervals.ranges) - first
        dt = (edges - time[k])[..., None]
        slope = (mean[k + 1] - mean[k]) / (time[k + 1] - time[k])[..., None]
        at = way[k] + dt * mean[k] + 0.5 * dt**2 * slope
        root = np.sqrt(np.maximum(intervals.duration / PARTS, 1e-9))
        return np.asarray(np.diff(at, axis=1).reshape(len(edges), -1) / root[:, None])

    def _before(self, edges: FloatArray, ranges: IntArray) -> IntArray:
        """The last sample of the stretch before each edge, (I, PARTS + 1), never the stretch's last."""
        out = np.empty(edges.shape, dtype=np.int64)
        for i, (low, high) in enumerate(ranges.tolist()):
            out[i] = low + np.clip(np.searchsorted(self.inputs.time[low:high], edges[i]) - 1, 0, high - low - 2)
        return out

    @cached_property
    def scatter(self) -> float:
        """Scatter of the encoders' travel about that of the best-fitting powertrain [rad/√s or m/√s].

        Found from travel over half a second, with gain, delay and time constant by least squares.
        """
        from scipy.optimize import least_squares

        inputs, bounds = self.inputs, self.log.segment_bounds
        mean = [np.stack([a[:, g].mean(axis=1) for g in self.groups], axis=1) for a in (inputs.rates, self.commands)]
        measured, commanded = mean
        step = float(np.median(np.diff(inputs.time))) if len(inputs.time) > 1 else LENGTH
        every = max(1, round(LENGTH / max(step, 1e-6)))
        at = np.concatenate([np.arange(low, high, every) for low, high in pairwise(bounds)])
        inside = np.diff(self.log.segment[at]) == 0
        if not inside.any():
            return 0.1
        span = np.diff(inputs.time[at])[inside]

        def off(x: FloatArray) -> FloatArray:
            train = Powertrain(gain=float(x[0]), delay=float(x[1]), time_constant=float(x[2]))
            error = train.stretches(inputs.time, commanded, bounds, measured[bounds[:-1]]) - measured
            way = np.cumsum(error * step, axis=0)
            return np.asarray((np.diff(way[at], axis=0)[inside] / np.sqrt(span)[:, None]).ravel())

        found = least_squares(off, [1.0, 0.1, 0.2], bounds=([-np.inf, 0.0, 0.0], [np.inf, 2.0, 2.0]), x_scale=0.1)
        left = found.fun
        least = LEAST_SHARE * float(np.sqrt(np.mean(measured**2)))
        return float(max(np.sqrt(np.sum(left**2) / max(len(left) - 3, 1)), least, 1e-4))
