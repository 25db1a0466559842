"""Errors of odometry along a log, by the log's own poses.

Odometry and poses are aligned at the first pose alone, in position and yaw, unless they share one world frame; nothing
is fitted afterwards. Poses are taken at their stamp less the lag of the pose sensor, at its place on the body.
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
from grouser.motion.consistency import nees, nees_band, pose_noise, yaw_transition
from grouser.odometry.inputs import check
from grouser.odometry.log import LogOdometry, Progress
from grouser.odometry.systematic import Growth
from grouser.rotation import from_rpy, to_rpy, wrapped
from grouser.spacing import path_lengths

CHORD = 1.0  # Duration of the displacements whose lengths add up to distance and turning [s]; pose noise is small in it
HOLE = 2.0  # Longer gaps between poses [s] take distance and turning from the odometry
SPACING = 1.0  # Distance between comparisons of errors with their covariance [m]
STRETCH = 10.0  # Length of the stretches that are compared separately [m]
LEAST = 1e-6  # Smallest sigma of an error [m, rad]
ROWS = np.array([0, 1, 3])  # x, y, yaw of (x, y, z, yaw): the entries of NEES


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
    """Mean NEES eᵀ C⁻¹ e / 3 of x, y, yaw since the start, at every `SPACING` of way.

    Errors since the start are correlated, so this is hardly more than one independent number.
    """
    stretches: FloatArray
    """NEES eᵀ C⁻¹ e / 3 of x, y, yaw over stretches of `STRETCH`, each starting at a pose, (k,).

    They share no noise, so their mean is one of k independent numbers; constant errors of slip they do share.
    """

    @property
    def error(self) -> FloatArray:
        """Estimate less measured, x, y, z [m], yaw [rad], (m, 4)."""
        return np.asarray(self.estimate - self.measured)

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


def _percent(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole > 0.0 else None


def judge(
    run: LogOdometry, log: Log, sensor: Sensor, *, turns: LogOdometry | None = None, same_world: bool = False,
    progress: Progress | None = None,
) -> Judgement:  # fmt: skip
    """Compare odometry of a log with its poses, over the drive in which the vehicle went farthest.

    sensor: mounting and lag of the pose sensor, as the fit found them. turns: another odometry of the log that counts
    the full turns, way and turning in holes of the poses; None: this one. All odometries of a log that are to be
    compared should be given the same. same_world: the estimate is in the world of the poses, as GPS gives it, so
    nothing is aligned: its yaw may have been unknown at the first pose. progress: is called with the number of samples
    of the drive that are done.
    """
    check.instance(run, LogOdometry, "run", "use what odometry_of returned")
    check.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    check.instance(sensor, Sensor, "sensor", "use fit.model.sensor")
    counting = run if turns is None else turns
    drive = run.longest_drive
    time = log.pose_elapsed - sensor.lag
    poses = np.flatnonzero((time >= run.time[drive.start]) & (time <= run.time[drive.stop - 1]))
    if len(poses) < 2:
        raise LogError(f"{log.name}: has {len(poses)} poses along its longest drive; two are needed to judge odometry")
    at = time[poses]
    estimate = _sensor_poses(run, sensor, at, drive)
    measured = np.concatenate([log.poses.position[poses], log.poses.attitude[poses, 2:3]], axis=1)
    # Full turns are added where the sensor was blind: its difference to the odometry does not jump.
    reference = _sensor_poses(counting, sensor, at, drive)[:, 3]
    measured[:, 3] = reference - np.unwrap(reference - measured[:, 3])
    R = np.eye(4) if same_world else _about_z(measured[:1, 3] - estimate[:1, 3])[0]
    aligned = estimate if same_world else (estimate - estimate[0]) @ R.T + measured[0]
    distance, turning = _way(measured, _way_of(counting, sensor, at, drive), at, _driven(run, at, drive))
    path = np.interp(at, run.time[drive], run.path[drive])
    every = np.append(_spaced(path, SPACING), len(at) - 1)
    bounds = np.unique(np.concatenate([[0], _spaced(path, STRETCH), [len(at) - 1]]))
    growth = _Growth(run, _nearest(run.time[drive], at) + drive.start, estimate, sensor)
    covariance, C = growth.follow(drive, bounds, progress)
    covariance = R @ covariance @ R.T
    # Stretches: each from pose to pose, in the heading frame of its first.
    first, last = bounds[:-1], bounds[1:]
    motions = [_heading(poses[first, 3], poses[last] - poses[first]) for poses in (estimate, measured)]
    T = _about_z(-estimate[first, 3])
    return Judgement(
        time=at, estimate=aligned, measured=measured, covariance=covariance, distance=distance, turning=turning,
        has_height=bool(np.ptp(measured[:, 2]) > 0.0),
        along=float(np.mean(_nees((aligned - measured)[every], covariance[every]))),
        stretches=_nees(motions[0] - motions[1], T @ C @ T.transpose(0, 2, 1)),
    )  # fmt: skip


def _not_negative(C: FloatArray) -> FloatArray:
    """Covariances (k, 4, 4) without negative eigenvalues: a filter may lower the uncertainty it had before."""
    values, axes = np.linalg.eigh(0.5 * (C + C.transpose(0, 2, 1)))
    if (values >= 0.0).all():
        return C
    return np.asarray((axes * np.maximum(values, 0.0)[:, None, :]) @ axes.transpose(0, 2, 1))


def _nees(error: FloatArray, covariance: FloatArray) -> FloatArray:
    """Of x, y, yaw, (k,)."""
    return nees(error[:, ROWS], covariance[:, ROWS[:, None], ROWS], least=LEAST)


def _about_z(angle: FloatArray) -> FloatArray:
    """Matrices that turn (x, y, z, yaw) by angles (k,) [rad], (k, 4, 4)."""
    result = np.zeros((len(angle), 4, 4))
    result[:, :3, :3] = from_rpy(0.0 * angle, 0.0 * angle, angle)
    result[:, 3, 3] = 1.0
    return result


def _heading(yaw: FloatArray, moved: FloatArray) -> FloatArray:
    """Displacements (k, 4) in the heading frames of yaws (k,)."""
    return np.asarray((_about_z(-yaw) @ moved[..., None])[..., 0])


def _nearest(time: FloatArray, t: FloatArray) -> IntArray:
    """The sample nearest to each time."""
    after = np.clip(np.searchsorted(time, t), 1, len(time) - 1)
    return np.where(t - time[after - 1] < time[after] - t, after - 1, after)


def _sensor_poses(run: LogOdometry, sensor: Sensor, t: FloatArray, drive: slice) -> FloatArray:
    """x, y, z, yaw of the pose sensor at some times of a drive, in the world of the odometry, (m, 4)."""
    x, y, z, yaw, roll, pitch = (
        np.interp(t, run.time[drive], column[drive]) for column in (*run.position.T, run.yaw, *run.attitude.T)
    )
    R = from_rpy(roll, pitch, yaw)
    place = np.stack([x, y, z], axis=1) + R @ np.array([sensor.x, sensor.y, sensor.z])
    if sensor.yaw != 0.0:
        mounted = to_rpy(R @ from_rpy(0.0, 0.0, sensor.yaw))[:, 2]
        yaw = yaw + sensor.yaw + wrapped(mounted - yaw - sensor.yaw)
    return np.concatenate([place, yaw[:, None]], axis=1)


def _way_of(run: LogOdometry, sensor: Sensor, t: FloatArray, drive: slice) -> FloatArray:
    """Way [m] and turning [rad] of an odometry up to some times, (m, 2)."""
    grid = np.append(np.arange(t[0], t[-1], CHORD), t[-1])
    poses = _sensor_poses(run, sensor, grid, drive)
    way = path_lengths(poses[:, :3])
    turned = np.append(0.0, np.cumsum(np.abs(np.diff(poses[:, 3]))))
    return np.stack([np.interp(t, grid, way), np.interp(t, grid, turned)], axis=1)


def _driven(run: LogOdometry, t: FloatArray, drive: slice) -> FloatArray:
    """Seconds of driving from the start of a drive to some times, (m,)."""
    time, rest = run.time[drive], run.rest[drive]
    driven = np.append(0.0, np.cumsum(np.where(rest[1:] & rest[:-1], 0.0, np.diff(time))))
    return np.asarray(np.interp(t, time, driven))


def _way(measured: FloatArray, reference: FloatArray, t: FloatArray, driven: FloatArray) -> tuple[float, float]:
    """Length of the way [m] and sum of |Δyaw| [rad] over chords while the vehicle drives."""
    distance = turning = 0.0
    i = 0
    while i < len(t) - 1:
        j = min(max(int(np.searchsorted(t, t[i] + CHORD)), i + 1), len(t) - 1)
        if t[j] - t[i] > HOLE:
            j = i + 1 if t[i + 1] - t[i] > HOLE else j - 1
        x, y, z, yaw = measured[j] - measured[i]
        way, turned = (math.hypot(x, y, z), abs(yaw)) if driven[j] > driven[i] else (0.0, 0.0)
        if t[j] - t[i] > HOLE:
            way, turned = reference[j] - reference[i]
        distance, turning, i = distance + float(way), turning + float(turned), j
    return distance, turning


def _spaced(path: FloatArray, spacing: float) -> IntArray:
    """The first pose after every so far of a way."""
    marks = np.arange(spacing, path[-1] - path[0], spacing) + path[0]
    return np.unique(np.minimum(np.searchsorted(path, marks), len(path) - 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Growth:
    """Covariance of estimated less measured motion between two poses."""

    run: LogOdometry
    body: IntArray  # sample nearest to each pose, (m,)
    estimate: FloatArray  # x, y, z, yaw of the sensor, (m, 4)
    sensor: Sensor

    def follow(self, drive: slice, bounds: IntArray, progress: Progress | None) -> tuple[FloatArray, FloatArray]:
        """Of the errors since the first pose, (m, 4, 4), and of those between successive poses `bounds`, (k − 1, 4, 4).

        Piece by piece: slopes at all samples of a long drive would take more room than its log.
        """
        known = self.run.knowledge
        out = np.empty((len(self.body), 4, 4))
        noise, systematic = np.empty((len(bounds), 4, 4)), np.zeros((len(bounds), 4, 4))
        whole, stretch = Growth(known), Growth(known)
        start: FloatArray | None = None
        for piece in self.run.pieces(drive.start, drive.stop):
            end = piece.first + len(piece.values)
            low, high = np.searchsorted(self.body, [piece.first, end])
            rows = self.body[low:high] - piece.first
            if len(rows):
                here, slopes = piece.noise_covariance[rows], piece.slopes[rows]
                place, epoch = self.run.position[self.body[low:high]], known.epoch(self.body[low:high])
                if start is None:
                    start = here[:1]
                    for growth in (whole, stretch):
                        growth.begin(place[0], slopes[0], int(epoch[0]))
                last = np.arange(low, high)
                C = whole.follow(place, slopes, epoch)
                out[low:high] = self._between(np.zeros_like(last), last, start, here, C)
                chosen = np.flatnonzero((bounds >= low) & (bounds < high))
                noise[chosen] = here[bounds[chosen] - low]
                a = 0
                for k, b in zip(chosen.tolist(), (bounds[chosen] - low).tolist(), strict=True):
                    systematic[k] = stretch.follow(place[a : b + 1], slopes[a : b + 1], epoch[a : b + 1])[-1]
                    stretch.begin(place[b], slopes[b], int(epoch[b]))
                    a = b + 1
                stretch.follow(place[a:], slopes[a:], epoch[a:])
            if progress is not None:
                progress(end - drive.start, drive.stop - drive.start)
        return out, self._between(bounds[:-1], bounds[1:], noise[:-1], noise[1:], systematic[1:])

    def _between(
        self, first: IntArray, last: IntArray, before: FloatArray, after: FloatArray, systematic: FloatArray
    ) -> FloatArray:
        """Covariance (k, 4, 4) between poses first and last (k,), in axes of the odometry's world.

        before, after: noise covariance there; one before may stand for all. Errors up to the first pose are taken off:
        what is left grew in between, and so did those by parameters, `systematic`. Each pose has noise of its own.
        """
        run, sensor = self.run, self.sensor
        i, j = self.body[first], self.body[last]
        grown = yaw_transition(run.position[j] - run.position[i])
        roll, pitch = run.attitude[j].T
        lever = yaw_transition(from_rpy(roll, pitch, run.yaw[j]) @ np.array([sensor.x, sensor.y, sensor.z]))
        C = _not_negative(after - grown @ before @ grown.transpose(0, 2, 1))
        C = lever @ (C + systematic) @ lever.transpose(0, 2, 1)
        moved = self.estimate[last] - self.estimate[first]
        C = C + pose_noise(sensor, moved, self._velocity(i), self._velocity(j), other_log=True)
        return np.asarray(0.5 * (C + C.transpose(0, 2, 1)))

    def _velocity(self, k: IntArray) -> FloatArray:
        """(ẋ, ẏ, ż, yaw rate) at some samples, (m, 4)."""
        twist, (roll, pitch) = self.run.twist[k], self.run.attitude[k].T
        v = (from_rpy(roll, pitch, self.run.yaw[k]) @ twist[:, 3:, None])[..., 0]
        rate = (np.sin(roll) * twist[:, 1] + np.cos(roll) * twist[:, 2]) / np.cos(pitch)
        return np.concatenate([v, rate[:, None]], axis=1)
