"""Checks of unit and sign of roll and pitch against gravity, turn rates, climbs and slip.

x forward, y left, z up: pitch is positive with the nose down, roll with the left side up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest
from grouser.logs.report import Problem, error, warning
from grouser.logs.turning import CERTAIN, FACTOR
from grouser.logs.windows import Chords, Rolled, measured, windows_of

GRAVITY = 9.80665
STEEP = 0.6
"""Root mean square of roll or pitch [rad] at which no vehicle drives."""
LONG = 4.0
"""Window [s] over which an accelerometer measures mostly gravity: speeding up and braking cancel."""
LEAST = 20
"""Windows that a comparison needs."""
EFFECT = 0.01
"""Slip on slopes, as a share of the distance, that is large enough to show its sign."""


class Slope(NamedTuple):
    """The ratio of an angle of the log to the same angle by another signal."""

    by: str
    """The other signal, for messages."""
    key: str
    """Its key; "" where it cannot itself be wrong."""
    value: float
    """Log over the other signal: 1 is right, −1 has the other sign, 57 is in degrees; 0 where it is undecided."""


def tilt_problems(manifest: Manifest, found: Chords, wheels: Rolled | None) -> list[Problem]:
    """Roll and pitch that gravity, the gyro, the poses' climb or the slip on slopes contradict."""
    log = found.log
    gravity = _gravity_problems(log)
    problems = list(gravity)
    if log.attitude is None or manifest.attitude is None:
        return problems
    for axis, (name, signal) in enumerate(manifest.attitude):
        angle = log.attitude[:, axis]
        if signal is None or not np.any(angle):
            continue
        key, said = f"attitude.{name}", f"{name} ({signal.source})"
        slopes = _slopes(found, wheels, axis, by_gravity=not gravity)
        rms = math.sqrt(float(np.mean(angle**2)))
        steeper = [one for one in slopes if abs(one.value) > FACTOR and one.by != SLIP]
        if rms > STEEP or steeper:
            why = f"is {math.degrees(rms):.0f}° rms, at which no vehicle drives"
            if steeper:
                why = f"varies {abs(steeper[0].value):.2g} times as much as {steeper[0].by}"
            remedy = f'set unit = "deg" for {name} of [attitude]'
            problems.append(error(key, f"{said} {why}; it is likely in degrees", remedy))
        else:
            problems += _sign_problems(key, said, slopes)
    return problems


def _sign_problems(key: str, said: str, slopes: list[Slope]) -> list[Problem]:
    """The other sign, by most of the signals that decide."""
    against, agreeing = [one for one in slopes if one.value < 0.0], [one for one in slopes if one.value > 0.0]
    others = [one for one in against if one.key]
    if len(against) <= len(agreeing):
        return [
            warning(
                one.key, f"{one.by} contradicts {said}, which other signals confirm", f"set sign = -1 for {one.key}"
            )
            for one in others
        ]
    name = key.split(".")[1]
    alone = len(against) == 1 and bool(others)  # then either may be wrong
    sure = not alone and any(one.by != SLIP for one in against)
    message = f"{said} has {'' if sure else 'likely '}the other sign than {' and '.join(one.by for one in against)}"
    remedy = f"set sign = -1 for {name} of [attitude]: {POSITIVE[name]}"
    remedy += f"; or is the sign of {others[0].key} wrong?" if alone else ""
    return [(error if sure else warning)(key, message, remedy)]


POSITIVE = {"roll": "positive is left side up", "pitch": "positive is nose down"}
SLIP = "the slip on slopes, which is downhill"


def _slopes(found: Chords, wheels: Rolled | None, axis: int, *, by_gravity: bool) -> list[Slope]:
    """Roll (axis 0) or pitch (1) over the same by other signals; signals that do not decide are left out."""
    log, result = found.log, []
    assert log.attitude is not None
    angle, own, letter, side = log.attitude[:, axis], ("roll", "pitch")[axis], "xy"[axis], 1 - axis
    if by_gravity and log.acceleration is not None and measured(log.acceleration[:, side]):
        slow, key = windows_of(log, LONG), f"acceleration.{'xy'[side]}"
        gravity = -slow.mean(log.acceleration[:, 0]) if axis == 1 else _without_turning(slow)
        value = _correlated(slow.mean(angle), gravity / GRAVITY)
        result.append(Slope(f"the accelerometer's gravity ({key})", key, value))
    if log.gyro is not None and all(measured(log.gyro[:, k]) for k in (axis, 2)):
        result.append(Slope(f"the gyro's {own} rate", f"gyro.{letter}", _turned(found, axis)))
    if axis == 1:
        result.append(Slope("the climb of the poses (pose.z)", "", _climb(found, angle)))
    if wheels is not None:
        result.append(Slope(SLIP, "", _slip(found, wheels, axis)))
    return [one for one in result if one.value]


