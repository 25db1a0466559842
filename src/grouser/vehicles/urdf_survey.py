"""The role of each joint of a URDF, from geometry, motors and names: wheels, castors, steering, arms, rockers.

A wheel is a round shape that turns about a level axle and stands low, or what is called one. A vertical hinge that
carries wheels steers if it has a motor, or is the swivel of a castor. What carries no wheel is to be locked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from grouser.vehicles.urdf_clues import Mesh, Mount, Size, crossing, lowest, means, motors, mounts, round_size, shapes
from grouser.vehicles.urdf_model import Robot
from grouser.vehicles.urdf_side import body_axes, link_poses

Array = NDArray[np.float64]
LEVEL = 0.5
"""Sine of the largest tilt, 30°, of an axle at rest."""
UPRIGHT = 0.9
"""Cosine of the largest tilt, 26°, of a steering hinge at rest."""
TRAIL = 0.2
"""Distance of a castor's wheel from its swivel, as a share of its radius, from which it follows by itself."""
ENDS = ("front", "rear", "left", "right")
NEAR = 0.15
"""Height of a castor over the ground, as a share of the largest wheel's radius, up to which it touches it."""


@dataclass(frozen=True)
class Survey:
    """The robot as it stands with all joints at zero; the fields are names of joints."""

    robot: Robot
    mounts: dict[str, Mount]
    motors: dict[str, str]
    """Joints with a motor, and the element that says so."""
    wheels: dict[str, Size | None] = field(default_factory=dict)
    """Wheels that turn, and their size; None where it is not known."""
    inferred: dict[str, str] = field(default_factory=dict)
    """How the radius of a wheel without a round shape was found."""
    sliding: dict[str, Size | None] = field(default_factory=dict)
    """Castors and skids."""
    hanging: list[str] = field(default_factory=list)
    """Round shapes on level axles that stand too high for wheels."""
    crossed: dict[str, str] = field(default_factory=dict)
    """Joints named as wheels whose axis is across the cylinder they turn, and the link of the cylinder."""
    stuck: list[str] = field(default_factory=list)
    """Fixed joints named as wheels that hold a level cylinder."""

    @cached_property
    def forward(self) -> tuple[str, str]:
        """Axis of the root link along which the robot drives, and the reason; "" if it is assumed."""
        axles = [self.mounts[name].axis for name in self.wheels]
        spread = sum((np.outer(axis[:2], axis[:2]) for axis in axles), start=np.zeros((2, 2)))
        values, vectors = np.linalg.eigh(spread)
        across = vectors[:, 1]
        if not axles or values[0] > 0.2 * values[1] or abs(np.abs(across).max()) < UPRIGHT:
            return "+x", ""
        along = "xy"[int(np.argmin(np.abs(across)))]
        k = "xy".index(along)
        places = {kind: [self.centre(name)[:2] for name in self.wheels if self.called(kind, name)] for kind in ENDS}
        sense = 1.0 if along == "x" else -1.0  # x forward has y to the left; y forward has −x to the left
        for first, last, axis, sign in (("front", "rear", k, 1.0), ("left", "right", 1 - k, sense)):
            if places[first] and places[last]:
                ahead = sign * float((np.mean(places[first], axis=0) - np.mean(places[last], axis=0))[axis])
                if abs(ahead) > 1e-3:
                    said = f"as {first} and {last} in the names of its wheels say"
                    return ("+" if ahead > 0 else "-") + along, said
        return f"+{along}", "" if along == "x" else "but its sign is a guess: no wheel is called front, rear or left"

    def called(self, kind: str, joint: str) -> bool:
        """Whether a joint or its link has a name of a kind."""
        return means(kind, joint, self.mounts[joint].joint.child)

    def centre(self, joint: str) -> Array:
        """Centre of a wheel or castor, else origin of a joint, in the root link [m]."""
        size = self.wheels.get(joint) or self.sliding.get(joint)
        return self.mounts[joint].p if size is None else size.centre

    @cached_property
    def R_body_root(self) -> Array:
        """From axes of the root link to those of the body."""
        return body_axes(self.forward[0])

    def tilt(self, joint: str) -> str:
        """Direction of the axis of a joint in the body: vertical, lateral, along, or oblique."""
        x, y, z = np.abs(self.R_body_root @ self.mounts[joint].axis)
        for name, part in (("vertical", z), ("lateral", y), ("along", x)):
            if part > UPRIGHT:
                return name
        return "oblique"

    def carried(self, joint: str) -> list[str]:
        """The wheels beyond a joint, those that slide too."""
        beyond = self.mounts[joint].beyond
        fixed = [name for name in self.sliding if name in self.mounts[joint].outer]
        return [*(name for name in self.wheels if name in beyond), *fixed]

    @cached_property
    def hinges(self) -> list[str]:
        """Joints that move, carry wheels and are none."""
        moving = [one.name for one in self.robot.joints if one.moves and one.name not in (*self.wheels, *self.sliding)]
        return [name for name in moving if self.carried(name)]

    @cached_property
    def upright(self) -> list[str]:
        """Vertical hinges."""
        return [name for name in self.hinges if self.tilt(name) == "vertical"]

    @cached_property
    def swivels(self) -> list[str]:
        """Vertical hinges of castors, which turn freely."""
        return [name for name in self.upright if name not in self.motors and self._swivels(name)]

    def _swivels(self, name: str) -> bool:
        wheels = self.carried(name)
        if any(wheel in self.motors for wheel in wheels) or len(wheels) > 1:
            return False
        if self.called("castor", name) or self.called("castor", wheels[0]):
            return True
        size, axle = self.wheels.get(wheels[0]), self.mounts[wheels[0]].axis
        trail = abs(float(np.cross(axle, self.centre(wheels[0]) - self.mounts[name].p)[2]))
        return bool(self.motors) and size is not None and trail > TRAIL * size.radius

    @cached_property
    def steering(self) -> list[str]:
        """Vertical hinges that steer."""
        turning = [name for name in self.upright if self.mounts[name].joint.kind != "prismatic"]
        return [name for name in turning if name not in self.swivels]

    @cached_property
    def driven(self) -> list[str]:
        """Wheels with a motor; without any in the file, all that are on no swivel."""
        follow = [wheel for name in self.swivels for wheel in self.carried(name)]
        named = [name for name in self.wheels if name in self.motors]
        usable = [name for name in self.wheels if name not in follow and self.mounts[name].joint.mimic is None]
        return named or [name for name in usable if not self.called("castor", name)]

    @cached_property
    def arms(self) -> list[str]:
        """Joints that move and carry no wheel, and slides that carry some but have no motor."""
        moving = [one for one in self.robot.joints if one.moves and one.name not in (*self.wheels, *self.sliding)]
        slides = [one.name for one in moving if one.kind == "prismatic" and one.name not in self.motors]
        return [one.name for one in moving if one.name not in self.hinges or one.name in slides]

    @cached_property
    def rockers(self) -> list[str]:
        """Level hinges across the body that carry wheels, or are fixed and called rockers."""
        parts = [name for name in self.hinges if self.tilt(name) == "lateral" and name not in self.arms]
        fixed = [one.name for one in self.robot.joints if not one.moves and self.called_rocker(one.name)]
        return [*parts, *fixed]

    def halves(self, rockers: Sequence[str]) -> dict[str, str]:
        """Rockers that turn about the axle of another one on their side, by which each is listed: parts of one."""
        made: dict[str, str] = {}
        for name, other in combinations(rockers, 2):
            a, b = self.mounts[name], self.mounts[other]
            left = [np.mean([self.centre(one) for one in self.carried(end)], axis=0) for end in (name, other)]
            sides = [(self.R_body_root @ middle)[1] for middle in left]
            apart = float(np.linalg.norm(np.cross(a.axis, b.p - a.p))) + float(np.linalg.norm(np.cross(a.axis, b.axis)))
            if a.joint.parent == b.joint.parent and apart < 5e-3 and sides[0] * sides[1] > 0.0 and name not in made:
                made.setdefault(other, name)
        return made

    def called_rocker(self, joint: str) -> bool:
        """Whether a joint is called a rocker or bogie, carries wheels, and not all of them."""
        return means("rocker", joint) and 0 < len(self.carried(joint)) < len(self.wheels)


