"""A manifest to start from: the columns of a CSV put where their names seem to belong, the topics of a bag where their
types do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from grouser.files import toml_key, toml_value
from grouser.logs.bags import messages
from grouser.logs.table import column_names, is_number

SCHEMA = "grouser/log@1"
HEAD = [f'schema = "{SCHEMA}"', 'vehicle = "FILL IN"  # a name from `grouser vehicles`, or a file', ""]

TIME = re.compile(r"t|time|stamp|timestamp|secs?|(time|stamp)[ _.\[(]?\w*[\])]?|\w*[ _.](time|stamp)\w*", re.IGNORECASE)
WHEEL = re.compile(
    r"w[lr]|w_?[fbr][lr]|omega_?\w*|\w*wheel\w*|(left|right)\w*(vel|rate|speed|ticks?|rpm)\w*|enc\w*|v_?(left|right)",
    re.IGNORECASE,
)
TABLES = {
    "pose": ("x", "y", "z", "roll", "pitch", "yaw", "qw", "qx", "qy", "qz"),
    "attitude": ("roll", "pitch"),
    "gyro": ("gx", "gy", "gz"),
    "acceleration": ("ax", "ay", "az"),
}
POSE = (
    "# Reference poses, not from wheel odometry, for calibration and evaluation. Remove the # to use them:",
    "# [pose]",
    '# x = "FILL IN"',
    '# y = "FILL IN"',
    '# yaw = { column = "FILL IN", unit = "deg" }',
)
"""Of a table whose columns do not look like poses."""
MOUNTING = "# Mounting of the pose sensor on the body [m, rad] and delay of its stamps [s]."
SENSOR = (MOUNTING, "[sensor]", "x = 0.0", "lag = 0.0")
JOINTS = "sensor_msgs/msg/JointState"
IMU = "sensor_msgs/msg/Imu"
POSES = {
    "nav_msgs/msg/Odometry": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/PoseStamped": ("pose.position", "pose.orientation"),
    "geometry_msgs/msg/TransformStamped": ("transform.translation", "transform.rotation"),
}
"""Types that say where something is, and in which fields."""
FIX = "sensor_msgs/msg/NavSatFix"
FIXES = {
    "latitude": "latitude", "longitude": "longitude", "altitude": "altitude", "status": "status.status",
    "sigma_x": "position_covariance[0]", "sigma_y": "position_covariance[4]",
}  # fmt: skip
"""Fields of a GPS fix; the covariance is that of east, north, up [m^2]."""
GPS = {
    "latitude": r"lat(itude)?",
    "longitude": r"lon(g|gitude)?",
    "altitude": r"alt(itude)?",
    "heading": r"heading|hdg",
}
"""Names of columns of a GPS receiver."""
HEADING = "# Clockwise from north: of a compass, two antennas or an IMU. A single GPS antenna measures none."


class Layout(NamedTuple):
    """How a CSV file seems to be laid out."""

    names: tuple[str, ...]
    """The heading, or 0, 1, … without one."""
    header: bool
    """Whether there is a heading."""
    delimiter: str
    """What stands between two cells."""


def layout(path: Path) -> Layout:
    """The delimiter that gives the most cells in the first line, and whether that line is a heading."""
    cells, delimiter = max(((column_names(path, d), d) for d in ",;\t "), key=lambda found: len(found[0]))
    header = not all(is_number(cell) for cell in cells)
    names = cells if header else [str(k) for k in range(len(cells))]
    return Layout(tuple(names), header, delimiter)


def skeleton(found: Layout) -> str:
    """The text of a manifest in which what could not be guessed is marked."""
    names, lines = list(found.names), [*HEAD]
    if not found.header or found.delimiter != ",":
        lines += ["[csv]", f"header = {toml_value(found.header)}", f"delimiter = {toml_value(found.delimiter)}", ""]
    if not found.header:
        lines += [f"# Columns go by their index, 0 to {len(names) - 1}; the numbers below are only examples."]
        lines += ["[time]", "column = 0", 'unit = "s"', "", "[rates]", "FILL_IN_JOINT = 1", ""]
        lines += ["[pose]", "x = 2", "y = 3", "yaw = 4"]
        return "\n".join(lines) + "\n"
    clock = next((name for name in names if TIME.fullmatch(name)), names[0])
    lines += ["[time]", f"column = {toml_value(clock)}", f'unit = "{_unit(clock)}"  # s, ms, us or ns', ""]
    wheels = [name for name in names if WHEEL.fullmatch(name)]
    lines += ["# Joint of the vehicle = its column, which may serve several joints;"]
    lines += ['# or = { column = "…", unit = "deg/s", sign = -1, lag = 0.1 }', "[rates]"]
    lines += [f"{toml_key(name)} = {_rate(name)}" for name in wheels] or ['FILL_IN_JOINT = "FILL IN"']
    for table, fields in TABLES.items():
        there = {field: name for field in fields for name in names if name.lower() == field}
        if there and (table != "pose" or {"x", "y"} <= set(there)):
            if table == "pose" and "qw" in there:
                there = {field: name for field, name in there.items() if field not in ("roll", "pitch", "yaw")}
            keys = [field[-1] if table in ("gyro", "acceleration") else field for field in there]
            lines += ["", f"[{table}]"]
            lines += [f"{key} = {toml_value(name)}" for key, name in zip(keys, there.values(), strict=True)]
    if "[pose]" not in lines:
        lines += ["", *(_gps(names) or POSE)]
    return "\n".join([*lines, "", *SENSOR]) + "\n"


def _gps(names: list[str]) -> list[str]:
    """The table [pose] of a GPS receiver's columns; empty where there are none."""
    there = {
        key: next((name for name in names if re.fullmatch(what, name, re.IGNORECASE)), "") for key, what in GPS.items()
    }
    if not there["latitude"] or not there["longitude"]:
        return []
    found = [f"{key} = {toml_value(name)}" for key, name in there.items() if name and key != "heading"]
    heading = toml_value(there["heading"] or "FILL IN")
    return ["[pose]", *found, HEADING, f'heading = {{ column = {heading}, unit = "deg" }}']


