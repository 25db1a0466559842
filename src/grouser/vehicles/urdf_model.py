"""The links and joints of a URDF file, as they stand in it. Imported only when a URDF is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from grouser.checks import listed
from grouser.errors import VehicleError
from grouser.files import read_limited
from grouser.vehicles.rows import checked
from grouser.vehicles.safe_xml import parse_xml
from grouser.vehicles.urdf_numbers import floats, origin
from grouser.vehicles.urdf_visual import LinkVisual, read_visuals

Array = NDArray[np.float64]
MAX_BYTES = 4_000_000
MAX_DEPTH = 50
MAX_ELEMENTS = 50_000
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
class Collision:
    """A collision shape at R = R_link_shape, p [m] of its link."""

    R: Array
    p: Array
    shape: dict[str, Any]
    """Fields of a `Hull`; of a mesh `file` as the URDF names it, and `scale`."""


@dataclass(frozen=True)
class Joint:
    """Holds link `child` at R, p [m] of link `parent`, free along or about the unit vector `axis`.

    A fixed joint keeps the axis that the URDF gives it, or has zeros.
    """

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
    links: dict[str, Inertial | None]
    joints: list[Joint]
    collisions: dict[str, list[Collision]]
    """Of each link."""
    visuals: dict[str, list[LinkVisual]]
    """Of each link."""
    xml: Element = field(default_factory=lambda: Element("robot"), repr=False, compare=False)
    """The whole file, for what else it says."""


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot of a URDF file; every fault is a `VehicleError` that names file and element."""
    file = Path(path).name
    data = read_limited(path, MAX_BYTES, VehicleError)
    if Path(path).suffix.lower() == ".xacro":
        from grouser.vehicles.urdf_xacro import expanded

        data = expanded(Path(path), MAX_BYTES)
    try:
        root = parse_xml(data, "URDF", most_elements=MAX_ELEMENTS, most_depth=MAX_DEPTH, prefixes=True)
    except VehicleError as error:
        raise VehicleError(f"{file}: {error}") from None
    try:
        return _robot(root)
    except VehicleError as error:
        raise VehicleError(f"{file}, {error}") from None


def _robot(element: Element) -> Robot:
    if element.tag != "robot":
        raise VehicleError(f"element <{element.tag:.60}>: a URDF begins with <robot>")
    if any(child.tag.startswith("xacro:") for child in element):
        raise VehicleError(
            "element <robot>: this is xacro, not URDF; call the file robot.urdf.xacro to have it expanded, or expand it"
            " where ROS is installed: xacro robot.xacro > robot.urdf"
        )
    links: dict[str, Inertial | None] = {}
    collisions: dict[str, list[Collision]] = {}
    for child in element.findall("link"):
        name = checked.name(child.get("name", ""), "element <link>")
        if name in links:
            raise VehicleError(f"link '{name}': two links have this name, names must differ")
        links[name] = _inertial(child.find("inertial"), f"link '{name}', element <inertial>")
        where = f"link '{name}', element <collision>"
        shapes = (shape_of(one, where) for one in child.findall("collision"))
        collisions[name] = [one for one in shapes if one is not None]
    if not 0 < len(links) <= MAX_LINKS:
        raise VehicleError(f"element <robot>: has {len(links)} links, 1 to {MAX_LINKS} are accepted")
    joints: dict[str, Joint] = {}
    for child in element.findall("joint"):
        joint = _joint(child)
        if joint.name in joints:
            raise VehicleError(f"joint '{joint.name}': two joints have this name, names must differ")
        joints[joint.name] = joint
    _check_mimics(list(joints.values()))
    root = _root(list(links), joints.values())
    name = checked.name(element.get("name", "robot"), "element <robot>")
    return Robot(name, root, links, list(joints.values()), collisions, read_visuals(element), element)


