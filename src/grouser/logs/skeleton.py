"""A manifest to start from: the columns of a CSV assigned to signals by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from grouser.files import toml_key, toml_value
from grouser.logs.layout import Layout, layout
from grouser.logs.manifest import SCHEMA
from grouser.logs.signal_table import CLOCK
from grouser.logs.units import is_counts, unit_in, unit_word
from grouser.vehicles.vehicle import Vehicle

__all__ = ["SENSOR", "head", "layout", "matched", "no_yaw", "skeleton"]

TIME = re.compile(r"t|time|stamp|timestamp|secs?|(time|stamp)[ _.\[(]?\w*[\])]?|\w*[ _.](time|stamp)\w*", re.IGNORECASE)
WHEEL = re.compile(
    r"w[lr]|w_?[fbr][lr]|omega_?\w*|[\w .]*wheel[\w .]*|"
    r"(left|right)\w*(vel|rate|speed|ticks?|rpm)\w*|\w*enc\w*|\w*ticks?\w*|v_?(left|right)",
    re.IGNORECASE,
)
COUNTED = re.compile(r"tick|count|pulse|enc", re.IGNORECASE)
"""Parts of a name that mean counts of an encoder."""
COUNTS = (
    '# ticks_per_turn: of the encoder; add gear = … if it sits on the motor. "increment": counts since the last row.'
)
SI = ("s", "m", "rad", "rad/s", "m/s", "m/s^2", "A", "N m", "N")
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
GPS = {
    "latitude": r"lat(itude)?",
    "longitude": r"lon(g|gitude)?",
    "altitude": r"alt(itude)?",
    "heading": r"heading|hdg",
}
"""Names of columns of a GPS receiver."""
HEADING = "# Clockwise from north: of a compass, two antennas or an IMU. A single GPS antenna measures none."
SIDES = {"l": "left", "left": "left", "r": "right", "right": "right"}
PLACES = {"f": "front", "front": "front", "b": "back", "back": "back", "rear": "back", "m": "middle", "mid": "middle",
          "middle": "middle", "center": "middle", "centre": "middle"}  # fmt: skip
PAIR = re.compile(r"([fbmr])([lr])", re.IGNORECASE)
"""FL, rr: of two letters the first is a place, and r the rear."""


def head(vehicle: str = "") -> list[str]:
    """The first lines of a manifest."""
    named = toml_value(vehicle) if vehicle else '"FILL IN"  # a name from `grouser vehicles`, or a file'
    return [f'schema = "{SCHEMA}"', f"vehicle = {named}", ""]


def no_yaw(source: str) -> list[str]:
    """The lines of [pose] of a GPS antenna, which measures no heading."""
    return [HEADING, f'yaw_from = "motion"  # or heading = {{ {source}, unit = "deg" }}']


def skeleton(found: Layout, vehicle: Vehicle | None = None, name: str = "") -> str:
    """The text of a manifest in which what could not be guessed is marked; name: of the vehicle."""
    names, lines = [one for one in found.names if one], [*head(name), *_csv(found)]
    if not found.header:
        lines += [f"# Columns go by their index, 0 to {len(names) - 1}; the numbers below are only examples."]
        lines += ["[time]", "column = 0", 'unit = "s"', "", "[rates]", "FILL_IN_JOINT = 1", ""]
        lines += ["[pose]", "x = 2", "y = 3", "yaw = 4"]
        return "\n".join(lines) + "\n"
    clock = next((one for one in names if TIME.fullmatch(one)), names[0] if names else "FILL IN")
    lines += ["[time]", f"column = {toml_value(clock)}", f'unit = "{_clock_unit(found, clock)}"  # s, ms, us or ns', ""]
    lines += ["# Joint of the vehicle = its column, which may serve several joints;"]
    lines += ['# or = { column = "…", unit = "deg/s", sign = -1, lag = 0.1, gear = 30 }', "[rates]"]
    wheels = [one for one in names if WHEEL.fullmatch(one) or WHEEL.fullmatch(_stem(one))]
    joined = {} if vehicle is None else matched(vehicle.wheels, wheels)
    rows = [f"{toml_key(joint)} = {_rate(found, one)}" for joint, one in (joined or {w: w for w in wheels}).items()]
    lines += rows or ['FILL_IN_JOINT = "FILL IN"']
    if any("ticks_per_turn" in row for row in rows):
        lines.insert(-len(rows) - 1, COUNTS)
    for table, fields in TABLES.items():
        there = {one: name for one in fields for name in names if one in (name.lower(), _stem(name).lower())}
        if there and (table != "pose" or {"x", "y"} <= set(there)):
            if table == "pose" and "qw" in there:
                there = {one: name for one, name in there.items() if one not in ("roll", "pitch", "yaw")}
            keys = [one[-1] if table in ("gyro", "acceleration") else one for one in there]
            lines += ["", f"[{table}]"]
            lines += [f"{key} = {_column(found, name)}" for key, name in zip(keys, there.values(), strict=True)]
            if table == "pose" and not {"yaw", "qw"} & set(keys):
                lines.append('yaw_from = "motion"  # or yaw = …; it is not measured')
    if "[pose]" not in lines:
        lines += ["", *(_gps(names) or POSE)]
    return "\n".join([*lines, "", *SENSOR]) + "\n"


def _csv(found: Layout) -> list[str]:
    """The table of the layout, where it is not the usual one."""
    rows = [f"{key} = {toml_value(value)}" for key, value in found.csv.model_dump(exclude_defaults=True).items()]
    return ["[csv]", *rows, ""] if rows else []


def _gps(names: list[str]) -> list[str]:
    """The table [pose] of a GPS receiver's columns; empty where there are none."""
    there = {
        key: next((name for name in names if re.fullmatch(what, name, re.IGNORECASE)), "") for key, what in GPS.items()
    }
    if not there["latitude"] or not there["longitude"]:
        return []
    found = [f"{key} = {toml_value(name)}" for key, name in there.items() if name and key != "heading"]
    if not there["heading"]:
        return ["[pose]", *found, *no_yaw('column = "…"')]
    heading = toml_value(there["heading"])
    return ["[pose]", *found, HEADING, f'heading = {{ column = {heading}, unit = "deg" }}']


