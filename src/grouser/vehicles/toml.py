"""Vehicle files: TOML, one row per frame, `schema = "grouser/vehicle@1"`."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from grouser.errors import VehicleError
from grouser.files import write_whole
from grouser.vehicles.coupling import Coupling
from grouser.vehicles.file import as_path, read_limited
from grouser.vehicles.frame import Frame
from grouser.vehicles.steering import Steering
from grouser.vehicles.vehicle import Vehicle

__all__ = ["parse_toml", "read_toml", "to_toml", "write_toml"]

SCHEMA = "grouser/vehicle@1"
MAX_BYTES = 1_000_000
MAX_FRAMES = 500
# tomllib takes quadratic time in the parts of a dotted key; nothing here needs more than a few.
LONG_KEY = re.compile(r"""(?:^|[{,\[])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){8}""", re.MULTILINE)


def read_toml(path: str | os.PathLike[str]) -> Vehicle:
    """The vehicle in a TOML file; every fault is a `VehicleError` that names file, row and field."""
    path = as_path(path)
    return vehicle_of_tables(load_tables(path, SCHEMA), path.name)


def parse_toml(content: str, name: str) -> Vehicle:
    """The vehicle in the text of a TOML file; `name` stands for the file in messages."""
    return vehicle_of_tables(_tables(content, SCHEMA, name), name)


def vehicle_of_tables(data: dict[str, Any], file: str) -> Vehicle:
    """The vehicle in the tables of a TOML file, its schema line taken off."""
    from grouser.vehicles import schema

    check_count(data, file)
    given = schema.validate(schema.VehicleFile, data, file)
    try:
        return Vehicle(
            name=given.name,
            frames=tuple(Frame(**row.model_dump()) for row in given.frames),
            couplings=tuple(Coupling(**row.model_dump()) for row in given.couplings),
            steering=tuple(Steering(**row.model_dump()) for row in given.steering),
            drive_reference=given.drive_reference,  # type: ignore[arg-type]  # checked and made a pair there
            source=given.source,
            description=given.description,
        )
    except VehicleError as error:
        raise VehicleError(f"{file}, {error}") from None


def write_toml(vehicle: Vehicle, path: str | os.PathLike[str]) -> None:
    """Writes the vehicle so that `read_toml` gives an equal one; the file appears whole or not at all."""
    write_whole(path, lambda stream: stream.write(to_toml(vehicle).encode()), VehicleError)


def to_toml(vehicle: Vehicle) -> str:
    """The text of a vehicle file."""
    if not isinstance(vehicle, Vehicle):
        raise VehicleError(f"{vehicle!r:.60} is not a Vehicle; use grouser.vehicle(name)")
    lines = [f'schema = "{SCHEMA}"', f"name = {_text(vehicle.name)}"]
    for field in ("description", "source"):
        if getattr(vehicle, field):
            lines.append(f"{field} = {_text(getattr(vehicle, field))}")
    if vehicle.drive_reference is not None:
        lines.append(f"drive_reference = {_list(vehicle.drive_reference)}")
    lines += _rows("frames", (_frame(frame) for frame in vehicle.frames))
    lines += _rows("couplings", (_coupling(coupling) for coupling in vehicle.couplings))
    lines += _rows("steering", (_steering(steering) for steering in vehicle.steering))
    return "\n".join(lines) + "\n"


def load_tables(path: str | os.PathLike[str], expected: str) -> dict[str, Any]:
    """The tables of a TOML file without its schema line, which must say `expected`."""
    path = as_path(path)
    file = path.name
    data = read_limited(path, MAX_BYTES)
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VehicleError(f"{file}: is not UTF-8 text (byte {error.start})") from None
    return _tables(content, expected, file)


def _tables(content: str, expected: str, file: str) -> dict[str, Any]:
    if LONG_KEY.search(content):
        raise VehicleError(f"{file}: has a dotted key of more than 8 parts, which no vehicle needs")
    try:
        tables = tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else f"{error!s:.200}"
        raise VehicleError(f"{file}: is not TOML: {reason}") from None
    _check_schema(tables.pop("schema", None), expected, file)
    return tables


def check_count(tables: Mapping[str, Any], file: str) -> None:
    """Refuses more rows than any vehicle has, before work is spent on them."""
    for field, rows in tables.items():
        if isinstance(rows, list) and len(rows) > MAX_FRAMES:
            raise VehicleError(f"{file}, field {field}: has {len(rows)} rows, at most {MAX_FRAMES} are accepted")


def _check_schema(given: Any, expected: str, file: str) -> None:
    if given == expected:
        return
    if given is None:
        raise VehicleError(f'{file}, field schema: is missing, the file must begin with schema = "{expected}"')
    kind, version = expected.split("@")
    match = re.fullmatch(rf"{re.escape(kind)}@([1-9][0-9]{{0,8}})", given, re.ASCII) if isinstance(given, str) else None
    if match and int(match[1]) > int(version):
        raise VehicleError(
            f"{file}, field schema: '{given}' was written by a newer Grouser, this one reads up to"
            f" '{expected}'; update Grouser"
        )
    raise VehicleError(f"{file}, field schema: {given!r:.60} is not a schema read here, expected '{expected}'")


def _frame(frame: Frame) -> dict[str, str]:
    row = {"name": _text(frame.name)}
    if frame.parent is not None:
        row["parent"] = _text(frame.parent)
    if frame.joint is not None:
        row["joint"] = _text(frame.joint)
    if frame.actuated:
        row["actuated"] = "true"
    for field in ("xyz", "rpy"):
        if any(getattr(frame, field)):
            row[field] = _list(getattr(frame, field))
    for field in ("radius", "width", "tyre_radius"):
        if getattr(frame, field) is not None:
            row[field] = repr(getattr(frame, field))
    if frame.mass:
        row["mass"] = repr(frame.mass)
    if any(frame.com):
        row["com"] = _list(frame.com)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = frame.inertia_matrix.tolist()
    if xx or yy or zz or xy or xz or yz:
        row["inertia"] = _list([xx, yy, zz, xy, xz, yz] if xy or xz or yz else [xx, yy, zz])
    return row


def _coupling(coupling: Coupling) -> dict[str, str]:
    row = {
        "name": _text(coupling.name),
        "joints": _table({_text(joint): repr(k) for joint, k in coupling.joints.items()}),
    }
    if coupling.value:
        row["value"] = repr(coupling.value)
    for field in ("stiffness", "damping"):
        if getattr(coupling, field) is not None:
            row[field] = repr(getattr(coupling, field))
    return row


def _steering(steering: Steering) -> dict[str, str]:
    row = {"joint": _text(steering.joint), "gain": repr(steering.gain)}
    if math.isfinite(steering.limit):
        row["limit"] = repr(steering.limit)
    return row


def _rows(field: str, rows: Iterable[dict[str, str]]) -> list[str]:
    lines = [f"    {_table(row)}," for row in rows]
    return ["", f"{field} = [", *lines, "]"] if lines else []


def _table(row: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in row.items()) + " }"


def _list(values: Iterable[float]) -> str:
    return "[" + ", ".join(repr(value) for value in values) + "]"


def _text(value: str) -> str:
    # JSON's escapes are TOML's, except that TOML also wants DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
