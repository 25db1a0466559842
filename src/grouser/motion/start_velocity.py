"""The velocity with which dynamics starts an interval: least squares over the poses, the gyro and the wheels before it.

Only measurements at or before the start of the interval are used, so that it stays a prediction. Usual wheel slip and
the noise of the poses are estimated from the whole log.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import BoolArray, IntArray, Sensor
from grouser.motion.intervals import Intervals

BACK = 1.0
"""Poses up to this long before the start are used [s]."""
MOST = 32
"""Poses and gyro samples of one start."""
GYRO_BACK = 0.2
"""The same for the gyro [s]."""
GYRO_NOISE = 0.02
"""One sigma of a gyro's rate, its bias included [rad/s]."""
ACCELERATION = (3.0, 3.0, 5.0)
"""Accelerations along x and y [m/s²] and about z [rad/s²] that a vehicle has, one sigma."""
CHANGE = 0.3
"""Time in which an acceleration changes by its sigma [s]: older poses weigh less."""
MOVING = 0.1
"""Speed [m/s] and turn rate [rad/s] above which a ratio to that of the wheels has a meaning."""
FAR = 10.0
"""Square of a pose's distance from its neighbours beyond which it is an outlier, in that of nine of ten."""
FEWEST = 8
"""Starts from which a usual ratio is taken."""
LEAST_SLIP = (0.02, 0.02, 0.02)
"""Smallest wheel slip assumed, one sigma [m/s, m/s, rad/s]."""


class StartVelocity(NamedTuple):
    """Velocities of the body in the heading frame where intervals start."""

    velocity: FloatArray
    """Speed ahead and to the left in the horizontal plane [m/s] and yaw rate [rad/s], (I, 3)."""
    covariance: FloatArray
    """Of these, (I, 3, 3) [m²/s², m rad/s², rad²/s²]."""


def start_velocity(
    log: Log, sensor: Sensor, intervals: Intervals, rolling: FloatArray, yaw_rate: FloatArray | None = None
) -> StartVelocity:
    """Estimate velocities by x(τ) = x₀ + v τ + ½ a τ², τ ≤ 0, with priors: v as the wheels roll, a = 0.

    rolling (I, 3): as the wheels roll, in the heading frame of the body. yaw_rate (n,): by the gyro at the samples of
    the log, where there is one. How much wheels slip is what poses and wheels differ by, of this start and of half of
    all starts, and on average over all; so wheels that spin or lock count little.
    """
    arm = np.array([sensor.x, sensor.y])
    yaw = intervals.start[:, 5] - sensor.yaw
    c, s = np.cos(yaw), np.sin(yaw)
    R = np.moveaxis(np.array([[c, -s], [s, c]]), -1, 0)  # body heading to world
    lever = np.array([-arm[1], arm[0]])

    def of_sensor(velocity: FloatArray) -> FloatArray:
        """Velocity of the sensor in the world for a velocity of the body."""
        return np.column_stack([np.einsum("iab,ib->ia", R, velocity[:, :2] + velocity[:, 2:] * lever), velocity[:, 2]])

    def of_body(velocity: FloatArray) -> FloatArray:
        heading = np.einsum("iba,ib->ia", R, velocity[:, :2]) - velocity[:, 2:] * lever
        return np.column_stack([heading, velocity[:, 2]])

    prior = of_sensor(rolling)
    tau, values, there = _poses_before(log, intervals)
    noise = np.maximum(_pose_noise(sensor, prior), unevenness(log))
    gyro = None if yaw_rate is None else _gyro_before(log, sensor, intervals, yaw_rate)
    free, free_variance = _estimate(tau, values, there, noise, prior, np.full_like(prior, 1e3), gyro)
    determined = np.asarray(free_variance < 0.5**2)  # elsewhere poses and gyro do not determine it
    # Wheels that always slip would bias every start.
    usual_ratio = _usual_ratio(of_body(free), rolling, np.asarray(determined.all(axis=1)))
    prior = of_sensor(np.asarray(rolling * usual_ratio))
    excess = (free - prior) ** 2 - free_variance
    usual = [float(np.median(e[k])) if k.any() else 0.0 for e, k in zip(excess.T, determined.T, strict=True)]
    slip = np.maximum(np.where(determined, excess, 0.0), np.maximum(usual, np.square(LEAST_SLIP)))
    found, variance = _estimate(tau, values, there, noise, prior, slip, gyro)
    # (v, ω) of the body from that of the sensor: linear, with the lever arm of ω.
    A = np.zeros((len(found), 3, 3))
    A[:, :2, :2] = R.transpose(0, 2, 1)
    A[:, 0, 2], A[:, 1, 2], A[:, 2, 2] = arm[1], -arm[0], 1.0
    covariance = np.einsum("iab,ib,icb->iac", A, variance, A)
    return StartVelocity(of_body(found), covariance)


