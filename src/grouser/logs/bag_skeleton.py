"""A manifest to start from for a bag: topics whose messages are of a known type, put where they belong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grouser.logs.bags import messages
from grouser.logs.skeleton import SENSOR, bare
from grouser.logs.toml import SCHEMA

__all__ = ["bag_skeleton"]

JOINTS = "sensor_msgs/msg/JointState"
IMU = "sensor_msgs/msg/Imu"
POSES = {
    "nav_msgs/msg/Odometry": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/PoseStamped": ("pose.position", "pose.orientation"),
    "geometry_msgs/msg/TransformStamped": ("transform.translation", "transform.rotation"),
}
"""Types that say where something is, and in which fields."""


def bag_skeleton(path: Path, topics: Mapping[str, str]) -> str:
    """The text of a manifest in which what could not be guessed is marked; topics: by name, with their type."""

    def field(topic: str, name: str) -> str:
        return f"{{ topic = {_text(topic)}, field = {_text(name)} }}"

    lines = [f'schema = "{SCHEMA}"', 'vehicle = "FILL IN"  # a name from `grouser vehicles`, or a file', ""]
    lines += ["[time]", 'stamp = "header"  # of the messages; "record" is when the bag got them', ""]
    lines += ["# Joint of the vehicle = where its rate stands; write your vehicle's joints on the left.", "[rates]"]
    wheels = next((topic for topic, kind in sorted(topics.items()) if kind == JOINTS), None)
    if wheels is None:
        lines += ['FILL_IN_JOINT = { topic = "FILL IN", field = "FILL IN" }']
    else:
        where = f'topic = {_text(wheels)}, field = "velocity"'
        lines += [f"{bare(name)} = {{ {where}, joint = {_text(name)} }}" for name in _joints(path, wheels)]
    found = [(topic, POSES[kind]) for topic, kind in sorted(topics.items()) if kind in POSES]
    lines += ["", "# Of something better than the wheels, with no wheel odometry in it."]
    if len(found) > 1:
        lines += [f"# Also there: {', '.join(_text(topic) for topic, _ in found[1:])}."]
    topic, (place, turn) = found[0] if found else ("FILL IN", ("FILL IN", "FILL IN"))
    mark = "" if found else "# "
    lines += [f"{mark}[pose]", *(f"{mark}{k} = {field(topic, f'{place}.{k}')}" for k in "xyz")]
    lines += [f"{mark}q{k} = {field(topic, f'{turn}.{k}')}" for k in "wxyz"]
    imu = next((topic for topic, kind in sorted(topics.items()) if kind == IMU), None)
    if imu is not None:
        lines += ["", "# In axes of the body.", "[gyro]"]
        lines += [f"{k} = {field(imu, f'angular_velocity.{k}')}" for k in "xyz"]
    return "\n".join([*lines, "", *SENSOR]) + "\n"


def _joints(path: Path, topic: str) -> list[str]:
    """The names in the first message of a topic."""
    first: Any = next((message for _, _, message in messages(path, [topic])), None)
    return [str(name) for name in getattr(first, "name", ())] or ["FILL IN"]


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
