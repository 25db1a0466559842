"""The side file of a URDF: what a URDF cannot say. Schema "grouser/urdf@1"; joints go by their URDF names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from grouser import files
from grouser.checks import listed, set_checked, shown
from grouser.errors import VehicleError
from grouser.vehicles.rows import Coupling, Steering, checked
from grouser.vehicles.toml import check_fields, made_rows
from grouser.vehicles.tracks import Track

SCHEMA = "grouser/urdf@1"
FORWARD = ("+x", "-x", "+y", "-y")
"""Axes of the root link along which a robot may drive."""
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Wheel:
    """Which URDF joint turns a wheel, or holds a castor that slides, and its size [m], as in `Frame`."""

    joint: str
    radius: Any
    width: Any = None
    tyre_radius: Any = None
    rollers: Any = None
    slides: Any = None
    """Coefficient of friction of a ball or skid that slides and does not roll; its joint may be fixed."""
    turns_with: Any = None
    """Joint of the wheel that turns this one too, by a belt or a track."""
    centre: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of the wheel in the axes of the link that the joint holds [m]; on the axle, but for what slides."""

    def __post_init__(self) -> None:
        set_checked(self, f"wheel '{self.joint!s:.60}', field", checked.numbers, "centre", count=3)


@dataclass(frozen=True)
class Free:
    """A fixed joint that turns on the robot, such as a rocker."""

    joint: str
    axis: Any = None
    """Direction it turns about in the axes of the joint; None: the <axis> of the URDF."""

    def __post_init__(self) -> None:
        where = f"free '{self.joint!s:.60}', field"
        set_checked(self, where, checked.numbers, "axis", count=3)
        if self.axis is not None and math.hypot(*self.axis) < 1e-6:
            raise VehicleError(f"{where} axis: is zero, it must point along the joint")


@dataclass(frozen=True)
class Lock:
    """A moving joint that is held, such as those of an arm or a mast."""

    joint: str
    at: float = 0.0
    """Displacement at which it is held [rad or m]."""

    def __post_init__(self) -> None:
        set_checked(self, f"lock '{self.joint!s:.60}', field", checked.number, "at")


@dataclass(frozen=True)
class SideFile:
    """What a URDF cannot say."""

    wheels: tuple[Wheel, ...] = ()
    actuated: tuple[str, ...] = ()
    free: tuple[Free, ...] = ()
    lock: tuple[Lock, ...] = ()
    forward: str = "+x"
    """Axis of the root link along which the robot drives forward; it becomes the body's x."""
    masses: Mapping[str, float] = field(default_factory=dict)
    """Mass [kg] of links for which the URDF gives none, or a wrong one."""
    couplings: tuple[Coupling, ...] = ()
    steering: tuple[Steering, ...] = ()
    hull: Any = None
    tracks: tuple[Track, ...] = ()
    drive_reference: Any = None
    description: str = ""
    source: str = ""

    @property
    def wheel_of(self) -> dict[str, Wheel]:
        """The wheels by their joints."""
        return {wheel.joint: wheel for wheel in self.wheels}


def side_path(urdf: Path) -> Path:
    """Where the side file of a URDF is looked for: robot.grouser.toml next to robot.urdf or robot.urdf.xacro."""
    stem = urdf.stem
    if urdf.suffix.lower() == ".xacro" and stem.lower().endswith(".urdf"):
        stem = stem[: -len(".urdf")]
    return urdf.with_name(f"{stem}.grouser.toml")


def read_side(path: Path) -> SideFile:
    """The side file at a path."""
    return _side(files.read_toml(path, SCHEMA, VehicleError), path.name)


def parse_side(content: str, name: str) -> SideFile:
    """The text of a side file; `name` stands for the file in messages."""
    return _side(files.parse_toml(content, name, SCHEMA, VehicleError), name)


def _side(tables: dict[str, Any], file: str) -> SideFile:
    check_fields(SideFile, tables, file)
    if "wheels" not in tables and "tracks" not in tables:
        raise VehicleError(f"{file}, field wheels: is missing; name them: wheels = [{{ joint = …, radius = … }}, …]")
    kinds: dict[str, Any] = {"wheels": Wheel, "couplings": Coupling, "steering": Steering, "free": Free, "lock": Lock}
    kinds["tracks"] = Track
    for name, kind in kinds.items():
        rows = tables.get(name, [])
        if kind in (Free, Lock) and isinstance(rows, list):  # a name alone is enough
            rows = [{"joint": row} if isinstance(row, str) else row for row in rows]
        tables[name] = made_rows(kind, rows, name, file)
        for row in tables[name]:
            if not isinstance(getattr(row, "joint", ""), str):
                raise VehicleError(f"{file}, field {name}: {shown(row.joint)} is not the name of a joint")
    tables["actuated"] = checked.rows(tables.get("actuated", []), str, f"{file}, field actuated")
    checked.choice(tables.get("forward", "+x"), f"{file}, field forward", FORWARD)
    masses = tables.get("masses", {})
    if not isinstance(masses, dict):
        raise VehicleError(f"{file}, field masses: {shown(masses)} is not a table of links and masses [kg]")
    tables["masses"] = {link: checked.positive(mass, f"{file}, mass of '{link}'") for link, mass in masses.items()}
    if "hull" in tables:
        checked.flag(tables["hull"], f"{file}, field hull")
    return SideFile(**tables)


def check_names(names: Sequence[str], known: Sequence[str], field: str, kind: str, file: str) -> None:
    """Refuses a name of a field of the side file that is none of the known ones, or is listed twice."""
    for i, name in enumerate(names):
        if name not in known:
            raise VehicleError(
                f"{file}, side file field {field}: {name!r:.60} is not a {kind}; those are {listed(known)}"
            )
        if name in names[:i]:
            raise VehicleError(f"{file}, side file field {field}: '{name:.60}' is listed twice, once is enough")
