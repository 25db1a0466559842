"""Foxglove's message types as JSON Schemas, from their public definitions (docs.foxglove.dev), and parts of messages.

Only the types that a run is written with. Lengths in metres, colours from 0 to 1, quaternions x y z w.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray

Schema = dict[str, Any]
Message = dict[str, Any]

NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
YES_OR_NO: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NANOSECONDS: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999_999}


def record(title: str, **fields: Schema) -> Schema:
    """An object with these fields."""
    return {"title": title, "type": "object", "properties": fields}


def many(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def _one_of(title: str, *names: str) -> Schema:
    """One of some names, written as its number."""
    return {"title": title, "oneOf": [{"title": name, "const": i} for i, name in enumerate(names)]}


TIME = record("time", sec=COUNT, nsec=NANOSECONDS)
DURATION = record("duration", sec={"type": "integer"}, nsec=NANOSECONDS)
VECTOR = record("foxglove.Vector3", x=NUMBER, y=NUMBER, z=NUMBER)
POINT = record("foxglove.Point3", x=NUMBER, y=NUMBER, z=NUMBER)
QUATERNION = record("foxglove.Quaternion", x=NUMBER, y=NUMBER, z=NUMBER, w=NUMBER)
COLOR = record("foxglove.Color", r=NUMBER, g=NUMBER, b=NUMBER, a=NUMBER)
POSE = record("foxglove.Pose", position=VECTOR, orientation=QUATERNION)

POSE_IN_FRAME = record("foxglove.PoseInFrame", timestamp=TIME, frame_id=TEXT, pose=POSE)
FRAME_TRANSFORM = record(
    "foxglove.FrameTransform",
    timestamp=TIME,
    parent_frame_id=TEXT,
    child_frame_id=TEXT,
    translation=VECTOR,
    rotation=QUATERNION,
)
FRAME_TRANSFORMS = record("foxglove.FrameTransforms", transforms=many(FRAME_TRANSFORM))

_ARROW = record(
    "foxglove.ArrowPrimitive",
    pose=POSE,
    shaft_length=NUMBER,
    shaft_diameter=NUMBER,
    head_length=NUMBER,
    head_diameter=NUMBER,
    color=COLOR,
)
_CUBE = record("foxglove.CubePrimitive", pose=POSE, size=VECTOR, color=COLOR)
_SPHERE = record("foxglove.SpherePrimitive", pose=POSE, size=VECTOR, color=COLOR)
_CYLINDER = record(
    "foxglove.CylinderPrimitive", pose=POSE, size=VECTOR, bottom_scale=NUMBER, top_scale=NUMBER, color=COLOR
)
_LINE = record(
    "foxglove.LinePrimitive",
    type=_one_of("foxglove.LineType", "LINE_STRIP", "LINE_LOOP", "LINE_LIST"),
    pose=POSE,
    thickness=NUMBER,
    scale_invariant=YES_OR_NO,
    points=many(POINT),
    color=COLOR,
    colors=many(COLOR),
    indices=many(COUNT),
)
_TRIANGLES = record(
    "foxglove.TriangleListPrimitive",
    pose=POSE,
    points=many(POINT),
    color=COLOR,
    colors=many(COLOR),
    indices=many(COUNT),
)
_TEXT = record(
    "foxglove.TextPrimitive",
    pose=POSE,
    billboard=YES_OR_NO,
    font_size=NUMBER,
    scale_invariant=YES_OR_NO,
    color=COLOR,
    text=TEXT,
)
_MODEL = record(
    "foxglove.ModelPrimitive",
    pose=POSE,
    scale=VECTOR,
    color=COLOR,
    override_color=YES_OR_NO,
    url=TEXT,
    media_type=TEXT,
    data={"type": "string", "contentEncoding": "base64"},
)
_ENTITY = record(
    "foxglove.SceneEntity",
    timestamp=TIME,
    frame_id=TEXT,
    id=TEXT,
    lifetime=DURATION,
    frame_locked=YES_OR_NO,
    metadata=many(record("foxglove.KeyValuePair", key=TEXT, value=TEXT)),
    arrows=many(_ARROW),
    cubes=many(_CUBE),
    spheres=many(_SPHERE),
    cylinders=many(_CYLINDER),
    lines=many(_LINE),
    triangles=many(_TRIANGLES),
    texts=many(_TEXT),
    models=many(_MODEL),
)
_DELETION = record(
    "foxglove.SceneEntityDeletion",
    timestamp=TIME,
    type=_one_of("foxglove.SceneEntityDeletionType", "MATCHING_ID", "ALL"),
    id=TEXT,
)
SCENE_UPDATE = record("foxglove.SceneUpdate", deletions=many(_DELETION), entities=many(_ENTITY))


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


def color(rgb: tuple[float, float, float]) -> Message:
    """Red, green and blue by name; opaque."""
    return {"r": rgb[0], "g": rgb[1], "b": rgb[2], "a": 1.0}
