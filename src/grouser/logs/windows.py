"""Displacements and turns of the body over short windows, by the poses, the wheels and the gyro."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray, Log
from grouser.vehicles.vehicle import Vehicle

SIDEWAYS = 0.05
"""Weight of "a wheel does not slide sideways" against "a wheel rolls": it decides only where rolling leaves open."""


class Chords(NamedTuple):
    """Displacements of the pose sensor between poses of one segment, one after the other, shape (k,) each."""

    log: Log
    start: IntArray
    """The pose each begins at."""
    stop: IntArray
    """The pose it ends at."""
    length: FloatArray
    """[m]"""
    forward: FloatArray
    """In the heading of the body half-way [m]."""
    left: FloatArray
    """[m]"""
    turn: FloatArray
    """[rad]"""

    @property
    def begin(self) -> FloatArray:
        """When each began on the clock of `log.elapsed` [s], the manifest's lag taken out."""
        return self.log.pose_elapsed[self.start] - self.log.sensor.lag

    @property
    def end(self) -> FloatArray:
        """When it ended [s]."""
        return self.log.pose_elapsed[self.stop] - self.log.sensor.lag

    @property
    def took(self) -> FloatArray:
        """Duration [s], above zero."""
        return np.maximum(self.end - self.begin, 1e-9)

    def change(self, values: FloatArray) -> FloatArray:
        """Integral of a rate (n,) of the log over each, shape (k,); NaN in the rate is taken as zero."""
        path = integral(np.nan_to_num(values), self.log.time, self.log.segment)
        return np.interp(self.end, self.log.elapsed, path) - np.interp(self.begin, self.log.elapsed, path)

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean of a signal (n,) of the log over each, shape (k,)."""
        return self.change(values) / self.took

    def of_point(self, x: float, y: float) -> tuple[FloatArray, FloatArray]:
        """Displacement forward and left [m] of a point of the body at (x, y) [m]."""
        sensor = self.log.sensor
        return self.forward - self.turn * (y - sensor.y), self.left + self.turn * (x - sensor.x)


class Rolled(NamedTuple):
    """The same displacements by the wheel rates, shape (k,) each."""

    ahead: FloatArray
    """Forward motion of the body's origin if no wheel slips [m]."""
    turn: FloatArray
    """[rad]"""
    rim: dict[str, FloatArray]
    """Wheel → travel of its rim [m]; with rollers its part along the direction that they hold."""
    by_poses: dict[str, FloatArray]
    """Wheel → travel of its centre in its rolling direction, or the one that its rollers hold, by the poses [m]."""


def chords(log: Log, duration: float) -> Chords:
    """Displacements over about a duration [s]; 0: from each pose to the next."""
    poses = log.poses
    stride = max(1, round(duration / log.report.pose_period)) if log.report.pose_period > 0.0 else 1
    start = np.arange(0, max(len(poses) - stride, 0), stride)
    start = start[poses.segment[start] == poses.segment[start + stride]]
    stop = start + stride
    before, after = poses.attitude[start, 2], poses.attitude[stop, 2]
    heading = 0.5 * (before + after) - log.sensor.yaw
    moved = poses.position[stop] - poses.position[start]
    forward = np.cos(heading) * moved[:, 0] + np.sin(heading) * moved[:, 1]
    left = -np.sin(heading) * moved[:, 0] + np.cos(heading) * moved[:, 1]
    return Chords(log, start, stop, np.linalg.norm(moved, axis=1), forward, left, after - before)


def windows_of(log: Log, duration: float) -> Chords:
    """Displacements over about a duration [s]; those over a hole in the stream of poses left out."""
    found = chords(log, duration)
    chosen = found.took < 2.0 * max(duration, log.report.pose_period)
    columns: Any = (column[chosen] for column in found[1:])
    return Chords(log, *columns)


def integral(values: FloatArray, time: FloatArray, segment: IntArray) -> FloatArray:
    """Integral of a rate from the first sample to each, shape (n,); nothing is added between segments."""
    steps = np.where(np.diff(segment) == 0, np.diff(time), 0.0)
    return np.append(0.0, np.cumsum(0.5 * (values[1:] + values[:-1]) * steps))[: len(time)]


