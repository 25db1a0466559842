"""Vehicles from URDF, with a side file for what URDF cannot say.

`robot.urdf` goes with `robot.grouser.toml` (schema "grouser/urdf@1"), which names the wheels and their
radii, the actuated joints, couplings and steering. The root link becomes the body and keeps its name; every
moving joint becomes a frame with the *joint's* name, and a frame's displacement is the URDF joint's, sign
included. Fixed joints vanish: what hangs from them is added to the mass of the frame it moves with. A joint
whose axis is not +x, +y or +z gets a frame turned so that it is; a wheel's axis becomes +y of its frame, that of
an upright hinge ±z, whatever frame it stands in. The side file may free fixed joints and lock others. So
a wheel whose URDF axis points right has a frame with y to the right: a positive rate drives it backward, as
in the URDF. Collision shapes of links that do not move with a wheel become the hull, unless the side file says
`hull = false`. Visuals become those of the frames that their links move with.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.errors import VehicleError, prefixed
from grouser.files import as_path
from grouser.vehicles.hull import Hull, hull_of_mesh, thinned
from grouser.vehicles.mesh_path import Packages, find_mesh, found_mesh
from grouser.vehicles.rows import Coupling, Frame
from grouser.vehicles.urdf_model import Joint, LinkShape, Robot, read_robot
from grouser.vehicles.urdf_side import SideFile, Wheel, body_axes, changed, parse_side, read_side, side_path
from grouser.vehicles.vehicle import Vehicle
from grouser.vehicles.visual import Visual

Array = NDArray[np.float64]
UPRIGHT = 0.98
"""Cosine of the largest tilt of a hinge, 11°, that is taken for one about the vertical."""


@dataclass
class Part:
    """A frame in the making: its pose in the parent frame and the mass gathered so far."""

    name: str
    parent: str | None
    joint: str | None
    R: Array
    p: Array
    pieces: list[tuple[float, Array, Array]] = field(default_factory=list)  # mass, centre, inertia about it; frame axes
    shapes: list[LinkShape] = field(default_factory=list)  # in the frame's axes, as the visuals
    visuals: list[LinkShape] = field(default_factory=list)


def read_urdf(
    path: str | os.PathLike[str], side_file: str | os.PathLike[str] | None = None, *, packages: Packages = ()
) -> Vehicle:
    """The vehicle in a URDF and its side file (default: `robot.grouser.toml` in the folder of `robot.urdf`).

    Without a side file, one is drafted if the URDF says enough, with a warning; else it is refused.

    packages: where meshes of package://NAME/… are, besides the folders above the URDF and those that the environment
        names (GROUSER_MESH_PATH, ROS_PACKAGE_PATH, AMENT_PREFIX_PATH): {name: folder}, or folders that hold packages.
    """
    path = as_path(path, VehicleError)
    robot = read_robot(path)
    place = side_path(path) if side_file is None else as_path(side_file, VehicleError)
    if side_file is None and not place.exists():
        return vehicle_of(robot, _drafted(robot, path, place, packages), path, packages)
    return vehicle_of(robot, read_side(place), path, packages)


def _drafted(robot: Robot, path: Path, place: Path, packages: Packages) -> SideFile:
    """The side file that Grouser would draft, if nothing in it is left open."""
    from grouser.vehicles.urdf_draft import draft

    made = draft(robot, path, packages)
    how = f"grouser check {path} --write {place}"
    if made.missing:
        raise VehicleError(
            f"{path.name}: needs {place.name} in the same folder to name wheels and motors: {made.missing[0]};"
            f" a draft of it: {how}"
        )
    warnings.warn(f"{path.name} has no {place.name}; a draft of it is used: {made.said}; see: {how}", stacklevel=4)
    return parse_side(made.text, place.name)


def vehicle_of(robot: Robot, side: SideFile, path: Path, packages: Packages = ()) -> Vehicle:
    """The vehicle of a robot read from a path, with a side file."""
    file = path.name
    robot = changed(robot, side, file)
    wheels = side.wheel_of
    with prefixed(f"{file}, ", VehicleError):
        with np.errstate(all="ignore"):  # what overflows is refused as not finite by Frame
            parts = _parts(robot, side)
            frames = tuple(_frame(part, wheels.get(part.name), part.name in side.actuated) for part in parts)
        return Vehicle(
            name=robot.name,
            frames=(*frames, *chain.from_iterable(track.frames for track in side.tracks)),
            couplings=(*_mimics(robot), *side.couplings),
            steering=side.steering,
            hull=_hull([part for part in parts if part.name not in wheels], side.hull, path, packages),
            visuals=_visuals(parts, path, packages),
            drive_reference=side.drive_reference,
            source=side.source or file,
            description=side.description,
        )


def _parts(robot: Robot, side: SideFile) -> list[Part]:
    wheels, steered = side.wheel_of, [one.joint for one in side.steering]
    children: dict[str, list[Joint]] = {link: [] for link in robot.links}
    for joint in robot.joints:
        children[joint.parent].append(joint)
    body = Part(robot.root, None, None, np.eye(3), np.zeros(3))
    parts = [body]
    R_body_root = body_axes(side.forward)
    # Each entry: a link, the part it moves with, the link's pose R_part_link, p_part_link, and R_body_part.
    waiting: list[tuple[str, Part, Array, Array, Array]] = [(robot.root, body, R_body_root, np.zeros(3), np.eye(3))]
    while waiting:
        link, part, R_part_link, p_part_link, R_body_part = waiting.pop()
        inertial = robot.links[link]
        if inertial is not None:
            R = R_part_link @ inertial.R
            part.pieces.append((inertial.mass, p_part_link + R_part_link @ inertial.p, R @ inertial.inertia @ R.T))
        part.shapes += [one.moved(R_part_link, p_part_link) for one in robot.collisions[link]]
        part.visuals += [one.moved(R_part_link, p_part_link) for one in robot.visuals[link]]
        for joint in reversed(children[link]):
            R_part_joint = R_part_link @ joint.R
            p_part_joint = p_part_link + R_part_link @ joint.p
            if not joint.moves:
                waiting.append((joint.child, part, R_part_joint, p_part_joint, R_body_part))
                continue
            wheel = wheels.get(joint.name)
            axis = 1 if wheel else _axis(joint, R_body_part @ R_part_joint, joint.name in steered)
            # Turning about a in joint axes is R_fold · (turning about +x, +y or +z) · R_foldᵀ.
            R_fold = _turn_onto(axis, joint.axis)
            if axis == 2 and joint.kind != "prismatic":
                R_fold = _facing_forward(R_body_part @ R_part_joint, joint.axis)
            kind = ("P" if joint.kind == "prismatic" else "R") + "XYZ"[axis]
            centre = np.zeros(3) if wheel is None else _centre(wheel, joint)
            new = Part(joint.name, part.name, kind, R_part_joint @ R_fold, p_part_joint + R_part_joint @ centre)
            parts.append(new)
            waiting.append((joint.child, new, R_fold.T, -R_fold.T @ centre, R_body_part @ new.R))
    order = {joint.name: i for i, joint in enumerate(robot.joints)}
    return [body, *sorted(parts[1:], key=lambda part: order[part.name])]


def _axis(joint: Joint, R_body_joint: Array, steered: bool) -> int:
    """The axis of its frame that a joint moves along or about: z if it is vertical or steered, else the nearest one."""
    if joint.kind == "prismatic":
        return int(np.argmax(np.abs(joint.axis)))
    vertical = min(abs(float(R_body_joint[2] @ joint.axis)), 1.0)
    if steered and vertical < np.sqrt(0.5):
        tilt = np.degrees(np.arccos(vertical))
        raise VehicleError(
            f"steering of '{joint.name}', field joint: its axis is {tilt:.0f}° from the vertical; a steering joint"
            " turns about z (RZ), so name one that is upright"
        )
    return 2 if steered or vertical > UPRIGHT else int(np.argmax(np.abs(joint.axis)))


def _facing_forward(R_body_joint: Array, axis: Array) -> Array:
    """R_joint_frame of a hinge: z along its axis, up or down as in the URDF, x as far forward as it can be."""
    z = R_body_joint @ axis
    x = np.array([1.0, 0.0, 0.0]) - z[0] * z
    x /= np.linalg.norm(x)
    R: Array = R_body_joint.T @ np.column_stack([x, np.cross(z, x), z])
    return R


def _centre(wheel: Wheel, joint: Joint) -> Array:
    """Where the centre of a wheel stands from its joint [m], joint axes; on the axle, but for what slides."""
    centre = np.array(wheel.centre)
    along = float(centre @ joint.axis) * joint.axis
    off = float(np.linalg.norm(centre - along))
    if wheel.slides is None and off > 1e-3 + 0.02 * float(np.linalg.norm(centre)):
        raise VehicleError(
            f"wheel '{joint.name}', field centre: lies {off:.3g} m off the axle, which no round wheel does; it may be"
            " off along the axle only"
        )
    return centre if wheel.slides is not None else along


def _turn_onto(axis: int, target: Array) -> Array:
    """A rotation that takes the unit vector along `axis` to the unit vector `target`."""
    start, flip = np.eye(3)[axis], np.eye(3)
    if target[axis] < 0.0:
        # First a half turn about another axis, z where possible: 1 + cosine below would lose its digits.
        about = min((k for k in (2, 0, 1) if k != axis), key=lambda k: abs(target[k]))
        flip = np.diag([1.0 if k == about else -1.0 for k in range(3)])
        start = -start
    K = rotation.skew(np.cross(start, target))
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
    names = ("radius", "width", "tyre_radius", "rollers", "slides", "turns_with")
    size = {} if wheel is None else {name: getattr(wheel, name) for name in names}
    return Frame(part.name, part.parent, part.joint, actuated, xyz, rpy, mass, com, inertia, **size)


def _hull(parts: list[Part], wanted: bool | None, path: Path, packages: Packages) -> tuple[Hull, ...]:
    """The collision shapes of parts; meshes that cannot be read are left out with a warning, or refused if `wanted`."""
    hull, lost = [], []
    for part in parts if wanted is not False else []:
        for one in part.shapes:
            shape = one.fields
            if shape["shape"] == "mesh":
                try:
                    points = hull_of_mesh(find_mesh(shape["mesh"], path.parent, packages), shape["scale"])
                except VehicleError as error:
                    reason = f"collision mesh of '{part.name}': {error}"
                    if wanted:
                        raise VehicleError(f"{reason}; say hull = false in the side file to do without") from None
                    lost.append(reason)
                    continue
                shape = {"shape": "points", "points": points}
            hull.append(Hull(part.name, xyz=tuple(one.p), rpy=tuple(rotation.to_rpy(one.R)), **shape))
    if lost:
        more = f", and {len(lost) - 1} more that are not read" if len(lost) > 1 else ""
        warnings.warn(f"{path.name}, {lost[0]}{more}; these parts of the hull are left out", stacklevel=3)
    return thinned(hull)


def _visuals(parts: list[Part], path: Path, packages: Packages) -> tuple[Visual, ...]:
    """The visuals of parts; meshes are looked up, not read."""
    made = []
    for part in parts:
        for one in part.visuals:
            fields = dict(one.fields)
            if "mesh" in fields:
                fields["mesh"] = found_mesh(fields["mesh"], path.parent, packages)
            made.append(Visual(part.name, xyz=tuple(one.p), rpy=tuple(rotation.to_rpy(one.R)), **fields))
    return tuple(made)


def _mimics(robot: Robot) -> list[Coupling]:
    """θ_joint − multiplier·θ_other = offset for each joint that mimics another."""
    mimics = [(joint.name, *joint.mimic) for joint in robot.joints if joint.mimic is not None and joint.moves]
    return [Coupling(f"{name} mimics {other}", {name: 1.0, other: -k}, offset) for name, other, k, offset in mimics]