def _usual_ratio(measured: FloatArray, rolling: FloatArray, determined: BoolArray) -> FloatArray:
    """Median ratio of measured to rolling speed ahead and turn rate over all starts (3,); 1 where there are few."""
    out = np.ones(3)
    for axis in (0, 2):
        moving = determined & (np.abs(rolling[:, axis]) > MOVING)
        if np.count_nonzero(moving) >= FEWEST:
            out[axis] = np.median(measured[moving, axis] / rolling[moving, axis])
    return out


def _last_before(time: FloatArray, ranges: IntArray, ends: FloatArray, back: float) -> tuple[IntArray, BoolArray]:
    """Samples of each stretch [low, high), (I, 2), in the last `back` [s] before an end (I,): indices, and which count.

    At most `MOST` of each, (I, MOST).
    """
    k, counts = np.zeros((len(ends), MOST), dtype=np.int64), np.zeros((len(ends), MOST), dtype=bool)
    for i, ((low, high), end) in enumerate(zip(ranges.tolist(), ends.tolist(), strict=True)):
        last = int(np.searchsorted(time[low:high], end + 1e-9))
        first = max(int(np.searchsorted(time[low:high], end - back)), last - MOST)
        n = max(last - first, 0)
        k[i, :n], counts[i, :n] = low + np.arange(first, first + n), True
    return k, counts


def _poses_before(log: Log, intervals: Intervals) -> tuple[FloatArray, FloatArray, BoolArray]:
    """τ ≤ 0 [s] (I, k), x, y, yaw relative to the start's (I, k, 3), and whether there is such a pose (I, k)."""
    poses = log.poses
    bounds = np.searchsorted(poses.segment, np.arange(log.n_segments + 1))
    ranges = np.stack([bounds[intervals.segment], bounds[intervals.segment + 1]], axis=1)
    k, there = _last_before(poses.time, ranges, intervals.times[:, 0], BACK + 1e-9)
    measured = np.concatenate([poses.position[:, :2], poses.attitude[:, 2:]], axis=1)[k]
    relative = measured - intervals.start[:, None, [0, 1, 5]]
    relative[..., 2] = rotation.wrapped(relative[..., 2])
    return np.minimum(poses.time[k] - intervals.times[:, :1], 0.0), relative, there


def _pose_noise(sensor: Sensor, velocity: FloatArray) -> FloatArray:
    """One sigma of a pose's x, y [m] and yaw [rad] at a velocity (I, 3), (I, 3)."""
    place, turn = max(sensor.position_noise, 1e-6), max(sensor.yaw_noise, 1e-6)
    stamp = sensor.time_noise * np.abs(velocity)
    return np.asarray(np.hypot(np.array([place, place, turn]), stamp))


