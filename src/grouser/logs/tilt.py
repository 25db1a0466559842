"""Whether roll and pitch are in radians and have the signs of the body: by gravity, turn rates, climbs and slip.

x forward, y left, z up: pitch is positive with the nose down, roll with the left side up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest
from grouser.logs.report import Problem
from grouser.logs.turning import CERTAIN, FACTOR
from grouser.logs.windows import Chords, Rolled, change, mean, measured, times, windows_of

GRAVITY = 9.80665
STEEP = 0.6
"""Root mean square of roll or pitch [rad] at which no vehicle drives."""
LONG = 4.0
"""Window [s] in which an accelerometer mostly feels gravity: speeding up and braking cancel."""
LEAST = 20
"""Windows that a comparison needs."""
EFFECT = 0.01
"""Slip on slopes, as a share of the distance, that is large enough to show its sign."""


class Slope(NamedTuple):
    """How an angle of the log goes with what another signal says of it."""

    by: str
    """The other signal, for messages."""
    key: str
    """Its key; "" where it cannot itself be wrong."""
    value: float
    """Log over the other signal: 1 is right, −1 has the other sign, 57 is in degrees."""


def tilt_problems(log: Log, manifest: Manifest, found: Chords, wheels: Rolled | None) -> list[Problem]:
    """Roll and pitch that gravity, the gyro, the poses' climb or the slip on slopes contradict."""
    gravity = _gravity_problems(log)
    problems = list(gravity)
    if log.attitude is None or manifest.attitude is None:
        return problems
    for axis, name in enumerate(("roll", "pitch")):
        signal = getattr(manifest.attitude, name)
        angle = log.attitude[:, axis]
        if signal is None or not np.any(angle):
            continue
        key, said = f"attitude.{name}", f"{name} ({signal.source})"
        slopes = _slopes(log, found, wheels, axis, by_gravity=not gravity)
        rms = math.sqrt(float(np.mean(angle**2)))
        steeper = [one for one in slopes if abs(one.value) > FACTOR and one.by != SLIP]
        if rms > STEEP or steeper:
            why = f"is {math.degrees(rms):.0f}° rms, at which no vehicle drives"
            if steeper:
                why = f"varies {abs(steeper[0].value):.2g} times as much as {steeper[0].by}"
            problems.append(Problem(
                key=key, severity="error", message=f"{said} {why}; it is likely in degrees",
                remedy=f'set unit = "deg" for {name} of [attitude]',
            ))  # fmt: skip
            continue
        problems += _sign_problems(key, said, slopes)
    return problems


def _sign_problems(key: str, said: str, slopes: list[Slope]) -> list[Problem]:
    """The other sign, by most of the signals that decide."""
    against, agreeing = [one for one in slopes if one.value < 0.0], [one for one in slopes if one.value > 0.0]
    if not against:
        return []
    if len(against) <= len(agreeing):
        return [
            Problem(
                key=one.key, severity="warning", message=f"{one.by} contradicts {said}, which other signals confirm",
                remedy=f"set sign = -1 for {one.key}",
            )
            for one in against if one.key
        ]  # fmt: skip
    name, others = key.split(".")[1], [one.key for one in against if one.key]
    alone = len(against) == 1 and bool(others)  # then it is word against word
    sure = not alone and any(one.by != SLIP for one in against)
    instead = f"; or is the sign of {others[0]} wrong?" if alone else ""
    return [Problem(
        key=key, severity="error" if sure else "warning",
        message=f"{said} has {'' if sure else 'likely '}the other sign than {' and '.join(one.by for one in against)}",
        remedy=f"set sign = -1 for {name} of [attitude]: {POSITIVE[name]}{instead}",
    )]  # fmt: skip


POSITIVE = {"roll": "positive is left side up", "pitch": "positive is nose down"}
SLIP = "the slip on slopes, which is downhill"


def _slopes(log: Log, found: Chords, wheels: Rolled | None, axis: int, *, by_gravity: bool) -> list[Slope]:
    """What other signals say of roll (axis 0) or pitch (1); signals that do not decide are left out."""
    assert log.attitude is not None
    angle, result = log.attitude[:, axis], []
    letter, own = "xy"[axis], "roll" if axis == 0 else "pitch"
    if by_gravity and log.acceleration is not None and measured(log.acceleration[:, 1 - axis]):
        slow = windows_of(log, LONG)
        felt = -mean(log.acceleration[:, 0], log, slow) if axis == 1 else _without_turning(log, slow)
        value = _correlated(mean(angle, log, slow), felt / GRAVITY)
        felt_key = f"acceleration.{'y' if axis == 0 else 'x'}"
        result += [Slope(f"the accelerometer's gravity ({felt_key})", felt_key, value)] if value else []
    if log.gyro is not None and all(measured(log.gyro[:, k]) for k in (axis, 2)):
        value = _turned(log, found, axis)
        result += [Slope(f"the gyro's {own} rate", f"gyro.{letter}", value)] if value else []
    if axis == 1:
        value = _climb(log, found, angle)
        result += [Slope("the climb of the poses (pose.z)", "", value)] if value else []
    if wheels is not None and (value := _slip(log, found, wheels, axis)):
        result.append(Slope(SLIP, "", value))
    return result