def _without_turning(slow: Chords) -> FloatArray:
    """Acceleration to the left without that of driving a curve [m/s²]."""
    assert slow.log.acceleration is not None
    return np.asarray(slow.mean(slow.log.acceleration[:, 1]) - slow.forward * slow.turn / slow.took**2)


def _correlated(a: FloatArray, b: FloatArray) -> float:
    """Slope of a over b if they are clearly correlated, else 0; by the ratio of their spreads, as both have noise."""
    if len(a) < LEAST or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0
    r = float(np.corrcoef(a, b)[0, 1])
    return math.copysign(float(np.std(a) / np.std(b)), r) if abs(r) > max(0.5, 4.0 / math.sqrt(len(a))) else 0.0


def _turned(found: Chords, axis: int) -> float:
    """Change of the angle over the integral of its turn rate; turning on a slope exchanges roll and pitch."""
    attitude, gyro, clock = found.log.attitude, found.log.gyro, found.log.elapsed
    assert attitude is not None
    assert gyro is not None
    first, last = (np.interp(t, clock, attitude[:, axis]) for t in (found.begin, found.end))
    spun = found.change(gyro[:, 2]) * found.mean(attitude[:, 1 - axis])
    return _coefficient([found.change(gyro[:, axis]), spun, np.ones(len(first))], last - first, 0)


def _climb(found: Chords, angle: FloatArray) -> float:
    """Pitch over minus the slope of the poses' path; 0 if the poses have no heights or these do not decide."""
    height = found.log.poses.position[:, 2]
    rise = height[found.stop] - height[found.start]
    driven = np.abs(found.forward) > max(0.2, 10.0 * found.log.sensor.position_noise)
    if np.count_nonzero(driven) < LEAST or np.ptp(rise) == 0.0:
        return 0.0
    slope = -np.arctan2(rise * np.sign(found.forward), np.abs(found.forward))
    return _correlated(found.mean(angle)[driven], slope[driven])


def _slip(found: Chords, wheels: Rolled, axis: int) -> float:
    """Sign of the slip along gravity, ±1; 0 where there is too little of it. P (13): α₄ and α₈ are positive."""
    assert found.log.attitude is not None
    roll, pitch = (found.mean(angle) for angle in found.log.attitude.T)
    downhill = np.sin(pitch) if axis == 1 else -np.sin(roll) * np.cos(pitch)
    ahead, turn = wheels.ahead, wheels.turn
    moves = np.abs(ahead) > 0.1
    if np.count_nonzero(moves) < 2 * LEAST:
        return 0.0
    slid = found.left if axis == 0 else found.forward / np.maximum(np.cos(pitch), 0.2) - ahead
    turn = turn if axis == 0 else np.abs(turn)
    rows = [ahead, turn, ahead * turn, downhill * np.abs(ahead)]
    value = _coefficient([row[moves] for row in rows], slid[moves], 3)
    spread = abs(value) * float(np.std(downhill[moves]))
    return math.copysign(1.0, value) if spread > EFFECT else 0.0


def _coefficient(columns: list[FloatArray], target: FloatArray, column: int) -> float:
    """One coefficient of a robust linear fit (Huber weights) if it is far from zero, else 0."""
    if len(target) < LEAST:
        return 0.0
    rows, weight, scale = np.stack(columns, axis=1), np.ones(len(target)), 0.0
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
    gravity = np.nanmedian(log.acceleration, axis=0)
    size = float(np.linalg.norm(gravity))
    if 0.6 < size < 1.6:
        said, remedy = f"gravity is {size:.2f} where it should be 9.8 m/s²; it is likely in g", 'set unit = "g"'
    elif not 0.6 < size / GRAVITY < 1.6:
        said = f"gravity is {size:.3g} m/s² where it should be 9.8"
        remedy = "set unit or scale; an accelerometer without gravity should be left out"
    elif gravity[2] < 0.5 * size:
        x, y, z = gravity
        said = f"gravity is measured along ({x:.1f}, {y:.1f}, {z:.1f}) m/s², and should be along +z at rest"
        remedy = "give body axes, x forward, y left, z up (sign = -1 turns one round)"
    else:
        return []
    return [warning("acceleration.z", said, f"{remedy} in [acceleration]")]
