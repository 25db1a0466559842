"""A run as an MCAP file: Foxglove's transforms, scene and pose, and plain JSON about wheels and joints."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from grouser import rotation
from grouser._version import __version__
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.files import write_whole
from grouser.simulation import Run
from grouser.view import foxglove
from grouser.view.foxglove import NUMBER, TEXT, TIME, Schema, many, record
from grouser.view.mcap_scene import (
    Message,
    contact_entities,
    ground_entity,
    quaternion,
    vehicle_entities,
    xyz,
)
from grouser.view.scene_run import good_rows

_CONTACT = record("grouser.ContactAxes", ahead=NUMBER, left=NUMBER, up=NUMBER)
WHEELS = record(
    "grouser.Wheels",
    timestamp=TIME,
    wheels=many(
        record(
            "grouser.Wheel",
            name=TEXT,
            rate=NUMBER,  # [rad/s]
            command=NUMBER,  # commanded rate [rad/s]; of driven wheels
            torque=NUMBER,  # [N m]; of driven wheels, dynamics only
            slip=_CONTACT,  # velocity of the contact point in its own frame [m/s]
            force=_CONTACT,  # on the wheel, contact frame [N]; dynamics only
            contact=foxglove.POINT,  # world [m]
            height_error=NUMBER,  # [m], negative is penetration
            contact_angle=NUMBER,  # [rad], ahead is negative
        )
    ),
)
"""What each wheel does; fields that the model or the wheel does not have are left out."""
JOINTS = record(
    "grouser.Joints",
    timestamp=TIME,
    joints=many(
        record("grouser.Joint", name=TEXT, position=NUMBER, rate=NUMBER, command=NUMBER, torque=NUMBER),
    ),
)
"""Every joint, wheels too: [rad] and [rad/s], or [m] and [m/s] of one that slides; torque [N m] or force [N]."""
CHANNELS: dict[str, Schema] = {
    "/tf": foxglove.FRAME_TRANSFORMS,
    "/scene": foxglove.SCENE_UPDATE,
    "/contacts": foxglove.SCENE_UPDATE,
    "/pose": foxglove.POSE_IN_FRAME,
    "/wheels": WHEELS,
    "/joints": JOINTS,
}
"""Topic → type of its messages.

Vehicle and ground are said once, on a topic of their own: who jumps to a time is shown the last message of each topic
before it, and nothing else.
"""
AXES = ("ahead", "left", "up")
LATEST = 4_000_000_000.0
"""Seconds since 1970; MCAP holds more, Foxglove's seconds do not."""


class _Stamped(NamedTuple):
    topic: str
    time: int
    """[ns]."""
    message: Message


def write_mcap(run: Run, path: str | os.PathLike[str], *, start: float = 0.0) -> None:
    """Write a run for Foxglove; its first state is stamped `start` [s since 1970].

    The frames are those of the vehicle under a frame "world". States that are not finite, and those after, are left
    out.
    """
    if not isinstance(start, (int, float)) or not 0.0 <= start <= LATEST:
        raise SimulationError(f"start: {start!r:.60} is not between 0 and {LATEST:g} s, counted from 1970")
    begin = float(start)
    try:
        from mcap.writer import Writer
    except ImportError:
        raise SimulationError(f"{path}: writing MCAP needs mcap; run: pip install grouser[mcap]") from None

    def write(stream: IO[bytes]) -> None:
        writer = Writer(stream)
        writer.start(library=f"grouser {__version__}")
        schemas = {schema["title"]: schema for schema in CHANNELS.values()}
        known = {name: writer.register_schema(name, "jsonschema", _bytes(one)) for name, one in schemas.items()}
        channels = {topic: writer.register_channel(topic, "json", known[s["title"]]) for topic, s in CHANNELS.items()}
        about = {"vehicle": run.vehicle.name, "status": str(run.status), "steps": str(run.steps), "dt": repr(run.dt)}
        writer.add_metadata("grouser", {**about, "version": __version__})
        for topic, time, message in _messages(run, begin):
            writer.add_message(channels[topic], time, _bytes(message), time)
        writer.finish()

    write_whole(path, write, SimulationError)


