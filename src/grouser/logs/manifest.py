"""What a log's manifest may hold: which columns or topics are which signals, in which units.

Imported only when a log is read, because pydantic is slow to load.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from grouser.checks import nearest
from grouser.errors import LogError
from grouser.files import check_schema, read_toml
from grouser.logs import robot_table
from grouser.logs.fields import Finite, NotNegative, Positive, Seconds, Table
from grouser.logs.log import Sensor
from grouser.logs.robot_table import RobotTable

SCHEMA = "grouser/log@1"
MAX_BYTES = 200_000
DEGREE = math.pi / 180.0
TURN = 2.0 * math.pi
LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "km": 1e3}
ANGLE = {"rad": 1.0, "mrad": 1e-3, "deg": DEGREE, "rev": TURN}
DEGREES = {"deg": 1.0, "rad": 1.0 / DEGREE}
LENGTH_SIGMA = {**LENGTH, "m^2": 1.0}
SPEED = {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1.0 / 3.6}
TURNING = {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": DEGREE, "rev/s": TURN, "rpm": TURN / 60.0}
CURRENT = {"A": 1.0, "mA": 1e-3}
EFFORT = {"N m": 1.0, "N": 1.0}
FORCE = {"m/s^2": 1.0, "m/s²": 1.0, "mm/s^2": 1e-3, "g": 9.80665}
UNITS: dict[str, dict[str, float]] = {
    "angles": {**ANGLE, **LENGTH}, "attitude": ANGLE, "gyro": TURNING, "acceleration": FORCE,
    "currents": CURRENT, "efforts": EFFORT,
    "body_command.speed": SPEED, "body_command.turn": TURNING,
    **dict.fromkeys(("pose.x", "pose.y", "pose.z"), LENGTH),
    **dict.fromkeys(("pose.roll", "pose.pitch", "pose.yaw", "pose.heading"), ANGLE),
    **dict.fromkeys(("pose.latitude", "pose.longitude"), DEGREES), "pose.altitude": LENGTH,
    **dict.fromkeys(("pose.sigma_x", "pose.sigma_y"), LENGTH_SIGMA),
    "pose.sigma_yaw": {**ANGLE, "rad^2": 1.0, "deg^2": DEGREE**2},
}  # fmt: skip
"""Units of a table or of one of its signals, with their factor to SI; those of rates and commands go by their kind."""


class Signal(Table):
    """Where a signal comes from and what its numbers mean: value = sign · scale · number · unit."""

    column: str | int | None = None
    """Column of a CSV by name, or by index from 0."""
    topic: str | None = None
    """Topic of a bag."""
    field: str | None = None
    """Path inside the topic's messages: "twist.twist.linear.x"."""
    joint: str | None = None
    """Joint of a sensor_msgs/JointState; `field` is then position, velocity or effort."""
    unit: str | None = None
    """Unit of the numbers; SI if left out."""
    sign: Literal[1, -1] = 1
    """−1 turns the signal round."""
    scale: Finite = 1.0
    """Factor, e.g. radians per encoder count."""
    lag: Seconds = 0.0
    """A value stamped t was true at t − lag [s]; it is moved there, inside segments only."""
    kind: Literal["rate", "increment", "position"] | None = None
    """What a rate is made from: itself, a count since the last sample, or a position that is differenced."""

    @model_validator(mode="after")
    def _one_source(self) -> Signal:
        if (self.column is None) == (self.topic is None):
            raise ValueError("needs either column (of a CSV) or topic (of a bag)")
        if self.topic is None and (self.field is not None or self.joint is not None):
            raise ValueError("field and joint belong to a topic, a CSV has a column")
        if self.topic is not None and self.field is None:
            raise ValueError("needs a field, the path inside the topic's messages")
        if isinstance(self.column, int) and self.column < 0:
            raise ValueError("a column's index counts from 0")
        return self

    def units(self, key: str) -> dict[str, float]:
        """The units it may have under a key of the manifest, "rates.FL", with their factor to SI."""
        table = key.split(".", 1)[0]
        if table in ("rates", "commands"):
            return {**TURNING, **SPEED} if self.kind in (None, "rate") else {**ANGLE, **LENGTH}
        return UNITS.get(key, UNITS.get(table, {"1": 1.0}))

    def factor(self, key: str) -> float:
        """What a number of the signal is multiplied by: sign · scale · unit in SI."""
        return self.sign * self.scale * (1.0 if self.unit is None else self.units(key)[self.unit])

    @property
    def source(self) -> str:
        """The column or topic, for messages."""
        if self.topic is None:
            return f"column {self.column}"
        return f"topic {self.topic} {self.field}" + (f" of {self.joint}" if self.joint else "")


