"""A run as an MCAP file: Foxglove's transforms, scene and pose, and plain JSON about wheels and joints."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from grouser._version import __version__
from grouser.checks import FloatArray
from grouser.collision.frames import frame_poses
from grouser.errors import SimulationError
from grouser.files import write_whole
from grouser.simulation.run import Run
from grouser.vehicles.vehicle import Vehicle
from grouser.view import foxglove
from grouser.view.foxglove import Message, Schema, entity, pose, quaternion, schema, xyz
from grouser.view.scene_ground import sample_patch
from grouser.view.scene_run import frames_in_parents, good_rows, world_contacts
from grouser.view.scene_vehicle import plain_frames, vehicle_size

OWN = {
    "grouser.Wheels": "timestamp:time wheels:grouser.Wheel*",
    # rate and command [rad/s], torque [N m]; slip: velocity of the contact point in its own frame [m/s]; force on the
    # wheel in the contact frame [N]; contact in the world [m]; height_error [m], negative is penetration;
    # contact_angle [rad], ahead is negative.
    "grouser.Wheel": "name:text rate:number command:number torque:number slip:grouser.ContactAxes "
    "force:grouser.ContactAxes contact:foxglove.Point3 height_error:number contact_angle:number",
    "grouser.ContactAxes": "ahead:number left:number up:number",
    "grouser.Joints": "timestamp:time joints:grouser.Joint*",
    # position [rad] and rate [rad/s], or [m] and [m/s] of a joint that slides; torque [N m] or force [N].
    "grouser.Joint": "name:text position:number rate:number command:number torque:number",
}
"""Types of wheels and joints; fields that the model or the wheel does not have are left out."""
CHANNELS: dict[str, Schema] = {
    "/tf": schema("foxglove.FrameTransforms"),
    "/scene": schema("foxglove.SceneUpdate"),
    "/contacts": schema("foxglove.SceneUpdate"),
    "/pose": schema("foxglove.PoseInFrame"),
    "/wheels": schema("grouser.Wheels", OWN),
    "/joints": schema("grouser.Joints", OWN),
}
"""Topic → type of its messages.

Vehicle and ground are written once, on a topic of their own: after a jump to a time Foxglove shows the last message of
each topic before it, and nothing else.
"""
AXES = ("ahead", "left", "up")
LATEST = 4_000_000_000.0
"""Seconds since 1970; MCAP holds more, Foxglove's seconds do not."""
NODES = 10_000
"""Heights of the patch of ground."""
SHORTEST = 1e-4
"""Arrows shorter than this [m] are left out."""
BODY, LINK, TYRE, SPOKE = (0.90, 0.62, 0.0), (0.34, 0.36, 0.40), (0.13, 0.13, 0.14), (0.94, 0.89, 0.26)
GROUND, FORCE, SLIP = (0.85, 0.82, 0.78), (0.0, 0.45, 0.70), (0.84, 0.37, 0.0)
HERE = pose((0.0, 0.0, 0.0), np.eye(3))


def write_mcap(run: Run, path: str | os.PathLike[str], *, start: float = 0.0) -> None:
    """Write a run for Foxglove; its first state is stamped `start` [s since 1970].

    The frames are those of the vehicle under a frame "world". States that are not finite, and those after, are left
    out.
    """
    if not isinstance(start, (int, float)) or not 0.0 <= start <= LATEST:
        raise SimulationError(f"start: {start!r:.60} is not between 0 and {LATEST:g} s, counted from 1970")
    try:
        from mcap.writer import Writer
    except ImportError:
        raise SimulationError(f"{path}: writing MCAP needs mcap; run: pip install grouser[mcap]") from None

    def write(stream: IO[bytes]) -> None:
        writer = Writer(stream)
        writer.start(library=f"grouser {__version__}")
        schemas = {one["title"]: one for one in CHANNELS.values()}
        known = {name: writer.register_schema(name, "jsonschema", _bytes(one)) for name, one in schemas.items()}
        channels = {topic: writer.register_channel(topic, "json", known[s["title"]]) for topic, s in CHANNELS.items()}
        about = {"vehicle": run.vehicle.name, "status": str(run.status), "steps": str(run.steps), "dt": repr(run.dt)}
        writer.add_metadata("grouser", {**about, "version": __version__})
        for topic, time, message in _messages(run, float(start)):
            writer.add_message(channels[topic], time, _bytes(message), time)
        writer.finish()

    write_whole(path, write, SimulationError)


