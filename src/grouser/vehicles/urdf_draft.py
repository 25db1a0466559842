"""A draft of the side file of a URDF, with the reason of each line; guesses and unknown values are marked."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import listed
from grouser.files import toml_key, toml_value
from grouser.vehicles.hull import hull_of_mesh
from grouser.vehicles.mesh_path import Packages, find_mesh
from grouser.vehicles.urdf_clues import Size, means, shapes
from grouser.vehicles.urdf_model import Robot
from grouser.vehicles.urdf_side import SCHEMA
from grouser.vehicles.urdf_survey import Survey, survey

SLIDES = 0.2
"""Coefficient of friction of a castor ball on a floor, where the URDF does not say."""
GAIN = 5.0
"""Steering gain [1/s]: an angle is reached to 5 % in 0.6 s."""
RATE = 2.0
"""Steering rate [rad/s] where the URDF gives none that a motor could have."""
FASTEST = 10.0
"""Steering rate [rad/s] above which a limit of the URDF is taken for none."""
DENSITY = 300.0
"""Density [kg/m³] of links whose mass the URDF leaves out, by their shape."""
LIGHT = 0.1
"""Mass [kg] of such links without a shape."""
WIDTH = 118
"""Columns of a line."""
WORDS: Any = {"break_on_hyphens": False, "break_long_words": False}


@dataclass
class Draft:
    """The text of a side file, its guesses and gaps."""

    text: str = ""
    missing: list[str] = field(default_factory=list)
    """Values that only the user can give, without which there is no vehicle."""
    guesses: list[str] = field(default_factory=list)
    """Guesses, which may be wrong."""
    said: str = ""
    """A summary in a few words."""


def draft(robot: Robot, path: Path, packages: Packages = ()) -> Draft:
    """A side file for the robot in a URDF at a path; packages: of its meshes, see `read_urdf`."""

    def mesh(name: str, scale: Sequence[float]) -> Any:
        return np.array(hull_of_mesh(find_mesh(name, path.parent, packages), scale))

    found = survey(robot, mesh)
    made = Draft()
    lines = [
        f"# What {path.name} does not say, drafted by grouser check. Look it through: a guess is called so;",
        "# what is commented out is a suggestion, or not known.",
        f'schema = "{SCHEMA}"',
        "",
    ]
    for part in (_forward, _wheels, _actuated, _steering, _lock, _rockers, _reference, _masses):
        block = list(part(found, made))
        lines += [*block, ""] if block else []
    made.text = "\n".join(lines[:-1]) + "\n"
    kinds = (
        (len(found.wheels), "wheel", "wheels"),
        (len(found.driven), "driven", "driven"),
        (len(found.steering), "steered hinge", "steered hinges"),
        (len(found.sliding), "sliding castor", "sliding castors"),
        (len(_leading(found, found.arms)), "joint locked", "joints locked"),
    )
    made.said = ", ".join(f"{n} {one if n == 1 else more}" for n, one, more in kinds if n)
    if made.guesses:
        made.said += f"; guessed: {'; '.join(made.guesses)}"
    return made


def _comment(text: str) -> list[str]:
    """A comment in lines that fit."""
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", **WORDS)


def _rows(name: str, rows: Sequence[tuple[Any, str]]) -> list[str]:
    """A field with one row a line, each with a remark; a row that is text beginning with # stays a comment."""
    lines = [f"{name} = ["]
    for value, remark in rows:
        is_comment = isinstance(value, str) and value.startswith("#")
        text = value if is_comment else f"{toml_value(value)},"
        lines.append(f"    {text}  # {remark}" if remark else f"    {text}")
    return [*lines, "]"]


def _forward(found: Survey, made: Draft) -> Iterator[str]:
    axis, why = found.forward
    if axis == "+x":
        return
    yield from _comment(
        f"The robot drives along {axis} of its root link '{found.robot.root}', {why or 'as its axles lie'}."
    )
    yield f'forward = "{axis}"'
    if why.startswith("but") or "left" in why:  # or the sides are swapped
        made.guesses.append(f"it drives along {axis} of its root link{'' if why.startswith('but') else ', ' + why}")


