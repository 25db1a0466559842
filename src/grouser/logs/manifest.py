"""The manifest of a log: which columns or topics are which signals, in which units.

Imported only when a log is read, because pydantic is slow to load.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from grouser.checks import nearest
from grouser.errors import LogError
from grouser.files import check_schema, read_toml
from grouser.logs import robot_table
from grouser.logs.log import JOINTS, Sensor
from grouser.logs.pose_table import PoseTable, SensorTable
from grouser.logs.robot_table import RobotTable
from grouser.logs.signal_table import Finite, Positive, Signal, Source, Table, given

SCHEMA = "grouser/log@1"
ONE_EACH = ("attitude", "gyro", "acceleration", "pose")
"""Tables whose signals are all measured; a wheel's column may serve several joints."""
MAX_BYTES = 200_000


class Csv(Table):
    """Layout of the text."""

    header: bool | Annotated[int, Field(ge=0, le=100)] | Literal["comment"] = True
    """Whether the first line names the columns; or how many lines stand above the numbers; or "comment": the last
    remark above the numbers names them, "# t wl wr"."""
    names_line: Annotated[int, Field(ge=1, le=100)] | None = None
    """Which line of the heading names the columns, counted from 1; default: its last."""
    units_line: Annotated[int, Field(ge=1, le=100)] | None = None
    """Which line of the heading says the units, counted from 1; signals without a unit are converted by it."""
    delimiter: str = ","
    """One character; a blank stands for any white space."""
    decimal: Literal[".", ","] = "."
    """Decimal mark."""
    comment: Annotated[str, Field(min_length=1, max_length=2)] = "#"
    """Beginning of lines that are remarks."""

    @model_validator(mode="after")
    def _one_character(self) -> Csv:
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '\n\r"0123456789+-.eE#':
            raise ValueError(f"the delimiter {self.delimiter!r:.20} must be one character such as , ; or a tab")
        for name in ("names_line", "units_line"):
            if (line := getattr(self, name)) is not None and line > self.lines:
                raise ValueError(f"{name} = {line} lies below the heading of {self.lines} lines (header)")
        if self.units_line is not None and self.units_line == (self.names_line or self.lines):
            raise ValueError(f"units_line = {self.units_line} is the line of the names; give names_line")
        if self.decimal == "," and self.delimiter == ",":
            raise ValueError('decimal = "," needs another delimiter, such as ";"')
        return self

    @property
    def lines(self) -> int:
        """Lines of the heading."""
        return 0 if self.header == "comment" else int(self.header)


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


class Segments(Table):
    """Ends of unbroken segments."""

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
    """Physical limits; a sample beyond them is wrong."""

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
        """Use of the poses by the chain on board: "reference", "gps", "pose" or "relative"."""
        is_gps = self.pose is not None and self.pose.is_gps
        return self.robot.pose or ("gps" if is_gps else "reference")

    def mounting(self) -> Sensor:
        """The pose sensor."""
        return Sensor(**self.sensor.model_dump())

    def signals(self) -> dict[str, Signal]:
        """Every signal but those of the pose, by key: "rates.FL", "attitude.roll", "segments.column"."""
        tables = (*JOINTS, "labels", "attitude", "gyro", "acceleration", "body_command", "segments")
        return {f"{table}.{name}": one for table in tables for name, one in given(getattr(self, table))}

    def pose_signals(self) -> dict[str, Signal]:
        """The signals of the pose, by key: "pose.x", "pose.fresh"."""
        return {f"pose.{name}": signal for name, signal in given(self.pose)}


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
    if not isinstance(source, Mapping) and name is not None and name.lower().endswith((".toml", ".urdf", ".xacro")):
        return manifest.model_copy(update={"vehicle": str((Path(source).parent / name).absolute())})
    return manifest


def _check_signals(manifest: Manifest) -> None:
    """Refuses a unit that a signal cannot have, or a kind where there is none."""
    taken: dict[tuple[str, str], str] = {}
    for key, signal in {**manifest.signals(), **manifest.pose_signals()}.items():
        table, name = key.split(".", 1)
        where = f"{manifest.file}, table [{table}], {name}"
        known = signal.units(key)
        if signal.unit is not None and signal.unit not in known:
            raise LogError(f"{where}, field unit: {signal.unit!r:.40} is not one of {', '.join(known)}")
        if signal.kind is not None and table not in ("rates", "commands"):
            raise LogError(f"{where}, field kind: only a rate or a command has a kind")
        other = taken.setdefault((table, signal.source), name)
        if other != name and table in ONE_EACH:
            raise LogError(f"{where}: is {signal.source}, and so is {other}; name the column or field of each")
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
