"""How good odometry along a log was, by the log's own poses.

Odometry and poses are laid on each other at the first pose alone, in position and yaw; nothing is fitted afterwards.
Poses are taken at their time less the lag of the pose sensor, at the place where it sits on the body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import Log
from grouser.logs.log import IntArray, Sensor
from grouser.odometry.log import LogOdometry
from grouser.rotation import from_rpy, to_rpy

CHORD = 1.0
"""Way and turning are added up over displacements of so long [s], in which noise of the poses hardly counts."""
HOLE = 2.0
"""Where poses are farther apart [s], way and turning between them are the odometry's."""
SPACING = 1.0
"""Along the drive errors are compared with their covariance every so far [m]."""
STRETCH = 10.0
"""Length of the stretches that are also compared by themselves [m]."""
LEAST = 1e-6
"""One sigma below which no error is trusted to be [m, rad]."""
ROWS = np.array([0, 1, 3])
"""x, y, yaw of (x, y, z, yaw): what NEES is about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement:
    """Errors of odometry at the m poses of a drive, estimate less measured, in the axes of the pose sensor's world."""

    time: FloatArray
    """When each pose was true [s], from the log's start, (m,)."""
    estimate: FloatArray
    """x, y, z [m], yaw [rad] of the sensor by odometry, (m, 4)."""
    measured: FloatArray
    """The same [m, rad] by the pose sensor; yaw with the full turns that it misses in holes of its stream, (m, 4)."""
    covariance: FloatArray
    """Of the errors x, y, z [m], yaw [rad]: odometry and both poses, (m, 4, 4)."""
    has_height: bool
    """Whether the pose sensor measures height."""
    distance: float
    """Length of the way [m]: chords of `CHORD` between poses while the wheels turn, the odometry's way in holes."""
    turning: float
    """Sum of |Δyaw| over the same chords [rad]."""
    along: float
    """Mean ratio e' C⁻¹ e / 3 of x, y, yaw since the start, at every `SPACING` of way.

    Errors since the start hang together, so this is hardly more than one independent number.
    """
    stretches: FloatArray
    """e' C⁻¹ e / 3 of x, y, yaw over stretches of `STRETCH`, each begun anew at a pose, (k,); the rest is the last.

    They share no noise, so their mean is one of k independent numbers; slip that is wrong throughout they do share.
    """

    @property
    def error(self) -> FloatArray:
        """Estimate less measured, x, y, z [m], yaw [rad], (m, 4)."""
        result: FloatArray = self.estimate - self.measured
        return result

    @property
    def end_error(self) -> float:
        """Horizontal distance of the last estimate from the last pose [m]."""
        return float(np.hypot(*self.error[-1, :2]))

    @property
    def yaw_error(self) -> float:
        """Of the last estimate [rad], full turns counted."""
        return float(self.error[-1, 3])

    @property
    def height_rms(self) -> float | None:
        """Of the heights along the drive [m]; None if the poses have none."""
        return float(np.sqrt(np.mean(self.error[:, 2] ** 2))) if self.has_height else None

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        return {
            "distance": self.distance,
            "turning_deg": math.degrees(self.turning),
            "end_error": self.end_error,
            "end_error_percent": _percent(self.end_error, self.distance),
            "yaw_error_deg": math.degrees(self.yaw_error),
            "yaw_error_percent": _percent(abs(self.yaw_error), self.turning),
            "height_rms": self.height_rms,
            "nees": float(np.mean(self.stretches)),
            "nees_band": list(nees_band(len(self.stretches))),
            "nees_stretches": len(self.stretches),
            "nees_since_start": self.along,
            "nees_since_start_band": list(nees_band(1)),
        }


def nees_band(samples: int) -> tuple[float, float]:
    """Where 95 % of means of so many independent e' C⁻¹ e / 3 lie, if covariances are right."""
    from scipy.special import gammaincinv

    half = 0.5 * 3 * samples
    low, high = (float(gammaincinv(half, p)) / half for p in (0.025, 0.975))
    return low, high


