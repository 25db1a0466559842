"""A vehicle as shapes: its visuals; where it has none a box for every mass, beams between frames, and wheels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.vehicles.rows import Frame
from grouser.vehicles.vehicle import Vehicle
from grouser.view import arrays

if TYPE_CHECKING:
    from grouser.vehicles.mesh import MeshPart
    from grouser.vehicles.visual import Visual

Shape = dict[str, Any]

BEAM = 0.14
"""Thickness of a beam over the radius of the wheels."""
WIDTH = 0.4
"""Width of a wheel over its radius, if the vehicle gives none."""
LEVELS = 65_535
"""Steps of a coordinate of a mesh from its least to its largest value."""


def scene_vehicle(vehicle: Vehicle, looks: Mapping[str, Visual]) -> dict[str, Any]:
    """Frames with the shapes that move with each; a frame hangs from its parent.

    A frame without visuals, or with one whose mesh is missing, is drawn as a box or wheel.
    looks: of frames by name, in place of their visuals.
    """
    names = [frame.name for frame in vehicle.frames]
    visuals = [one for one in vehicle.visuals if one.frame not in looks]
    visuals += [one for name, one in looks.items() if name in names]
    drawn, meshes, lacking = _visual_shapes(vehicle.name, visuals)
    whole = set(drawn) - lacking

    def shapes(i: int) -> list[Shape]:
        plain = [] if names[i] in whole else _shapes(vehicle, i, beams=not drawn)
        return plain + drawn.get(names[i], [])

    return {
        "name": vehicle.name,
        "description": vehicle.description,
        "mass": vehicle.mass,
        "size": vehicle_size(vehicle),
        "wheels": [int(i) for i in vehicle.arrays.wheel],
        "meshes": meshes,
        "frames": [
            {"name": frame.name, "parent": int(vehicle.arrays.parent[i]), "shapes": shapes(i)}
            for i, frame in enumerate(vehicle.frames)
        ],
    }


def vehicle_size(vehicle: Vehicle) -> float:
    """How long or wide a vehicle is over its wheels [m], whichever is more."""
    reach = np.ptp(vehicle.wheel_positions[:, :2], axis=0).max()
    return float(reach + 2.0 * vehicle.arrays.radius.max())


def plain_frames(vehicle: Vehicle) -> list[dict[str, Any]]:
    """As the frames of `scene_vehicle`, without visuals: boxes, beams and wheels only."""
    frames: list[dict[str, Any]] = scene_vehicle(vehicle.replace(visuals=()), {})["frames"]
    return frames


def _shapes(vehicle: Vehicle, i: int, *, beams: bool) -> list[Shape]:
    """Shapes of a frame without visuals."""
    frame = vehicle.frames[i]
    if frame.is_wheel:
        assert frame.radius is not None
        if frame.slides is not None:
            return [_ball(frame.radius)]
        width = frame.width or WIDTH * frame.radius
        return [{"kind": "wheel", "radius": frame.radius, "width": width, "tyre": frame.tyre_radius}]
    shapes = [_body_box(vehicle)] if i == 0 else _link_box(frame)
    return shapes + (_beams(vehicle, i) if beams else [])


def _ball(radius: float) -> Shape:
    """A ball; where balls cannot be drawn, the box around it."""
    place = {"centre": _floats(np.zeros(3)), "axes": _floats(np.eye(3)), "color": None}
    return {"kind": "solid", "form": "sphere", "radius": radius, "size": 3 * [2.0 * radius], **place}


def _body_box(vehicle: Vehicle) -> Shape:
    """The box with the body's mass and inertia; of a body without, one between the wheels."""
    boxes = _link_box(vehicle.frames[0])
    if boxes:
        return {**boxes[0], "kind": "body"}
    wheels, radius = vehicle.wheel_positions, float(vehicle.arrays.radius.mean())
    middle = 0.5 * (wheels.min(axis=0) + wheels.max(axis=0))
    middle[2] += radius
    size = np.maximum(0.7 * np.ptp(wheels, axis=0), radius)
    return {"kind": "body", "size": _floats(size), "centre": _floats(middle), "axes": _floats(np.eye(3))}


