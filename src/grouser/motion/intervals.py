"""Intervals of a log: where predictions begin and end, and the motion the pose sensor saw between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.logs.log import IntArray

SLOWEST = 1.0 / 3.0
"""Mean wheel rate below which an interval counts as standing still [rad/s]."""
LATEST = 0.5
"""Largest lag of a pose sensor that calibration may find [s]: so much of a log must lie before an interval."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Intervals:
    """I intervals, each from one measured pose to another of the same unbroken stretch."""

    times: FloatArray
    """Time stamps of the first and last pose [s], (I, 2)."""
    ranges: IntArray
    """Samples [low, high) of the stretch each lies in, (I, 2)."""
    measured: FloatArray
    """Pose at the end in the heading frame of the start, P (15): x, y, z [m], roll, pitch, yaw [rad], (I, 6)."""
    start: FloatArray
    """Position [m] and roll, pitch, yaw [rad] of the sensor at the start, (I, 6)."""
    segment: IntArray
    """Stretch of each, (I,)."""
    velocity: FloatArray | None = None
    """Turn rate [rad/s], forward and left speed [m/s] of the body at the start, (I, 3); None: as the wheels roll.

    Only dynamics has a velocity of its own to start with.
    """
    overlapping: bool
    """Whether some share samples: their residuals are then correlated and covariances too small."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> FloatArray:
        """[s], (I,)."""
        result: FloatArray = self.times[:, 1] - self.times[:, 0]
        return result

    def only(self, chosen: IntArray | slice) -> Intervals:
        """Some of them."""
        return Intervals(
            # Of every second interval, say, a view would be strided, and kernels compile anew for that.
            times=np.ascontiguousarray(self.times[chosen]),
            ranges=np.ascontiguousarray(self.ranges[chosen]),
            measured=self.measured[chosen],
            start=self.start[chosen],
            segment=self.segment[chosen],
            velocity=None if self.velocity is None else self.velocity[chosen],
            overlapping=self.overlapping,
        )


def intervals_of(
    log: Log,
    speed: FloatArray,
    *,
    duration: float | None = 2.0,
    distance: float | None = None,
    stride: float | None = None,
    slowest: float = 0.1,
) -> Intervals:
    """Intervals of a duration [s] or a distance [m] driven, one after another; None for both: whole stretches.

    An interval ends at the first pose after its duration or distance, and is taken if it moves faster than `slowest`
    [m/s] on average and its end is not much later than asked. A stride [s] shorter than the duration makes them
    overlap. `speed` is the rim speed at each sample [m/s].
    """
    pairs: list[tuple[int, int, int, int]] = []
    bounds, poses = log.segment_bounds, log.poses
    pose_bounds = np.searchsorted(poses.segment, np.arange(log.n_segments + 1))
    period = max(log.report.pose_period, 1e-3)
    for k in range(log.n_segments):
        low, high = int(bounds[k]), int(bounds[k + 1])
        first, last = int(pose_bounds[k]), int(pose_bounds[k + 1])
        t = poses.time[first:last]
        if high - low < 2 or len(t) < 2:
            continue
        samples = log.time[low:high]
        steps = np.diff(samples) * 0.5 * (speed[low:high][1:] + speed[low:high][:-1])
        path = np.interp(t, samples, np.concatenate([[0.0], np.cumsum(steps)]))
        inside = (t >= samples[0]) & (t <= samples[-1])
        pairs += [
            (first + i, first + j, low, high)
            for i, j in _walk(t, path, inside, duration, distance, stride, slowest, period)
        ]
    if not pairs:
        asked = f"{duration:g} s" if duration is not None else f"{distance or 0.0:g} m"
        raise CalibrationError(
            f"{log.name}: has no interval of {asked} that moves at {slowest:g} m/s or more between two poses;"
            " `grouser check` shows what is in it"
        )
    i, j, low_of, high_of = np.array(pairs).T
    return Intervals(
        times=np.stack([poses.time[i], poses.time[j]], axis=1),
        ranges=np.stack([low_of, high_of], axis=1).astype(np.int64),
        measured=relative_poses(poses.position, poses.attitude, i, j),
        start=np.concatenate([poses.position[i], poses.attitude[i]], axis=1),
        segment=poses.segment[i],
        overlapping=bool((i[1:] < j[:-1]).any() and stride is not None),
    )


def _walk(
    t: FloatArray,
    path: FloatArray,
    inside: np.ndarray,
    duration: float | None,
    distance: float | None,
    stride: float | None,
    slowest: float,
    period: float,
) -> list[tuple[int, int]]:
    """Pairs of poses of one stretch."""
    usable = np.flatnonzero(inside)
    if len(usable) < 2:
        return []
    if duration is None and distance is None:
        i, j = int(usable[0]), int(usable[-1])
        return [(i, j)] if path[j] - path[i] >= slowest * (t[j] - t[i]) else []
    pairs = []
    at = 0
    measure, length = (t, duration) if duration is not None else (path, distance)
    assert length is not None
    # A pose may come half a period early; one that comes much too late belongs to an outage of the sensor.
    early = 0.5 * period if duration is not None else 1e-9 * length
    measured, times = measure[usable], t[usable]
    while at < len(usable):
        i = int(usable[at])
        end = int(np.searchsorted(measured, measure[i] + length - early))
        if end >= len(usable):
            break
        j = int(usable[end])
        moving = path[j] - path[i] >= slowest * (t[j] - t[i])
        rate = 1.0 if duration is not None else (path[j] - path[i]) / (t[j] - t[i])
        late = max(1.5 * period * rate, 0.05 * length)
        if measure[j] - measure[i] <= length + late and moving and t[j] - t[i] <= 60.0:
            pairs.append((i, j))
            at = end if stride is None else max(at + 1, int(np.searchsorted(times, t[i] + stride - 1e-9)))
        else:
            at += 1
    return pairs


def relative_poses(position: FloatArray, attitude: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Poses j in the heading frame of poses i, P (15) with the misprint mended: positions turn, yaws subtract."""
    c, s = np.cos(attitude[i, 2]), np.sin(attitude[i, 2])
    d = position[j] - position[i]
    yaw = attitude[j, 2] - attitude[i, 2]
    return np.stack(
        [c * d[:, 0] + s * d[:, 1], c * d[:, 1] - s * d[:, 0], d[:, 2], attitude[j, 0], attitude[j, 1], yaw], axis=1
    )