def _bytes(value: Message) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _messages(run: Run, start: float) -> Iterator[tuple[str, int, Message]]:
    """Topic, time [ns] and message, state by state; first the shapes of vehicle and ground."""
    rows = good_rows(run)
    if rows == 0:
        return
    times = [round(start * 1e9) + round(float(t) * 1e9) for t in run.time[:rows]]
    stamps = [{"sec": t // 10**9, "nsec": t % 10**9} for t in times]
    fixed = "world"
    while any(frame.name == fixed for frame in run.vehicle.frames):
        fixed = f"fixed_{fixed}"
    R_world_frame, p_world_frame = frame_poses(run.vehicle, run.state[:rows])
    rotations, translations = frames_in_parents(run.vehicle, R_world_frame, p_world_frame)
    arrows = _contact_entities(run, R_world_frame, stamps, fixed)
    still = _vehicle_entities(run.vehicle, stamps[0]) + _ground_entity(run, rows, stamps[0], fixed)
    yield "/scene", times[0], {"deletions": [], "entities": still}
    for t, (time, stamp) in enumerate(zip(times, stamps, strict=True)):
        moved = [
            {
                "timestamp": stamp,
                "parent_frame_id": frame.parent or fixed,
                "child_frame_id": frame.name,
                "translation": xyz(translations[t, i]),
                "rotation": quaternion(rotations[t, i]),
            }
            for i, frame in enumerate(run.vehicle.frames)
        ]
        yield "/tf", time, {"transforms": moved}
        yield "/contacts", time, {"deletions": [], "entities": next(arrows)}
        yield "/wheels", time, {"timestamp": stamp, "wheels": _wheels(run, t)}
        yield "/joints", time, {"timestamp": stamp, "joints": _joints(run, t)}
        # After the joints: a reader of logs assigns a pose to the sample before it.
        pose = {"position": moved[0]["translation"], "orientation": moved[0]["rotation"]}
        yield "/pose", time, {"timestamp": stamp, "frame_id": fixed, "pose": pose}


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
    found = zip(run.vehicle.joints, run.joints[t].tolist(), run.joint_rates[t].tolist(), strict=True)
    return [{"name": name, "position": x, "rate": rate, **_driven(run, t, name)} for name, x, rate in found]


def _driven(run: Run, t: int, name: str) -> Message:
    """Command and torque of a joint that has a motor."""
    if name not in run.vehicle.actuated:
        return {}
    a = run.vehicle.actuated.index(name)
    command = {"command": float(run.command[t, a])}
    return command if run.torque is None else {**command, "torque": float(run.torque[t, a])}


def _vehicle_entities(vehicle: Vehicle, stamp: Message) -> list[Message]:
    """One entity for each frame that has a shape; it moves with the frame."""
    entities = []
    for frame in plain_frames(vehicle):
        cubes, cylinders = [], []
        for shape in frame["shapes"]:
            if shape["kind"] == "wheel":
                radius, width = shape["radius"], shape["width"]
                size = (2.0 * radius, 2.0 * radius, width)
                tyre = _solid(
                    pose((0.0, 0.0, 0.0), foxglove.R_WHEEL_CYLINDER), size, TYRE, bottom_scale=1.0, top_scale=1.0
                )
                cylinders.append(tyre)
                # A bar across the wheel, a little wider than it, shows its rotation.
                cubes.append(_solid(HERE, (1.6 * radius, 1.04 * width, 0.15 * radius), SPOKE))
            elif shape["kind"] == "beam":
                start, end = np.array(shape["from"]), np.array(shape["to"])
                middle = {"position": xyz(0.5 * (start + end)), "orientation": foxglove.towards(end - start)}
                length, thickness = np.linalg.norm(end - start), shape["thickness"]
                cubes.append(_solid(middle, (length, thickness, thickness), LINK))
            else:
                place = pose(shape["centre"], np.reshape(shape["axes"], (3, 3)))
                cubes.append(_solid(place, shape["size"], BODY if shape["kind"] == "body" else LINK))
        if cubes or cylinders:
            name = frame["name"]
            entities.append(entity(stamp, name, f"frame {name}", locked=True, cubes=cubes, cylinders=cylinders))
    return entities


def _solid(place: Message, size: Any, rgb: tuple[float, float, float], **more: float) -> Message:
    return {"pose": place, "size": xyz(size), **more, "color": foxglove.color(rgb)}


def _ground_entity(run: Run, rows: int, stamp: Message, fixed: str) -> list[Message]:
    """The ground under and around the path, as triangles that face up, where the run has one and its map covers it."""
    if run.ground is None:
        return []
    margin = vehicle_size(run.vehicle)
    points = run.contact.point[:rows].reshape(-1, 3)
    (xmin, ymin, _), (xmax, ymax, _) = (points.min(axis=0) - margin).tolist(), (points.max(axis=0) + margin).tolist()
    patch = sample_patch(run.ground, (xmin, xmax, ymin, ymax), NODES)
    if patch is None:
        return []
    along, across, sample = patch
    corner = np.arange(sample.height.size).reshape(sample.height.shape)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]))
    inside = sample.inside.ravel()
    whole = inside[a] & inside[b] & inside[c] & inside[d]
    if not whole.any():
        return []
    x, y = np.meshgrid(along, across)
    triangles = {
        "pose": HERE,
        "points": [xyz(p) for p in np.stack([x, y, sample.height], axis=-1).reshape(-1, 3)],
        "color": foxglove.color(GROUND),
        "colors": [],
        "indices": np.stack([a, b, c, c, b, d], axis=1)[whole].ravel().tolist(),
    }
    return [entity(stamp, fixed, "ground", triangles=[triangles])]