def _wheels(found: Survey, made: Draft) -> Iterator[str]:
    for name, link in found.crossed.items():
        axis = " ".join(f"{x:.3g}" for x in found.mounts[name].joint.axis)
        said = f"'{name}' turns about {axis}, across the cylinder of '{link}', so it is no wheel; mend its <axis>"
        (made.guesses if found.wheels else made.missing).append(said)
        yield from _comment(f"{said}; without one a URDF means 1 0 0.")
    if found.stuck:
        said = f"{listed(found.stuck)}: called wheels, but fixed, so they drag; if they roll, make them continuous"
        made.guesses.append(said)
        yield from _comment(f"{said}.")
    if not found.wheels:
        if not found.crossed:
            made.missing.append("no joint turns a round shape about a level axle, or is called a wheel")
        yield from _comment("NOT KNOWN: which joints are wheels. Nothing round turns about a level axle.")
        yield "wheels = []  # { joint = …, radius = …, width = … }"
        return
    rows: list[tuple[Any, str]] = []
    for name, size in found.wheels.items():
        if size is None:
            made.missing.append(f"the radius of wheel '{name}' is not known")
            rows.append((f"# {{ joint = {toml_value(name)}, radius = … }},", "NOT KNOWN: its radius [m]"))
            continue
        remark = size.source if name not in found.inferred else f"guess: its radius is {found.inferred[name]}"
        rollers = _rollers(found, name)
        remark += f"; guess: rollers at {rollers['rollers']:g}°, by names" if rollers else ""
        rows.append((_row(found, name, size) | rollers, remark + _side_of(found, name, made)))
    for name, size in found.sliding.items():
        if size is None:
            row = f"# {{ joint = {toml_value(name)}, radius = …, slides = {SLIDES} }},"
            rows.append((row, "a castor? NOT KNOWN: its radius [m]"))
            made.guesses.append(f"'{name}' is called a castor, and left out because its size is not known")
            continue
        rows.append((_row(found, name, size) | {"slides": SLIDES}, f"{size.source}; guess: friction {SLIDES}"))
    yield from _comment(
        "Wheels turn a round shape about a level axle; radius, width and centre [m] are those of the shape."
        + " A row with slides is a castor or skid: it slides with that friction and does not roll."
        * bool(found.sliding)
    )
    yield from _rows("wheels", rows)
    if any(_rollers(found, name) for name in found.wheels):
        made.guesses.append("rollers of wheels, by their names and places")
    if found.inferred:
        made.guesses.append(f"the radius of {listed(found.inferred, 2)}")
    for name in found.hanging:
        yield from _comment(f"'{name}' turns something round too, but far above the ground.")


def _row(found: Survey, name: str, size: Size) -> dict[str, Any]:
    mount = found.mounts[name]
    centre = mount.R.T @ (size.centre - mount.p)
    row: dict[str, Any] = {"joint": name, "radius": round(size.radius, 6)}
    if size.width is not None and "sphere" not in size.source:
        row["width"] = round(size.width, 6)
    if float(np.linalg.norm(centre)) > 1e-6:
        row["centre"] = [round(float(x), 6) + 0.0 for x in centre]
    return row


def _rollers(found: Survey, name: str) -> dict[str, Any]:
    """Rollers of what is called an omni or mecanum wheel: those of mecanum wheels free it along the diagonals."""
    child = found.mounts[name].joint.child
    names = [name, child, *(Path(one.fields.get("mesh", "")).stem for _, one in shapes(found.robot, child))]
    if means("mecanum", found.robot.name, *names) and not found.called("castor", name):
        at = found.R_body_root @ (found.centre(name) - np.mean([found.centre(one) for one in found.wheels], axis=0))
        return {"rollers": 45.0 if at[0] * at[1] > 0.0 else -45.0}
    return {"rollers": 90.0} if means("omni", *names) else {}


def _side_of(found: Survey, name: str, made: Draft) -> str:
    """A remark on a wheel that has the other side in its name."""
    y = float((found.R_body_root @ found.centre(name))[1])
    side, other = ("left", "right") if y > 0.0 else ("right", "left")
    if abs(y) <= 1e-3 or found.called(side, name) or not found.called(other, name):
        return ""
    made.guesses.append(f"'{name}' stands on the {side}, whatever its name says")
    return f"; stands on the {side}!"


def _actuated(found: Survey, made: Draft) -> Iterator[str]:
    driven, steered = found.driven, _leading(found, found.steering)
    says = sorted({found.motors[name] for name in (*driven, *steered) if name in found.motors})
    if driven and driven[0] in found.motors:
        yield from _comment(f"Motors by {listed(says)}.")
        idle = [name for name in found.wheels if name not in driven]
        if idle:
            yield from _comment(f"Without a motor: {listed(idle)}.")
    elif driven:
        made.guesses.append("all wheels are driven, because the URDF names no motors")
        yield from _comment("Guess: the URDF names no motors of wheels, so all wheels are taken as driven.")
    else:
        made.missing.append("no wheel has a motor")
        yield from _comment("NOT KNOWN: which joints have motors.")
    lost = [name for name in found.motors if name not in found.mounts and found.motors[name] != "<plugin>"]
    if lost:
        yield from _comment(f"The URDF gives motors to {listed(lost)}, which are no joints of it.")
    others = [one for one in found.motors if one in found.rockers]
    if others:
        yield from _comment(f"{listed(others)}: taken as passive though the URDF gives them a motor; add them if so.")
    line = f"actuated = {toml_value([*driven, *steered])}"
    if len(line) <= WIDTH:
        yield line
        return
    names = ", ".join(toml_value(name) for name in (*driven, *steered))
    yield "actuated = ["
    yield from textwrap.wrap(f"{names},", WIDTH, initial_indent="    ", subsequent_indent="    ", **WORDS)
    yield "]"


