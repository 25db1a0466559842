"""Checks of signs, sides and units of angles: turns by poses, wheels and gyro must agree."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest
from grouser.logs.report import Problem, error, rate_keys, warning
from grouser.logs.windows import Chords, Rolled, alike, chords, measured, rolled, turn_rate, windows_of
from grouser.vehicles.vehicle import Vehicle

LEAST_WINDOWS = 12
"""Windows that a comparison needs."""
LEAST_TURN = 1.0
"""Turning of both signals that a comparison needs, added up [rad]."""
AGREE = 0.5
"""Correlation above which two signals agree, and below minus which they have opposite signs."""
FACTOR = 6.0
"""A slope beyond this, or below its inverse, is a unit: turn slip leaves 0.3 to 1 of a turn rate."""
SLIP_TURNS = 0.4
"""Turn by slip alone of a robot on rollers that drives straight [rad/m]: a Robotino on cloth."""
SMALL = 0.03
"""A turn that is below half a turn even if it is read in degrees [rad]."""
CERTAIN = 8.0
"""Sigmas above which a slope is believed: residuals of neighbouring windows are correlated."""
SAME, WRONG = 0.7, 0.5
"""Agreement of course and heading (1: always): at least this where the heading is right, at most this where wrong."""
ASKEW = math.radians(35.0)
"""Mean angle from heading to course that is no sideslip."""


class Agreement(NamedTuple):
    """Correlation and ratio of two signals."""

    correlation: float
    slope: float
    """Of the first over the second."""
    chance: float
    """Correlation that noise alone could have."""

    @property
    def sign(self) -> int:
        """1: they agree, −1: they have opposite signs, 0: undecided."""
        least = max(AGREE, self.chance)
        return int(self.correlation > least) - int(self.correlation < -least)


NOTHING = Agreement(0.0, 0.0, 1.0)


class Course(NamedTuple):
    """Agreement of the direction of travel with the heading, 1: always, 0: never; and the mean angle between."""

    as_is: float
    askew: float
    """Mean angle from heading to course [rad], from −90° to 90°: forward and backward are the same here."""
    mirrored: float
    """The same if yaw had the other sign."""
    mirrored_askew: float


def turning_problems(
    manifest: Manifest, vehicle: Vehicle | None, found: Chords, wheels: Rolled | None
) -> list[Problem]:
    """Contradictions between the turning of poses, wheels and gyro over windows of about a second."""
    rate = turn_rate(found.log)
    spun = None if rate is None else found.change(rate)
    # With rollers on all wheels it drives in any direction, so the course does not show its heading.
    any_way = vehicle is not None and bool(vehicle.arrays.rollers.all())
    course = None if any_way else _course(found.log)
    if any_way and wheels is not None and np.abs(wheels.turn).sum() < SLIP_TURNS * found.length.sum():
        wheels = None  # they hardly turn it, and slip does
    turned = None if wheels is None else wheels.turn
    by_wheels, by_gyro = _agreement(found.turn, turned), _agreement(found.turn, spun)
    yaw = _yaw_problem(manifest, vehicle, found.log, course, (by_wheels, by_gyro))
    if yaw is not None:
        return [yaw]
    problems = [] if wheels is None else _wheel_problems(manifest, found, wheels, by_wheels, by_gyro, course)
    return problems or _gyro_problems(manifest, found, by_gyro, _agreement(spun, turned))


def _agreement(a: FloatArray | None, b: FloatArray | None) -> Agreement:
    """Of two signals (k,); NOTHING where one is missing or turns too little."""
    if a is None or b is None or len(a) < LEAST_WINDOWS:
        return NOTHING
    if np.abs(a).sum() < LEAST_TURN or np.abs(b).sum() < 0.1 * LEAST_TURN:
        return NOTHING
    return Agreement(*alike(a, b), 4.0 / math.sqrt(len(a)))


def _course(log: Log) -> Course | None:
    """The course over windows that are short against a turn and yet long against the noise of a position."""
    tries = (_course_over(windows_of(log, duration)) for duration in (1.0, 2.0, 4.0))
    return next((one for one in tries if one is not None), None)


def _course_over(found: Chords) -> Course | None:
    """Resultants of the doubled angle from heading to course, weighted by distance; None: it drives too little."""
    log, way = found.log, np.hypot(found.forward, found.left)
    if len(way) < LEAST_WINDOWS:
        return None
    least = max(7.0 * log.sensor.position_noise, 0.3 * float(np.percentile(way, 90.0)))
    chosen = (way > least) & (np.abs(found.turn) < 1.0)
    if np.count_nonzero(chosen) < LEAST_WINDOWS:  # a yaw in degrees turns by more than a radian in most windows
        chosen = way > least
    if np.count_nonzero(chosen) < LEAST_WINDOWS:
        return None
    yaw = log.poses.attitude[:, 2]
    heading = 0.5 * (yaw[found.start] + yaw[found.stop]) - log.sensor.yaw
    off = np.arctan2(found.left, found.forward)

    def resultant(angle: FloatArray) -> tuple[float, float]:
        total = np.sum(way[chosen] * np.exp(2j * angle[chosen])) / np.sum(way[chosen])
        return float(np.abs(total)), 0.5 * float(np.angle(total))

    return Course(*resultant(off), *resultant(off + 2.0 * heading))


def _yaw_problem(
    manifest: Manifest, vehicle: Vehicle | None, log: Log, course: Course | None, turns: tuple[Agreement, Agreement]
) -> Problem | None:
    """Yaw in degrees, of the other sign, by the compass, or of a sensor that is mounted askew."""
    pose = manifest.pose
    assert pose is not None
    name = "yaw" if pose.heading is None else "heading"
    signal = pose.yaw or pose.heading or pose.qw
    key, source = f"pose.{name}", "the heading" if signal is None else f"the heading ({signal.source})"
    known = [one for one in turns if one is not NOTHING]
    drives_elsewhere = course is not None and course.as_is < WRONG
    if np.ptp(log.poses.attitude[:, 2]) == 0.0 and (drives_elsewhere or known):
        return error(key, f"{source} never changes, though the vehicle turns", "name the column that holds the heading")
    if drives_elsewhere or any(one.sign < 1 or abs(one.slope) > 3.0 for one in known):
        slope = _step_slope(log, vehicle)
        if slope is not None and abs(slope) > FACTOR:
            also, named = "", name
            if slope < 0.0:
                also = ", and turns the other way"
                named = "yaw, and name it so" if name == "heading" else "heading, which is clockwise, instead of yaw"
            message = f"{source} turns {abs(slope):.2g} times as far as the vehicle{also}; it is likely in degrees"
            return error(key, message, f'set unit = "deg" for {named} in {manifest.file}')
    if course is None:
        return None
    if drives_elsewhere and course.mirrored > SAME:
        right = "clockwise"
        if name == "heading":
            remedy = "name it yaw instead of heading, which is counted clockwise from north"
            right = "counter-clockwise"
        elif abs(course.mirrored_askew) > math.pi / 4.0:
            remedy = "it is likely a compass heading: name it heading instead of yaw"
        else:
            remedy = "set sign = -1 for yaw, or heading = … instead of yaw if it is a compass, or sign = -1 for y (NED)"
        return error(
            key, f"{source} grows {right}: the vehicle drives where it points only with the other sign of yaw", remedy
        )
    if vehicle is not None and course.as_is > SAME and abs(course.askew) > ASKEW:  # others may drive sideways
        angle = math.degrees(course.askew)
        message = f"the vehicle drives {abs(angle):.0f}° to the {'left' if angle > 0.0 else 'right'} of {source}"
        remedy = f"set yaw = {log.sensor.yaw - course.askew:.2f} in [sensor], the sensor's heading minus the body's"
        return error("sensor.yaw", message, f"{remedy}, or name the right column")
    if drives_elsewhere and course.mirrored < WRONG and not any(one.sign > 0 for one in turns):
        message = f"{source} agrees neither with the direction of travel nor with the turning of the wheels"
        return warning(key, message, "name the column that holds the heading, or give its unit (degrees?)")
    return None


def _step_slope(log: Log, vehicle: Vehicle | None) -> float | None:
    """Turn of the poses over that of the gyro or the wheels, from pose to pose: short enough not to lose turns."""
    found = chords(log, 0.0)
    if vehicle is not None and (wheels := rolled(vehicle, found)) is not None:
        turned = wheels.turn
    elif (rate := turn_rate(log)) is not None:
        turned = found.change(rate)
    else:
        return None
    chosen = (np.abs(turned) < SMALL) & (np.abs(turned) > 0.02 * SMALL)
    if np.count_nonzero(chosen) < 5 * LEAST_WINDOWS:
        return None
    a, b = found.turn[chosen], turned[chosen]
    slope = float(a @ b) / float(b @ b)
    sigma = float(np.std(a - slope * b)) / math.sqrt(float(b @ b))
    return slope if abs(slope) > CERTAIN * sigma else None


def _wheel_problems(
    manifest: Manifest, found: Chords, wheels: Rolled, turn: Agreement, by_gyro: Agreement, course: Course | None
) -> list[Problem]:
    """Sides exchanged, wheels that count backward, a pose sensor that looks backward, a left-handed pose frame."""
    ahead = _agreement(found.forward, wheels.ahead)
    if ahead.sign < 0 and turn.sign < 0:
        message = "the robot drives backward and turns the other way than its wheels"
        return [error(rate_keys(wheels.rim), message, "set sign = -1 for all of [rates]")]
    if ahead.sign < 0 and turn.sign > 0:
        message = "the poses move backward while the wheels roll forward, yet both turn the same way"
        return [error("sensor.yaw", message, "the pose sensor likely looks backward: set yaw = 3.1416 in [sensor]")]
    if turn.sign >= 0 or ahead.sign < 0:
        return []
    if by_gyro.sign < 0:
        message = "the poses turn the other way than the wheels and the gyro, though they drive where they point"
        remedy = "the frame of the poses is likely left-handed (x north, y east): exchange x and y and use heading"
        return [error("pose.y", message, f"{remedy} instead of yaw, or set sign = -1 for y and yaw")]
    # A wheel on the left goes less far forward in left turns.
    left = [wheel for wheel, moved in wheels.by_poses.items() if (moved - found.forward) @ found.turn < 0.0]
    right = [wheel for wheel in wheels.rim if wheel not in left]
    if not left or not right:
        message = "the robot turns right where its steering angles and wheels say left"
        return [error("angles", message, "set sign = -1 for the steering angles in [angles]")]
    a, b = ("/".join(dict.fromkeys(manifest.rates[wheel].source.removeprefix("column ") for wheel in side))
            for side in (left, right))  # fmt: skip
    other = "is the frame of the poses left-handed (x north, y east)" if course else "has yaw the other sign"
    message = f"the robot turns left when these wheels run faster than {', '.join(right)}; left and right are likely"
    remedy = f'exchange "{a}" and "{b}"' + ("" if by_gyro.sign > 0 else f"; or {other}?")
    return [error(rate_keys(left), f"{message} swapped", remedy)]


def backward_problems(wheels: Rolled) -> list[Problem]:
    """Wheels that count backward, unlike the others; whatever their unit."""
    signs = {wheel: _agreement(wheels.by_poses[wheel], wheels.rim[wheel]).sign for wheel in wheels.rim}
    wrong = [wheel for wheel, sign in signs.items() if sign < 0]
    if not wrong or not any(sign > 0 for sign in signs.values()):
        return []
    message = "these wheels count backward where the poses move them forward, unlike the others"
    return [error(rate_keys(wrong), message, f"set sign = -1 for {', '.join(wrong)}")]


def _gyro_problems(manifest: Manifest, found: Chords, by_poses: Agreement, by_wheels: Agreement) -> list[Problem]:
    """A turn rate of the other sign, in another unit or about another axis."""
    gyro, log = manifest.gyro, found.log
    if gyro is None or log.gyro is None:
        return []
    known = by_poses if by_poses is not NOTHING else by_wheels
    source = f"the turn rate ({'gyro.z' if gyro.z is None else gyro.z.source})"
    if known.sign < 0:
        message = f"{source} has the other sign than that of {'the poses' if known is by_poses else 'the wheels'}"
        return [warning("gyro.z", message, "set sign = -1 for z of [gyro], or leave [gyro] out")]
    slope = by_poses.slope if by_poses.sign > 0 else 0.0
    if 0.0 < slope < 1.0 / FACTOR or slope > FACTOR:
        factors = {"deg/s": 180.0 / math.pi, "mrad/s": 1000.0}
        unit = next((unit for unit, factor in factors.items() if 0.4 < slope * factor < 2.5), "another unit")
        message = f"{source} is {1.0 / slope:.3g} times that of the poses; it is likely in {unit}"
        remedy = f'set unit = "{unit}" for z of [gyro]' if unit in factors else "give the unit or scale of [gyro] z"
        return [warning("gyro.z", message, remedy)]
    if known is NOTHING or known.sign != 0:
        return []
    for axis, name in enumerate("xy"):
        if measured(log.gyro[:, axis]):
            other = _agreement(found.turn, found.change(log.gyro[:, axis]))
            if abs(other.correlation) > 0.8 and abs(known.correlation) < 0.3:
                message = f"turns appear in gyro.{name}, not in gyro.z: the axes are not the body's"
                remedy = "give the columns of [gyro] in body axes, x forward, y left, z up"
                return [warning("gyro.z", message, remedy)]
    return []