def _bytes(value: Message) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _messages(run: Run, start: float) -> Iterator[_Stamped]:
    """State by state; what the vehicle and the ground look like comes before the first."""
    rows = good_rows(run)
    if rows == 0:
        return
    times = [round(start * 1e9) + round(float(t) * 1e9) for t in run.time[:rows]]
    stamps = [{"sec": t // 10**9, "nsec": t % 10**9} for t in times]
    fixed = fixed_frame(run)
    frames, rotations, translations = transforms(run, rows)
    arrows = contact_entities(run, rows, stamps, fixed)
    still = vehicle_entities(run.vehicle, stamps[0]) + ground_entity(run, rows, stamps[0], fixed)
    yield _Stamped("/scene", times[0], {"deletions": [], "entities": still})
    for t, (time, stamp) in enumerate(zip(times, stamps, strict=True)):
        moved = [
            {
                "timestamp": stamp,
                "parent_frame_id": parent or fixed,
                "child_frame_id": child,
                "translation": xyz(translations[t, i]),
                "rotation": quaternion(rotations[t, i]),
            }
            for i, (parent, child) in enumerate(frames)
        ]
        yield _Stamped("/tf", time, {"transforms": moved})
        yield _Stamped("/contacts", time, {"deletions": [], "entities": next(arrows)})
        yield _Stamped("/wheels", time, {"timestamp": stamp, "wheels": _wheels(run, t)})
        yield _Stamped("/joints", time, {"timestamp": stamp, "joints": _joints(run, t)})
        # After the joints: who reads it as a log takes a pose to belong to the sample before it.
        pose = {"position": moved[0]["translation"], "orientation": moved[0]["rotation"]}
        yield _Stamped("/pose", time, {"timestamp": stamp, "frame_id": fixed, "pose": pose})


def fixed_frame(run: Run) -> str:
    """What the fixed frame is called: world, unless the vehicle has a frame of that name."""
    name = "world"
    while any(frame.name == name for frame in run.vehicle.frames):
        name = f"fixed_{name}"
    return name


def transforms(run: Run, rows: int) -> tuple[list[tuple[str | None, str]], FloatArray, FloatArray]:
    """Parent and name of each frame, quaternions w x y z (rows, nf, 4), p_parent_frame (rows, nf, 3) [m].

    The body's parent is None; of the others R_parent_frame = R at rest · R of the joint, T (2.1).
    """
    vehicle = run.vehicle
    names = [(frame.parent, frame.name) for frame in vehicle.frames]
    q, p = np.empty((rows, len(names), 4)), np.empty((rows, len(names), 3))
    q[:, 0], p[:, 0] = run.quaternion[:rows], run.position[:rows]
    q[:, 0] /= np.linalg.norm(q[:, 0], axis=1, keepdims=True)
    for i, frame in enumerate(vehicle.frames[1:], start=1):
        assert frame.joint is not None
        axis = np.eye(3)["XYZ".index(frame.joint[1])]
        R_rest, value = frame.rotation, run.joints[:rows, i - 1]
        if frame.joint[0] == "R":
            q[:, i] = _after(rotation.to_quaternion(R_rest), axis, value)
            p[:, i] = frame.xyz
        else:
            q[:, i] = rotation.to_quaternion(R_rest)
            p[:, i] = np.asarray(frame.xyz) + value[:, None] * (R_rest @ axis)
    return names, q, p


def _after(rest: FloatArray, axis: FloatArray, angle: FloatArray) -> FloatArray:
    """Quaternions w x y z of a rotation at rest, then one by each angle [rad] about an axis of its own, (n, 4)."""
    c, s = np.cos(0.5 * angle)[:, None], np.sin(0.5 * angle)[:, None]
    w, v = rest[0], rest[1:]
    out: FloatArray = np.concatenate([w * c - s * (v @ axis), c * v + s * (w * axis + np.cross(v, axis))], axis=1)
    return out


def _wheels(run: Run, t: int) -> list[Message]:
    c, vehicle, found = run.contact, run.vehicle, []
    for w, name in enumerate(vehicle.wheels):
        wheel: dict[str, Any] = {
            "name": name,
            "rate": float(run.velocity[t, 6 + vehicle.joint_index(name)]),
            **_driven(run, t, name),
            "slip": dict(zip(AXES, c.velocity[t, w].tolist(), strict=True)),
            "contact": xyz(c.point[t, w]),
            "height_error": float(c.height_error[t, w]),
            "contact_angle": float(c.angle[t, w]),
        }
        if c.force is not None:
            wheel["force"] = dict(zip(AXES, c.force[t, w].tolist(), strict=True))
        found.append(wheel)
    return found


def _joints(run: Run, t: int) -> list[Message]:
    return [
        {
            "name": name,
            "position": float(run.joints[t, j]),
            "rate": float(run.velocity[t, 6 + j]),
            **_driven(run, t, name),
        }
        for j, name in enumerate(run.vehicle.joints)
    ]


def _driven(run: Run, t: int, name: str) -> Message:
    """Command and torque of a joint that has a motor."""
    if name not in run.vehicle.actuated:
        return {}
    a = run.vehicle.actuated.index(name)
    command = {"command": float(run.command[t, a])}
    return command if run.torque is None else {**command, "torque": float(run.torque[t, a])}