def _leading(found: Survey, joints: Sequence[str]) -> list[str]:
    """Joints without those that mimic another one: they have no motor of their own, and are locked with it."""
    return [name for name in joints if found.mounts[name].joint.mimic is None]


def _steering(found: Survey, made: Draft) -> Iterator[str]:
    rows = []
    for name in _leading(found, found.steering):
        bounds = found.mounts[name].joint.limits
        fast = bounds.get("velocity", 0.0)
        usable = 0.0 < fast <= FASTEST
        remark = "its speed by <limit>" if usable else f"guess: {RATE:g} rad/s"
        most = math.inf
        if {"lower", "upper"} <= set(bounds) and bounds["lower"] < bounds["upper"]:
            low, high = (math.degrees(bounds[end]) for end in ("lower", "upper"))
            remark += f"; the URDF allows {low:.0f}° to {high:.0f}°"
            most = min(-bounds["lower"], bounds["upper"])
        if name not in found.motors:
            remark += "; guess: it has a motor"
        row = {"joint": name, "gain": GAIN, "limit": fast if usable else RATE}
        rows.append((row | ({"angle": round(most, 6)} if 0.0 < most < math.pi else {}), remark))
    if rows:
        if found.motors and any(name not in found.motors for name in _leading(found, found.steering)):
            made.guesses.append("vertical hinges are steered, though the URDF gives them no motors")
        yield from _comment(
            "Vertical hinges that carry wheels steer; gain [1/s] is a guess, limit is in rad/s, angle in rad."
        )
        yield from _rows("steering", rows)
    for name in found.swivels:
        yield from _comment(f"'{name}' is the swivel of a castor and turns by itself.")
    for name in found.steering:
        mimic = found.mounts[name].joint.mimic
        if mimic is not None:
            yield from _comment(f"'{name}' mimics '{mimic[0]}', so it is coupled and not listed.")


def _lock(found: Survey, made: Draft) -> Iterator[str]:
    rows: list[tuple[Any, str]] = []
    for name in _leading(found, found.arms):
        bounds = found.mounts[name].joint.limits
        at = min(max(0.0, bounds.get("lower", -math.inf)), bounds.get("upper", math.inf))
        remark = "0 is outside its <limit>" if at else ""
        if found.carried(name):
            remark = "a slide that carries a wheel: give it a spring in couplings instead, if it has one"
            made.guesses.append(f"'{name}' is rigid")
        rows.append(({"joint": name, "at": at} if at else name, remark))
    if rows:
        yield from _comment(
            "Joints that carry no wheel, such as those of arms and masts, are held where they are at 0."
        )
        yield from _rows("lock", rows)


def _rockers(found: Survey, made: Draft) -> Iterator[str]:
    """Rockers to free, and the differential between two of them."""
    fixed = [name for name in found.rockers if not found.mounts[name].joint.moves]
    passive = [name for name in found.rockers if name not in fixed]
    if passive:
        yield from _comment(f"Passive hinges, which follow the ground: {listed(passive)}.")
    if fixed:
        rows = []
        for name in fixed:
            mount = found.mounts[name]
            lateral = [round(float(x), 9) + 0.0 for x in mount.R.T @ found.R_body_root[1]]
            rows.append(name if mount.joint.axis.any() else {"joint": name, "axis": lateral})
        yield from _comment("These rockers are fixed in the URDF. To let them follow the ground, take off the #:")
        yield f"# free = {toml_value(rows)}"
    halves = found.halves(fixed or passive)
    couplings: list[tuple[Any, str]] = []
    for name, other in halves.items():
        sense = -1.0 if found.mounts[name].axis @ found.mounts[other].axis > 0.0 else 1.0
        couplings.append(
            ({"name": f"{name} with {other}", "joints": {other: 1.0, name: sense}}, "one axle, one rocker")
        )
    joints = _differential(found, fixed or passive, halves)
    if joints:
        if any(found.mounts[name].joint.mimic for name in joints):
            yield from _comment("The URDF couples them: one mimics the other.")
        else:
            yield from _comment("A differential between the rockers holds the body; without it, its pitch is free.")
            couplings.append(({"name": "differential", "joints": joints}, ""))
            if not fixed:
                made.guesses.append("a differential couples the rockers")
    if halves and not fixed:
        made.guesses.append("hinges on one axle are one rocker")
    if len(couplings) == 1:
        yield f"{'# ' if fixed else ''}couplings = [ {toml_value(couplings[0][0])} ]"
    elif couplings:
        yield from (f"{'# ' if fixed else ''}{line}" for line in _rows("couplings", couplings))