def _stem(name: str) -> str:
    """A name without its unit."""
    return name if unit_in(name) is None else re.sub(r"[\[({<].*$|[_ .][^_ .]+$", "", name).strip()


def _clock_unit(found: Layout, clock: str) -> str:
    """The unit of the clock: by the line of units, by its name, else the one in which rows come 2 ms to 2 s apart."""
    for word in (unit_word(found.unit_of(clock)) if clock in found.names else None, unit_in(clock)):
        if word in CLOCK:
            return word
    name = clock.lower()
    said = next((unit for unit in ("ns", "us", "ms") if re.search(rf"(?:[_.\[( ]|^){unit}\b|{unit[0]}sec", name)), "")
    steps = np.diff(found.sample.get(clock, np.zeros(0)))
    steps = steps[steps > 0.0]
    fits = [unit for unit, size in CLOCK.items() if steps.size and 2e-3 <= float(np.median(steps)) * size < 2.0]
    return said or (fits[0] if fits else "s")


def _rate(found: Layout, name: str) -> str:
    """A column of rates, with the unit in its name; counts of an encoder as positions or increments."""
    column, values = _named(found, name), found.sample.get(name, np.zeros(0))
    values = values[np.isfinite(values)]
    whole = len(values) > 2 and bool((values == np.round(values)).all()) and float(np.ptp(values)) > 0.0
    counts = is_counts(found.unit_of(name)) or bool(COUNTED.search(name))
    if counts and (whole or not len(values)):
        kind = "increment" if re.search(r"delta|incr|(^|_)d_?(tick|enc|count)", name, re.IGNORECASE) else "position"
        return f'{{ column = {column}, kind = "{kind}", ticks_per_turn = "FILL IN" }}'
    if not found.unit_of(name) and re.search(r"rpm\b", name, re.IGNORECASE):
        return f'{{ column = {column}, unit = "rpm" }}'
    return _column(found, name)


def _column(found: Layout, name: str) -> str:
    """A column, with the unit in its name where no line of units gives it."""
    word = None if found.unit_of(name) else unit_in(name)
    column = _named(found, name)
    return column if word in (None, *SI) else f'{{ column = {column}, unit = "{word}" }}'


def _named(found: Layout, name: str) -> str:
    """A column by its name; by the index of the first where several have it."""
    return toml_value(name if found.names.count(name) == 1 else found.names.index(name))


def matched(wheels: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Wheel of the vehicle → joint of the messages; empty where not every wheel has one.

    By equal names, else by front, middle, back and left, right in them; a robot whose messages have one joint a side
    gives it to all wheels of that side.
    """
    if set(wheels) <= set(names):
        return {wheel: wheel for wheel in wheels}
    known = {name: signature(name) for name in names}
    found: dict[str, str] = {}
    for wheel in wheels:
        place, side = signature(wheel)
        exact = [name for name in names if known[name] == (place, side)]
        fits = exact or [name for name in names if known[name] == (None, side)]
        if side is None or len(fits) != 1:
            return {}
        found[wheel] = fits[0]
    return found


def signature(name: str) -> tuple[str | None, str | None]:
    """Place and side in a name: front, middle, back; left, right; None where it does not."""
    words = [one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    place = next((PLACES[word] for word in words if word in PLACES), None)
    side = next((SIDES[word] for word in words if word in SIDES), None)
    for word in words:
        if side is None and re.fullmatch(r"[wv][lr]", word):  # wl, vr: rate of a side
            side = SIDES[word[1]]
        pair = PAIR.fullmatch(word)
        if pair is not None and side is None:
            first = pair[1].lower()
            place, side = ("back" if first == "r" else PLACES[first]), SIDES[pair[2].lower()]
    return place, side
