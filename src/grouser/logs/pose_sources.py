"""Topics of a bag that are references for calibration: motion capture, lidar, map, GPS; or wheel odometry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from grouser.errors import LogError
from grouser.logs.frames import Frames, leaf, plain
from grouser.logs.mounts import frame_of

POSES = {
    "nav_msgs/msg/Odometry": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/PoseStamped": ("pose.position", "pose.orientation"),
    "geometry_msgs/msg/TransformStamped": ("transform.translation", "transform.rotation"),
}
"""Types with a pose, and the fields of position and orientation."""
FIX = "sensor_msgs/msg/NavSatFix"
BEST, GOOD, MAP, SEEN, PLAIN, GPS, SUSPECT = range(7)
"""Quality of a reference, best first."""
WORDS = (
    (BEST, r"mocap|vicon|optitrack|qualisys|truth|gt|leica|total_?station|vrpn"),
    (GOOD, r"lidar|laser|icp|ndt|slam|loam|lio|\w*lio|cartographer|carto|rtk|ins|novatel|amcl|global|map|localization"),
    (SEEN, r"visual|vio|vins|vslam|zed|orb|camera|rtabmap|stereo|t265|tracking|uwb|gps|gnss"),
)
"""Words of a topic's name that name the sensor."""
BY_WHEELS = ("odom", "wheel", "encoder", "dead")
"""Parts of a topic's name that mean wheel odometry, unless it names another sensor."""
BASES = ("base_link", "base_footprint", "chassis", "base", "body")
"""Names of a vehicle's frame."""


class Source(NamedTuple):
    """A possible reference."""

    rank: int
    """Its quality: BEST … SUSPECT."""
    topic: str
    """Its topic; /tf for a chain of frames."""
    kind: str
    """Type of its messages; "tf"."""
    frame: str
    """Frame of the pose."""
    world: str
    """Frame that it is in."""

    @property
    def suspicion(self) -> str:
        """Why it is no reference, for people."""
        by = f"moves in frame {self.world}" if leaf(self.world) == "odom" else "is named like odometry"
        return (
            f"{self.topic}: {by}, so it is likely wheel odometry, or a filter of it; calibrating on it would only"
            " return the wheels' own errors"
        )


def pose_sources(path: Path, topics: Mapping[str, str], frames: Frames, near: str) -> list[Source]:
    """All that may be a reference of the robot of the topic `near`, best first."""
    found = [_of_topic(path, topic, kind) for topic, kind in sorted(topics.items()) if kind in POSES]
    found += [Source(GPS, topic, FIX, "", "") for topic, kind in sorted(topics.items()) if kind == FIX]
    chain = _of_tf(path, frames, near)
    return sorted([*found, *([chain] if chain else [])], key=lambda one: one.rank)


def base_of(frames: Frames, near: str) -> str:
    """The frame of the robot of the topic `near` by its usual names, maybe behind its prefix; else base_link."""
    there = [name for base in BASES for name in frames.names if leaf(name) == base]
    own = [name for name in there if name in BASES or name.split("/")[0] in near.split("/")]
    return next(iter(own or there), BASES[0])


def rank_of(topic: str, world: str) -> int:
    """Quality of a pose, by the words in the name of its topic and by the frame it is in."""
    words = [one for one in re.split(r"[/_\-.]+", topic.lower()) if one]
    joined = ["_".join(pair) for pair in pairwise(words)]
    for rank, pattern in WORDS:
        if any(re.fullmatch(pattern, word) for word in (*words, *joined)):
            return rank
    if leaf(world) == "odom" or any(part in topic.lower() for part in BY_WHEELS):
        return SUSPECT
    return PLAIN


def _of_topic(path: Path, topic: str, kind: str) -> Source:
    try:
        world = plain(frame_of(path, topic))
        child = plain(frame_of(path, topic, child=True)) if kind.endswith("Odometry") else ""
    except LogError:
        world = child = ""
    return Source(rank_of(topic, world), topic, kind, child, world)


def _of_tf(path: Path, frames: Frames, near: str) -> Source | None:
    """The chain of tf from the root to the vehicle, if it moves; only what corrects odometry makes it a reference."""
    base = base_of(frames, near)
    if base not in frames.links:
        return None
    from grouser.logs.mounted import tf_poses

    root = base
    while root in frames.links and len(frames.names) < 10_000:
        root = frames.links[root].parent
        if root == base:
            return None
    try:
        found = tf_poses(path, base, root, near, by_header=True)
    except LogError:
        return None
    by_wheels = leaf(found.moves_in) == "odom"
    return Source(SUSPECT if by_wheels else MAP, "/tf", "tf", base, found.moves_in if by_wheels else root)
