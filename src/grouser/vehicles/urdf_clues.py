"""Hints in a URDF for its wheels and motors: transmissions, words in names, sizes of round shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from grouser.errors import VehicleError
from grouser.vehicles.urdf_model import Joint, LinkShape, Robot
from grouser.vehicles.urdf_side import Pose, link_poses

Array = NDArray[np.float64]
Mesh = Callable[[str, Sequence[float]], Array]
"""Corners of a mesh file [m], shape (n, 3), by the name in the URDF and its scale; `VehicleError` if it is not read."""

WORDS = {
    "wheel": {"wheel", "wheels", "tire", "tyre"},
    "mecanum": {"mecanum"},
    "omni": {"omni"},
    "castor": {"castor", "caster", "castors", "casters", "ball", "skid", "swivel"},
    "rocker": {"rocker", "bogie", "bogey", "differential", "pivot"},
    "front": {"front", "fl", "fr", "lf", "rf", "fwd"},
    "rear": {"rear", "back", "rl", "rr", "lr", "bl", "br"},
    "left": {"left", "l", "fl", "rl", "lf", "lr", "bl", "ml"},
    "right": {"right", "r", "fr", "rr", "rf", "br", "mr"},
}
DRIVES = ("drive", "ackermann", "steer", "skid")
"""Words in the names of simulator plugins that turn wheels."""
PARALLEL = 0.97
"""Cosine of the largest angle, 14°, between a joint's axis and the axis of a round shape that turns about it."""
CENTRED = 0.1
"""Distance of a round shape from the axis it turns about, as a share of its radius, up to which it is a wheel."""


def means(what: str, *names: str) -> bool:
    """Whether one of the names has a word of a kind: "front" in 'front_left_wheel', 'FL', 'frontLeft' or 'wheel_FL'."""
    for name in names:
        apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
        words = set(re.sub(r"[^A-Za-z]+", " ", apart).lower().split())
        inside = what in ("wheel", "castor", "mecanum", "omni") and any(
            word in name.lower() for word in WORDS[what] - {"ball"}
        )
        if words & WORDS[what] or inside:
            return True
    return False


def motors(xml: Element) -> dict[str, str]:
    """Joints that a <transmission>, <ros2_control> or a plugin of a simulator drives, with the element that says so."""
    found: dict[str, str] = {}
    for plugin in xml.iterfind("gazebo/plugin"):
        name = f"{plugin.get('name', '')} {plugin.get('filename', '')}".lower()
        if any(word in name for word in DRIVES):
            found |= {text: "<plugin>" for one in plugin.iter() for text in (one.text or "").split() if len(one) == 0}
    for joint in xml.iterfind("transmission/joint"):
        found[joint.get("name", "")] = "<transmission>"
    for joint in xml.iterfind("ros2_control/joint"):
        if joint.find("command_interface") is not None:
            found[joint.get("name", "")] = "<ros2_control>"
    return found


@dataclass(frozen=True)
class Size:
    """A round shape about an axis: radius and width [m], its centre in the axes of the root link [m], its origin."""

    radius: float
    width: float | None
    centre: Array
    source: str


@dataclass(frozen=True)
class Mount:
    """A joint with all joints at zero, in the axes of the root link: its pose, axis, and the links that it carries."""

    joint: Joint
    R: Array
    p: Array
    axis: Array
    links: list[str]
    """Links that move with it: its own, and those on fixed joints."""
    beyond: list[str]
    """Joints that move further out."""
    outer: list[str]
    """All joints further out."""
    poses: dict[str, Pose] = field(repr=False)
    """Of all links of the robot."""


def mounts(robot: Robot) -> dict[str, Mount]:
    """Every joint, by name."""
    poses = link_poses(robot)
    held: dict[str, list[Joint]] = {link: [] for link in robot.links}
    for joint in robot.joints:
        held[joint.parent].append(joint)
    found = {}
    for joint in robot.joints:
        R, p = poses[joint.child]
        links, outer, waiting = [joint.child], list[Joint](), [(joint.child, False)]
        while waiting:
            link, moved = waiting.pop()
            for one in held[link]:
                outer.append(one)
                if not (moved or one.moves):
                    links.append(one.child)
                waiting.append((one.child, moved or one.moves))
        beyond = [one.name for one in outer if one.moves]
        found[joint.name] = Mount(joint, R, p, R @ joint.axis, links, beyond, [one.name for one in outer], poses)
    return found


def shapes(robot: Robot, link: str) -> list[tuple[str, LinkShape]]:
    """Collision shapes of a link, then those that are drawn, each with the element it stands in."""
    return [("collision", one) for one in robot.collisions[link]] + [("visual", one) for one in robot.visuals[link]]


def round_size(robot: Robot, mount: Mount, mesh: Mesh) -> Size | None:
    """The largest round shape about a joint's axis that moves with it: of cylinders and spheres, else of meshes."""
    found: dict[tuple[bool, bool], list[Size]] = {}
    for link in mount.links:
        for kind, one in shapes(robot, link):
            shape = one.fields["shape"]
            size = _size(one.moved(*mount.poses[link]), mount, f"{kind} {shape} of '{link}'", mesh)
            if size is not None:
                found.setdefault((shape == "mesh", kind == "visual"), []).append(size)
    return max(found[min(found)], key=lambda size: size.radius) if found else None


def _size(one: LinkShape, mount: Mount, source: str, mesh: Mesh) -> Size | None:
    kind, axis = one.fields["shape"], mount.axis
    if kind == "mesh":
        try:
            points = one.p + mesh(one.fields["mesh"], one.fields["scale"]) @ one.R.T - mount.p
        except VehicleError:
            return None
        along = points @ axis
        radius = float(np.linalg.norm(points - np.outer(along, axis), axis=1).max())
        middle = 0.5 * float(along.min() + along.max())
        return Size(radius, float(np.ptp(along)) or None, mount.p + middle * axis, source)
    if kind == "box" or (kind == "cylinder" and abs(float(one.R[:, 2] @ axis)) < PARALLEL):
        return None
    off = (one.p - mount.p) - float((one.p - mount.p) @ axis) * axis
    if float(np.linalg.norm(off)) > CENTRED * one.fields["radius"]:
        return None
    return Size(one.fields["radius"], one.fields.get("length"), one.p - off, source)


def crossing(robot: Robot, mount: Mount) -> str:
    """The link with a level cylinder that lies across the axis of its joint, so does not roll about it; "" if none."""
    for link in mount.links:
        for _, one in shapes(robot, link):
            along = one.moved(*mount.poses[link]).R[:, 2]
            if one.fields["shape"] == "cylinder" and max(abs(float(along @ mount.axis)), abs(float(along[2]))) < 0.5:
                return link
    return ""


def lowest(one: LinkShape) -> float:
    """Height [m] of the lowest point of a box, cylinder or sphere placed in the root link; meshes: of the origin."""
    shape, height, up = one.fields, float(one.p[2]), one.R[2]
    if shape["shape"] == "box":
        return height - 0.5 * float(np.abs(up) @ np.array(shape["size"]))
    if shape["shape"] == "cylinder":
        upright = min(abs(float(up[2])), 1.0)
        return height - 0.5 * float(shape["length"]) * upright - float(shape["radius"]) * math.sqrt(1.0 - upright**2)
    return height - float(shape.get("radius", 0.0))
