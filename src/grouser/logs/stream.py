"""A log as a stream of events in the order they were recorded: bags and MCAP message by message, CSV row by row."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.logs import bags
from grouser.logs.clocks import ClockWatch, TopicClock
from grouser.logs.events import Event, EventReader, PoseEvents, heading_event, heading_factor, roles_of
from grouser.logs.fixes import Datum
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest
from grouser.logs.mounts import Mounts, bag_mounts, mounts_of
from grouser.logs.raw import is_bag

FEWEST = 100
"""Samples of an IMU from which its noise is found."""
Progress = Callable[[int], None]


class ImuNoise(NamedTuple):
    """Noise of an IMU on its vehicle, vibration included, from the differences of successive samples."""

    rate: float
    """[Hz]."""
    gyro: float
    """Density [rad/s/√Hz] of the axis with most."""
    acceleration: float
    """Density [m/s²/√Hz] of the axis with most."""


class Stream:
    """Events of one log, and what its clocks and frames show; made by `open_stream`."""

    def __init__(self, path: Path, manifest: Manifest, joints: Sequence[str], mounts: Mounts, log: Log) -> None:
        self.path, self.manifest, self.mounts, self.log = path, manifest, mounts, log
        self._joints = tuple(joints)
        self.clocks: list[TopicClock] = []
        """A row for each topic; complete when all events were taken. Empty for a CSV, which has one clock."""
        self.left_out: dict[str, int] = {}
        """Messages that gave no event, by reason; complete when all events were taken."""
        self.datum: Datum | None = log.poses.datum
        """Origin of GPS positions."""
        self.zero = float(log.time[0]) if is_bag(path) and len(log) else 0.0
        """Stamp [s] at which `log.elapsed` is zero; event times are stamps of a bag, and elapsed times of a CSV."""

    def imu_noise(self) -> ImuNoise | None:
        """Rate and noise of the IMU, from all of its samples; None without one."""
        if is_bag(self.path):
            topic = roles_of(self.manifest).imu
            if topic is None:
                return None
            reader = EventReader(self.manifest, self._joints, self.mounts)
            found = [
                event
                for one, recorded, message in bags.messages(self.path, [topic])
                for event in reader.take(one, recorded, message)
                if event.kind == "imu"
            ]
        else:
            found = [event for event in self.events() if event.kind == "imu"]
        if len(found) < FEWEST:
            return None
        found.sort(key=lambda event: event.t)
        steps = np.diff([event.t for event in found])
        period = float(np.median(steps[steps > 0.0]))
        jumps = np.diff([np.concatenate(event.values) for event in found], axis=0)[steps < 1.5 * period]
        density = np.sqrt(0.5 * period * np.mean(jumps**2, axis=0)) if len(jumps) else np.zeros(6)
        return ImuNoise(1.0 / period, float(density[:3].max()), float(density[3:].max()))

    def events(self, progress: Progress | None = None) -> Iterator[Event]:
        """All events in the order of their arrival; `progress` gets about the bytes read so far."""
        if not is_bag(self.path):
            yield from csv_events(self.log, self.manifest, self._joints)
            return
        reader = EventReader(self.manifest, self._joints, self.mounts, datum=self.datum)
        watch = ClockWatch(use_header=self.manifest.time.stamp == "header")
        for topic, recorded, message in bags.messages(self.path, reader.asked_by, progress):
            watch.see(topic, recorded, message)
            yield from reader.take(topic, recorded, message)
        self.clocks, self.left_out, self.datum = watch.table(), reader.left_out, reader.datum


def open_stream(path: str | os.PathLike[str], manifest: Manifest, joints: Sequence[str], log: Log) -> Stream:
    """The stream of a log's file. joints: of the vehicle, in its order. log: the same file by `read_log`."""
    file = Path(path)
    return Stream(file, manifest, joints, bag_mounts(file, manifest) if is_bag(file) else mounts_of(manifest), log)


def csv_events(log: Log, manifest: Manifest, joints: Sequence[str]) -> Iterator[Event]:
    """Events of the rows of a log, at elapsed times: IMU, then joints, command, heading and pose of the same time."""
    time = log.elapsed
    tables = [_columns(getattr(log, name, {}), joints, len(log)) for name in ("rates", "angles", "currents")]
    given = tables if getattr(log, "currents", {}) else tables[:2]
    imu = None
    if log.gyro is not None and log.acceleration is not None:
        imu = np.concatenate([log.gyro, log.acceleration], axis=1)  # in body axes, `read_log` turned them
        imu[~np.isfinite(imu).all(axis=1)] = np.nan
    heading = None
    table = manifest.robot.heading
    if table is not None and table.label is not None:
        heading = heading_factor(manifest) * log.label[table.label]
    poses = iter(_pose_events(log, manifest))
    waiting = next(poses, None)
    for k, t in enumerate(time.tolist()):
        while waiting is not None and waiting.arrived < t:
            yield waiting
            waiting = next(poses, None)
        if imu is not None and np.isfinite(imu[k, 0]):
            yield Event("imu", t, t, (imu[k, :3], imu[k, 3:]))
        yield Event("joints", t, t, tuple(one[k] for one in given))
        if log.body_command is not None and np.isfinite(log.body_command[k]).all():
            yield Event("command", t, t, tuple(log.body_command[k].tolist()))
        if heading is not None and np.isfinite(heading[k]):
            yield heading_event(manifest, t, t, float(heading[k]))
    while waiting is not None:
        yield waiting
        waiting = next(poses, None)


def _columns(values: dict[str, FloatArray], joints: Sequence[str], n: int) -> FloatArray:
    """Values by joint as an array (n, nj); NaN where not measured."""
    result = np.full((n, len(joints)), np.nan)
    for joint, column in values.items():
        result[:, list(joints).index(joint)] = column
    return result


def _pose_events(log: Log, manifest: Manifest) -> Iterator[Event]:
    """Poses of a log as events; none where they are a reference."""
    use, sensor, poses = manifest.pose_use, log.sensor, log.poses
    if use == "reference" or manifest.pose is None:
        return
    has_height = bool(np.ptp(poses.position[:, 2]) > 0.0) if len(poses) else False
    others, names = PoseEvents(sensor, use), ("x", "y", "z", "roll", "pitch", "yaw")
    for k, arrived in enumerate(log.pose_elapsed.tolist()):
        spread = None if poses.sigma is None else poses.sigma[k]
        if use == "gps":
            sigma = manifest.robot.gps.noise if manifest.robot.gps else None
            if spread is not None:
                sigma = [*spread[:2], 2.0 * float(spread[:2].max())]
            n = 3 if has_height else 2
            noise = np.square(sigma or [sensor.position_noise] * 3)[:n]
            yield Event("gps", arrived - sensor.lag, arrived, (poses.position[k, :n], np.diag(noise)))
            if manifest.robot.heading is not None:
                continue
        found = dict(zip(names, [*poses.position[k], *poses.attitude[k]], strict=True))
        event = others.event(arrived, arrived, found, None if spread is None else float(spread[2]))
        if event is not None:
            yield event