def _as_table(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a column's name, its index, or a table with column = …")
    return {"column": value} if isinstance(value, (str, int)) else value


Source = Annotated[Signal, BeforeValidator(_as_table)]


class Csv(Table):
    """How the text is laid out."""

    header: bool | Annotated[int, Field(ge=0, le=100)] = True
    """Whether the first line names the columns; or how many lines stand above the numbers."""
    names_line: Annotated[int, Field(ge=1, le=100)] | None = None
    """Which line of the heading names the columns, counted from 1; default: its last."""
    delimiter: str = ","
    """One character; a blank stands for any white space."""

    @model_validator(mode="after")
    def _one_character(self) -> Csv:
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '\n\r"0123456789+-.eE#':
            raise ValueError(f"the delimiter {self.delimiter!r:.20} must be one character such as , ; or a tab")
        if (self.names_line or 0) > int(self.header):
            raise ValueError(
                f"names_line = {self.names_line} lies below the heading of {int(self.header)} lines (header)"
            )
        return self


class Time(Table):
    """The clock of the samples."""

    column: str | int | None = None
    unit: Literal["s", "ms", "us", "ns"] = "s"
    stamp: Literal["header", "record"] = "header"
    """For bags: the stamp in a message's header (record time where it has none), or when it was recorded."""


class Attitude(Table):
    """Roll and pitch of the body."""

    roll: Source | None = None
    pitch: Source | None = None


class Axes(Table):
    """Three axes of the body."""

    x: Source | None = None
    y: Source | None = None
    z: Source | None = None


class BodyCommand(Table):
    """Commanded motion of the body."""

    speed: Source
    turn: Source


class PoseTable(Table):
    """The pose sensor; what is not given is zero. Roll, pitch, yaw or a quaternion; x, y, z or a GPS fix."""

    x: Source | None = None
    y: Source | None = None
    z: Source | None = None
    roll: Source | None = None
    pitch: Source | None = None
    yaw: Source | None = None
    """Counter-clockwise from x."""
    heading: Source | None = None
    """Instead of yaw: clockwise from north (y), as compasses and GPS receivers give it; yaw = π/2 − heading."""
    qw: Source | None = None
    qx: Source | None = None
    qy: Source | None = None
    qz: Source | None = None
    latitude: Source | None = None
    """With longitude, instead of x and y: WGS-84 [deg], made x east and y north of the datum [m]."""
    longitude: Source | None = None
    altitude: Source | None = None
    """Height above the ellipsoid [m]."""
    status: Source | None = None
    """A fix is used where this is 0 or more, as in sensor_msgs/NavSatFix."""
    sigma_x: Source | None = None
    """One sigma of x (east) of each pose [m]; with unit "m^2" its variance. Where missing, zero or not finite, that of
    [sensor] holds."""
    sigma_y: Source | None = None
    sigma_yaw: Source | None = None
    """[rad]"""
    datum: Annotated[list[Finite], Field(min_length=3, max_length=3)] | None = None
    """Latitude, longitude [deg], height [m] of the origin; default: the first fix."""
    increments: bool = False
    """Whether x, y and yaw are what the pose changed by since the row above, in axes of the sensor at that row."""
    fresh: Source | None = None
    """A pose is fresh where this value changes; without it, where the pose itself does."""
    catches_up: bool = False
    """Whether poses are stamped when they arrive and queue up behind a slow one, as those of lidar matching do.

    Then poses after a hole in their stream are later than usual, for about as long as the hole, and are left out.
    """

    @model_validator(mode="after")
    def _one_attitude(self) -> PoseTable:
        given = [name for name, _ in _given(self)]
        quaternion = [name for name in ("qw", "qx", "qy", "qz") if name in given]
        if quaternion and len(quaternion) < 4:
            raise ValueError(f"has {', '.join(quaternion)}; a quaternion needs all of qw, qx, qy, qz")
        if quaternion and any(name in given for name in ("roll", "pitch", "yaw", "heading")):
            raise ValueError("has both a quaternion and roll, pitch or yaw; give one")
        if "yaw" in given and "heading" in given:
            raise ValueError("has both yaw and heading; give one")
        if not quaternion and "yaw" not in given and "heading" not in given:
            gps = "; a single GPS antenna measures none: take a compass, two antennas or the orientation of an IMU"
            raise ValueError(f"needs yaw, heading or a quaternion qw, qx, qy, qz{gps if self.is_gps else ''}")
        self._one_place(given)
        if self.increments and (self.is_gps or not {"x", "y", "yaw"} <= set(given)):
            raise ValueError("increments are those of x, y and yaw, in axes of the sensor; give these")
        if self.increments and (other := [name for name in ("z", "roll", "pitch") if name in given]):
            raise ValueError(f"has increments and {', '.join(other)}; increments are of x, y and yaw alone")
        for name, signal in _given(self):
            if signal.lag or signal.kind:
                raise ValueError(f"{name}: lag and kind are not for poses; the lag belongs to [sensor]")
        return self

    def _one_place(self, given: list[str]) -> None:
        wanted = ("latitude", "longitude") if self.is_gps else ("x", "y")
        if missing := [name for name in wanted if name not in given]:
            raise ValueError(f"needs {' and '.join(missing)}")
        if both := [name for name in ("x", "y", "z") if self.is_gps and name in given]:
            raise ValueError(f"has both latitude and {', '.join(both)}; give one")
        if "altitude" in given and not self.is_gps:
            raise ValueError("altitude belongs to latitude and longitude; x and y have z")
        if self.datum is not None and not (self.is_gps and abs(self.datum[0]) <= 90.0 and abs(self.datum[1]) <= 360.0):
            raise ValueError("datum is the latitude and longitude [deg] and height [m] of the origin of a GPS log")

    @property
    def is_gps(self) -> bool:
        """Whether positions are latitude and longitude."""
        return self.latitude is not None or self.longitude is not None


class SensorTable(Table):
    """Mounting, lag and noise of the pose sensor; the fields of `grouser.logs.Sensor`."""

    x: Finite = 0.0
    y: Finite = 0.0
    z: Finite = 0.0
    yaw: Finite = 0.0
    lag: Seconds = 0.0
    position_noise: Positive = 0.01
    yaw_noise: Positive = 0.005
    attitude_noise: Positive = 0.005
    time_noise: NotNegative = 0.0
    lag_spread: NotNegative = 0.0


class Segments(Table):
    """Where unbroken stretches end."""

    column: Source | None = None
    """A new value begins a new segment."""
    longest_gap: Positive | None = None
    """[s]; a longer hole begins a new segment. Default 5 median periods, at least 0.25 s."""


class Outage(Table):
    """A time in which a signal is known to be wrong."""

    start: Finite = Field(alias="from")
    stop: Finite = Field(alias="to")
    signal: str = "all"
    """A joint, or all, rates, angles, attitude, gyro, acceleration, commands, currents, efforts, pose."""

    @model_validator(mode="after")
    def _forward(self) -> Outage:
        if not self.start < self.stop:
            raise ValueError(f"from {self.start:g} must come before to {self.stop:g}")
        return self


class Limits(Table):
    """What is possible; beyond it a sample is wrong."""

    joint_rate: Positive = 1e5
    """Fastest a joint turns [rad/s] or slides [m/s]; faster samples are rejected."""
    body_speed: Positive = 30.0
    """Fastest the body moves [m/s]; a pose farther from the last one is rejected, or begins a new segment."""
    check_units: bool = True
    """Whether a log is refused whose units, signs or sides contradict each other; false: it is used as it is."""


class Manifest(Table, BaseModel):
    """A manifest, `schema = "grouser/log@1"`."""

    vehicle: str | None = None
    description: str = ""
    csv: Csv = Csv()
    time: Time = Time()
    rates: dict[str, Source] = {}
    angles: dict[str, Source] = {}
    commands: dict[str, Source] = {}
    currents: dict[str, Source] = {}
    efforts: dict[str, Source] = {}
    body_command: BodyCommand | None = None
    attitude: Attitude | None = None
    gyro: Axes | None = None
    acceleration: Axes | None = None
    pose: PoseTable | None = None
    sensor: SensorTable = SensorTable()
    segments: Segments = Segments()
    outages: list[Outage] = []
    labels: dict[str, Source] = {}
    limits: Limits = Limits()
    robot: RobotTable = RobotTable()

    file: str = "the manifest"
    """Name for messages; set by `load_manifest`."""

    @property
    def pose_use(self) -> str:
        """What the poses are for the chain on board: "reference", "gps", "pose" or "relative"."""
        is_gps = self.pose is not None and self.pose.is_gps
        return self.robot.pose or ("gps" if is_gps else "reference")

    def mounting(self) -> Sensor:
        """The pose sensor."""
        return Sensor(**self.sensor.model_dump())

    def signals(self) -> dict[str, Signal]:
        """Every signal but those of the pose, by key: "rates.FL", "attitude.roll", "segments.column"."""
        tables = (
            "rates",
            "angles",
            "commands",
            "currents",
            "efforts",
            "labels",
            "attitude",
            "gyro",
            "acceleration",
            "body_command",
            "segments",
        )
        return {f"{table}.{name}": one for table in tables for name, one in _given(getattr(self, table))}

    def pose_signals(self) -> dict[str, Signal]:
        """The signals of the pose, by key: "pose.x", "pose.fresh"."""
        return {f"pose.{name}": signal for name, signal in _given(self.pose)}


def _given(table: Any) -> list[tuple[str, Signal]]:
    """The signals of a table, by name."""
    pairs = table.items() if isinstance(table, dict) else table or ()
    return [(name, signal) for name, signal in pairs if isinstance(signal, Signal)]


HOMES: dict[str, type[BaseModel]] = {
    "csv": Csv, "time": Time, "attitude": Attitude, "gyro": Axes, "acceleration": Axes, "pose": PoseTable,
    "body_command": BodyCommand, "sensor": SensorTable, "segments": Segments, "outages": Outage, "limits": Limits,
    **robot_table.TABLES,
}  # fmt: skip
"""The tables with fixed fields; the others go by joint or label."""


def load_manifest(source: str | os.PathLike[str] | Mapping[str, Any] | Manifest) -> Manifest:
    """The manifest in a TOML file, or made from its tables; every fault is a `LogError` that names the place."""
    if isinstance(source, Manifest):
        return source
    if isinstance(source, Mapping):
        tables, file = dict(source), "the manifest"
        check_schema(tables.pop("schema", SCHEMA), file, SCHEMA, LogError)
    else:
        tables, file = read_toml(source, SCHEMA, LogError, limit=MAX_BYTES), Path(source).name
    if "file" in tables:
        raise LogError(f"{file}, field file: {_unknown('file', ())}")
    try:
        manifest = Manifest.model_validate({**tables, "file": file})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise LogError(f"{file}, {_place(first['loc'])}: {_sentence(first)}") from None
    except (OverflowError, RecursionError, TypeError) as error:
        raise LogError(f"{file}: cannot be read ({error!s:.200})") from None
    if not (manifest.rates or manifest.commands or manifest.body_command):
        raise LogError(f'{file}, table [rates]: is missing or empty; it says which column is which joint: FL = "wl"')
    _check_signals(manifest)
    name = manifest.vehicle
    if not isinstance(source, Mapping) and name is not None and name.lower().endswith((".toml", ".urdf")):
        return manifest.model_copy(update={"vehicle": str((Path(source).parent / name).absolute())})
    return manifest


def _check_signals(manifest: Manifest) -> None:
    """Refuses a unit that a signal cannot have, or a kind where there is none."""
    for key, signal in {**manifest.signals(), **manifest.pose_signals()}.items():
        table, name = key.split(".", 1)
        where = f"{manifest.file}, table [{table}], {name}"
        known = signal.units(key)
        if signal.unit is not None and signal.unit not in known:
            raise LogError(f"{where}, field unit: {signal.unit!r:.40} is not one of {', '.join(known)}")
        if signal.kind is not None and table not in ("rates", "commands"):
            raise LogError(f"{where}, field kind: only a rate or a command has a kind")
        if signal.scale == 0.0:
            raise LogError(f"{where}, field scale: must not be zero")
        if table == "segments" and signal.lag:
            raise LogError(f"{where}, field lag: a segment's number has no lag")


def _place(loc: tuple[int | str, ...]) -> str:
    parts = [str(part)[:60] if isinstance(part, str) else str(part + 1) for part in loc]
    # The branches of a union are part of pydantic's place but not of the file.
    parts = [part for part in parts if part not in ("str", "int", "constrained-float", "list[constrained-float]")]
    if len(parts) <= 1:
        is_table = bool(parts) and parts[0] in HOMES
        return (f"table [{parts[0]}]" if is_table else f"field {parts[0]}") if parts else "the file"
    return f"table [{parts[0]}], {', field '.join(parts[1:])}"


def _sentence(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return _unknown(str(error["loc"][-1]), error["loc"])
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ")[:300]
    return f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {error['input']!r:.60}"


def _unknown(given: str, loc: tuple[int | str, ...]) -> str:
    """The message about a field that does not exist."""
    model: type[BaseModel] = Manifest if len(loc) <= 1 else Signal
    if len(loc) == 2 or (loc and loc[0] == "outages"):
        model = HOMES.get(str(loc[0]), Signal)
    elif loc and loc[0] == "robot":
        model = HOMES.get(".".join(map(str, loc[:-1])), Signal)
    names = [info.alias or name for name, info in model.model_fields.items() if name != "file"]
    return f"is not a field Grouser knows; {nearest(given, names)}fields here are {', '.join(names)}"