def _root(links: list[str], joints: Iterable[Joint]) -> str:
    """The link that is the child of no joint, from which the joints lead to all others."""
    held_by: dict[str, Joint] = {}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise VehicleError(
                    f"joint '{joint.name}', field {end}: '{link:.60}' is not a link; links are {listed(links)}"
                )
        if joint.child in held_by:
            raise VehicleError(
                f"link '{joint.child}': is the child of joints '{held_by[joint.child].name}' and '{joint.name}',"
                " a link may be the child of one joint; close loops with a coupling"
            )
        held_by[joint.child] = joint
    roots = [link for link in links if link not in held_by]
    if len(roots) > 1:
        raise VehicleError(
            f"links {listed(roots)}: are the child of no joint, only the body may be; join the others to it"
        )
    reached = set(roots)
    while new := {link for link, joint in held_by.items() if joint.parent in reached} - reached:
        reached |= new
    if len(reached) < len(links):
        cycle = listed(link for link in links if link not in reached)
        root = f"'{roots[0]}'" if roots else "a link that is the child of no joint"
        raise VehicleError(f"links {cycle}: their joints form a cycle, following parents must lead to {root}")
    return roots[0]


def _check_mimics(joints: list[Joint]) -> None:
    moving = [joint.name for joint in joints if joint.moves]
    for joint in joints:
        if joint.mimic is not None and joint.moves and (joint.mimic[0] not in moving or joint.mimic[0] == joint.name):
            raise VehicleError(
                f"joint '{joint.name}', element <mimic>: '{joint.mimic[0]:.60}' is not another moving joint;"
                f" those are {listed(name for name in moving if name != joint.name)}"
            )


def _inertial(element: Element | None, where: str) -> Inertial | None:
    if element is None:
        return None
    R, p = origin(element, where)
    mass, inertia = element.find("mass"), element.find("inertia")
    if mass is None:
        raise VehicleError(f"{where}: has no <mass value=…/>")
    matrix = np.zeros((3, 3))
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        key = f"i{'xyz'[i]}{'xyz'[j]}"
        given = "0" if inertia is None else inertia.get(key, "0")
        matrix[i, j] = matrix[j, i] = floats(given, 1, f"{where}, field {key}")[0]
    kilograms = floats(mass.get("value", ""), 1, f"{where}, field mass")[0]
    return Inertial(checked.not_negative(kilograms, f"{where}, field mass"), R, p, matrix)


def shape_of(element: Element, where: str) -> Collision | None:
    """The shape of a <collision>; None if it has none that URDF knows."""
    R, p = origin(element, where)
    geometry = element.find("geometry")
    shapes = [] if geometry is None else [one for one in geometry if one.tag in ("box", "sphere", "cylinder", "mesh")]
    if not shapes:
        return None
    one = shapes[0]
    shape: dict[str, Any] = {"shape": one.tag}
    if one.tag == "mesh":
        scale = floats(one.get("scale", "1 1 1"), 3, f"{where}, field scale")
        return Collision(R, p, {"shape": "mesh", "file": one.get("filename", ""), "scale": scale})
    if one.tag == "box":
        shape["size"] = floats(one.get("size", ""), 3, f"{where}, field size")
    else:
        for name in ("radius", "length") if one.tag == "cylinder" else ("radius",):
            shape[name] = floats(one.get(name, ""), 1, f"{where}, field {name}")[0]
    return Collision(R, p, shape)


def _joint(element: Element) -> Joint:
    name = checked.name(element.get("name", ""), "element <joint>")
    where = f"joint '{name}'"
    kind = element.get("type", "")
    if kind not in (*MOVING, "fixed"):
        raise VehicleError(f"{where}, field type: '{kind:.60}' cannot be used, use fixed, {', '.join(MOVING)}")
    R, p = origin(element, where)
    given, default = element.find("axis"), "0 0 0" if kind == "fixed" else "1 0 0"
    axis = np.array(floats(default if given is None else given.get("xyz", default), 3, f"{where}, field axis"))
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        if kind != "fixed":
            raise VehicleError(f"{where}, field axis: is zero, it must point along the joint")
        axis, length = np.zeros(3), 1.0
    mimic = element.find("mimic")
    ends = _end(element, "parent", where), _end(element, "child", where)
    if mimic is None:
        return Joint(name, kind, *ends, R, p, axis / length, None)
    where = f"{where}, element <mimic>"
    multiplier = floats(mimic.get("multiplier", "1"), 1, f"{where}, field multiplier")[0]
    offset = floats(mimic.get("offset", "0"), 1, f"{where}, field offset")[0]
    return Joint(
        name, kind, *ends, R, p, axis / length, (checked.name(mimic.get("joint", ""), where), multiplier, offset)
    )


def _end(element: Element, end: str, where: str) -> str:
    found = element.find(end)
    if found is None or not found.get("link"):
        raise VehicleError(f"{where}: has no <{end} link=…/>")
    return found.get("link", "")
