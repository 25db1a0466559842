"""Poses that are wheel odometry themselves: a calibration would compare the wheels with themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest
from grouser.logs.raw import is_bag
from grouser.logs.report import Problem, warning
from grouser.logs.windows import rolled, windows_of
from grouser.vehicles.vehicle import Vehicle

CHORD = 0.2
"""Time over which motions are compared [s]; short, so that a chord is as long as its arc."""
LEAST = 20
"""Motions that a judgement needs."""
SAME = 2e-3
"""Share of its motion by which odometry of the same wheels differs, by rounding and by the times of its stamps. A
pose that was measured differs by more: 1 mm in 20 cm is 5e-3."""
TURNED = 1e-2
"""The same for turns, over which controllers count by the angle of their last step."""
REMEDY = "take a pose that is measured otherwise: GPS, motion capture, lidar or camera, or tf from map to the vehicle"


def decoy_problems(log: Log, manifest: Manifest, vehicle: Vehicle | None, path: Path) -> list[Problem]:
    """A warning where the poses follow from the wheels to rounding, or are named like odometry."""
    if manifest.pose is None or manifest.pose.is_gps or not len(log.poses):
        return []
    if vehicle is not None and (gain := wheels_gain(log, vehicle)) is not None:
        times = "" if abs(gain - 1.0) < SAME else f" times {gain:.4g}"
        without = "with a radius of its own, or a simulation" if times else "or a simulation without slip"
        said = f"the poses equal the wheel odometry{times} to rounding, so they are wheel odometry, {without}"
    elif name := named_odometry(manifest, path):
        said = f"{name}, so it is likely wheel odometry, or a filter of it"
    else:
        return []
    said += "; a calibration on it returns the wheels' own errors"
    return [warning("pose", said, REMEDY)]


def wheels_gain(log: Log, vehicle: Vehicle) -> float | None:
    """The constant ratio of the poses' motion to that of the wheels; None where it is not constant.

    Factors are those of a controller's radius and track.
    """
    found = windows_of(log, CHORD)
    wheels = None if vehicle.arrays.rollers.any() else rolled(vehicle, found)
    if wheels is None:
        return None
    forward, left = found.of_point(0.0, 0.0)
    if len(wheels.ahead) < LEAST:
        return None
    moves = np.abs(wheels.ahead) > 0.3 * np.percentile(np.abs(wheels.ahead), 95.0)
    if np.count_nonzero(moves) < LEAST:
        return None

    def off(values: FloatArray) -> float:
        return float(np.median(np.abs(values[moves])))

    ahead, size, turned = float(np.median(forward[moves] / wheels.ahead[moves])), off(forward), off(found.turn)
    if size == 0.0 or off(forward - ahead * wheels.ahead) > SAME * size or off(left) > SAME * size:
        return None
    square = float(wheels.turn @ wheels.turn)
    gain = float(wheels.turn @ found.turn) / square if square > 0.0 else 1.0
    return ahead if turned > 1e-6 and off(found.turn - gain * wheels.turn) < TURNED * turned else None


def named_odometry(manifest: Manifest, path: Path) -> str:
    """The evidence by names of frame or topic that the pose is odometry; empty without any."""
    pose = manifest.pose
    if pose is None or not is_bag(path):
        return ""
    from grouser.logs.frames import leaf
    from grouser.logs.mounts import frame_of
    from grouser.logs.pose_sources import SUSPECT, rank_of

    if pose.frame is not None:
        return f"tf gives it in frame {pose.world}" if leaf(pose.world) == "odom" else ""
    topic = None if pose.x is None else pose.x.topic
    if topic is None:
        return ""
    try:
        world = leaf(frame_of(path, topic))
    except LogError:
        world = ""
    if rank_of(topic, world) != SUSPECT:
        return ""
    return f"{topic} is in frame {world}" if world == "odom" else f"{topic} is named like odometry"
