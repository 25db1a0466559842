"""How good odometry along a log was, by the log's own poses.

Odometry and poses are laid on each other at the first pose alone, in position and yaw; nothing is fitted afterwards.
Poses are taken at their time less the lag of the pose sensor, at the place where it sits on the body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import Log
from grouser.logs.log import IntArray, Sensor
from grouser.odometry.log import LogOdometry, Progress
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


def judge(
    run: LogOdometry,
    log: Log,
    sensor: Sensor,
    *,
    turns: LogOdometry | None = None,
    progress: Progress | None = None,
) -> Judgement:
    """Compare odometry of a log with its poses, over the drive in which the vehicle went farthest.

    sensor: where the pose sensor sits and how late it is, as the fit found it. turns: another odometry of the log that
    counts the full turns, way and turning in holes of the poses; None: this one. All odometries of a log that are to
    be compared should be given the same. progress: told how many samples of the drive are done.
    """
    checks.instance(run, LogOdometry, "run", "use what odometry_of returned")
    checks.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    checks.instance(sensor, Sensor, "sensor", "use fit.model.sensor")
    counting = run if turns is None else turns
    whole_path = run.path
    drive = _longest(run, whole_path)
    poses, at = _poses(run, log, sensor, drive)
    body = _at(run, at, drive)
    estimate = _sensor_poses(run, sensor, at, drive)
    measured = np.concatenate([log.poses.position[poses], log.poses.attitude[poses, 2:3]], axis=1)
    measured[:, 3] = _counted(measured[:, 3], _sensor_poses(counting, sensor, at, drive)[:, 3])
    turn = measured[0, 3] - estimate[0, 3]
    c, s = math.cos(turn), math.sin(turn)
    R = np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    laid = (estimate - estimate[0]) @ R.T + measured[0]
    wheels = _rolling(run, at, drive)
    distance, turning = _way(measured, _at_reference(counting, sensor, at, drive), at, wheels)
    path = np.interp(at, run.time[drive], whole_path[drive])
    every = np.append(_spaced(path, SPACING), len(at) - 1)
    bounds = np.unique(np.concatenate([[0], _spaced(path, STRETCH), [len(at) - 1]]))
    covariance, ends = _covariances(run, body, estimate, sensor, bounds, drive, progress)
    covariance = R @ covariance @ R.T
    return Judgement(
        time=at,
        estimate=laid,
        measured=measured,
        covariance=covariance,
        has_height=bool(np.ptp(measured[:, 2]) > 0.0),
        distance=distance,
        turning=turning,
        along=float(np.mean(_normalised((laid - measured)[every], covariance[every]))),
        stretches=_stretches(run, body, estimate, measured, sensor, bounds, ends),
    )


def _longest(run: LogOdometry, path: FloatArray) -> slice:
    """Samples of the drive of the longest way."""
    bounds = run.drive_bounds
    longest = int(np.argmax(np.maximum.reduceat(path, bounds[:-1])))
    return slice(int(bounds[longest]), int(bounds[longest + 1]))


def _poses(run: LogOdometry, log: Log, sensor: Sensor, drive: slice) -> tuple[IntArray, FloatArray]:
    """Poses that fall into a drive, and when they were true."""
    t = log.pose_elapsed - sensor.lag
    chosen = np.flatnonzero((t >= run.time[drive.start]) & (t <= run.time[drive.stop - 1]))
    if len(chosen) < 2:
        raise LogError(f"{log.name}: has {len(chosen)} poses along its longest drive; two are needed to judge odometry")
    return chosen.astype(np.int64), t[chosen]


def _at(run: LogOdometry, t: FloatArray, drive: slice) -> IntArray:
    """The sample of a drive nearest to each time."""
    time = run.time[drive]
    after = np.clip(np.searchsorted(time, t), 1, len(time) - 1)
    nearest: IntArray = np.where(t - time[after - 1] < time[after] - t, after - 1, after) + drive.start
    return nearest


def _sensor_poses(run: LogOdometry, sensor: Sensor, t: FloatArray, drive: slice) -> FloatArray:
    """x, y, z, yaw of the pose sensor at some times of a drive, in the world of the odometry, (m, 4)."""
    x, y, z, yaw, roll, pitch = (
        np.interp(t, run.time[drive], column[drive])
        for column in (*run.position.T, run.yaw, *run.attitude.T)
    )  # fmt: skip
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


def _at_reference(run: LogOdometry, sensor: Sensor, t: FloatArray, drive: slice) -> FloatArray:
    """Way [m] and turning [rad] of an odometry up to some times, (m, 2)."""
    grid = np.append(np.arange(t[0], t[-1], CHORD), t[-1])
    poses = _sensor_poses(run, sensor, grid, drive)
    way = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(poses[:, :3], axis=0), axis=1)))
    turned = np.append(0.0, np.cumsum(np.abs(np.diff(poses[:, 3]))))
    return np.stack([np.interp(t, grid, way), np.interp(t, grid, turned)], axis=1)


def _rolling(run: LogOdometry, t: FloatArray, drive: slice) -> FloatArray:
    """Seconds of driving from the start of a drive to some times, (m,)."""
    time, rest = run.time[drive], run.rest[drive]
    driven = np.append(0.0, np.cumsum(np.where(rest[1:] & rest[:-1], 0.0, np.diff(time))))
    result: FloatArray = np.interp(t, time, driven)
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


Known = tuple[FloatArray, FloatArray]
"""Noise covariance (k, 4, 4) and slopes (k, 4, np) at some samples."""


def _covariances(
    run: LogOdometry,
    body: IntArray,
    estimate: FloatArray,
    sensor: Sensor,
    bounds: IntArray,
    drive: slice,
    progress: Progress | None,
) -> tuple[FloatArray, Known]:
    """Of the errors since the first pose, (m, 4, 4); and what is known at the poses `bounds`.

    Piece by piece: slopes at all samples of a long drive would take more room than its log.
    """
    out = np.empty((len(body), 4, 4))
    noise, slopes = np.empty((len(bounds), 4, 4)), np.empty((len(bounds), 4, len(run.parameters)))
    first: Known | None = None
    for piece in run.pieces(drive.start, drive.stop):
        end = piece.first + len(piece.values)
        low, high = np.searchsorted(body, [piece.first, end])
        rows = body[low:high] - piece.first
        if len(rows):
            here = piece.noise_covariance[rows], piece.slopes[rows]
            if first is None:
                first = here[0][:1], here[1][:1]
            pairs = np.stack([np.zeros(len(rows), np.int64), np.arange(low, high)], axis=1)
            out[low:high] = _relative_covariance(run, body, estimate, pairs, sensor, first, here)
            chosen = np.flatnonzero((bounds >= low) & (bounds < high))
            noise[chosen], slopes[chosen] = (values[bounds[chosen] - low] for values in here)
        if progress is not None:
            progress(end - drive.start, drive.stop - drive.start)
    return out, (noise, slopes)


def _stretches(
    run: LogOdometry,
    body: IntArray,
    estimate: FloatArray,
    measured: FloatArray,
    sensor: Sensor,
    bounds: IntArray,
    ends: Known,
) -> FloatArray:
    """Normalised squared errors of stretches from pose to pose, between poses `bounds`."""
    pairs = np.stack([bounds[:-1], bounds[1:]], axis=1)
    error = _relative(estimate, pairs) - _relative(measured, pairs)
    noise, slopes = ends
    C = _relative_covariance(
        run, body, estimate, pairs, sensor, (noise[:-1], slopes[:-1]), (noise[1:], slopes[1:])
    )  # fmt: skip
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
    run: LogOdometry,
    body: IntArray,
    estimate: FloatArray,
    pairs: IntArray,
    sensor: Sensor,
    before: Known,
    after: Known,
) -> FloatArray:
    """Covariance (k, 4, 4) of estimated less measured motion between two poses, in axes of the odometry's world.

    before, after: what is known at the first and the second pose of the pairs; one first may stand for all. Errors up
    to the first pose are taken off: what is left grew in between. Each pose has noise of its own; yaw noise
    of the first turns the whole motion, an error of a time stamp moves its pose along.
    """
    i, j = body[pairs[:, 0]], body[pairs[:, 1]]
    grown = _turned_by_yaw(run.position[j] - run.position[i])
    roll, pitch = run.attitude[j].T
    lever = _turned_by_yaw(from_rpy(roll, pitch, run.yaw[j]) @ np.array([sensor.x, sensor.y, sensor.z]))
    C = after[0] - grown @ before[0] @ grown.transpose(0, 2, 1)
    J = after[1] - grown @ before[1]
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
