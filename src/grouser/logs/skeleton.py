"""A manifest to start from: what a file's columns or topics are called, put where their names seem to belong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from grouser.logs.table import column_names
from grouser.logs.toml import SCHEMA

__all__ = ["Layout", "layout", "skeleton"]

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
    "# Where something better than the wheels saw it: what is learnt from, and what judges. Without # in front:",
    "# [pose]",
    '# x = "FILL IN"',
    '# y = "FILL IN"',
    '# yaw = { column = "FILL IN", unit = "deg" }',
)
"""Of a table whose columns do not look like poses."""
SENSOR = (
    "# Where the pose sensor sits on the body [m, rad] and how late it is [s].",
    "[sensor]",
    "x = 0.0",
    "lag = 0.0",
)


@dataclass(frozen=True, kw_only=True)
class Layout:
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
    header = not all(_is_number(cell) for cell in cells)
    names = cells if header else [str(k) for k in range(len(cells))]
    return Layout(names=tuple(names), header=header, delimiter=delimiter)


def skeleton(found: Layout) -> str:
    """The text of a manifest in which what could not be guessed is marked."""
    names = list(found.names)
    lines = [f'schema = "{SCHEMA}"', 'vehicle = "FILL IN"  # a name from `grouser vehicles`, or a file', ""]
    if not found.header or found.delimiter != ",":
        lines += ["[csv]", f"header = {'true' if found.header else 'false'}"]
        lines += [f"delimiter = {json.dumps(found.delimiter)}", ""]

    def column(name: str) -> str:
        return json.dumps(name, ensure_ascii=False) if found.header else name

    if not found.header:
        lines += [f"# Columns go by their index, 0 to {len(names) - 1}; the numbers below are only examples."]
        lines += ["[time]", "column = 0", 'unit = "s"', "", "[rates]", "FILL_IN_JOINT = 1", ""]
        lines += ["[pose]", "x = 2", "y = 3", "yaw = 4"]
        return "\n".join(lines) + "\n"
    clock = next((name for name in names if TIME.fullmatch(name)), names[0])
    lines += ["[time]", f"column = {column(clock)}", f'unit = "{_unit(clock)}"  # s, ms, us or ns', ""]
    wheels = [name for name in names if WHEEL.fullmatch(name)]
    lines += ["# Joint of the vehicle = its column, which may serve several joints;"]
    lines += ['# or = { column = "…", unit = "deg/s", sign = -1, lag = 0.1 }', "[rates]"]
    lines += [f"{bare(name)} = {_rate(name, column(name))}" for name in wheels] or ['FILL_IN_JOINT = "FILL IN"']
    for table, fields in TABLES.items():
        there = {field: name for field in fields for name in names if name.lower() == field}
        if there and (table != "pose" or {"x", "y"} <= set(there)):
            if table == "pose" and "qw" in there:
                there = {field: name for field, name in there.items() if field not in ("roll", "pitch", "yaw")}
            keys = [field[-1] if table in ("gyro", "acceleration") else field for field in there]
            lines += ["", f"[{table}]"]
            lines += [f"{key} = {column(name)}" for key, name in zip(keys, there.values(), strict=True)]
    if "[pose]" not in lines:
        lines += ["", *POSE]
    return "\n".join([*lines, "", *SENSOR]) + "\n"


def _unit(clock: str) -> str:
    name = clock.lower()
    return next((unit for unit in ("ns", "us", "ms") if re.search(rf"(?:[_.\[( ]|^){unit}\b|{unit[0]}sec", name)), "s")


def _rate(name: str, column: str) -> str:
    """A column of rates, with the unit that its name says."""
    return f'{{ column = {column}, unit = "rpm" }}' if re.search(r"rpm\b", name, re.IGNORECASE) else column


def bare(name: str) -> str:
    """A key of a TOML table, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
