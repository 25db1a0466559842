"""`fuse_log`: a recorded drive through the chain on board, judged by the poses of the log."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import LogError
from grouser.logs.events import roles_of
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest, load_manifest
from grouser.logs.raw import is_bag
from grouser.logs.read import read_log
from grouser.logs.stream import Stream, open_stream
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.odometry.compare import uncalibrated
from grouser.odometry.judge import Judgement, judge
from grouser.odometry.log import LogOdometry, odometry_of
from grouser.robot.from_manifest import settings_of, start_of
from grouser.robot.replay import Replayed, replay
from grouser.robot.robot import Robot

ABSOLUTE = "the estimate uses positions or headings of the world, so errors of one stretch are not those it began with"
SELF = "the poses are also measurements of the estimate, so these errors are not held out"


@dataclass(frozen=True, eq=False)
class FusedLog:
    """A drive by the chain on board."""

    log: Log
    stream: Stream
    """With clocks, frames and what was left out."""
    robot: Robot
    """After the last event."""
    replayed: Replayed
    motion: MotionModel
    """Of the fit, or of the vehicle that the manifest names."""
    wheels: LogOdometry
    """Wheel odometry of the same model alone."""
    judged: Judgement | None
    """By the poses of the log; None for fewer than two."""
    baseline: Judgement | None
    """Of the wheel odometry."""

    @property
    def run(self) -> LogOdometry:
        """The estimate at the samples of the log."""
        return self.replayed.run

    @property
    def no_nees(self) -> str | None:
        """Why the covariance is not judged by stretches; None where it is."""
        return ABSOLUTE if {"gps", "heading"} & set(self.replayed.events) else None

    @property
    def not_held_out(self) -> str | None:
        """Why errors are smaller than those of an unseen drive; None where they are not."""
        return None if self.stream.manifest.pose_use == "reference" else SELF


def fuse_log(
    path: str | os.PathLike[str],
    *,
    manifest: str | os.PathLike[str] | Mapping[str, Any] | Manifest,
    fit: Fit | None = None,
    log: Log | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FusedLog:
    """Give the signals of a log to `grouser.Robot` in the order they were recorded, and judge what it estimates.

    fit: None takes the vehicle that the manifest names. log: the same file by `read_log`; None reads it here.
    progress: is called with the number of events done, and about that of all.
    """
    given, file = load_manifest(manifest), Path(path)
    table = read_log(file, manifest=for_table(given)) if log is None else log
    if is_bag(file) and (turned := [one for one in table.report.problems if one.key == "robot.imu_rpy"]):
        raise LogError(f"{file.name}, {turned[0]}; its messages are replayed in their own axes")
    motion = fit.model if fit is not None else uncalibrated(table)
    stream = open_stream(file, given, motion.vehicle.joints, table)
    has_gps = roles_of(given).gps is not None or given.pose_use == "gps"
    started = start_of(stream.events(), stream.mounts.antenna.p_body_sensor) if has_gps else None
    position, yaw, sigma = started or (np.zeros(3), 0.0, None)
    settings = settings_of(given, stream.mounts, motion, log=table, imu=stream.imu_noise(), start=sigma)
    robot = Robot(motion if fit is None else fit, settings, position=position, yaw=yaw)
    total = len(table) * (2 if table.gyro is not None else 1)
    report = None if progress is None else lambda done: progress(min(done, total), total)
    done = replay(robot, stream.events(), table, motion, zero=stream.zero, progress=report)
    wheels = odometry_of(motion if fit is None else fit, table, quiet=True)
    judged = baseline = None
    if len(table.poses) >= 2:
        judged = judge(done.run, table, motion.sensor, turns=done.run, same_world=given.pose_use == "gps")
        baseline = judge(wheels, table, motion.sensor, turns=done.run)
    return FusedLog(table, stream, robot, done, motion, wheels, judged, baseline)


def for_table(manifest: Manifest) -> Manifest:
    """The manifest for `read_log`: without an IMU whose axes are not the body's, which its checks would refuse."""
    if manifest.robot.R_body_imu is None or manifest.time.column is not None:
        return manifest
    return manifest.model_copy(update={"gyro": None, "acceleration": None})