def _unit(clock: str) -> str:
    name = clock.lower()
    return next((unit for unit in ("ns", "us", "ms") if re.search(rf"(?:[_.\[( ]|^){unit}\b|{unit[0]}sec", name)), "s")


def _rate(name: str) -> str:
    """A column of rates, with the unit that its name says."""
    column = toml_value(name)
    return f'{{ column = {column}, unit = "rpm" }}' if re.search(r"rpm\b", name, re.IGNORECASE) else column


def bag_skeleton(path: Path, topics: Mapping[str, str]) -> str:
    """The text of a manifest in which what could not be guessed is marked; topics: by name, with their type."""

    def field(topic: str, name: str) -> str:
        return f"{{ topic = {toml_value(topic)}, field = {toml_value(name)} }}"

    lines = [*HEAD, "[time]", 'stamp = "header"  # of the messages; "record" is when the bag got them', ""]
    lines += ["# Joint of the vehicle = where its rate stands; write your vehicle's joints on the left.", "[rates]"]
    of_kind = {kind: topic for topic, kind in sorted(topics.items(), reverse=True)}  # the first of each kind
    wheels, imu = of_kind.get(JOINTS), of_kind.get(IMU)
    if wheels is None:
        lines += ['FILL_IN_JOINT = { topic = "FILL IN", field = "FILL IN" }']
    else:
        where = f'topic = {toml_value(wheels)}, field = "velocity"'
        first: Any = next((message for _, _, message in messages(path, [wheels])), None)
        names = [str(name) for name in getattr(first, "name", ())] or ["FILL IN"]
        lines += [f"{toml_key(name)} = {{ {where}, joint = {toml_value(name)} }}" for name in names]
    found = [(topic, POSES[kind]) for topic, kind in sorted(topics.items()) if kind in POSES]
    lines += ["", "# Reference poses, not from wheel odometry."]
    if len(found) > 1:
        lines += [f"# Also there: {', '.join(toml_value(topic) for topic, _ in found[1:])}."]
    fix = of_kind.get(FIX)
    if fix is not None and not found:
        lines += ["[pose]", *(f"{key} = {field(fix, name)}" for key, name in FIXES.items())]
        lines = [line.replace(" }", ', unit = "m^2" }') if line.startswith("sigma_") else line for line in lines]
        lines += [HEADING, 'heading = { topic = "FILL IN", field = "FILL IN", unit = "deg" }']
    else:
        topic, (place, turn) = found[0] if found else ("FILL IN", ("FILL IN", "FILL IN"))
        mark = "" if found else "# "
        lines += [f"{mark}[pose]", *(f"{mark}{k} = {field(topic, f'{place}.{k}')}" for k in "xyz")]
        lines += [f"{mark}q{k} = {field(topic, f'{turn}.{k}')}" for k in "wxyz"]
    if imu is not None:
        lines += ["", "# In axes of the body.", "[gyro]"]
        lines += [f"{k} = {field(imu, f'angular_velocity.{k}')}" for k in "xyz"]
    return "\n".join([*lines, "", *SENSOR]) + "\n"
