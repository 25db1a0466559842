"""Mounting of a robot's sensors: by its manifest, else by the tf topics of a bag, else at the body's origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.events import roles_of
from grouser.logs.frames import Frames, Mount, part, plain
from grouser.logs.manifest import Axes, Manifest
from grouser.logs.signal_table import given

AS_GIVEN = "its rotation is not used, because [gyro] and [acceleration] turn or leave out axes themselves"
MOST_TF = 5000
"""Messages of /tf that are read for the mounting of sensors."""


@dataclass(frozen=True, eq=False)
class Mounts:
    """Sensors on the body."""

    imu: Mount
    antenna: Mount
    visual: Mount

    def lines(self, manifest: Manifest) -> list[str]:
        """Mounting and source of each sensor that the manifest names, for people."""
        robot = manifest.robot
        named = {
            "IMU": self.imu if manifest.gyro or manifest.acceleration else None,
            "antenna": self.antenna if manifest.pose_use == "gps" or (robot.gps and robot.gps.topic) else None,
            "visual odometry": self.visual if robot.visual else None,
        }
        return [f"{name}: {_numbers(mount.p_body_sensor)} m, {mount.said}" for name, mount in named.items() if mount]


def mounts_of(manifest: Manifest, frames: Frames | None = None, named: Mapping[str, str] | None = None) -> Mounts:
    """By the manifest, and by tf where it leaves them out.

    frames: of tf; None: there is none. named: frame_id (child_frame_id of an odometry) of the messages of "imu", "gps"
    and "visual".
    """
    robot, names = manifest.robot, named or {}
    imu = _mount("IMU", robot.R_body_imu, robot.imu_position, frames, names.get("imu"), manifest, "imu_rpy")
    turned = bool((imu.R_body_sensor != np.eye(3)).any())
    if turned and robot.R_body_imu is None and not (_in_order(manifest.gyro) and _in_order(manifest.acceleration)):
        imu = Mount(np.eye(3), imu.p_body_sensor, f"{imu.said}; {AS_GIVEN}")
    antenna = robot.antenna
    if antenna is None and manifest.pose is not None and manifest.pose.is_gps:
        sensor = manifest.sensor
        antenna = [sensor.x, sensor.y, sensor.z] if any((sensor.x, sensor.y, sensor.z)) else None
    turned_as = None if antenna is None else np.eye(3)  # its axes do not matter
    gps = _mount("GPS antenna", turned_as, antenna, frames, names.get("gps"), manifest, "antenna")
    camera = robot.visual
    R, p = (None, None) if camera is None else (camera.R_body_sensor, camera.position)
    visual = _mount("visual odometry", R, p, frames, names.get("visual"), manifest, "[robot.visual] position and rpy")
    return Mounts(imu, gps, visual)


def _mount(
    what: str, R: FloatArray | None, p: list[float] | None, frames: Frames | None, frame: str | None,
    manifest: Manifest, remedy: str,
) -> Mount:  # fmt: skip
    """R and p where they are given; the rest by tf, if there is tf and the messages name a frame."""
    base, said = manifest.robot.topics.base_frame, "nothing gives its place: the body's origin and axes are assumed"
    if R is not None and p is not None:
        return Mount(R, np.array(p), "by the manifest")
    found = Mount(np.eye(3), np.zeros(3), said)
    if frame and plain(frame) == plain(base):
        found = Mount(np.eye(3), np.zeros(3), f"its frame is that of the body, {plain(base)}")
    elif frame and frames is not None and frames.links:
        try:
            found = frames.mount(frame, base)
        except LogError as error:
            said = f"give {remedy} in [robot] of {manifest.file}, or base_frame in [robot.topics]"
            raise LogError(f"{what}, frame {plain(frame)!r:.60}: {error}; {said}") from None
    if R is None and p is None:
        return found
    said = f"{found.said}, place only" if R is not None and found.said.startswith("tf") else "by the manifest"
    return Mount(found.R_body_sensor if R is None else R, found.p_body_sensor if p is None else np.array(p), said)


def _in_order(axes: Axes | None) -> bool:
    """Whether x is x of the messages and so on, none with its sign changed: then tf gives the direction of the axes."""
    return all(
        one.topic is not None and str(one.field).endswith(f".{name}") and one.sign * one.scale > 0.0
        for name, one in given(axes)
    )


def _numbers(values: FloatArray) -> str:
    return "(" + ", ".join(f"{value + 0.0:.3g}" for value in values) + ")"


def tf_topics(there: Mapping[str, str], near: str) -> tuple[list[str], list[str]]:
    """Topics of fixed and of moving links, by their type, and by their name where a bag has no types.

    near: a topic of the robot. Where robots have tf in namespaces of their own, with the same names of frames, only
    those of the namespaces that it lies in are taken.
    """
    found = [
        topic
        for topic, kind in sorted(there.items())
        if kind.lower().endswith("/tfmessage") or (kind == "json" and topic.endswith(("/tf", "/tf_static")))
    ]
    found = [topic for topic in found if near.startswith(topic.rpartition("/")[0] + "/")] or found
    static = [topic for topic in found if topic.endswith("tf_static")]
    return static, [topic for topic in found if topic not in static]


def frame_of(path: Path, topic: str, *, child: bool = False) -> str:
    """The frame that the first message of a topic names; child: that of an odometry, whose pose it is."""
    for _, _, message in islice(bags.messages(path, [topic]), 1):
        named = part(message, "child_frame_id", "") if child else part(part(message, "header"), "frame_id")
        return str(named or "")
    return ""


def read_frames(path: Path, there: Mapping[str, str], near: str, *, moving: bool, most: int | None = MOST_TF) -> Frames:
    """The tree of frames of a bag, of the robot of the topic `near`; moving links by the first `most` messages."""
    frames, (static, others) = Frames(), tf_topics(there, near)
    for _, _, message in bags.messages(path, static) if static else ():
        frames.take(message, static=True)
    if moving and others:
        for _, _, message in islice(bags.messages(path, others), most):
            frames.take(message, static=False)
    return frames


def bag_mounts(path: Path, manifest: Manifest, *, strict: bool = True) -> Mounts:
    """Mounting of the sensors by the manifest and by the tf topics of a bag.

    strict: a frame that tf does not join to the body is a `LogError`; otherwise its sensor counts as not placed.
    """
    there, roles, near = bags.topics(path), roles_of(manifest), bags.rows_topic(manifest)
    topics = {"imu": roles.imu or "", "gps": roles.gps or "", "visual": roles.visual or ""}
    named = {
        role: frame_of(path, topic, child=role == "visual")
        for role, topic in topics.items()
        if topic and topic in there
    }
    frames = read_frames(path, there, near, moving=False)
    if any(name and name.lstrip("/") not in frames.links for name in named.values()):
        frames = read_frames(path, there, near, moving=True)
    if not strict:
        named = {role: name for role, name in named.items() if _joined(frames, name, manifest.robot.topics.base_frame)}
    return mounts_of(manifest, frames, named)


def _joined(frames: Frames, frame: str, base: str) -> bool:
    try:
        frames.mount(frame, base)
    except LogError:
        return plain(frame) == plain(base)
    return True
