"""Vehicles from URDF, with a side file for what URDF cannot say.

`robot.urdf` goes with `robot.grouser.toml` (schema "grouser/urdf@1"), which names the wheels and their
radii, the actuated joints, couplings and steering. The root link becomes the body and keeps its name; every
moving joint becomes a frame with the *joint's* name, and a frame's displacement is the URDF joint's, sign
included. Fixed joints vanish: what hangs from them is added to the mass of the frame it moves with. A joint
whose axis is not +x, +y or +z gets a frame turned so that it is; a wheel's axis becomes +y of its frame. So
a wheel whose URDF axis points right has a frame with y to the right: a positive rate drives it backward, as
in the URDF. Collision shapes of links that do not move with a wheel become the hull, unless the side file says
`hull = false`.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.checks import listed
from grouser.errors import VehicleError
from grouser.files import as_path, read_toml
from grouser.vehicles.hull import Hull, hull_of_mesh
from grouser.vehicles.rows import Coupling, Frame, Steering, checked
from grouser.vehicles.toml import check_fields, made_rows
from grouser.vehicles.vehicle import Vehicle

if TYPE_CHECKING:
    from grouser.vehicles.urdf_model import Collision, Joint, Robot

SCHEMA = "grouser/urdf@1"
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Wheel:
    """Which URDF joint turns a wheel, and the wheel's size [m], as in `Frame`."""

    joint: str
    radius: Any
    width: Any = None
    tyre_radius: Any = None
    rollers: Any = None