def unevenness(log: Log) -> FloatArray:
    """Sigma of x, y [m] and yaw [rad], (3,), from the distances of poses from the line through their neighbours.

    Beyond what the accelerations of a vehicle do: sensors that jump, or stamps that are often late. Of a few poses that
    are far off each counts as `FAR` times the largest of nine in ten, so that they hardly matter.
    """
    poses = log.poses
    inside = np.flatnonzero(poses.segment[2:] == poses.segment[:-2]) + 1
    if not len(inside):
        return np.zeros(3)
    before, after = (poses.time[inside + k] - poses.time[inside] for k in (-1, 1))
    share = np.asarray(after / (after - before))[:, None]  # of the earlier neighbour
    six = np.column_stack([poses.position[:, :2], poses.attitude[:, 2]])
    near = [six[inside + k] - six[inside] for k in (-1, 1)]
    for one in near:
        one[:, 2] = rotation.wrapped(one[:, 2])
    off = share * near[0] + (1.0 - share) * near[1]
    bent = 0.5 * np.abs(before * after)[:, None] * np.array(ACCELERATION)
    excess = np.maximum(off**2 - bent**2, 0.0) / (1.0 + share**2 + (1.0 - share) ** 2)
    columns = np.stack([0.5 * (excess[:, 0] + excess[:, 1]), excess[:, 2]], axis=1)
    place, yaw = np.minimum(columns, FAR * np.quantile(columns, 0.9, axis=0)).mean(axis=0)
    return np.sqrt([place, place, yaw])


def _gyro_before(log: Log, sensor: Sensor, intervals: Intervals, yaw_rate: FloatArray) -> tuple[FloatArray, FloatArray]:
    """τ [s] and yaw rate [rad/s] of the gyro before each start, (I, k); NaN where there is none."""
    ends = intervals.times[:, 0] - sensor.lag
    k, there = _last_before(log.time, intervals.ranges, ends, GYRO_BACK)
    return np.where(there, log.time[k] - ends[:, None], np.nan), np.where(there, yaw_rate[k], np.nan)


def _estimate(
    tau: FloatArray,
    values: FloatArray,
    there: BoolArray,
    noise: FloatArray,
    prior: FloatArray,
    prior_variance: FloatArray,
    gyro: tuple[FloatArray, FloatArray] | None,
) -> tuple[FloatArray, FloatArray]:
    """Velocity and its variance, (I, 3) each, axis by axis: Bayesian least squares for (x₀, v, a)."""
    n = len(prior)
    out, variance = np.empty((n, 3)), np.empty((n, 3))
    rows = np.stack([np.ones_like(tau), tau, 0.5 * tau**2], axis=-1)
    for axis, a in enumerate(ACCELERATION):
        jerk = a / CHANGE * np.abs(tau) ** 3 / 6.0
        weight = there / (noise[:, axis : axis + 1] ** 2 + jerk**2)
        N = np.einsum("ik,ika,ikb->iab", weight, rows, rows)
        b = np.einsum("ik,ika,ik->ia", weight, rows, values[..., axis])
        if axis == 2 and gyro is not None:
            t, rate = gyro
            w = np.where(np.isfinite(rate), 1.0 / (GYRO_NOISE**2 + (a / CHANGE * t**2 / 2.0) ** 2), 0.0)
            # Samples of one gyro share its bias: all together they are as good as one.
            w /= np.maximum(w.sum(axis=1, keepdims=True) * GYRO_NOISE**2, 1.0)
            line = np.stack([np.zeros_like(t), np.ones_like(t), t], axis=-1)
            line, rate = np.nan_to_num(line), np.nan_to_num(rate)
            N += np.einsum("ik,ika,ikb->iab", w, line, line)
            b += np.einsum("ik,ika,ik->ia", w, line, rate)
        N[:, 0, 0] += 1e-12  # where there is no pose at all
        N[:, 1, 1] += 1.0 / prior_variance[:, axis]
        b[:, 1] += prior[:, axis] / prior_variance[:, axis]
        N[:, 2, 2] += 1.0 / a**2
        inverse = np.linalg.inv(N)
        out[:, axis] = np.einsum("ib,ib->i", inverse[:, 1], b)
        variance[:, axis] = inverse[:, 1, 1]
    return out, variance
