"""The heading of a vehicle from its course over ground, where only its position is measured.

The displacement between two positions is that of the dead-reckoned path, turned by one unknown angle: o = arg(chord by
the positions) − arg(chord by turns and wheels). The path has the turns of the gyro, or else of the wheels, and the
forward motion of the wheels, which accounts for reversing and for the lever arm of the antenna. The angle o drifts as
the gyro or the wheels do; a Kalman smoother combines all chords and gives the variance of each yaw.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest
from grouser.logs.report import Rejection
from grouser.logs.signals import pieces
from grouser.logs.windows import Chords, chords, rolled, turn_rate
from grouser.vehicles.vehicle import Vehicle

SHORTEST, SIGMAS = 0.3, 10.0
"""Least length of a chord [m], and in sigmas of a position."""
LONGEST = 20.0
"""Time that a chord may take [s]."""
SIDESLIP = math.radians(1.0)
"""Sideslip angle between course and heading, one sigma [rad]."""
BY_TURN = 0.05
"""The same per turn, as wheels slip sideways in curves [rad/rad]."""
WORST = math.radians(10.0)
"""Yaws less certain than this, one sigma [rad], are left out."""
FIRST = 7
"""The smoother starts from the mean of so many chords."""


class Turns(NamedTuple):
    """Source and drift of the turns between poses."""

    said: str
    walk: float
    """One sigma [rad/√s]."""
    share: float
    """One sigma of a turn, as its share."""
    rate: float
    """One sigma of a constant drift [rad/s]."""


GYRO = Turns("the gyro", 5e-4, 0.01, 0.01)
WHEELS = Turns("the wheels", 0.01, 0.15, 0.005)
NOTHING = Turns("nothing, as no gyro is given and the wheels do not determine it", 0.3, 0.0, 1e-6)


def with_heading(log: Log, manifest: Manifest, vehicle: Vehicle | None) -> Log:
    """The log with yaws from motion and their sigmas; poses whose yaw stays unknown are left out."""
    if vehicle is not None and vehicle.arrays.rollers.any():
        raise LogError(
            f'{manifest.file}, table [pose], yaw_from: "motion" takes the course over ground for the heading, but'
            f" '{vehicle.name}' drives in any direction; give yaw"
        )
    if len(log.poses) < 2:
        return log
    step, rate = chords(log, 0.0), turn_rate(log)
    wheels = None if vehicle is None else rolled(vehicle, step)
    source = GYRO if rate is not None else NOTHING if wheels is None else WHEELS
    turn, ahead = np.zeros(len(log.poses)), np.zeros(len(log.poses))
    if rate is not None:
        turn[step.stop] = step.change(rate)
    elif wheels is not None:
        turn[step.stop] = wheels.turn
    ahead[step.stop] = step.length * _direction(step) if wheels is None else wheels.ahead
    poses = log.poses
    sigma = poses.sigma
    noise = np.full(len(poses), log.sensor.position_noise) if sigma is None else sigma[:, :2].max(axis=1)
    yaw, spread = np.zeros(len(poses)), np.full(len(poses), np.inf)
    for part in pieces(poses.segment):
        if source is WHEELS:
            turn[part] *= _turn_gain(poses.position[part], turn[part], ahead[part], noise[part])
        yaw[part], spread[part] = _smoothed(log, part, turn[part], ahead[part], noise[part], source)
    good = spread < WORST
    if not good.any():
        said = f"its positions do not show a heading to {math.degrees(WORST):g}°"
        raise LogError(f"{log.name}: {said}; drive farther, or measure yaw")
    attitude = poses.attitude.copy()
    attitude[:, 2] = yaw + log.sensor.yaw
    given = np.stack([noise, noise, spread], axis=1)
    if sigma is not None:
        given[:, :2] = sigma[:, :2]
    kept = replace(poses, attitude=attitude, sigma=given).some(good)
    median = math.degrees(float(np.median(spread[good])))
    said = f"heading from motion, joined by the turns of {source.said}: one sigma {median:.1f}° (median)"
    report = replace(log.report, remarks=(*log.report.remarks, said), poses=len(kept))
    if left := int(np.count_nonzero(~good)):
        where = tuple(f"{log.name} at t = {t:.1f} s" for t in poses.time[~good][:5])
        why = f"its heading from motion is less certain than {math.degrees(WORST):g}°"
        report = replace(report, rejected_poses={**report.rejected_poses, why: Rejection(count=left, first=where)})
    return replace(log, poses=kept, report=report)


def _direction(step: Chords) -> FloatArray:
    """1 forward, −1 backward, by the mean of the rates, where the vehicle is not known."""
    rates = step.log.rates.values()
    mean = np.mean([step.change(rate) for rate in rates], axis=0) if rates else 1.0
    return np.where(np.asarray(mean) < 0.0, -1.0, 1.0)


class _Angle(NamedTuple):
    """The unknown angle by one chord."""

    at: int
    """The pose in its middle."""
    angle: float
    """o [rad]."""
    sigma: float
    """[rad]"""


def _smoothed(
    log: Log, part: slice, turn: FloatArray, ahead: FloatArray, noise: FloatArray, source: Turns
) -> tuple[FloatArray, FloatArray]:
    """Yaw and its sigma at the poses of one segment, (m,) each."""
    relative = np.cumsum(turn)
    found = _angles(log, part, relative, ahead, noise)
    if not found:
        return relative, np.full(len(turn), np.inf)
    start = float(np.angle(np.mean(np.exp(1j * np.array([one.angle for one in found[:FIRST]])))))
    offset, variance = _smoother(log.poses.time[part], turn, found, source, start)
    return relative + offset, np.sqrt(variance)


def _angles(log: Log, part: slice, relative: FloatArray, ahead: FloatArray, noise: FloatArray) -> list[_Angle]:
    """Successive chords, each long against the noise of its ends."""
    time, place = log.poses.time[part], log.poses.position[part]
    middle = relative - 0.5 * np.diff(relative, prepend=relative[:1])
    path = np.cumsum(ahead * np.exp(1j * middle))  # of the body's origin, in axes turned by o
    sensor = path + np.exp(1j * relative) * complex(log.sensor.x, log.sensor.y)
    position = place[:, 0] + 1j * place[:, 1]
    found: list[_Angle] = []
    i = 0
    for j in range(1, len(time)):
        if time[j] - time[i] > LONGEST:
            i = j
            continue
        least = max(SHORTEST, SIGMAS * float(max(noise[i], noise[j])))
        true, own = position[j] - position[i], sensor[j] - sensor[i]
        if min(abs(true), abs(own)) < least:
            continue
        turned = float(np.ptp(relative[i : j + 1]))
        sigma = math.hypot(math.sqrt(2.0) * float(noise[j]) / abs(true), SIDESLIP, BY_TURN * turned)
        found.append(_Angle((i + j) // 2, float(np.angle(true / own)), sigma))
        i = j
    return found


def _smoother(
    time: FloatArray, turn: FloatArray, found: list[_Angle], source: Turns, start: float
) -> tuple[FloatArray, FloatArray]:
    """The unknown angle at each pose and its variance, by a Kalman smoother with a constant drift, (m,) each."""
    m, left = len(time), iter(found)
    x, P = np.array([start, 0.0]), np.diag([math.pi**2, source.rate**2])
    filtered, predicted = [], []
    steps = np.diff(time, prepend=time[:1])
    measured = next(left, None)
    for k in range(m):
        F = np.array([[1.0, steps[k]], [0.0, 1.0]])
        x, P = F @ x, F @ P @ F.T
        P[0, 0] += source.walk**2 * steps[k] + (source.share * turn[k]) ** 2
        predicted.append((x, P))
        while measured is not None and measured.at == k:
            off = math.remainder(measured.angle - x[0], 2.0 * math.pi)
            S = P[0, 0] + measured.sigma**2
            if abs(off) < max(4.0 * math.sqrt(S), 0.5):
                K = P[:, 0] / S
                x, P = x + K * off, P - np.outer(K, P[0])
            measured = next(left, None)
        filtered.append((x, P))
    angle, variance = np.empty(m), np.empty(m)
    for k in range(m - 1, -1, -1):
        here, P_here = filtered[k]
        if k < m - 1:
            F = np.array([[1.0, steps[k + 1]], [0.0, 1.0]])
            x_ahead, P_ahead = predicted[k + 1]
            G = np.linalg.solve(P_ahead, F @ P_here).T
            here, P_here = here + G @ (x - x_ahead), P_here + G @ (P - P_ahead) @ G.T
        x, P = here, P_here
        angle[k], variance[k] = x[0], max(float(P[0, 0]), 0.0)
    return angle, variance


def _turn_gain(place: FloatArray, turn: FloatArray, ahead: FloatArray, noise: FloatArray) -> float:
    """The share of the wheels' turn that the vehicle turns, which the courses of successive chords show; 1 if none do.

    A skid steer turns by a third to all of what its wheels say.
    """
    position, relative = place[:, 0] + 1j * place[:, 1], np.cumsum(turn)
    courses, turned, i = [], [], 0
    for j in range(1, len(position)):
        if abs(position[j] - position[i]) > max(SHORTEST, SIGMAS * float(noise[j])):
            direction = float(np.sign(np.sum(ahead[i + 1 : j + 1])) or 1.0)
            courses.append(direction * (position[j] - position[i]))
            turned.append(float(np.mean(relative[i : j + 1])))
            i = j
    if len(courses) < FIRST:
        return 1.0
    left, own = np.angle(np.array(courses[1:]) / np.array(courses[:-1])), np.diff(turned)
    own_square = float(own @ own)
    if own_square < 1.0:
        return 1.0
    return float(np.clip((own @ left) / own_square, 0.2, 1.5))