@dataclass(frozen=True)
class SideFile:
    """What a URDF cannot say; joints go by their URDF names."""

    wheels: tuple[Wheel, ...]
    actuated: tuple[str, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    steering: tuple[Steering, ...] = ()
    hull: Any = None
    drive_reference: Any = None
    description: str = ""
    source: str = ""


@dataclass
class Part:
    """A frame in the making: its pose in the parent frame and the mass gathered so far."""

    name: str
    parent: str | None
    joint: str | None
    R: Array
    p: Array
    pieces: list[tuple[float, Array, Array]] = field(default_factory=list)  # mass, centre, inertia about it; frame axes
    shapes: list[tuple[Array, Array, Collision]] = field(default_factory=list)  # R_part_link, p_part_link, shape


def read_urdf(path: str | os.PathLike[str], side_file: str | os.PathLike[str] | None = None) -> Vehicle:
    """The vehicle in a URDF and its side file (default: `robot.grouser.toml` in the folder of `robot.urdf`)."""
    from grouser.vehicles.urdf_model import read_robot

    path = as_path(path, VehicleError)
    file = path.name
    robot = read_robot(path)
    side = _read_side(path, None if side_file is None else as_path(side_file, VehicleError))
    wheels = {wheel.joint: wheel for wheel in side.wheels}
    _check_names(robot, side, file)
    try:
        with np.errstate(all="ignore"):  # what overflows is refused as not finite by Frame
            parts = _parts(robot, wheels)
            frames = tuple(_frame(part, wheels.get(part.name), part.name in side.actuated) for part in parts)
        return Vehicle(
            name=robot.name,
            frames=frames,
            couplings=(*_mimics(robot), *side.couplings),
            steering=side.steering,
            hull=_hull([part for part in parts if part.name not in wheels], side.hull, path),
            drive_reference=side.drive_reference,
            source=side.source or file,
            description=side.description,
        )
    except VehicleError as error:
        raise VehicleError(f"{file}, {error}") from None


def _read_side(path: Path, side_file: Path | None) -> SideFile:
    side_path = path.with_suffix(".grouser.toml") if side_file is None else side_file
    if side_file is None and not side_path.exists():
        raise VehicleError(
            f"{path.name}: needs {side_path.name} in the same folder to name the wheels:"
            f' schema = "{SCHEMA}" and wheels = [{{joint = "…", radius = …}}, …]'
        )
    tables, file = read_toml(side_path, SCHEMA, VehicleError), side_path.name
    check_fields(SideFile, tables, file)
    kinds: dict[str, Any] = {"wheels": Wheel, "couplings": Coupling, "steering": Steering}
    for name, kind in kinds.items():
        tables[name] = made_rows(kind, tables.get(name, []), name, file)
    tables["actuated"] = checked.rows(tables.get("actuated", []), str, f"{file}, field actuated")
    if "hull" in tables:
        checked.flag(tables["hull"], f"{file}, field hull")
    return SideFile(**tables)


def _check_names(robot: Robot, side: SideFile, file: str) -> None:
    moving = [joint.name for joint in robot.joints if joint.moves]
    for what, names in (("wheels", [wheel.joint for wheel in side.wheels]), ("actuated", side.actuated)):
        for i, name in enumerate(names):
            if name not in moving:
                raise VehicleError(
                    f"{file}, side file field {what}: {name!r:.60} is not a moving joint; those are {listed(moving)}"
                )
            if name in names[:i]:
                raise VehicleError(f"{file}, side file field {what}: '{name:.60}' is listed twice, once is enough")
    kinds = {joint.name: joint.kind for joint in robot.joints}
    for wheel in side.wheels:
        if kinds[wheel.joint] == "prismatic":
            raise VehicleError(f"{file}, joint '{wheel.joint}': a wheel turns, so it cannot be prismatic")


def _parts(robot: Robot, wheels: dict[str, Wheel]) -> list[Part]:
    children: dict[str, list[Joint]] = {link: [] for link in robot.links}
    for joint in robot.joints:
        children[joint.parent].append(joint)
    body = Part(robot.root, None, None, np.eye(3), np.zeros(3))
    parts = [body]
    # Each entry: a link, the part it moves with, and the link's pose R_part_link, p_part_link.
    waiting: list[tuple[str, Part, Array, Array]] = [(robot.root, body, np.eye(3), np.zeros(3))]
    while waiting:
        link, part, R_part_link, p_part_link = waiting.pop()
        inertial = robot.links[link]
        if inertial is not None:
            R = R_part_link @ inertial.R
            part.pieces.append((inertial.mass, p_part_link + R_part_link @ inertial.p, R @ inertial.inertia @ R.T))
        part.shapes += [(R_part_link, p_part_link, one) for one in robot.collisions[link]]
        for joint in reversed(children[link]):
            R_part_joint = R_part_link @ joint.R
            p_part_joint = p_part_link + R_part_link @ joint.p
            if not joint.moves:
                waiting.append((joint.child, part, R_part_joint, p_part_joint))
                continue
            axis = 1 if joint.name in wheels else int(np.argmax(np.abs(joint.axis)))
            # Turning about a in joint axes is R_fold · (turning about +x, +y or +z) · R_foldᵀ.
            R_fold = _turn_onto(axis, joint.axis)
            kind = ("P" if joint.kind == "prismatic" else "R") + "XYZ"[axis]
            new = Part(joint.name, part.name, kind, R_part_joint @ R_fold, p_part_joint)
            parts.append(new)
            waiting.append((joint.child, new, R_fold.T, np.zeros(3)))
    order = {joint.name: i for i, joint in enumerate(robot.joints)}
    return [body, *sorted(parts[1:], key=lambda part: order[part.name])]


def _turn_onto(axis: int, target: Array) -> Array:
    """A rotation that takes the unit vector along `axis` to the unit vector `target`."""
    start, flip = np.eye(3)[axis], np.eye(3)
    if target[axis] < 0.0:
        # First a half turn about another axis, z where possible: 1 + cosine below would lose its digits.
        about = min((k for k in (2, 0, 1) if k != axis), key=lambda k: abs(target[k]))
        flip = np.diag([1.0 if k == about else -1.0 for k in range(3)])
        start = -start
    x, y, z = np.cross(start, target)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    R: Array = (np.eye(3) + K + K @ K / (1.0 + start @ target)) @ flip
    return R


def _merged(pieces: list[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """Mass [kg], centre [m] and inertia about that centre [kg m²] of joined pieces (parallel axes)."""
    if len(pieces) == 1:
        return pieces[0]
    mass = sum(piece[0] for piece in pieces)
    centre = sum(((m / mass if mass > 0.0 else 0.0) * c for m, c, _ in pieces), start=np.zeros(3))
    inertia = np.zeros((3, 3))
    for m, c, I in pieces:
        d = c - centre
        inertia += I + m * (float(d @ d) * np.eye(3) - np.outer(d, d))
    return mass, centre, inertia


def _frame(part: Part, wheel: Wheel | None, actuated: bool) -> Frame:
    mass, centre, inertia = _merged(part.pieces)
    xyz, rpy, com = tuple(part.p), tuple(rotation.to_rpy(part.R)), tuple(centre)
    size = {} if wheel is None else {k: getattr(wheel, k) for k in ("radius", "width", "tyre_radius", "rollers")}
    return Frame(part.name, part.parent, part.joint, actuated, xyz, rpy, mass, com, inertia, **size)


def _hull(parts: list[Part], wanted: bool | None, path: Path) -> tuple[Hull, ...]:
    """The collision shapes of parts; a mesh that cannot be read is left out with a warning, or refused if `wanted`."""
    hull = []
    for part in parts if wanted is not False else []:
        for R_part_link, p_part_link, one in part.shapes:
            shape = dict(one.shape)
            if shape["shape"] == "mesh":
                try:
                    points = hull_of_mesh(_mesh_file(shape["file"], path), shape["scale"])
                except VehicleError as error:
                    reason = f"collision mesh of '{part.name}': {error}"
                    if wanted:
                        raise VehicleError(f"{reason}; say hull = false in the side file to do without") from None
                    warnings.warn(f"{path.name}, {reason}; this part of the hull is left out", stacklevel=3)
                    continue
                shape = {"shape": "points", "points": points}
            R, p = R_part_link @ one.R, p_part_link + R_part_link @ one.p
            hull.append(Hull(part.name, xyz=tuple(p), rpy=tuple(rotation.to_rpy(R)), **shape))
    return tuple(hull)


def _mesh_file(name: str, path: Path) -> Path:
    """The file that a URDF names: in its folder, or within the package it names, if that is a folder above the URDF."""
    scheme, _, rest = name.rpartition("://")
    if scheme != "package":
        return path.parent / rest
    package, _, inside = rest.partition("/")
    for folder in path.resolve().parents:
        for root in (folder, folder / package):
            if root.name == package and (root / inside).exists():
                return root / inside
    raise VehicleError(f"'{name:.100}' is not found; the package is to be a folder above the URDF")


def _mimics(robot: Robot) -> list[Coupling]:
    """θ_joint − multiplier·θ_other = offset for each joint that mimics another."""
    mimics = [(joint.name, *joint.mimic) for joint in robot.joints if joint.mimic is not None and joint.moves]
    return [Coupling(f"{name} mimics {other}", {name: 1.0, other: -k}, offset) for name, other, k, offset in mimics]