def survey(robot: Robot, mesh: Mesh) -> Survey:
    """The role of each joint of a robot."""
    found = Survey(robot, mounts(robot), motors(robot.xml))
    _find_wheels(found, mesh)
    _find_castors(found)
    return found


def _find_wheels(found: Survey, mesh: Mesh) -> None:
    sizes: dict[str, Size | None] = {}
    for name, mount in found.mounts.items():
        joint = mount.joint
        if not joint.moves and found.called("wheel", name) and crossing(found.robot, mount) == joint.child:
            found.stuck.extend([name] * (not found.called("castor", name)))
        if not joint.moves or joint.kind == "prismatic" or mount.beyond:
            continue
        called, size = found.called("wheel", name), round_size(found.robot, mount, mesh)
        if called and size is None and crossing(found.robot, mount):
            found.crossed[name] = crossing(found.robot, mount)
            continue
        if abs(mount.axis[2]) > LEVEL:
            continue
        if called or (size is not None and joint.kind == "continuous" and "mesh" not in size.source):
            sizes[name] = size
    known = [size for size in sizes.values() if size is not None]
    ground = min((size.centre[2] - size.radius for size in known), default=-math.inf)
    for name, size in sizes.items():
        high = size is not None and size.centre[2] - size.radius > ground + size.radius
        if high and not found.called("wheel", name) and name not in found.motors:
            found.hanging.append(name)
            continue
        found.wheels[name] = size
    _infer_radii(found)


