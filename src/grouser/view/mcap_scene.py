"""What a run looks like in Foxglove: the vehicle's shapes, a patch of ground, arrows of force and slip."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grouser import rotation
from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.simulation import Run
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle
from grouser.view.scene_run import contact_axes
from grouser.view.scene_vehicle import scene_vehicle, vehicle_size

Message = dict[str, Any]

NODES = 10_000
"""Heights of the patch of ground."""
SHORTEST = 1e-4
"""Arrows shorter than this [m] are left out."""
BODY = (0.90, 0.62, 0.0)
LINK = (0.34, 0.36, 0.40)
TYRE = (0.13, 0.13, 0.14)
SPOKE = (0.94, 0.89, 0.26)
GROUND = (0.85, 0.82, 0.78)
FORCE = (0.0, 0.45, 0.70)
SLIP = (0.84, 0.37, 0.0)

# A cylinder of Foxglove stands along z; a wheel's axle is y. Rx(−90°) turns z into y.
R_WHEEL_CYLINDER = rotation.from_rpy(-0.5 * math.pi, 0.0, 0.0)


def vehicle_entities(vehicle: Vehicle, stamp: Message) -> list[Message]:
    """One entity for each frame that has a shape; it moves with the frame."""
    entities = []
    for frame in scene_vehicle(vehicle, {})["frames"]:
        cubes, cylinders = [], []
        for shape in frame["shapes"]:
            if shape["kind"] == "wheel":
                cylinders.append(_wheel(shape))
                cubes.append(_spoke(shape))
            elif shape["kind"] == "beam":
                cubes.append(_beam(shape))
            else:
                color = BODY if shape["kind"] == "body" else LINK
                axes = np.reshape(shape["axes"], (3, 3))
                cubes.append({"pose": pose(shape["centre"], axes), "size": xyz(shape["size"]), "color": _color(color)})
        if cubes or cylinders:
            entities.append(
                entity(stamp, frame["name"], f"frame {frame['name']}", locked=True, cubes=cubes, cylinders=cylinders)
            )
    return entities


def _wheel(shape: Message) -> Message:
    across = 2.0 * shape["radius"]
    return {
        "pose": pose((0.0, 0.0, 0.0), R_WHEEL_CYLINDER),
        "size": xyz((across, across, shape["width"])),
        "bottom_scale": 1.0,
        "top_scale": 1.0,
        "color": _color(TYRE),
    }


def _spoke(shape: Message) -> Message:
    """A bar across a wheel, a little wider than it, by which its spin is seen."""
    size = (1.6 * shape["radius"], 1.04 * shape["width"], 0.15 * shape["radius"])
    return {"pose": pose((0.0, 0.0, 0.0), np.eye(3)), "size": xyz(size), "color": _color(SPOKE)}


def _beam(shape: Message) -> Message:
    start, end = np.array(shape["from"]), np.array(shape["to"])
    size = (float(np.linalg.norm(end - start)), shape["thickness"], shape["thickness"])
    middle = {"position": xyz(0.5 * (start + end)), "orientation": towards(end - start)}
    return {"pose": middle, "size": xyz(size), "color": _color(LINK)}


def ground_entity(run: Run, rows: int, stamp: Message, fixed: str) -> list[Message]:
    """The ground under and around the path, as triangles; none where the run does not know its ground."""
    if run.ground is None or rows == 0:
        return []
    margin = vehicle_size(run.vehicle)
    points = run.contact.point[:rows].reshape(-1, 3)
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    patch = _patch(run.ground, (float(low[0]), float(high[0]), float(low[1]), float(high[1])))
    if patch is None:
        return []
    triangles = {
        "pose": pose((0.0, 0.0, 0.0), np.eye(3)),
        "points": [xyz(p) for p in patch[0]],
        "color": _color(GROUND),
        "colors": [],
        "indices": patch[1],
    }
    return [entity(stamp, fixed, "ground", triangles=[triangles])]


def _patch(ground: Terrain, box: tuple[float, float, float, float]) -> tuple[FloatArray, list[int]] | None:
    """Corners (n, 3) [m] and three of them a triangle, facing up; cells that the map does not cover are left out."""
    xmin, xmax = max(box[0], ground.bounds[0]), min(box[1], ground.bounds[1])
    ymin, ymax = max(box[2], ground.bounds[2]), min(box[3], ground.bounds[3])
    if not (xmax > xmin and ymax > ymin):
        return None
    spacing = math.sqrt((xmax - xmin) * (ymax - ymin) / NODES)
    nx, ny = (max(2, min(int(side / spacing) + 1, NODES // 2)) for side in (xmax - xmin, ymax - ymin))
    x, y = np.meshgrid(np.linspace(xmin, xmax, nx), np.linspace(ymin, ymax, ny))
    sample = ground.sample(x, y)
    corner = np.arange(nx * ny).reshape(ny, nx)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]))
    inside = sample.inside.ravel()
    whole = inside[a] & inside[b] & inside[c] & inside[d]
    if not whole.any():
        return None
    triangles = np.stack([a, b, c, c, b, d], axis=1)[whole]
    return np.stack([x, y, sample.height], axis=-1).reshape(-1, 3), [int(i) for i in triangles.ravel()]


def contact_entities(run: Run, rows: int, stamps: Sequence[Message], fixed: str) -> Iterator[list[Message]]:
    """Arrows of each state: the force on each wheel, where it is known, and the velocity of slip.

    The force of a wheel that carries its share of the weight is as long as the wheel is high; one m/s of slip is 1 m.
    """
    R_world_contact = contact_axes(run, np.arange(rows, dtype=np.int64))
    radius = float(run.vehicle.arrays.radius.mean())
    share = run.vehicle.mass * GRAVITY / run.vehicle.n_wheels
    length = 2.0 * radius / share if share > 0.0 else 0.0
    slip = run.contact.velocity[:rows] * (1.0, 1.0, 0.0)  # what it rises is not slip
    groups = [("slip", SLIP, 1.0, "m/s", np.einsum("twij,twj->twi", R_world_contact, slip))]
    if run.contact.force is not None:
        force = np.einsum("twij,twj->twi", R_world_contact, run.contact.force[:rows])
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
        "pose": {"position": xyz(start), "orientation": towards(vector)},
        "shaft_length": length - head,
        "shaft_diameter": thickness,
        "head_length": head,
        "head_diameter": 2.0 * thickness,
        "color": _color(color),
    }


def entity(stamp: Message, frame: str, name: str, *, locked: bool = False, **shapes: list[Message]) -> Message:
    """A thing of a scene, with every field that Foxglove knows; it stays until the next of its name."""
    kinds = ("metadata", "arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models")
    return {
        "timestamp": stamp,
        "frame_id": frame,
        "id": name,
        "lifetime": {"sec": 0, "nsec": 0},
        "frame_locked": locked,
        **{kind: shapes.get(kind, []) for kind in kinds},
    }


def towards(vector: FloatArray) -> Message:
    """The shortest turn of the x axis into the direction of a vector, a quaternion by name."""
    x, y, z = (vector / np.linalg.norm(vector)).tolist()
    half = math.sqrt(2.0 * ((1.0 + x) if x > 0.0 else (y * y + z * z) / (1.0 - x)))  # 1 + x, without cancelling
    if half == 0.0:
        return quaternion((0.0, 0.0, 0.0, 1.0))  # straight back: half a turn about z is one of many
    return quaternion((0.5 * half, 0.0, -z / half, y / half))


def pose(position: Any, R: FloatArray) -> Message:
    """A pose of position [m] and rotation matrix."""
    return {"position": xyz(position), "orientation": quaternion(rotation.to_quaternion(R))}


def xyz(values: Any) -> Message:
    """Three numbers by name."""
    x, y, z = (float(v) for v in values)
    return {"x": x, "y": y, "z": z}


def quaternion(values: Any) -> Message:
    """w x y z, by name."""
    w, x, y, z = (float(v) for v in values)
    return {"x": x, "y": y, "z": z, "w": w}


def _color(rgb: tuple[float, float, float]) -> Message:
    return {"r": rgb[0], "g": rgb[1], "b": rgb[2], "a": 1.0}