def _contact_entities(
    run: Run, R_world_frame: FloatArray, stamps: Sequence[Message], fixed: str
) -> Iterator[list[Message]]:
    """Arrows of each state: the force on each wheel, where it is known, and the velocity of slip.

    The force of a wheel that carries its share of the weight is as long as the wheel is high; one m/s of slip is 1 m.
    """
    rows = len(R_world_frame)
    slip, force = world_contacts(run, np.arange(rows, dtype=np.int64), R_world_frame)
    radius, share = float(run.vehicle.arrays.radius.mean()), run.vehicle.mass * run.gravity / run.vehicle.n_wheels
    length = 2.0 * radius / share if share > 0.0 else 0.0
    groups = [("slip", SLIP, 1.0, "m/s", slip)]
    if force is not None:
        groups.insert(0, ("force", FORCE, length, "N", force))
    for t in range(rows):
        entities = []
        for name, color, scale, unit, vectors in groups:
            arrows = [
                _arrow(point, scale * vector, 0.08 * radius, color)
                for point, vector in zip(run.contact.point[t], vectors[t], strict=True)
                if scale * float(np.linalg.norm(vector)) > SHORTEST
            ]
            about = [{"key": "scale", "value": f"{scale:.6g} m per {unit}"}]
            entities.append(entity(stamps[t], fixed, name, metadata=about, arrows=arrows))
        yield entities


def _arrow(start: FloatArray, vector: FloatArray, thickness: float, color: tuple[float, float, float]) -> Message:
    length = float(np.linalg.norm(vector))
    head = min(3.0 * thickness, 0.5 * length)
    return {
        "pose": {"position": xyz(start), "orientation": foxglove.towards(vector)},
        "shaft_length": length - head,
        "shaft_diameter": thickness,
        "head_length": head,
        "head_diameter": 2.0 * thickness,
        "color": foxglove.color(color),
    }