def _percent(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole > 0.0 else None


def judge(run: LogOdometry, log: Log, sensor: Sensor, *, turns: LogOdometry | None = None) -> Judgement:
    """Compare odometry of a log with its poses, over the drive in which the vehicle went farthest.

    sensor: where the pose sensor sits and how late it is, as the fit found it. turns: another odometry of the log that
    counts the full turns, way and turning in holes of the poses; None: this one. All odometries of a log that are to
    be compared should be given the same.
    """
    counting = run if turns is None else turns
    poses, at = _poses(run, log, sensor)
    body = _at(run, at)
    estimate = _sensor_poses(run, sensor, at)
    measured = np.concatenate([log.poses.position[poses], log.poses.attitude[poses, 2:3]], axis=1)
    measured[:, 3] = _counted(measured[:, 3], _sensor_poses(counting, sensor, at)[:, 3])
    turn = measured[0, 3] - estimate[0, 3]
    c, s = math.cos(turn), math.sin(turn)
    R = np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    laid = (estimate - estimate[0]) @ R.T + measured[0]
    wheels = _rolling(run, at)
    distance, turning = _way(measured, _at_reference(counting, sensor, at), at, wheels)
    pairs = np.array([(0, k) for k in range(len(at))])
    covariance = R @ _relative_covariance(run, body, estimate, pairs, sensor) @ R.T
    path = np.interp(at, run.time, run.path)
    every = np.append(_spaced(path, SPACING), len(at) - 1)
    return Judgement(
        time=at,
        estimate=laid,
        measured=measured,
        covariance=covariance,
        has_height=bool(np.ptp(measured[:, 2]) > 0.0),
        distance=distance,
        turning=turning,
        along=float(np.mean(_normalised((laid - measured)[every], covariance[every]))),
        stretches=_stretches(run, body, estimate, measured, sensor, _spaced(path, STRETCH)),
    )


def _poses(run: LogOdometry, log: Log, sensor: Sensor) -> tuple[IntArray, FloatArray]:
    """Poses that fall into the drive of the longest way, and when they were true."""
    path = run.path
    longest = max(range(int(run.drive[-1]) + 1), key=lambda k: float(path[run.drive == k].max()))
    inside = np.flatnonzero(run.drive == longest)
    t = log.pose_elapsed - sensor.lag
    chosen = np.flatnonzero((t >= run.time[inside[0]]) & (t <= run.time[inside[-1]]))
    if len(chosen) < 2:
        raise LogError(f"{log.name}: has {len(chosen)} poses along its longest drive; two are needed to judge odometry")
    return chosen.astype(np.int64), t[chosen]


def _at(run: LogOdometry, t: FloatArray) -> IntArray:
    """The sample nearest to each time."""
    after = np.clip(np.searchsorted(run.time, t), 1, len(run.time) - 1)
    return np.where(t - run.time[after - 1] < run.time[after] - t, after - 1, after).astype(np.int64)


def _sensor_poses(run: LogOdometry, sensor: Sensor, t: FloatArray) -> FloatArray:
    """x, y, z, yaw of the pose sensor at some times, in the world of the odometry, (m, 4)."""
    columns = np.concatenate([run.position, run.yaw[:, None], run.attitude], axis=1)
    x, y, z, yaw, roll, pitch = (np.interp(t, run.time, column) for column in columns.T)
    R = from_rpy(roll, pitch, yaw)
    place = np.stack([x, y, z], axis=1) + R @ np.array([sensor.x, sensor.y, sensor.z])
    if sensor.yaw != 0.0:
        mounted = to_rpy(R @ from_rpy(0.0, 0.0, sensor.yaw))[:, 2]
        yaw = yaw + sensor.yaw + np.remainder(mounted - yaw - sensor.yaw + np.pi, 2.0 * np.pi) - np.pi
    return np.concatenate([place, yaw[:, None]], axis=1)


def _counted(yaw: FloatArray, reference: FloatArray) -> FloatArray:
    """Measured yaw with full turns added where the sensor was blind: its difference to the odometry does not jump."""
    result: FloatArray = reference - np.unwrap(reference - yaw)
    return result


def _at_reference(run: LogOdometry, sensor: Sensor, t: FloatArray) -> FloatArray:
    """Way [m] and turning [rad] of an odometry up to some times, (m, 2)."""
    grid = np.append(np.arange(t[0], t[-1], CHORD), t[-1])
    poses = _sensor_poses(run, sensor, grid)
    way = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(poses[:, :3], axis=0), axis=1)))
    turned = np.append(0.0, np.cumsum(np.abs(np.diff(poses[:, 3]))))
    return np.stack([np.interp(t, grid, way), np.interp(t, grid, turned)], axis=1)


def _rolling(run: LogOdometry, t: FloatArray) -> FloatArray:
    """Seconds of driving up to some times, (m,)."""
    driven = np.append(0.0, np.cumsum(np.where(run.rest[1:] & run.rest[:-1], 0.0, np.diff(run.time))))
    result: FloatArray = np.interp(t, run.time, driven)
    return result


def _way(measured: FloatArray, reference: FloatArray, t: FloatArray, driven: FloatArray) -> tuple[float, float]:
    """Length of the way [m] and sum of |Δyaw| [rad] over chords while the vehicle drives."""
    distance = turning = 0.0
    i = 0
    while i < len(t) - 1:
        j = min(max(int(np.searchsorted(t, t[i] + CHORD)), i + 1), len(t) - 1)
        if t[j] - t[i] > HOLE:
            j = i + 1 if t[i + 1] - t[i] > HOLE else j - 1
        if t[j] - t[i] > HOLE:
            distance += float(reference[j, 0] - reference[i, 0])
            turning += float(reference[j, 1] - reference[i, 1])
        elif driven[j] > driven[i]:
            distance += float(np.linalg.norm(measured[j, :3] - measured[i, :3]))
            turning += abs(float(measured[j, 3] - measured[i, 3]))
        i = j
    return distance, turning