def _infer_radii(found: Survey) -> None:
    """The radius of wheels that have no round shape: that of the others, or their height over a footprint."""
    poses = link_poses(found.robot)
    feet = [link for link in poses if "footprint" in link.lower() and poses[link][0][2, 2] > UPRIGHT]
    radii = {round(size.radius, 4) for size in found.wheels.values() if size is not None}
    for name, size in found.wheels.items():
        if size is not None:
            continue
        centre = found.mounts[name].p
        height = float(centre[2] - poses[feet[0]][1][2]) if feet else 0.0
        if len(radii) == 1:
            found.wheels[name] = Size(radii.copy().pop(), None, centre, "")
            found.inferred[name] = "that of the other wheels"
        elif 0.005 < height < 3.0:
            found.wheels[name] = Size(round(height, 4), None, centre, "")
            found.inferred[name] = f"its height over '{feet[0]}'"


def _find_castors(found: Survey) -> None:
    """Balls and skids that touch the ground: on fixed joints, or on joints without a motor that are called castors."""
    known = [size for size in found.wheels.values() if size is not None]
    if not known:
        return
    ground = min(float(size.centre[2]) - size.radius for size in known)
    near = NEAR * max(size.radius for size in known)
    turning = [link for name in found.wheels for link in found.mounts[name].links]
    for name, mount in found.mounts.items():
        called = found.called("castor", name)
        if mount.joint.child in turning:
            size = found.wheels.get(name)
            if size is not None and "sphere" in size.source and called and name not in found.motors:
                found.sliding[name] = found.wheels.pop(name)
            continue
        if mount.joint.moves and not (called and not mount.beyond and name not in found.motors):
            continue
        if any(wheel in mount.beyond for wheel in found.wheels):  # what holds a castor's wheel
            continue
        size = _ball(found.robot, mount, ground, called)
        if size is not None and abs(float(size.centre[2]) - size.radius - ground) < near:
            found.sliding[name] = size
        elif called and not mount.beyond and size is None and not mount.joint.moves:
            found.sliding[name] = None
    for name in list(found.sliding):  # what holds another one
        if any(other in found.mounts[name].outer for other in found.sliding):
            del found.sliding[name]


def _ball(robot: Robot, mount: Mount, ground: float, called: bool) -> Size | None:
    """The ball that stands for a castor: a sphere, or of what is called castor one as high as its lowest shape."""
    link, best = mount.joint.child, None
    for kind, shape in shapes(robot, link):
        one = shape.moved(*mount.poses[link])
        source = f"{kind} {one.fields['shape']} of '{link}'"
        if one.fields["shape"] == "sphere":
            return Size(one.fields["radius"], None, one.p, source)
        radius = float(one.p[2]) - lowest(one)
        if called and radius > 0.0 and best is None:
            best = Size(radius, None, one.p, f"half the height of the {source}")
    if best is None and called and 0.002 < mount.p[2] - ground < 0.5:
        best = Size(float(mount.p[2] - ground), None, mount.p, "its height over the ground")
    return best