def _differential(found: Survey, rockers: Sequence[str], halves: dict[str, str]) -> dict[str, float]:
    """The rockers left and right that carry all wheels, each with the sense of its axis; of halves the first."""
    outer = [name for name in rockers if not any(name in found.mounts[other].beyond for other in rockers)]
    if sum(len(found.carried(name)) for name in outer) < len(found.wheels):
        return {}
    outer = [name for name in outer if name not in halves]
    sides = [float((found.R_body_root @ found.mounts[name].p)[1]) for name in outer]
    if len(outer) != 2 or sides[0] * sides[1] >= 0.0:
        return {}
    return {name: -1.0 if (found.R_body_root @ found.mounts[name].axis)[1] < 0.0 else 1.0 for name in outer}


def _masses(found: Survey, made: Draft) -> Iterator[str]:
    """A mass for each part of the vehicle that has none."""
    robot, rows = found.robot, {}
    held = [name for name in found.mounts if found.mounts[name].joint.moves and name not in found.arms]
    for name in held:
        mount = found.mounts[name]
        links = {*mount.links, *(link for one in mount.beyond for link in found.mounts[one].links)}
        if not _has_mass(robot, links):
            child = mount.joint.child
            size = found.wheels.get(name)
            solid = None if size is None else math.pi * size.radius**2 * (size.width or size.radius)
            rows[child] = _mass(solid)
    fixed = [link for mount in found.mounts.values() if not mount.joint.moves for link in mount.links]
    moved = {link for name in held for link in found.mounts[name].links}
    body = [link for link in dict.fromkeys([robot.root, *fixed]) if link not in moved]
    if not _has_mass(robot, body):
        solids = [(link, _volume(robot, link)) for link in body]
        link, volume = max(solids, key=lambda pair: pair[1] or 0.0)
        rows[link] = _mass(volume)
    if rows:
        made.guesses.append(f"the mass of {listed(rows, 2)}")
        yield from _comment(
            f"Guess: these parts have no mass in the URDF; theirs [kg] is that of {DENSITY:g} kg/m³. Kinematics without"
            " slip does not depend on masses, dynamics does."
        )
        yield "[masses]"
        yield from (f"{toml_key(link)} = {mass:g}" for link, mass in rows.items())


def _mass(volume: float | None) -> float:
    return LIGHT if volume is None else float(f"{max(DENSITY * volume, 1e-3):.3g}")


def _has_mass(robot: Robot, links: Iterable[str]) -> bool:
    return any(one.mass > 0.0 for link in links if (one := robot.links[link]) is not None)


def _volume(robot: Robot, link: str) -> float | None:
    """Volume of the largest solid of a link [m³]."""
    volumes = []
    for _, one in shapes(robot, link):
        match one.fields:
            case {"shape": "box", "size": size}:
                volumes.append(math.prod(size))
            case {"shape": "cylinder", "radius": radius, "length": length}:
                volumes.append(math.pi * radius**2 * length)
            case {"shape": "sphere", "radius": radius}:
                volumes.append(4.0 / 3.0 * math.pi * radius**3)
    return max(volumes, default=None)


def _reference(found: Survey, made: Draft) -> Iterator[str]:
    """The drive point, where castors or coupled steering would draw it away from the wheels that hold the direction."""
    if not (found.sliding or found.swivels or any(found.mounts[name].joint.mimic for name in found.steering)):
        return
    turned = [wheel for name in found.upright for wheel in found.carried(name)]
    straight = [name for name in found.wheels if name not in turned and (name in found.driven or found.steering)]
    if straight:
        x, y, _ = np.mean([found.R_body_root @ found.centre(name) for name in straight], axis=0)
        yield from _comment("Commanded arcs are those of the middle of the wheels that hold the direction [m].")
        yield f"drive_reference = {toml_value([round(float(x), 6) + 0.0, round(float(y), 6) + 0.0])}"