def _link_box(frame: Frame) -> list[Shape]:
    """The solid box that has a link's mass and inertia, along its principal axes; none for a massless link."""
    if frame.mass == 0.0:
        return []
    moments, axes = principal(frame.inertia_matrix)
    # I_x = m (y² + z²) / 12 and its turns, solved for the sides.
    sides = np.sqrt(np.maximum(6.0 * (moments.sum() - 2.0 * moments) / frame.mass, 0.0))
    if sides.max() <= 0.0:
        return []
    sides = np.maximum(sides, 0.02 * sides.max())
    return [{"kind": "box", "size": _floats(sides), "centre": _floats(frame.com), "axes": _floats(axes)}]


def principal(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal values and axes (columns, right-handed) of a symmetric matrix (3, 3); x, y, z if it is diagonal."""
    diagonal = np.diag(matrix)
    if np.abs(matrix - np.diag(diagonal)).max() <= 1e-9 * max(float(diagonal.max()), 1e-300):
        return diagonal, np.eye(3)
    values, axes = np.linalg.eigh(matrix)
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return values, axes


def _beams(vehicle: Vehicle, i: int) -> list[Shape]:
    """From a frame to each that hangs from it; to a wheel first along the frame, then along the axle."""
    thickness = BEAM * float(vehicle.arrays.radius.mean())
    beams = []
    for child in (frame for frame in vehicle.frames if frame.parent == vehicle.frames[i].name):
        end = np.array(child.xyz)
        corners = [np.zeros(3), end]
        if child.is_wheel:
            corners.insert(1, np.array([end[0], 0.0, end[2]]))
        for a, b in pairwise(corners):
            if np.linalg.norm(b - a) > 1e-6:
                beams.append({"kind": "beam", "from": _floats(a), "to": _floats(b), "thickness": thickness})
    return beams


def _visual_shapes(
    name: str, visuals: Sequence[Visual]
) -> tuple[dict[str, list[Shape]], list[dict[str, Any]], set[str]]:
    """Shapes by frame, the meshes they use by number, and the frames that lack some.

    name: of the vehicle; meshes that are missing or damaged are left out with one warning for it.
    """
    if not visuals:
        return {}, [], set()
    from grouser.vehicles.visual_meshes import few_triangles

    meshes, numbers, missing = few_triangles(visuals)
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        warnings.warn(f"{name}: a visual is not drawn: {missing[0]}{more}", stacklevel=2)
    shapes: dict[str, list[Shape]] = {}
    lacking = set()
    for visual in visuals:
        shape = _shape(visual, numbers)
        if shape is not None:
            shapes.setdefault(visual.frame, []).append(shape)
        else:
            lacking.add(visual.frame)
    return shapes, [{"parts": [_packed(part) for part in mesh]} for mesh in meshes], lacking


def _shape(visual: Visual, numbers: dict[Visual, int]) -> Shape | None:
    """None for a mesh that is missing."""
    place = {"centre": _floats(visual.xyz), "axes": _floats(visual.rotation), "color": _color(visual.color)}
    if visual.shape == "mesh":
        return {"kind": "mesh", "mesh": numbers[visual], **place} if visual in numbers else None
    sizes = {name: getattr(visual, name) for name in ("size", "radius", "length") if getattr(visual, name) is not None}
    return {"kind": "solid", "form": visual.shape, **sizes, **place}


def _packed(part: MeshPart) -> dict[str, Any]:
    """Corners as steps from the least coordinate, those at one place once."""
    low = part.vertices.min(axis=0)
    step = np.maximum(np.ptp(part.vertices, axis=0), 1e-12) / LEVELS
    corners, which = np.unique(np.rint((part.vertices - low) / step).astype(np.uint16), axis=0, return_inverse=True)
    faces = which.reshape(-1)[part.faces]
    kind = "u2" if len(corners) <= LEVELS else "u4"
    return {
        "vertices": arrays.encoded(corners, "u2"),
        "low": _floats(low),
        "step": _floats(step),
        "faces": arrays.encoded(faces, kind),
        "color": _color(part.color),
    }


def _color(color: Any) -> list[float] | None:
    return None if color is None else [round(float(one), 4) for one in color]


def _floats(values: Any) -> list[float]:
    return [float(x) for x in np.asarray(values, dtype=np.float64).ravel()]
