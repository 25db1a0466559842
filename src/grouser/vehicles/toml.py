"""Vehicle files: TOML, one row per frame, `schema = "grouser/vehicle@1"`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from grouser import files
from grouser.checks import shown
from grouser.errors import VehicleError, prefixed
from grouser.vehicles.hull import Hull, hull_of_mesh
from grouser.vehicles.rows import Coupling, Frame, Steering
from grouser.vehicles.vehicle import Vehicle

SCHEMA = "grouser/vehicle@1"
MAX_ROWS = 500
Kind = TypeVar("Kind")


def read_toml(path: str | os.PathLike[str]) -> Vehicle:
    """The vehicle in a TOML file; every fault is a `VehicleError` that names file, row and field."""
    tables, file = files.read_toml(path, SCHEMA, VehicleError), Path(path).name
    return vehicle_of_tables(_with_meshes(tables, Path(path).parent, file), file)


def parse_toml(content: str, name: str) -> Vehicle:
    """The vehicle in the text of a TOML file; `name` stands for the file in messages."""
    return vehicle_of_tables(files.parse_toml(content, name, SCHEMA, VehicleError), name)


def vehicle_of_tables(tables: dict[str, Any], file: str) -> Vehicle:
    """The vehicle in the tables of a TOML file, its schema line taken off; tracks become their wheels."""
    tables = dict(tables)
    rows: dict[str, Any] = {"frames": Frame, "couplings": Coupling, "steering": Steering, "hull": Hull}
    if "visuals" in tables:
        from grouser.vehicles.visual import Visual  # most vehicles have none

        rows["visuals"] = Visual
    made = {field: made_rows(kind, tables.get(field, []), field, file) for field, kind in rows.items()}
    if "tracks" in tables:
        from grouser.vehicles.tracks import Track  # most files have none

        tracks = made_rows(Track, tables.pop("tracks"), "tracks", file)
        made["frames"] += tuple(frame for track in tracks for frame in track.frames)
    check_fields(Vehicle, tables, file)
    with prefixed(f"{file}, ", VehicleError):
        return Vehicle(**{**tables, **made})


def _with_meshes(tables: dict[str, Any], folder: Path, file: str) -> dict[str, Any]:
    """The tables with the points of the mesh in each hull row that names a file, and whole paths of visuals."""
    tables = dict(tables)
    for field, with_mesh in (("hull", _with_points), ("visuals", _with_path)):
        if isinstance(rows := tables.get(field), list):
            tables[field] = [
                with_mesh(row, folder, f"{file}, {field} {i}") if isinstance(row, dict) else row
                for i, row in enumerate(rows, start=1)
            ]
    return tables


def _with_path(row: dict[str, Any], folder: Path, place: str) -> dict[str, Any]:
    """A row of a visual with the whole path of its mesh, which is read when it is drawn."""
    if not isinstance(row.get("mesh"), str):
        return row
    from grouser.vehicles.mesh_path import found_mesh

    return row | {"mesh": found_mesh(row["mesh"], folder)}


def _with_points(row: dict[str, Any], folder: Path, place: str) -> dict[str, Any]:
    """A row of the hull with the points of the mesh that it names."""
    if row.get("shape") != "mesh":
        return row
    others = {name: value for name, value in row.items() if name not in ("shape", "file")}
    if not isinstance(row.get("file"), str):
        raise VehicleError(f"{place}, field file: is missing; name the .stl, .obj, .ply or .dae file of the mesh")
    check_fields(Hull, {"shape": "", **others}, place)
    with prefixed(f"{place}: ", VehicleError):
        return {"shape": "points", **others, "points": hull_of_mesh(folder / row["file"])}


def made_rows(kind: type[Kind], rows: Any, field: str, file: str) -> tuple[Kind, ...]:
    """Objects of a kind from the tables of a field, one each; the kind's own checks apply."""
    if not isinstance(rows, list):
        raise VehicleError(f"{file}, field {field}: {shown(rows)} is not a list of tables")
    if len(rows) > MAX_ROWS:
        raise VehicleError(f"{file}, field {field}: has {len(rows)} rows, at most {MAX_ROWS} are accepted")
    made = []
    for number, row in enumerate(rows, start=1):
        place = f"{file}, {kind.__name__.lower()} {number}"
        if not isinstance(row, dict):
            raise VehicleError(f"{place}: {shown(row)} is not a table")
        name = row.get("name", row.get("joint"))
        check_fields(kind, row, f"{place} {shown(name)}" if isinstance(name, str) else place)
        with prefixed(f"{file}, ", VehicleError):
            made.append(kind(**row))
    return tuple(made)


def check_fields(kind: Any, table: dict[str, Any], place: str) -> None:
    """Refuse a table with a field that a dataclass does not have, or without one that it needs."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for name in table:
        if name not in fields:
            raise VehicleError(f"{place}, field {name!s:.60}: is not a field Grouser knows; check its spelling")
    for name, field in fields.items():
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and name not in table:
            raise VehicleError(f"{place}, field {name}: is missing")


def write_toml(vehicle: Vehicle, path: str | os.PathLike[str]) -> None:
    """Writes the vehicle so that `read_toml` gives an equal one; the file appears whole or not at all."""
    files.write_whole(path, lambda stream: stream.write(to_toml(vehicle).encode()), VehicleError)


def to_toml(vehicle: Vehicle) -> str:
    """The text of a vehicle file."""
    if not isinstance(vehicle, Vehicle):
        raise VehicleError(f"{vehicle!r:.60} is not a Vehicle; use grouser.vehicle(name)")
    lines = [f'schema = "{SCHEMA}"']
    for field in ("name", "description", "source", "drive_reference"):
        if getattr(vehicle, field):
            lines.append(f"{field} = {files.toml_value(getattr(vehicle, field))}")
    for field in ("frames", "couplings", "steering", "hull", "visuals"):
        lines += _rows(field, getattr(vehicle, field))
    return "\n".join(lines) + "\n"


def _rows(field: str, rows: Iterable[Any]) -> list[str]:
    """A row for each object, with the fields that are not as by default."""
    lines = []
    for one in rows:
        row = {
            f.name: value for f in dataclasses.fields(one) if f.compare and (value := getattr(one, f.name)) != f.default
        }
        if isinstance(one, Frame):
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = one.inertia_matrix.tolist()
            row["inertia"] = [xx, yy, zz, xy, xz, yz] if xy or xz or yz else [xx, yy, zz]
            if not any(row["inertia"]):
                del row["inertia"]
            if one.slides is not None:
                del row["joint"]  # it never turns
        lines.append(f"    {files.toml_value(row)},")
    return ["", f"{field} = [", *lines, "]"] if lines else []
