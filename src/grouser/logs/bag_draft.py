"""A manifest to start from, drafted from the topics, the frames and the first messages of a bag."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grouser.errors import LogError
from grouser.files import toml_key, toml_value
from grouser.logs.bags import messages
from grouser.logs.frames import Frames, degrees, part, plain, wxyz, xyz
from grouser.logs.mounts import frame_of, read_frames
from grouser.logs.pose_sources import FIX, POSES, SUSPECT, Source, base_of, pose_sources
from grouser.logs.skeleton import SENSOR, head, matched, no_yaw
from grouser.vehicles.vehicle import Vehicle

JOINTS = "sensor_msgs/msg/JointState"
IMU = "sensor_msgs/msg/Imu"
FIXES = {
    "latitude": "latitude", "longitude": "longitude", "altitude": "altitude", "status": "status.status",
    "sigma_x": "position_covariance[0]", "sigma_y": "position_covariance[4]",
}  # fmt: skip
"""Fields of a GPS fix; the covariance is that of east, north, up [m^2]."""
LOOKED = 50
"""Messages of a topic that are read."""


class Draft(NamedTuple):
    """A draft of a manifest."""

    text: str
    """The manifest."""
    found: tuple[str, ...]
    """Its reasons, one sentence each."""


def bag_draft(path: Path, topics: Mapping[str, str], vehicle: Vehicle | None = None, name: str = "") -> Draft:
    """A manifest in which what could not be found is marked; topics: by name, with their type; name: of the vehicle."""
    found: list[str] = []
    joints = _joints(path, topics, vehicle)
    near = joints.topic if joints else ""
    topics = _of_robot(topics, near, found)
    try:
        frames = read_frames(path, topics, near, moving=True)
    except LogError:
        frames = Frames()
    base = base_of(frames, near)
    lines = [*head(name), "[time]", 'stamp = "header"  # of the messages; "record" is when the bag got them', ""]
    lines += _rates(joints, vehicle, found)
    lines += _pose(path, pose_sources(path, topics, frames, near), found)
    lines += _imu(path, topics, frames, base, found)
    if base != "base_link" and base in frames.names:
        lines += ["", "[robot.topics]", f"base_frame = {toml_value(base)}"]
    return Draft("\n".join([*lines, "", *SENSOR]) + "\n", tuple(found))


def _first(path: Path, topic: str) -> list[Any]:
    """The first messages of a topic."""
    try:
        return [message for _, _, message in islice(messages(path, [topic]), LOOKED)]
    except LogError:
        return []


def _field(topic: str, name: str, more: str = "") -> str:
    return f"{{ topic = {toml_value(topic)}, field = {toml_value(name)}{more} }}"


def _of_kind(topics: Mapping[str, str], kind: str) -> list[str]:
    return [topic for topic, one in sorted(topics.items()) if one == kind]


class Joints(NamedTuple):
    """The topic of the wheels' joints."""

    topic: str
    names: list[str]
    """All joints of its messages."""
    joined: dict[str, str]
    """Those of the vehicle's wheels, if all are found."""
    first: list[Any]
    """Its first messages; those of the wheels, where others publish other joints in the same topic."""


def _joints(path: Path, topics: Mapping[str, str], vehicle: Vehicle | None) -> Joints | None:
    """The first topic in which all wheels are, else the first of joints."""
    wheels = () if vehicle is None else vehicle.wheels
    best: Joints | None = None
    for topic in _of_kind(topics, JOINTS):
        first = _first(path, topic)
        names = list(dict.fromkeys(str(name) for one in first for name in part(one, "name", ())))
        joined = matched(wheels, names)
        if best is None or (joined and not best.joined):
            own = [one for one in first if not joined or set(joined.values()) & set(part(one, "name", ()))]
            best = Joints(topic, names, joined, own)
    return best


def _of_robot(topics: Mapping[str, str], near: str, found: list[str]) -> Mapping[str, str]:
    """The topics without those in the namespaces of other robots, which have joints of their own."""
    own = near.split("/")[1:2]
    others = {one.split("/")[1] for one in _of_kind(topics, JOINTS) if one.count("/") > 1} - set(own)
    if near.count("/") < 2 or not others:
        return topics
    found.append(
        f"several robots: this draft is of {own[0]}; for {' or '.join(sorted(others))} write its topics instead"
    )
    return {topic: kind for topic, kind in topics.items() if topic.split("/")[1:2][0] not in others}


