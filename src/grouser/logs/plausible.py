"""Contradictions between the signals of a log, by a wrong unit, sign or column in its manifest."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.delay import lag_problems
from grouser.logs.log import JOINTS, Log, joint_index
from grouser.logs.manifest import Manifest
from grouser.logs.report import Problem, error, errors, rate_keys
from grouser.logs.stuck import reading_problems
from grouser.logs.tilt import tilt_problems
from grouser.logs.turning import backward_problems, turning_problems
from grouser.logs.windows import chords, clipped, rolled, windows_of
from grouser.vehicles.vehicle import Vehicle

FACTOR = 6.0
"""Slip changes a wheel's travel by two or three; rpm taken for rad/s by 9.5, degrees by 57, milli by 1000."""
CHORD = 1.0
"""Time over which a displacement is measured [s]; long against a pose sensor's period."""
LEAST = 1.0
"""Travel [m] below which units are not judged."""
TOO_LARGE = {60.0 / (2.0 * math.pi): "rpm", 180.0 / math.pi: "deg/s", 1000.0: "mrad/s"}
TOO_SMALL = {100.0: "cm", 1000.0: "mm"}


def check_joints(manifest: Manifest, vehicle: Vehicle) -> None:
    """Refuses a joint that the vehicle does not have."""
    for table in JOINTS:
        for joint in getattr(manifest, table):
            joint_index(vehicle, joint, f"{manifest.file}, table [{table}]")


def refuse(log: Log, manifest: Manifest, problems: list[Problem]) -> None:
    """Raises the first error, if there is one."""
    if found := errors(problems):
        more = f" ({len(found) - 1} more: grouser check LOG --manifest {manifest.file})" if len(found) > 1 else ""
        raise LogError(
            f"{log.name}, {found[0]}; check_units = false in [limits] of {manifest.file} uses it as it is{more}"
        )


def find_problems(log: Log, manifest: Manifest, vehicle: Vehicle | None) -> list[Problem]:
    """All contradictions, errors first; consequences of a wrong unit of the rates or the yaw are not searched."""
    problems = reading_problems(log, manifest)
    if len(log.poses) > 1 and not errors(problems):
        found = windows_of(log, CHORD)
        wheels = None if vehicle is None else rolled(vehicle, found)
        wrong = [] if wheels is None else backward_problems(wheels)
        wrong = wrong or ([] if vehicle is None else _rate_problems(log, manifest, vehicle))
        wrong = wrong or turning_problems(manifest, vehicle, found, wheels)
        problems += wrong
        fine = not errors(wrong)
        problems += tilt_problems(manifest, found, wheels if fine else None)
        problems += lag_problems(log, manifest) if fine else []
    return sorted(problems, key=lambda one: one.severity != "error")


def _rate_problems(log: Log, manifest: Manifest, vehicle: Vehicle) -> list[Problem]:
    """Rates that disagree with the poses by more than a wrong guess of slip could explain."""
    drive = travelled(log, vehicle)
    if not drive.rim:
        return []
    still = [wheel for wheel in drive.rim if drive.rim[wheel] == 0.0 and drive.by_poses[wheel] > LEAST]
    if still:
        message = f"{manifest.rates[still[0]].source}: the rate of wheel {still[0]} is zero throughout, though the"
        remedy = "leave it out of table [rates] if it was not measured"
        return [error(rate_keys(still), f"{message} poses move {drive.moved:.3g} m", remedy)]
    if not vehicle.arrays.rollers.any() and max(drive.rim.values()) <= FACTOR * min(drive.rim.values()):
        # The wheels agree with each other, so all rates are wrong, or the pose is.
        wheels, way, moved = list(drive.rim), drive.ahead, drive.moved
    else:
        off = {wheel: max(drive.rim[wheel], 1e-9) / max(drive.by_poses[wheel], 1e-9) for wheel in drive.rim}
        worst = max(off, key=lambda wheel: abs(math.log(off[wheel])))
        wheels = [wheel for wheel in off if FACTOR > off[wheel] / off[worst] > 1.0 / FACTOR]
        way, moved = drive.rim[worst], drive.by_poses[worst]
    ratio = max(way, 1e-9) / max(moved, 1e-9)
    if max(way, moved) < LEAST or 1.0 / FACTOR <= ratio <= FACTOR:
        return []
    columns = " and ".join(dict.fromkeys(manifest.rates[wheel].source for wheel in wheels))
    times = f"{ratio:.3g} times" if ratio > 1.0 else f"1/{1.0 / ratio:.3g}"
    message = f"{columns}: by its rates wheel {wheels[0]} would roll {way:.3g} m where the poses move {moved:.3g} m,"
    hint = _hint(ratio, len(wheels) == len(drive.rim), log, manifest)
    remedy = "set unit or scale, unless the wheels did spin in place or the vehicle was carried"
    return [error(rate_keys(wheels), f"{message} {times} as far; {hint}", remedy)]


class Travel(NamedTuple):
    """Distances [m], added up over displacements of about a second."""

    rim: dict[str, float]
    """Each wheel's rim, by its rate."""
    by_poses: dict[str, float]
    """Each wheel's centre, by the poses."""
    ahead: float
    """The mean of the wheels' rims, forward less backward."""
    moved: float
    """The pose sensor."""


def travelled(log: Log, vehicle: Vehicle) -> Travel:
    """Distances by the wheels and by the poses."""
    found, held = chords(log, CHORD), vehicle.held_directions
    rim, by_poses, ahead = {}, {}, []
    for i, wheel in enumerate(vehicle.wheels):
        if wheel not in log.rates:
            continue
        speed = log.rates[wheel] * vehicle.arrays.radius[i] * vehicle.arrays.held[i, 0]
        rim[wheel] = _total(found.change(np.abs(speed)))
        ahead.append(found.change(speed))
        moved = np.stack(found.of_point(*vehicle.wheel_positions[i, :2]))
        along = np.abs(held[i] @ moved) if vehicle.arrays.rollers[i] else np.linalg.norm(moved, axis=0)
        by_poses[wheel] = _total(along)
    mean = _total(np.abs(np.mean(ahead, axis=0))) if ahead else 0.0
    return Travel(rim=rim, by_poses=by_poses, ahead=mean, moved=_total(np.hypot(found.forward, found.left)))


def _total(lengths: FloatArray) -> float:
    """Sum of lengths, outliers limited."""
    return float(np.sum(clipped(lengths)))


def _hint(ratio: float, every: bool, log: Log, manifest: Manifest) -> str:
    """A hint at the unit that a factor is typical of, within what slip does to it."""
    if every and log.report.period > 1.0 and 0.4 < ratio / 1000.0 < 2.5:
        return f"is the clock (column {manifest.time.column}) in ms?"
    units = [unit for times, unit in TOO_LARGE.items() if 0.4 < ratio / times < 2.5]
    if units:
        return f"are the rates in {units[0]}?" + (" Or is the pose in km?" if units[0] == "mrad/s" and every else "")
    units = [unit for times, unit in TOO_SMALL.items() if 0.4 < ratio * times < 2.5]
    x, y = (manifest.pose_signals().get(f"pose.{name}") for name in "xy")
    if units and every and x is not None and y is not None:
        return f"is the pose ({x.source} and {y.source}) in {units[0]}?"
    return "is the unit or the scale of the rates wrong?"
