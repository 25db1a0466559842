"""The side file of a URDF, what a URDF cannot say, and the robot as it changes it: joints freed or locked, masses.

Schema "grouser/urdf@1"; joints go by their URDF names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser import files, rotation
from grouser.checks import listed, set_checked, shown
from grouser.errors import VehicleError
from grouser.vehicles.rows import Coupling, Steering, box_inertia, checked, wheel_inertia
from grouser.vehicles.toml import check_fields, made_rows
from grouser.vehicles.tracks import Track
from grouser.vehicles.urdf_model import Inertial, Joint, Robot

SCHEMA = "grouser/urdf@1"
FORWARD = ("+x", "-x", "+y", "-y")
"""Axes of the root link along which a robot may drive."""
Array = NDArray[np.float64]
Pose = tuple[Array, Array]
"""R_root_link and p_root_link [m]."""


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


def link_poses(robot: Robot) -> dict[str, Pose]:
    """Pose of every link in the root link with all joints at zero."""
    poses: dict[str, Pose] = {robot.root: (np.eye(3), np.zeros(3))}
    joints = list(robot.joints)
    while joints:
        ready = [joint for joint in joints if joint.parent in poses]
        for joint in ready:
            R, p = poses[joint.parent]
            poses[joint.child] = R @ joint.R, p + R @ joint.p
        joints = [joint for joint in joints if joint not in ready]
    return poses


def body_axes(forward: str) -> Array:
    """R_body_root: the body's x along an axis of the root link, z up."""
    sign = -1.0 if forward[0] == "-" else 1.0
    x, z = sign * np.eye(3)["xy".index(forward[1])], np.array([0.0, 0.0, 1.0])
    return np.array([x, np.cross(z, x), z])


def changed(robot: Robot, side: SideFile, file: str) -> Robot:
    """The robot with the fields `free`, `lock` and `masses` of its side file, and a hinge for each castor."""
    _check(robot, side, file)
    joints = {joint.name: joint for joint in robot.joints}
    for free in side.free:
        joints[free.joint] = _freed(joints[free.joint], free.axis, file)
    for name, at in _held(joints, side, file).items():
        joints[name] = _locked(joints[name], at)
    held = replace(robot, joints=list(joints.values()))
    y = body_axes(side.forward)[1]  # the body's y in the axes of the root link
    for wheel in side.wheels:
        joint = joints[wheel.joint]
        if wheel.slides is not None:  # held by its link, whatever its joint: it does not turn
            R, _ = link_poses(held)[joint.child]
            joints[wheel.joint] = replace(joint, kind="continuous", axis=R.T @ y, mimic=None)
    return replace(held, joints=list(joints.values()), links=_weighed(robot, side, file))


def _check(robot: Robot, side: SideFile, file: str) -> None:
    moving = [joint.name for joint in robot.joints if joint.moves]
    fixed = [joint.name for joint in robot.joints if not joint.moves]
    freed = [one.joint for one in side.free]
    check_names(freed, fixed, "free", "fixed joint", file)
    check_names([one.joint for one in side.lock], moving, "lock", "moving joint", file)
    moving = [name for name in (*moving, *freed) if name not in [one.joint for one in side.lock]]
    sliding = [wheel.joint for wheel in side.wheels if wheel.slides is not None]
    for wheel in side.wheels:
        if wheel.joint in fixed and wheel.slides is None and wheel.joint not in freed:
            raise VehicleError(
                f"{file}, side file field wheels: '{wheel.joint}' is not a moving joint but a fixed one; add it to free"
                f", or slides = 0.2 to a castor that slides; moving joints are {listed(moving)}"
            )
    held = [name for name in fixed if name in sliding and name not in freed]
    check_names([one.joint for one in side.wheels], [*moving, *held], "wheels", "moving joint", file)
    check_names(side.actuated, moving, "actuated", "moving joint", file)
    kinds = {joint.name: joint.kind for joint in robot.joints}
    for wheel in side.wheels:
        if kinds[wheel.joint] == "prismatic" and wheel.slides is None:
            raise VehicleError(f"{file}, joint '{wheel.joint}': a wheel turns, so it cannot be prismatic")


def _freed(joint: Joint, axis: Any, file: str) -> Joint:
    if axis is None and not joint.axis.any():
        raise VehicleError(
            f"{file}, side file field free: the URDF gives '{joint.name}' no <axis>; say which:"
            f' {{ joint = "{joint.name}", axis = [0, 1, 0] }}'
        )
    direction = joint.axis if axis is None else np.array(axis) / math.hypot(*axis)
    return replace(joint, kind="revolute", axis=direction)


def _held(joints: dict[str, Joint], side: SideFile, file: str) -> dict[str, float]:
    """Displacement of each locked joint, and of those that mimic one."""
    held = {one.joint: one.at for one in side.lock}
    mimics = {name: joint.mimic for name, joint in joints.items() if joint.mimic is not None and joint.moves}
    for name, (other, _, _) in mimics.items():
        if other == name or other not in joints or not joints[other].moves:
            raise VehicleError(
                f"{file}, joint '{name}': mimics '{other:.60}', which does not move; list that in free too, or leave"
                " both out"
            )
    while following := [name for name, (other, _, _) in mimics.items() if other in held and name not in held]:
        for name in following:
            other, multiplier, offset = mimics[name]
            held[name] = multiplier * held[other] + offset
    return held


def _locked(joint: Joint, at: float) -> Joint:
    if joint.kind == "prismatic":
        return replace(joint, kind="fixed", p=joint.p + joint.R @ (at * joint.axis))
    return replace(joint, kind="fixed", R=joint.R @ rotation.about(joint.axis, at))


def _weighed(robot: Robot, side: SideFile, file: str) -> dict[str, Inertial | None]:
    links = dict(robot.links)
    check_names(list(side.masses), list(links), "masses", "link", file)
    for name, mass in side.masses.items():
        old = links[name]
        if old is not None and old.mass > 0.0:
            links[name] = replace(old, mass=mass, inertia=old.inertia * (mass / old.mass))
            continue
        one = next((shape for shape in robot.collisions[name] if shape.fields["shape"] != "mesh"), None)
        if one is None:
            links[name] = Inertial(mass, np.eye(3), np.zeros(3) if old is None else old.p, np.zeros((3, 3)))
        else:
            links[name] = Inertial(mass, one.R, one.p, np.diag(solid_inertia(one.fields, mass)))
    return links


def solid_inertia(shape: dict[str, Any], mass: float) -> tuple[float, float, float]:
    """Diagonal inertia [kg m²] of a solid box, sphere or cylinder (along z) of a mass [kg]."""
    if shape["shape"] == "box":
        return box_inertia(mass, *shape["size"])
    if shape["shape"] == "sphere":
        return (0.4 * mass * shape["radius"] ** 2,) * 3
    across, along, _ = wheel_inertia(mass, shape["radius"], shape["length"])
    return across, across, along


def check_names(names: Sequence[str], known: Sequence[str], field: str, kind: str, file: str) -> None:
    """Refuses a name of a field of the side file that is none of the known ones, or is listed twice."""
    for i, name in enumerate(names):
        if name not in known:
            raise VehicleError(
                f"{file}, side file field {field}: {name!r:.60} is not a {kind}; those are {listed(known)}"
            )
        if name in names[:i]:
            raise VehicleError(f"{file}, side file field {field}: '{name:.60}' is listed twice, once is enough")