def _spaced(path: FloatArray, spacing: float) -> IntArray:
    """The first pose after every so far of a way."""
    marks = np.arange(spacing, path[-1] - path[0], spacing) + path[0]
    return np.unique(np.minimum(np.searchsorted(path, marks), len(path) - 1)).astype(np.int64)


def _stretches(
    run: LogOdometry, body: IntArray, estimate: FloatArray, measured: FloatArray, sensor: Sensor, ends: IntArray
) -> FloatArray:
    """Normalised squared errors of stretches from pose to pose."""
    bounds = np.unique(np.concatenate([[0], ends, [len(measured) - 1]]))
    pairs = np.stack([bounds[:-1], bounds[1:]], axis=1)
    error = _relative(estimate, pairs) - _relative(measured, pairs)
    C = _relative_covariance(run, body, estimate, pairs, sensor)
    heading = -estimate[pairs[:, 0], 3]
    R = np.zeros((len(pairs), 4, 4))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(heading)
    R[:, 1, 0] = np.sin(heading)
    R[:, 0, 1] = -R[:, 1, 0]
    R[:, 2, 2] = R[:, 3, 3] = 1.0
    return _normalised(error, R @ C @ R.transpose(0, 2, 1))


def _relative(poses: FloatArray, pairs: IntArray) -> FloatArray:
    """Poses in the heading frame of others, (k, 4)."""
    d = poses[pairs[:, 1]] - poses[pairs[:, 0]]
    c, s = np.cos(poses[pairs[:, 0], 3]), np.sin(poses[pairs[:, 0], 3])
    return np.stack([c * d[:, 0] + s * d[:, 1], c * d[:, 1] - s * d[:, 0], d[:, 2], d[:, 3]], axis=1)


def _normalised(error: FloatArray, covariance: FloatArray) -> FloatArray:
    """e' C⁻¹ e / 3 of x, y, yaw, (k,)."""
    values, vectors = np.linalg.eigh(covariance[:, ROWS[:, None], ROWS])
    along = (vectors.transpose(0, 2, 1) @ error[:, ROWS, None])[..., 0]
    result: FloatArray = np.sum(along**2 / np.maximum(values, LEAST**2), axis=1) / 3.0
    return result


def _relative_covariance(
    run: LogOdometry, body: IntArray, estimate: FloatArray, pairs: IntArray, sensor: Sensor
) -> FloatArray:
    """Covariance (k, 4, 4) of estimated less measured motion between two poses, in axes of the odometry's world.

    Errors up to the first pose are taken off: what is left grew in between. Each pose has noise of its own; yaw noise
    of the first turns the whole motion, an error of a time stamp moves its pose along.
    """
    i, j = body[pairs[:, 0]], body[pairs[:, 1]]
    grown = _turned_by_yaw(run.position[j] - run.position[i])
    roll, pitch = run.attitude[j].T
    lever = _turned_by_yaw(from_rpy(roll, pitch, run.yaw[j]) @ np.array([sensor.x, sensor.y, sensor.z]))
    C = run.noise_covariance[j] - grown @ run.noise_covariance[i] @ grown.transpose(0, 2, 1)
    J = run.slopes[j] - grown @ run.slopes[i]
    C = lever @ (C + J @ run.parameter_covariance @ J.transpose(0, 2, 1)) @ lever.transpose(0, 2, 1)
    d = estimate[pairs[:, 1]] - estimate[pairs[:, 0]]
    first = _turned_by_yaw(d)
    single = np.diag([sensor.position_noise**2] * 3 + [sensor.yaw_noise**2])
    C = C + single + first @ single @ first.transpose(0, 2, 1)
    end = _velocity(run, j)
    start = _velocity(run, i)
    start[:, 0] -= d[:, 1] * start[:, 3]
    start[:, 1] += d[:, 0] * start[:, 3]
    for v, sigma in ((end, sensor.time_noise), (start, sensor.time_noise), (end - start, sensor.lag_spread)):
        C = C + sigma**2 * v[:, :, None] * v[:, None, :]
    result: FloatArray = 0.5 * (C + C.transpose(0, 2, 1))
    return result


def _turned_by_yaw(d: FloatArray) -> FloatArray:
    """Errors of (x, y, z, yaw) at the end of a displacement by those at its start, (k, 4, 4): P (7)."""
    result = np.tile(np.eye(4), (len(d), 1, 1))
    result[:, 0, 3], result[:, 1, 3] = -d[:, 1], d[:, 0]
    return result


def _velocity(run: LogOdometry, k: IntArray) -> FloatArray:
    """(ẋ, ẏ, ż, yaw rate) at some samples, (m, 4)."""
    roll, pitch = run.attitude[k].T
    v = (from_rpy(roll, pitch, run.yaw[k]) @ run.twist[k, 3:, None])[..., 0]
    rate = (np.sin(roll) * run.twist[k, 1] + np.cos(roll) * run.twist[k, 2]) / np.cos(pitch)
    return np.concatenate([v, rate[:, None]], axis=1)
