"""Intervals of a log: where predictions begin and end, and the motion that the pose sensor measured between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.model import MotionModel
from grouser.motion.velocity import inputs_of, rolling_speed

SLOWEST = 1.0 / 3.0
"""Mean wheel rate below which an interval counts as standing still [rad/s]."""
LATEST = 0.5
"""Largest lag of a pose sensor that calibration may find [s]; a log must begin that long before an interval."""
NEARLY = 0.85
"""Share of an interval's length that makes one of a whole stretch."""
LONGEST = 60.0
"""An interval that takes longer is not used [s]."""


class Skipped(NamedTuple):
    """Parts of a log that lie in no interval."""

    segments: int
    """Stretches of the log."""
    unused: int
    """Stretches without an interval."""
    used: float
    """Time inside intervals [s]."""
    slow: float
    """Time at which the vehicle stands or is too slow [s]."""
    outage: float
    """Time without poses [s]."""
    short: float
    """Time at the ends of stretches, shorter than an interval [s]."""
    asked: str
    """Length of an interval, such as 2 s."""

    def sentence(self, intervals: int) -> str:
        """Share of the log that is used, and why the rest is not; empty if nearly all is."""
        reasons = [("standing or too slow", self.slow), ("without poses", self.outage)]
        reasons.append((f"shorter than {self.asked} at the end of a stretch", self.short))
        total = self.used + sum(time for _, time in reasons)
        if self.used >= 0.9 * total and self.unused <= 0.1 * self.segments:
            return ""
        left = ", ".join(f"{time:.0f} s are {why}" for why, time in reasons if time > 0.02 * total)
        inside = f" in {self.segments - self.unused} of {self.segments} segments" if self.segments > 1 else ""
        return (
            f"uses {intervals} intervals of {self.asked}{inside}, {self.used:.0f} of {total:.0f} s of the log; of the"
            f" rest {left or 'none has two poses'}"
        )


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
    sigma: FloatArray | None = None
    """Sigma of x, y [m] and yaw [rad] of the first and the last pose, (I, 2, 3); None: that of the sensor."""
    velocity: FloatArray | None = None
    """Turn rate [rad/s], forward and left speed [m/s] of the body at the start, (I, 3); None: as the wheels roll.

    Only dynamics has a velocity of its own to start with.
    """
    overlapping: bool
    """Whether some share samples: their residuals are then correlated and covariances too small."""
    skipped: Skipped | None = None
    """Parts of the log that lie in none of them; None: not counted."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def note(self) -> str:
        """How much of the log they use, if that is not nearly all of it."""
        return "" if self.skipped is None else self.skipped.sentence(len(self))

    @property
    def duration(self) -> FloatArray:
        """[s], (I,)."""
        return np.asarray(self.times[:, 1] - self.times[:, 0])

    def only(self, chosen: IntArray | slice) -> Intervals:
        """Some of them."""
        # A view of every second interval would be strided, and kernels compile again for strided arrays.
        arrays = ((name, value) for name, value in vars(self).items() if isinstance(value, np.ndarray))
        some: dict[str, Any] = {name: np.ascontiguousarray(value[chosen]) for name, value in arrays}
        return replace(self, **some)


@dataclass(frozen=True, kw_only=True)
class Cutter:
    """Where intervals begin and end: the rule for whole logs and for streams of poses."""

    length: float
    """Duration [s] or distance [m] of an interval."""
    by_distance: bool = False
    stride: float | None = None
    """Time from the start of an interval to that of the next [s]; None: each begins where the last one ended."""
    slowest: float = 0.1
    """Mean rim speed below which an interval is not used [m/s]."""
    period: float = 1e-3
    """Time between poses [s]."""

    def end(self, poses: Sequence[Any] | FloatArray, first: int, measure: Callable[[Any], float] | None = None) -> int:
        """Index of the pose at which an interval from the first one ends, or their number if it has not come.

        poses rise in time, or in distance driven; `measure` gives it for a pose. One may come half a period early.
        """
        early = 1e-9 * self.length if self.by_distance else 0.5 * self.period
        at = poses[first] if measure is None else measure(poses[first])
        return bisect_left(poses, at + self.length - early, key=measure)

    def late(self, rate: float = 1.0) -> float:
        """How much longer than asked an interval may be [s or m]; a later pose belongs to an outage of the sensor."""
        return max(1.5 * self.period * rate, 0.05 * self.length)

    def takes(self, duration: float, distance: float) -> bool:
        """Whether an interval of this duration [s] and distance [m] is used."""
        over = (distance if self.by_distance else duration) - self.length
        late = self.late(distance / duration if self.by_distance else 1.0)
        return over <= late and distance >= self.slowest * duration and duration <= LONGEST

    def next_start(self, start: float, end: float) -> float:
        """Earliest start of the interval after one that was used [s]."""
        return end if self.stride is None else start + self.stride - 1e-9

    def pairs(self, time: FloatArray, path: FloatArray) -> tuple[list[tuple[int, int]], dict[str, float]]:
        """First and last pose of each interval of one stretch, by time and distance driven of its poses; what is left.

        A stretch that is nearly as long as an interval is one: n samples of a period last n periods, and their poses
        one or two less. The time left [s] is by reason, as in `Skipped`.
        """
        t, way = time.tolist(), path.tolist()
        left = {"slow": 0.0, "outage": 0.0, "short": 0.0}
        found, i = [], 0
        while i < len(t):
            j = self.end(way if self.by_distance else t, i)
            if j >= len(t):
                left["short"] = t[-1] - t[i]
                break
            if self.takes(t[j] - t[i], way[j] - way[i]):
                found.append((i, j))
                i = max(i + 1, bisect_left(t, self.next_start(t[i], t[j])))
            else:
                slow = way[j] - way[i] < self.slowest * (t[j] - t[i])
                left["slow" if slow else "outage"] += t[i + 1] - t[i]
                i += 1
        whole = (way if self.by_distance else t)[-1] - (way if self.by_distance else t)[0]
        if not found and whole >= NEARLY * self.length and self.takes(t[-1] - t[0], way[-1] - way[0]):
            return [(0, len(t) - 1)], dict.fromkeys(left, 0.0)
        return found, left


def cut_log(
    log: Log,
    motion: MotionModel,
    *,
    interval: float | None = 2.0,
    distance: float | None = None,
    stride: float | None = None,
) -> Intervals:
    """Intervals of a log while the vehicle moves, by time [s] or, where given, by distance [m].

    They follow one another; with None for both they are whole stretches. An interval ends at the first pose after its
    duration or distance, and is taken if it moves fast enough on average and its end is not much later than asked. A
    stride [s] shorter than the duration makes them overlap.
    """
    checks.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    checks.instance(motion, MotionModel, "motion", "use fit.model, or grouser.MotionModel(model=…)")
    speed = rolling_speed(inputs_of(log, motion.vehicle), motion.vehicle)
    duration = None if distance is not None else interval
    slowest = SLOWEST * float(motion.vehicle.arrays.radius.mean())
    pairs: list[tuple[int, int, int, int]] = []
    left, unused = {"slow": 0.0, "outage": 0.0, "short": 0.0}, 0
    poses = log.poses
    pose_bounds = np.searchsorted(poses.segment, np.arange(log.n_segments + 1))
    length = distance if duration is None else duration
    period, by_distance = max(log.report.pose_period, 1e-3), duration is None
    for k, (low, high) in enumerate(pairwise(log.segment_bounds.tolist())):
        samples = log.time[low:high]
        t = poses.time[pose_bounds[k] : pose_bounds[k + 1]]
        inside = np.flatnonzero((t >= samples[0]) & (t <= samples[-1])) if high - low > 1 else np.zeros(0, np.int64)
        if len(inside) < 2:
            unused += 1
            left["short"] += float(samples[-1] - samples[0])
            continue
        steps = np.diff(samples) * 0.5 * (speed[low:high][1:] + speed[low:high][:-1])
        path = np.interp(t, samples, np.concatenate([[0.0], np.cumsum(steps)]))[inside]
        t = t[inside]
        if length is None:
            moving = path[-1] - path[0] >= slowest * (t[-1] - t[0])
            chosen = [(0, len(t) - 1)] if moving else []
            left["slow"] += 0.0 if moving else float(t[-1] - t[0])
        else:
            cutter = Cutter(length=length, by_distance=by_distance, stride=stride, slowest=slowest, period=period)
            chosen, rest = cutter.pairs(t, path)
            for reason, seconds in rest.items():
                left[reason] += seconds
        unused += not chosen
        first = inside + pose_bounds[k]
        pairs += [(int(first[i]), int(first[j]), low, high) for i, j in chosen]
    whole = "a whole stretch" if distance is None else f"{distance:g} m"
    asked = f"{duration:g} s" if duration is not None else whole
    if len(poses) < 2:
        raise CalibrationError(
            f"{log.name}: has no poses to compare a motion with; name those of a reference in [pose]"
        )
    if not pairs:
        raise CalibrationError(
            f"{log.name}: has no interval of {asked} that moves at {slowest:g} m/s or more between two poses;"
            " `grouser check` shows what is in it"
        )
    i, j, low_of, high_of = np.array(pairs).T
    six = np.concatenate([poses.position, poses.attitude], axis=1)
    sigma = getattr(poses, "sigma", None)
    return Intervals(
        times=np.stack([poses.time[i], poses.time[j]], axis=1),
        ranges=np.stack([low_of, high_of], axis=1).astype(np.int64),
        measured=relative_poses(six[i], six[j]),
        start=six[i],
        segment=poses.segment[i],
        sigma=None if sigma is None else np.stack([sigma[i], sigma[j]], axis=1),
        overlapping=bool((i[1:] < j[:-1]).any() and stride is not None),
        skipped=Skipped(
            segments=log.n_segments,
            unused=unused,
            used=float(np.sum(poses.time[j] - poses.time[i])),
            asked=asked,
            **left,
        ),
    )


def relative_poses(before: FloatArray, after: FloatArray) -> FloatArray:
    """Poses (k, 6) in the heading frame of others, P (15) with the misprint mended: positions turn, yaws subtract."""
    c, s = np.cos(before[:, 5]), np.sin(before[:, 5])
    (x, y, z, _, _, yaw), (roll, pitch) = (after - before).T, after.T[3:5]
    return np.stack([c * x + s * y, c * y - s * x, z, roll, pitch, yaw], axis=1)


def wrapped(poses: FloatArray) -> FloatArray:
    """Differences of poses (…, ≥ 6) with their angles between −π and π; changes the array."""
    poses[..., 3:6] = rotation.wrapped(poses[..., 3:6])
    return poses
