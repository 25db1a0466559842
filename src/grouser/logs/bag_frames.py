"""Frames in a bag: its tf topics, which frame each sensor's messages name, and where the sensors sit by that."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.events import roles_of
from grouser.logs.frames import Frames, part, plain
from grouser.logs.manifest import Manifest
from grouser.logs.mounts import Mounts, mounts_of

MOST_TF = 5000
"""Messages of /tf that are looked at for the places of sensors."""


def tf_topics(there: Mapping[str, str], near: str) -> tuple[list[str], list[str]]:
    """Topics of fixed and of moving links, by their type, and by their name where a bag says no types.

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
    """Where the sensors sit, by the manifest and by the tf topics of a bag.

    strict: a frame that tf does not join to the body is a `LogError`; otherwise its sensor counts as not placed.
    """
    there, roles, near = bags.topics(path), roles_of(manifest), bags.rows_topic(manifest)
    seen = {}
    for role, topic in (("imu", roles.imu), ("gps", roles.gps), ("visual", roles.visual)):
        if topic in there:
            seen[role] = frame_of(path, str(topic), child=role == "visual")
    frames = read_frames(path, there, near, moving=False)
    if any(name and name.lstrip("/") not in frames.links for name in seen.values()):
        frames = read_frames(path, there, near, moving=True)
    if not strict:
        seen = {role: name for role, name in seen.items() if _joined(frames, name, manifest.robot.topics.base_frame)}
    return mounts_of(manifest, frames, seen)


def _joined(frames: Frames, frame: str, base: str) -> bool:
    try:
        frames.mount(frame, base)
    except LogError:
        return plain(frame) == plain(base)
    return True
