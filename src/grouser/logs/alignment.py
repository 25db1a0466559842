"""Orientation of an IMU on the body, estimated from a drive where neither the manifest nor tf gives it.

Up is the mean direction of the specific force, and the axis about which the gyro turns as the wheels do. Ahead is the
direction of the wheels' acceleration, left that of the centripetal acceleration: a = g + x v̇ + y v ω.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.frames import degrees, rotation_lines
from grouser.logs.log import Log
from grouser.logs.report import Problem, error, warning
from grouser.logs.tilt import GRAVITY
from grouser.logs.windows import clipped, measured, rolled, windows_of
from grouser.vehicles.vehicle import Vehicle

WINDOW = 0.5
"""Time over which accelerations are compared [s]."""
LEAST, LEAST_TURN = 40, 1.0
"""Windows that an alignment needs, and turning in all [rad]."""
CONTRADICT = math.radians(30.0)
"""Angle between up by gravity and up by the turns beyond which one of the sensors has wrong signs."""
ASKEW = math.radians(30.0)
"""A smaller rotation is not corrected: slopes and soft mounts look like it."""
TILTED = math.radians(45.0)
"""A tilt beyond this is refused where the direction ahead cannot be found."""
SNAP = math.radians(15.0)
"""A rotation this near to quarter turns is taken for them."""
CERTAIN = math.radians(12.0)
"""Sigma of the direction ahead beyond which it is not known [rad]."""


class Alignment(NamedTuple):
    """Orientation of an IMU on the body."""

    R_body_imu: FloatArray
    """Its axes in the body frame, (3, 3)."""
    tilt: float
    """Angle between its z axis and up [rad]."""
    sigma: float
    """Of the direction ahead [rad]; infinite where the drive does not show it."""
    agree: bool
    """Whether gravity and turns agree on the direction up."""


def aligned(log: Log, vehicle: Vehicle | None, known: str) -> Log:
    """The log with its IMU turned as the drive shows, and a warning; unchanged where that agrees with its axes.

    known: how its mounting was given; then it is not turned, but refused if it contradicts the drive.
    """
    found = alignment(log, vehicle)
    if found is None:
        return log
    problem, R = _judged(found, known)
    if problem is None:
        return log
    log = replace(log, report=replace(log.report, problems=(problem, *log.report.problems)))
    if R is None or log.gyro is None or log.acceleration is None:
        return log
    return replace(log, gyro=log.gyro @ R.T, acceleration=log.acceleration @ R.T)


def _judged(found: Alignment, known: str) -> tuple[Problem | None, FloatArray | None]:
    """The problem to report, and the rotation to use."""
    key, R = "robot.imu_rpy", snapped(found.R_body_imu)
    if not found.agree:
        said = "gravity and the turns of the wheels do not agree on which way of the IMU is up"
        remedy = "one of its sensors has wrong signs: +9.8 m/s² upward at rest is right, and left turns positive"
        return warning(key, said, remedy), None
    certain = found.sigma < CERTAIN
    off = _angle(R) if certain else found.tilt
    if off < (TILTED if known or not certain else ASKEW):
        return None, None
    if not certain:
        said = f"the IMU is tilted by {math.degrees(found.tilt):.0f}°, and the drive does not show which way is ahead"
        remedy = "give imu_rpy in [robot], [3.1416, 0, 0] if it is upside down with x ahead; or speed up and brake more"
        return error(key, said, remedy), None
    said = f"gravity, turns and accelerations say that the IMU is turned by {degrees(R)} on the body"
    if known:
        return error(key, f"{said}, after it was turned {known}", "mend that, or give imu_rpy in [robot]"), None
    return warning(key, f"{said}; its signals were turned by that", f"write {rotation_lines(R)}"), R


def alignment(log: Log, vehicle: Vehicle | None) -> Alignment | None:
    """Orientation of the IMU by the drive; None without three axes of both sensors, or too little motion."""
    gyro, specific = log.gyro, log.acceleration
    if gyro is None or specific is None or not all(measured(one[:, k]) for one in (gyro, specific) for k in range(3)):
        return None
    if vehicle is None or vehicle.arrays.rollers.any() or len(log.poses) < 3:
        return None
    windows = windows_of(log, WINDOW)
    wheels = rolled(vehicle, windows)
    if wheels is None or len(windows.start) < LEAST:
        return None
    gravity = np.nanmedian(specific, axis=0)
    size = float(np.linalg.norm(gravity))
    if not 0.6 < size / GRAVITY < 1.6:
        return None
    took = windows.took
    spun, force = (np.stack([windows.change(axis) for axis in signal.T], axis=1) for signal in (gyro, specific))
    turn = clipped(wheels.turn)
    if float(np.abs(turn).sum()) < LEAST_TURN:
        return None
    axis = turn @ (spun - np.median(spun, axis=0))
    up = gravity / size
    turns = float(np.linalg.norm(axis))
    if turns == 0.0:
        return None
    cosine = float(axis @ up) / turns
    agree = cosine > math.cos(CONTRADICT)
    speed, rate = wheels.ahead / took, (spun @ up) / took
    ahead, sigma = _ahead(force / took[:, None], speed, rate, took, up)
    left = np.cross(up, ahead)
    return Alignment(np.stack([ahead, left, up]), math.acos(np.clip(up[2], -1.0, 1.0)), sigma, agree)


def _ahead(
    force: FloatArray, speed: FloatArray, rate: FloatArray, took: FloatArray, up: FloatArray
) -> tuple[FloatArray, float]:
    """The body's x axis in axes of the IMU, (3,), and the sigma of its direction [rad]."""
    faster = (speed[2:] - speed[:-2]) / (0.5 * took[2:] + took[1:-1] + 0.5 * took[:-2])
    pull, force = (speed * rate)[1:-1], force[1:-1]
    rows = np.stack([clipped(faster), clipped(pull), np.ones(len(pull))], axis=1)
    slopes, *_ = np.linalg.lstsq(rows, force, rcond=None)
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first -= up * (first @ up)
    first /= np.linalg.norm(first)
    second = np.cross(up, first)
    left = force - rows @ slopes
    noise = 1.4826 * np.median(np.abs(left @ np.stack([first, second], axis=1))) + 1e-9
    spread = noise * np.sqrt(np.diag(np.linalg.pinv(rows.T @ rows)))[:2]
    x, y = (complex(one @ first, one @ second) for one in slopes[:2])
    # Left is a quarter turn on from ahead: y = i x. Slopes are 1 where the wheels do not slip.
    both = x / spread[0] ** 2 - 1j * y / spread[1] ** 2
    strength = math.hypot(abs(x) / spread[0], abs(y) / spread[1])
    angle = math.atan2(both.imag, both.real)
    return math.cos(angle) * first + math.sin(angle) * second, 3.0 / strength if strength > 3.0 else math.inf


def snapped(R: FloatArray) -> FloatArray:
    """The rotation by quarter turns next to one, if it is near; the rotation itself otherwise."""
    from scipy.spatial.transform import Rotation

    turns: FloatArray = np.round(Rotation.create_group("O").as_matrix())  # all 24 that take axes to axes
    best = max(turns, key=lambda one: float(np.trace(one.T @ R)))
    return best if _angle(best.T @ R) < SNAP else R


def _angle(R: FloatArray) -> float:
    """Of a rotation [rad]."""
    return math.acos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0))
