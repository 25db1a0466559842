"""The links and joints of a URDF file, as they stand in it. Imported only when a URDF is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.errors import VehicleError
from grouser.vehicles import checked
from grouser.vehicles.xml import read_xml

__all__ = ["Inertial", "Joint", "Link", "Robot", "read_robot"]

Array = NDArray[np.float64]
MAX_LINKS = 500
MOVING = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], its centre p [m] in the link, inertia about it [kg m²] in the axes R = R_link_inertial."""

    mass: float
    R: Array
    p: Array
    inertia: Array


@dataclass(frozen=True)
class Link:
    """A rigid body of the robot."""

    name: str
    inertial: Inertial | None


@dataclass(frozen=True)
class Joint:
    """Holds link `child` at R, p [m] of link `parent`, free along or about the unit vector `axis`."""

    name: str
    kind: str
    parent: str
    child: str
    R: Array
    p: Array
    axis: Array
    mimic: tuple[str, float, float] | None
    """Other joint, multiplier, offset [rad or m]."""

    @property
    def moves(self) -> bool:
        """Whether the joint has a degree of freedom."""
        return self.kind in MOVING


@dataclass(frozen=True)
class Robot:
    """A tree of links: each has one parent joint, except `root`."""

    name: str
    root: str
    links: dict[str, Link]
    joints: list[Joint]


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot of a URDF file; every fault is a `VehicleError` that names file and element."""
    file = Path(path).name
    element = read_xml(path)
    try:
        return _robot(element)
    except VehicleError as error:
        raise VehicleError(f"{file}, {error}") from None


def _robot(element: Element) -> Robot:
    if element.tag != "robot":
        raise VehicleError(f"element <{element.tag:.60}>: a URDF begins with <robot>")
    if any(child.tag.startswith("xacro:") for child in element):
        raise VehicleError("element <robot>: this is xacro, not URDF; expand it first: xacro robot.xacro > robot.urdf")
    links: dict[str, Link] = {}
    for child in element.findall("link"):
        link = _link(child)
        if link.name in links:
            raise VehicleError(f"link '{link.name}': two links have this name, names must differ")
        links[link.name] = link
    if not 0 < len(links) <= MAX_LINKS:
        raise VehicleError(f"element <robot>: has {len(links)} links, 1 to {MAX_LINKS} are accepted")
    joints: list[Joint] = []
    seen: set[str] = set()
    for child in element.findall("joint"):
        joint = _joint(child)
        if joint.name in seen:
            raise VehicleError(f"joint '{joint.name}': two joints have this name, names must differ")
        seen.add(joint.name)
        joints.append(joint)
    root = _root(links, joints)
    _check_mimics(joints)
    return Robot(checked.name(element.get("name", "robot"), "element <robot>"), root, links, joints)


def _root(links: dict[str, Link], joints: list[Joint]) -> str:
    held_by: dict[str, str] = {}
    children: dict[str, list[str]] = {link: [] for link in links}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise VehicleError(
                    f"joint '{joint.name}', field {end}: '{link:.60}' is not a link; links are {checked.listed(links)}"
                )
        if joint.child in held_by:
            raise VehicleError(
                f"link '{joint.child}': is the child of joints '{held_by[joint.child]}' and '{joint.name}',"
                " a link may be the child of one joint; close loops with a coupling"
            )
        held_by[joint.child] = joint.name
        children[joint.parent].append(joint.child)
    roots = [link for link in links if link not in held_by]
    if not roots:
        raise VehicleError("element <robot>: the joints form a cycle, one link must be the child of no joint")
    if len(roots) > 1:
        raise VehicleError(
            f"links {checked.listed(roots)}: are the child of no joint, only the body may be; join the others to it"
        )
    reached, waiting = 0, [roots[0]]
    while waiting:
        reached += 1
        waiting += children[waiting.pop()]
    if reached < len(links):
        raise VehicleError(f"element <robot>: some joints form a cycle away from the root link '{roots[0]}'")
    return roots[0]


def _check_mimics(joints: list[Joint]) -> None:
    moving = [joint.name for joint in joints if joint.moves]
    for joint in joints:
        if joint.mimic is not None and joint.moves and (joint.mimic[0] not in moving or joint.mimic[0] == joint.name):
            raise VehicleError(
                f"joint '{joint.name}', element <mimic>: '{joint.mimic[0]:.60}' is not another moving joint;"
                f" those are {checked.listed(name for name in moving if name != joint.name)}"
            )


def _link(element: Element) -> Link:
    name = checked.name(element.get("name", ""), "element <link>")
    inertial = element.find("inertial")
    return Link(name, None if inertial is None else _inertial(inertial, f"link '{name}', element <inertial>"))


def _inertial(element: Element, where: str) -> Inertial:
    R, p = _origin(element, where)
    mass = element.find("mass")
    if mass is None:
        raise VehicleError(f"{where}: has no <mass value=…/>")
    inertia = element.find("inertia")
    matrix = np.zeros((3, 3))
    if inertia is not None:
        for i, j, key in (
            (0, 0, "ixx"),
            (1, 1, "iyy"),
            (2, 2, "izz"),
            (0, 1, "ixy"),
            (0, 2, "ixz"),
            (1, 2, "iyz"),
        ):
            matrix[i, j] = matrix[j, i] = _floats(inertia.get(key, "0"), 1, f"{where}, field {key}")[0]
    kilograms = checked.not_negative(
        _floats(mass.get("value", ""), 1, f"{where}, field mass")[0], f"{where}, field mass"
    )
    return Inertial(kilograms, R, p, matrix)


def _joint(element: Element) -> Joint:
    name = checked.name(element.get("name", ""), "element <joint>")
    where = f"joint '{name}'"
    kind = element.get("type", "")
    if kind not in (*MOVING, "fixed"):
        raise VehicleError(f"{where}, field type: '{kind:.60}' cannot be used, use fixed, {', '.join(MOVING)}")
    R, p = _origin(element, where)
    axis = np.array([1.0, 0.0, 0.0])
    given = element.find("axis")
    if given is not None and kind != "fixed":
        axis = np.array(_floats(given.get("xyz", "1 0 0"), 3, f"{where}, field axis"))
        length = float(np.linalg.norm(axis))
        if length < 1e-6:
            raise VehicleError(f"{where}, field axis: is zero, it must point along the joint")
        axis = axis / length
    mimic = element.find("mimic")
    return Joint(
        name, kind, _end(element, "parent", where), _end(element, "child", where), R, p, axis,
        None if mimic is None else _mimic(mimic, f"{where}, element <mimic>"),
    )  # fmt: skip


def _mimic(element: Element, where: str) -> tuple[str, float, float]:
    multiplier = _floats(element.get("multiplier", "1"), 1, f"{where}, field multiplier")[0]
    offset = _floats(element.get("offset", "0"), 1, f"{where}, field offset")[0]
    return checked.name(element.get("joint", ""), where), multiplier, offset


def _end(element: Element, end: str, where: str) -> str:
    found = element.find(end)
    if found is None or not found.get("link"):
        raise VehicleError(f"{where}: has no <{end} link=…/>")
    return found.get("link", "")


def _origin(element: Element, where: str) -> tuple[Array, Array]:
    origin = element.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    xyz = _floats(origin.get("xyz", "0 0 0"), 3, f"{where}, field origin xyz")
    rpy = _floats(origin.get("rpy", "0 0 0"), 3, f"{where}, field origin rpy")
    return rotation.from_rpy(*rpy), np.array(xyz)


def _floats(text: str, count: int, where: str) -> list[float]:
    words = text.split()
    if len(words) != count:
        raise VehicleError(f"{where}: '{text:.60}' has {len(words)} numbers, needs {count}")
    values = []
    for word in words:
        try:
            values.append(float(word))
        except ValueError:
            raise VehicleError(f"{where}: '{word:.60}' is not a number") from None
    return [checked.number(value, where) for value in values]