def _rates(joints: Joints | None, vehicle: Vehicle | None, found: list[str]) -> list[str]:
    """The table of rates, by velocities, or by differences of positions where there are none."""
    lines = ["# Joint of the vehicle = where its rate stands; write your vehicle's joints on the left."]
    if joints is None:
        return [*lines, "[rates]", 'FILL_IN_JOINT = { topic = "FILL IN", field = "FILL IN" }']
    topic, names, joined, first = joints
    wheels = () if vehicle is None else vehicle.wheels
    field, more = "velocity", ""
    if first and not any(_filled(one, "velocity") for one in first):
        said = f"{topic}: has neither velocities nor positions, so it gives no rates"
        if any(_filled(one, "position") for one in first):
            field, more = "position", ', kind = "position"'
            said = f"{topic}: its velocity arrays are empty or not numbers, so rates are differences of positions"
        lines.append(f"# {said}.")
        found.append(said)
    if not joined:
        joined = {name: name for name in names or ["FILL IN"]}
        if vehicle is not None:
            found.append(f"{topic}: its joints {', '.join(names)} are not those of {vehicle.name}: {', '.join(wheels)}")
    elif list(joined) != list(joined.values()):
        found.append(f"{topic}: joints by their names: " + ", ".join(f"{k} = {v}" for k, v in joined.items()))
    rows = [f"{toml_key(k)} = {_field(topic, field, f', joint = {toml_value(v)}{more}')}" for k, v in joined.items()]
    return [*lines, "[rates]", *rows]


def _filled(message: Any, name: str) -> bool:
    """Whether a JointState has finite numbers for its joints."""
    values = np.asarray(part(message, name, ()), dtype=np.float64)
    return len(values) > 0 and bool(np.isfinite(values).any())


def _pose(path: Path, sources: list[Source], found: list[str]) -> list[str]:
    """The table of poses by the best reference; wheel odometry only as a remark."""
    good, suspects = [one for one in sources if one.rank < SUSPECT], [one for one in sources if one.rank == SUSPECT]
    found += [f"not used: {one.suspicion}" for one in suspects]
    lines = ["", "# Reference poses, not from wheel odometry."]
    if len(good) > 1:
        others = (f"/tf {one.world} → {one.frame}" if one.kind == "tf" else one.topic for one in good[1:])
        lines.append(f"# Also there: {', '.join(toml_value(one) for one in others)}.")
    lines += [f"# Not used: {one.suspicion}." for one in suspects]
    if good:
        one = good[0]
        by = f"{one.frame} in {one.world} by /tf" if one.kind == "tf" else ""
        found.append(f"pose of {by}" if by else f"pose by {one.topic} ({one.kind.rpartition('/')[2]})")
        return [*lines, *_table(path, one)]
    if suspects:
        lines.append("# Remove the # below only if that is wrong and it is measured otherwise:")
    one = suspects[0] if suspects else Source(SUSPECT, "FILL IN", "geometry_msgs/msg/PoseStamped", "", "")
    return [*lines, *(f"# {row}" for row in _table(path, one))]


def _table(path: Path, one: Source) -> list[str]:
    """The lines of [pose]."""
    if one.kind == "tf":
        return ["[pose]", f"frame = {toml_value(one.frame)}", f"world = {toml_value(one.world)}"]
    if one.kind == FIX:
        fixes = _first(path, one.topic)[:1]
        known = any(int(part(fix, "position_covariance_type", 0)) > 0 for fix in fixes) or not path.exists()
        fields = {key: name for key, name in FIXES.items() if known or not key.startswith("sigma")}
        unit = {key: ', unit = "m^2"' for key in fields if key.startswith("sigma")}
        rows = [f"{key} = {_field(one.topic, name, unit.get(key, ''))}" for key, name in fields.items()]
        return ["[pose]", *rows, *no_yaw('topic = "…", field = "…"')]
    place, turn = POSES.get(one.kind, ("FILL IN", "FILL IN"))
    rows = [f"{k} = {_field(one.topic, f'{place}.{k}')}" for k in "xyz"]
    return ["[pose]", *rows, *(f"q{k} = {_field(one.topic, f'{turn}.{k}')}" for k in "wxyz")]


def _imu(path: Path, topics: Mapping[str, str], frames: Frames, base: str, found: list[str]) -> list[str]:
    """The tables of gyro and accelerometer, and how the IMU is turned."""
    there = _of_kind(topics, IMU)
    if not there:
        return []
    topic = next((one for one in there if not any(word in one for word in ("raw", "mag", "camera"))), there[0])
    first = _first(path, topic)
    frame = plain(frame_of(path, topic)) if first else ""
    comment = "# In axes of the body, by tf or [robot] imu_rpy; without these the IMU's axes must be the body's."
    if frame and frame != base:
        try:
            mount = frames.mount(frame, base)
            said = f"{topic} in frame {frame}: turned by {degrees(mount.R_body_sensor)} on the body, {mount.said}"
            comment = "# In axes of the IMU; tf turns them into those of the body."
        except LogError:
            said = f"{topic} in frame {frame}: tf does not say how it is mounted; give imu_rpy in [robot]"
        found.append(said)
    lines = ["", comment, "[gyro]", *(f"{k} = {_field(topic, f'angular_velocity.{k}')}" for k in "xyz")]
    accelerations = [np.nan_to_num(xyz(part(one, "linear_acceleration"))) for one in first]
    if any(np.linalg.norm(one) > 1.0 for one in accelerations):
        lines += ["", "[acceleration]", *(f"{k} = {_field(topic, f'linear_acceleration.{k}')}" for k in "xyz")]
    if any(not wxyz(part(one, "orientation")).any() for one in first[:1] if part(one, "orientation") is not None):
        found.append(f"{topic}: measures no orientation")
    return lines
