"""Whether wheel rates and poses are of the same drive, or one of them is in another unit than the manifest says."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.log import IntArray, Log, joint_index
from grouser.logs.manifest import Manifest
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
    for table in ("rates", "angles", "commands"):
        for joint in getattr(manifest, table):
            joint_index(vehicle, joint, f"{manifest.file}, table [{table}]")


def check_units(log: Log, manifest: Manifest, vehicle: Vehicle) -> None:
    """Refuses rates that disagree with the poses by more than a wrong guess of slip could explain."""
    drive = travelled(log, vehicle)
    if not drive.rim:
        return
    still = [wheel for wheel in drive.rim if drive.rim[wheel] == 0.0 and drive.seen[wheel] > LEAST]
    if still:
        raise LogError(
            f"{log.name}, {manifest.rates[still[0]].source}: the rate of wheel {still[0]} is zero throughout, though"
            f" the poses move {drive.moved:.3g} m; leave it out of table [rates] of {manifest.file} if it was not"
            " measured, or set check_units = false in its table [limits] if the vehicle was carried"
        )
    if max(drive.rim.values()) <= FACTOR * min(drive.rim.values()):
        # The wheels agree with each other, so all rates are wrong, or the pose is.
        wheels, rolled, moved = list(drive.rim), drive.ahead, drive.moved
    else:
        off = {wheel: max(drive.rim[wheel], 1e-9) / max(drive.seen[wheel], 1e-9) for wheel in drive.rim}
        worst = max(off, key=lambda wheel: abs(math.log(off[wheel])))
        wheels = [wheel for wheel in off if FACTOR > off[wheel] / off[worst] > 1.0 / FACTOR]
        rolled, moved = drive.rim[worst], drive.seen[worst]
    ratio = max(rolled, 1e-9) / max(moved, 1e-9)
    if max(rolled, moved) < LEAST or 1.0 / FACTOR <= ratio <= FACTOR:
        return
    columns = " and ".join(dict.fromkeys(manifest.rates[wheel].source for wheel in wheels))
    hint = _hint(ratio, len(wheels) == len(drive.rim), manifest)
    times = f"{ratio:.3g} times" if ratio > 1.0 else f"1/{1.0 / ratio:.3g}"
    raise LogError(
        f"{log.name}, {columns}: by its rates wheel {wheels[0]} would roll {rolled:.3g} m where the poses move"
        f" {moved:.3g} m, {times} as far; {hint} Set unit or scale in {manifest.file}, or check_units = false in its"
        f" table [limits] if the wheels did spin in place or the vehicle was carried"
    )


class Travel(NamedTuple):
    """How far things went [m], added up over displacements of about a second."""

    rim: dict[str, float]
    """Each wheel's rim, by its rate."""
    seen: dict[str, float]
    """Each wheel's centre, by the poses."""
    ahead: float
    """The mean of the wheels' rims, forward less backward."""
    moved: float
    """The pose sensor."""


class Chords(NamedTuple):
    """Displacements between poses of one segment, one after the other, shape (k,) each."""

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


def chords(log: Log, duration: float) -> Chords:
    """Displacements of the pose sensor over about a duration [s]."""
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
    return Chords(start, stop, np.linalg.norm(moved, axis=1), forward, left, after - before)


def integral(values: FloatArray, log: Log) -> FloatArray:
    """Integral of a rate from the first sample to each, shape (n,); nothing is added between segments."""
    steps = np.where(np.diff(log.segment) == 0, np.diff(log.time), 0.0)
    return np.append(0.0, np.cumsum(0.5 * (values[1:] + values[:-1]) * steps))


def travelled(log: Log, vehicle: Vehicle) -> Travel:
    """What the wheels rolled and what the poses moved."""
    found, sensor = chords(log, CHORD), log.sensor
    ends = [np.searchsorted(log.elapsed, log.pose_elapsed[pose]) for pose in (found.start, found.stop)]
    first, last = (np.minimum(sample, len(log) - 1) for sample in ends)
    rim, seen, rolled = {}, {}, []
    for i, wheel in enumerate(vehicle.wheels):
        if wheel not in log.rates:
            continue
        speed = log.rates[wheel] * vehicle.arrays.radius[i]
        ways, path = integral(np.abs(speed), log), integral(speed, log)
        rim[wheel] = _total(ways[last] - ways[first])
        rolled.append(path[last] - path[first])
        along, across, _ = vehicle.wheel_positions[i] - (sensor.x, sensor.y, 0.0)
        seen[wheel] = _total(np.hypot(found.forward - found.turn * across, found.left + found.turn * along))
    ahead = _total(np.abs(np.mean(rolled, axis=0))) if rolled else 0.0
    return Travel(rim=rim, seen=seen, ahead=ahead, moved=_total(np.hypot(found.forward, found.left)))


def _total(lengths: FloatArray) -> float:
    """The sum, in which no one length counts for more than three long ones, so that a glitch does not decide."""
    return float(np.sum(np.minimum(lengths, 3.0 * np.percentile(lengths, 98.0)))) if lengths.size else 0.0


def _hint(ratio: float, every: bool, manifest: Manifest) -> str:
    """A hint at the unit that a factor is typical of, within what slip does to it."""
    units = [unit for times, unit in TOO_LARGE.items() if 0.4 < ratio / times < 2.5]
    if units:
        return f"are the rates in {units[0]}?" + (" Or is the pose in km?" if units[0] == "mrad/s" and every else "")
    units = [unit for times, unit in TOO_SMALL.items() if 0.4 < ratio * times < 2.5]
    if units and every and manifest.pose is not None:
        return f"is the pose ({manifest.pose.x.source} and {manifest.pose.y.source}) in {units[0]}?"
    return "is the unit or the scale of the rates wrong?"