def distinct(columns: Iterable[FloatArray]) -> list[FloatArray]:
    """Each column once: wheels of one side often share one."""
    return list({id(column): column for column in columns}.values())


def measured(values: FloatArray) -> bool:
    """Whether a signal has numbers enough to be judged."""
    return len(values) > 0 and float(np.isfinite(values).mean()) > 0.5


def turn_rate(log: Log) -> FloatArray | None:
    """The gyro's rate about z [rad/s], shape (n,); None where it is not measured."""
    return log.gyro[:, 2] if log.gyro is not None and measured(log.gyro[:, 2]) else None


def rolled(vehicle: Vehicle, found: Chords) -> Rolled | None:
    """Displacements by the measured wheel rates; None if these do not determine forward motion and turning.

    In the plane, wheel i at (x, y) that points at an angle δ from the body rolls with
    r ω = cos δ (v_x − ω_z y) + sin δ (v_y + ω_z x), and does not slide sideways where that leaves something open. With
    rollers δ is the direction that they hold, and r ω its share.
    """
    rates = found.log.rates
    turned = {id(rate): found.change(rate) for rate in distinct(rates.values())}
    rim, by_poses = {}, {}
    normal, right = np.zeros((len(found.start), 3, 3)), np.zeros((len(found.start), 3))
    for i, (wheel, direction) in enumerate(_directions(vehicle, found).items()):
        if direction is None or wheel in vehicle.sliding:
            continue
        along, left = vehicle.arrays.held[i]
        (x, y, _), c, s = vehicle.wheel_positions[i], np.cos(direction), np.sin(direction)
        c, s = along * c - left * s, along * s + left * c
        if not vehicle.arrays.rollers[i]:
            across = np.stack([-s, c, y * s + x * c], axis=1) * SIDEWAYS
            normal += across[:, :, None] * across[:, None, :]
        if wheel not in rates:
            continue
        rim[wheel] = turned[id(rates[wheel])] * vehicle.arrays.radius[i] * along
        ahead, aside = found.of_point(x, y)
        by_poses[wheel] = c * ahead + s * aside
        row = np.stack([c, s, x * s - y * c], axis=1)
        normal += row[:, :, None] * row[:, None, :]
        right += row * rim[wheel][:, None]
    if not rim or not len(found.start):
        return None
    if np.median(np.linalg.eigvalsh(normal)[:, 0]) < 1e-5 * float(vehicle.arrays.radius.mean()) ** 2:
        return None
    twist = np.asarray(np.linalg.solve(normal + 1e-12 * np.eye(3), right[:, :, None])[:, :, 0], np.float64)
    return Rolled(twist[:, 0], twist[:, 2], rim, by_poses)


def _directions(vehicle: Vehicle, found: Chords) -> dict[str, FloatArray | None]:
    """The angle of each wheel to the body's x axis over each displacement [rad]; None: it swivels unmeasured."""
    angle: dict[str | None, FloatArray | None] = {None: np.zeros(len(found.start))}
    for frame in vehicle.frames:
        before = angle[frame.parent]
        if before is not None:
            before = before + np.arctan2(frame.rotation[1, 0], frame.rotation[0, 0])
        if frame.joint == "RZ" and before is not None:
            turned = found.log.angles.get(frame.name)
            before = None if turned is None else before + found.mean(turned)
        angle[frame.name] = before
    return {wheel: angle[wheel] for wheel in vehicle.wheels}


def clipped(values: FloatArray) -> FloatArray:
    """The values, limited to three times the 98th percentile of their magnitudes, against outliers."""
    most = 3.0 * float(np.percentile(np.abs(values), 98.0)) if len(values) else 0.0
    return np.clip(values, -most, most)


def alike(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """Correlation of two signals about zero, and the slope of a over b; zeros where one of them does not move."""
    a, b = clipped(a), clipped(b)
    aa, bb, ab = float(a @ a), float(b @ b), float(a @ b)
    if aa * bb <= 0.0:
        return 0.0, 0.0
    return ab / (aa * bb) ** 0.5, ab / bb