def _without_turning(log: Log, slow: Chords) -> FloatArray:
    """Acceleration to the left without that of driving a curve [m/s²]."""
    assert log.acceleration is not None
    first, last = times(log, slow)
    took = np.maximum(last - first, 1e-9)
    return np.asarray(mean(log.acceleration[:, 1], log, slow) - slow.forward * slow.turn / took**2)


def _correlated(a: FloatArray, b: FloatArray) -> float:
    """Slope of a over b if they are clearly correlated, else 0; by the ratio of their spreads, as both have noise."""
    if len(a) < LEAST or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0
    r = float(np.corrcoef(a, b)[0, 1])
    return math.copysign(float(np.std(a) / np.std(b)), r) if abs(r) > max(0.5, 4.0 / math.sqrt(len(a))) else 0.0


def _turned(log: Log, found: Chords, axis: int) -> float:
    """Change of the angle over the integral of its turn rate; turning on a slope exchanges roll and pitch."""
    assert log.attitude is not None
    assert log.gyro is not None
    first, last = (np.interp(t, log.elapsed, log.attitude[:, axis]) for t in times(log, found))
    spun = change(log.gyro[:, 2], log, found) * mean(log.attitude[:, 1 - axis], log, found)
    rows = np.stack([change(log.gyro[:, axis], log, found), spun, np.ones(len(first))], axis=1)
    return _coefficient(rows, last - first, 0)


def _climb(log: Log, found: Chords, angle: FloatArray) -> float:
    """Pitch over minus the slope of the poses' path; 0 if the poses have no heights or these say nothing."""
    rise = log.poses.position[found.stop, 2] - log.poses.position[found.start, 2]
    driven = np.abs(found.forward) > max(0.2, 10.0 * log.sensor.position_noise)
    if np.count_nonzero(driven) < LEAST or np.ptp(rise) == 0.0:
        return 0.0
    slope = -np.arctan2(rise * np.sign(found.forward), np.abs(found.forward))
    return _correlated(mean(angle, log, found)[driven], slope[driven])


def _slip(log: Log, found: Chords, wheels: Rolled, axis: int) -> float:
    """Sign of the slip along gravity, ±1; 0 where there is too little of it. P (13): α₄ and α₈ are positive."""
    assert log.attitude is not None
    roll, pitch = (mean(log.attitude[:, k], log, found) for k in (0, 1))
    downhill = np.sin(pitch) if axis == 1 else -np.sin(roll) * np.cos(pitch)
    ahead, turn = wheels.ahead, wheels.turn
    moves = np.abs(ahead) > 0.1
    if np.count_nonzero(moves) < 2 * LEAST:
        return 0.0
    if axis == 1:
        slid = found.forward / np.maximum(np.cos(pitch), 0.2) - ahead
        rows = [ahead, np.abs(turn), ahead * np.abs(turn)]
    else:
        slid, rows = found.left, [ahead, turn, ahead * turn]
    table = np.stack([*rows, downhill * np.abs(ahead)], axis=1)[moves]
    value = _coefficient(table, slid[moves], 3)
    spread = abs(value) * float(np.std(downhill[moves]))
    return math.copysign(1.0, value) if spread > EFFECT else 0.0


def _coefficient(rows: FloatArray, target: FloatArray, column: int) -> float:
    """One coefficient of a robust linear fit (Huber weights) if it is far from zero, else 0."""
    if len(target) < LEAST:
        return 0.0
    weight: FloatArray = np.ones(len(target))
    found: FloatArray = np.zeros(rows.shape[1])
    scale = 0.0
    for _ in range(6):
        found = np.asarray(np.linalg.lstsq(rows * weight[:, None], target * weight, rcond=None)[0], np.float64)
        left = np.abs(target - rows @ found)
        scale = 1.4826 * float(np.median(left)) + 1e-12
        weight = np.sqrt(1.0 / np.maximum(1.0, left / (2.0 * scale)))
    weighed = rows * weight[:, None]
    sigma = scale * math.sqrt(float(np.linalg.pinv(weighed.T @ weighed)[column, column]))
    value = float(found[column])
    return value if sigma > 0.0 and abs(value) > CERTAIN * sigma else 0.0


def _gravity_problems(log: Log) -> list[Problem]:
    """An accelerometer whose gravity is not 9.8 m/s² upward."""
    if log.acceleration is None or not all(measured(log.acceleration[:, k]) for k in range(3)):
        return []
    felt = np.nanmedian(log.acceleration, axis=0)
    size = float(np.linalg.norm(felt))
    if 0.6 < size < 1.6:
        return [
            _acceleration(f"gravity is {size:.2f} where it should be 9.8 m/s²; it is likely in g", 'set unit = "g"')
        ]
    if not 0.6 < size / GRAVITY < 1.6:
        said = f"gravity is {size:.3g} m/s² where it should be 9.8"
        return [_acceleration(said, "set unit or scale; an accelerometer without gravity should be left out")]
    if felt[2] < 0.5 * size:
        said = (
            f"gravity is felt along ({felt[0]:.1f}, {felt[1]:.1f}, {felt[2]:.1f}) m/s², and should be along +z at rest"
        )
        return [_acceleration(said, "give body axes, x forward, y left, z up (sign = -1 turns one round)")]
    return []


def _acceleration(message: str, remedy: str) -> Problem:
    return Problem(key="acceleration.z", severity="warning", message=message, remedy=f"{remedy} in [acceleration]")
