"""The links and joints of a URDF file, as they stand in it. Imported only when a URDF is read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.checks import listed
from grouser.errors import VehicleError, prefixed
from grouser.files import read_limited
from grouser.vehicles.rows import checked
from grouser.vehicles.safe_xml import parse_xml

Array = NDArray[np.float64]
MAX_BYTES = 4_000_000
MAX_DEPTH = 50
MAX_ELEMENTS = 50_000
MAX_LINKS = 500
SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}
"""Fields of the shapes that have some."""
MOVING = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], its centre p [m] in the link, inertia about it [kg m²] in the axes R = R_link_inertial."""

    mass: float
    R: Array
    p: Array
    inertia: Array


@dataclass(frozen=True)
class LinkShape:
    """A shape that a link collides with, or looks like, at R = R_link_shape, p [m] of its link."""

    R: Array
    p: Array
    fields: dict[str, Any]
    """Fields of a `Visual`, which but for meshes are those of a `Hull`; a `mesh` is named as in the URDF."""

    def moved(self, R: Array, p: Array) -> LinkShape:
        """The shape in other axes, in which the link has the pose R, p [m]."""
        return replace(self, R=R @ self.R, p=p + R @ self.p)


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
    limits: dict[str, float] = field(default_factory=dict)
    """The numbers of its <limit>: lower, upper [rad or m], velocity [rad/s or m/s]."""

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
    collisions: dict[str, list[LinkShape]]
    """Of each link."""
    visuals: dict[str, list[LinkShape]]
    """Of each link, without those of a shape that URDF does not know, or of no size."""
    xml: Element = field(default_factory=lambda: Element("robot"), repr=False, compare=False)
    """The whole file, for what else it says."""


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot of a URDF file; every fault is a `VehicleError` that names file and element."""
    file = Path(path).name
    data = read_limited(path, MAX_BYTES, VehicleError)
    if Path(path).suffix.lower() == ".xacro":
        from grouser.vehicles.urdf_xacro import expanded

        data = expanded(Path(path), MAX_BYTES)
    with prefixed(f"{file}: ", VehicleError):
        root = parse_xml(data, "URDF", most_elements=MAX_ELEMENTS, most_depth=MAX_DEPTH, prefixes=True)
    with prefixed(f"{file}, ", VehicleError):
        return _robot(root)


def _robot(element: Element) -> Robot:
    if element.tag != "robot":
        raise VehicleError(f"element <{element.tag:.60}>: a URDF begins with <robot>")
    if any(child.tag.startswith("xacro:") for child in element):
        raise VehicleError(
            "element <robot>: this is xacro, not URDF; call the file robot.urdf.xacro to have it expanded, or expand it"
            " where ROS is installed: xacro robot.xacro > robot.urdf"
        )
    # A <material> without a colour of its own is meant by its name.
    materials = [*element.findall("material"), *element.findall("link/visual/material")]
    colours = {one.get("name", ""): found for one in reversed(materials) if (found := _colour(one)) is not None}
    links: dict[str, Inertial | None] = {}
    collisions: dict[str, list[LinkShape]] = {}
    visuals: dict[str, list[LinkShape]] = {}
    for child in element.findall("link"):
        name = checked.name(child.get("name", ""), "element <link>")
        if name in links:
            raise VehicleError(f"link '{name}': two links have this name, names must differ")
        links[name] = _inertial(child.find("inertial"), f"link '{name}', element <inertial>")
        shapes = (_shape(one, f"link '{name}', element <collision>") for one in child.findall("collision"))
        collisions[name] = [one for one in shapes if one is not None]
        shapes = (_visual(one, colours, f"link '{name}', element <visual>") for one in child.findall("visual"))
        visuals[name] = [one for one in shapes if one is not None]
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
    return Robot(name, root, links, list(joints.values()), collisions, visuals, element)


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
    R, p = _origin(element, where)
    mass, inertia = element.find("mass"), element.find("inertia")
    if mass is None:
        raise VehicleError(f"{where}: has no <mass value=…/>")
    matrix = np.zeros((3, 3))
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        key = f"i{'xyz'[i]}{'xyz'[j]}"
        given = "0" if inertia is None else inertia.get(key, "0")
        matrix[i, j] = matrix[j, i] = _floats(given, 1, f"{where}, field {key}")[0]
    kilograms = _floats(mass.get("value", ""), 1, f"{where}, field mass")[0]
    return Inertial(checked.not_negative(kilograms, f"{where}, field mass"), R, p, matrix)


def _shape(element: Element, where: str) -> LinkShape | None:
    """The shape of a <collision> or <visual>; None if it has none that URDF knows."""
    one = next((one for one in element.iterfind("geometry/*") if one.tag in (*SIZES, "mesh")), None)
    if one is None:
        return None
    fields: dict[str, Any] = {"shape": one.tag}
    if one.tag == "mesh":
        scale = _floats(one.get("scale", "1 1 1"), 3, f"{where}, field scale")
        fields |= {"mesh": one.get("filename", ""), "scale": scale}
    for name in SIZES.get(one.tag, ()):
        values = _floats(one.get(name, ""), 3 if name == "size" else 1, f"{where}, field {name}")
        fields[name] = values if name == "size" else values[0]
    return LinkShape(*_origin(element, where), fields)


def _visual(element: Element, colours: dict[str, tuple[float, ...]], where: str) -> LinkShape | None:
    """A shape with its colour."""
    found = _shape(element, where)
    if found is None:
        return None
    fields = found.fields
    if fields.get("mesh") == "":
        raise VehicleError(f"{where}: has a <mesh> without a filename")
    sizes = [fields.get("radius", 1.0), fields.get("length", 1.0), *fields.get("size", ())]
    if min(sizes) <= 0.0 or 0.0 in fields.get("scale", ()):  # a placeholder, which some exporters write
        return None
    material = element.find("material")
    if material is not None:
        fields["color"] = _colour(material) or colours.get(material.get("name", ""))
    return found


def _colour(material: Element) -> tuple[float, ...] | None:
    """Red, green, blue, opacity; None where it has no colour, or one that is none: a picture is not worth a refusal."""
    color = material.find("color")
    try:
        red, green, blue, opacity = (float(word) for word in ("" if color is None else color.get("rgba", "")).split())
    except ValueError:
        return None
    return tuple(np.clip(np.nan_to_num([red, green, blue, opacity]), 0.0, 1.0).tolist())


def _joint(element: Element) -> Joint:
    name = checked.name(element.get("name", ""), "element <joint>")
    where = f"joint '{name}'"
    kind = element.get("type", "")
    if kind not in (*MOVING, "fixed"):
        raise VehicleError(f"{where}, field type: '{kind:.60}' cannot be used, use fixed, {', '.join(MOVING)}")
    R, p = _origin(element, where)
    given, default = element.find("axis"), "0 0 0" if kind == "fixed" else "1 0 0"
    axis = np.array(_floats(default if given is None else given.get("xyz", default), 3, f"{where}, field axis"))
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        if kind != "fixed":
            raise VehicleError(f"{where}, field axis: is zero, it must point along the joint")
        axis, length = np.zeros(3), 1.0
    ends = _end(element, "parent", where), _end(element, "child", where)
    return Joint(name, kind, *ends, R, p, axis / length, _mimic(element.find("mimic"), where), _limits(element))


def _mimic(element: Element | None, where: str) -> tuple[str, float, float] | None:
    if element is None:
        return None
    where = f"{where}, element <mimic>"
    multiplier = _floats(element.get("multiplier", "1"), 1, f"{where}, field multiplier")[0]
    offset = _floats(element.get("offset", "0"), 1, f"{where}, field offset")[0]
    return checked.name(element.get("joint", ""), where), multiplier, offset


def _limits(joint: Element) -> dict[str, float]:
    """What can be read of a <limit>: it only helps a draft."""
    limits = {}
    for name in ("lower", "upper", "velocity"):
        with suppress(ValueError, AttributeError):
            limits[name] = float(joint.find("limit").get(name, "nan"))  # type: ignore[union-attr]
    return {name: value for name, value in limits.items() if math.isfinite(value)}


def _end(element: Element, end: str, where: str) -> str:
    found = element.find(end)
    if found is None or not found.get("link"):
        raise VehicleError(f"{where}: has no <{end} link=…/>")
    return found.get("link", "")


def _origin(element: Element, where: str) -> tuple[Array, Array]:
    """R and p [m] of the <origin> of an element in its parent; where: the element, for messages."""
    found = element.find("origin")
    if found is None:
        return np.eye(3), np.zeros(3)
    xyz = _floats(found.get("xyz", "0 0 0"), 3, f"{where}, field origin xyz")
    rpy = _floats(found.get("rpy", "0 0 0"), 3, f"{where}, field origin rpy")
    return rotation.from_rpy(*rpy), np.array(xyz)


def _floats(text: str, count: int, where: str) -> list[float]:
    """As many finite numbers as there must be."""
    words = text.split()
    if len(words) != count:
        raise VehicleError(f"{where}: '{text:.60}' has {len(words)} numbers, needs {count}")
    try:
        return [checked.number(float(word), where) for word in words]
    except ValueError:
        raise VehicleError(f"{where}: '{text:.60}' is not numbers") from None
