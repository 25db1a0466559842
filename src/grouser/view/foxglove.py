"""Foxglove's message types as JSON Schemas, from their public definitions (docs.foxglove.dev), and parts of messages.

Only the types that a run is written with. Lengths in metres, colours from 0 to 1, quaternions x y z w.
"""

import math
from typing import Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray

Schema = dict[str, Any]
Message = dict[str, Any]

R_WHEEL_CYLINDER = rotation.from_rpy(-0.5 * math.pi, 0.0, 0.0)
"""A cylinder of Foxglove stands along z; a wheel's axle is y: Rx(−90°) turns z into y."""
_PLAIN: dict[str, Schema] = {
    "number": {"type": "number"},
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "integer": {"type": "integer"},
    "count": {"type": "integer", "minimum": 0},
    "nanoseconds": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
    "bytes": {"type": "string", "contentEncoding": "base64"},
}
_NUMBERED = {
    "foxglove.LineType": ("LINE_STRIP", "LINE_LOOP", "LINE_LIST"),
    "foxglove.SceneEntityDeletionType": ("MATCHING_ID", "ALL"),
}
"""Enumerations: names by number."""
_XYZ, _POSE = "x:number y:number z:number", "pose:foxglove.Pose"
_COLOR, _COLORS = "color:foxglove.Color", "color:foxglove.Color colors:foxglove.Color* indices:count*"
_FIELDS = {
    "time": "sec:count nsec:nanoseconds",
    "duration": "sec:integer nsec:nanoseconds",
    "foxglove.Vector3": _XYZ,
    "foxglove.Point3": _XYZ,
    "foxglove.Quaternion": f"{_XYZ} w:number",
    "foxglove.Color": "r:number g:number b:number a:number",
    "foxglove.Pose": "position:foxglove.Vector3 orientation:foxglove.Quaternion",
    "foxglove.PoseInFrame": f"timestamp:time frame_id:text {_POSE}",
    "foxglove.FrameTransform": "timestamp:time parent_frame_id:text child_frame_id:text translation:foxglove.Vector3 "
    "rotation:foxglove.Quaternion",
    "foxglove.FrameTransforms": "transforms:foxglove.FrameTransform*",
    "foxglove.ArrowPrimitive": f"{_POSE} shaft_length:number shaft_diameter:number head_length:number "
    f"head_diameter:number {_COLOR}",
    "foxglove.CubePrimitive": f"{_POSE} size:foxglove.Vector3 {_COLOR}",
    "foxglove.SpherePrimitive": f"{_POSE} size:foxglove.Vector3 {_COLOR}",
    "foxglove.CylinderPrimitive": f"{_POSE} size:foxglove.Vector3 bottom_scale:number top_scale:number {_COLOR}",
    "foxglove.LinePrimitive": f"type:foxglove.LineType {_POSE} thickness:number scale_invariant:flag "
    f"points:foxglove.Point3* {_COLORS}",
    "foxglove.TriangleListPrimitive": f"{_POSE} points:foxglove.Point3* {_COLORS}",
    "foxglove.TextPrimitive": f"{_POSE} billboard:flag font_size:number scale_invariant:flag {_COLOR} text:text",
    "foxglove.ModelPrimitive": f"{_POSE} scale:foxglove.Vector3 {_COLOR} override_color:flag url:text media_type:text "
    "data:bytes",
    "foxglove.KeyValuePair": "key:text value:text",
    "foxglove.SceneEntity": "timestamp:time frame_id:text id:text lifetime:duration frame_locked:flag "
    "metadata:foxglove.KeyValuePair* arrows:foxglove.ArrowPrimitive* cubes:foxglove.CubePrimitive* "
    "spheres:foxglove.SpherePrimitive* cylinders:foxglove.CylinderPrimitive* lines:foxglove.LinePrimitive* "
    "triangles:foxglove.TriangleListPrimitive* texts:foxglove.TextPrimitive* models:foxglove.ModelPrimitive*",
    "foxglove.SceneEntityDeletion": "timestamp:time type:foxglove.SceneEntityDeletionType id:text",
    "foxglove.SceneUpdate": "deletions:foxglove.SceneEntityDeletion* entities:foxglove.SceneEntity*",
}
"""Fields of each type, as name:type; a star is a list."""


def schema(kind: str, more: dict[str, str] | None = None) -> Schema:
    """The JSON Schema of a type; `more` has the fields of types that are not Foxglove's."""
    known = {**_FIELDS, **(more or {})}
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind.endswith("*"):
        return {"type": "array", "items": schema(kind[:-1], more)}
    if kind in _NUMBERED:
        return {"title": kind, "oneOf": [{"title": name, "const": i} for i, name in enumerate(_NUMBERED[kind])]}
    fields = (field.split(":") for field in known[kind].split())
    return {"title": kind, "type": "object", "properties": {name: schema(of, more) for name, of in fields}}


def entity(stamp: Message, frame: str, name: str, *, locked: bool = False, **shapes: list[Message]) -> Message:
    """An entity of a scene, with all of Foxglove's fields; it stays until the next of its name."""
    kinds = ("metadata", "arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models")
    about = {"timestamp": stamp, "frame_id": frame, "id": name, "lifetime": {"sec": 0, "nsec": 0}}
    return {**about, "frame_locked": locked, **{kind: shapes.get(kind, []) for kind in kinds}}


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
    return dict(zip("xyz", map(float, values), strict=True))


def quaternion(values: Any) -> Message:
    """w x y z, by name."""
    w, *xyz = map(float, values)
    return dict(zip("xyzw", (*xyz, w), strict=True))


def color(rgb: tuple[float, float, float]) -> Message:
    """Red, green and blue by name; opaque."""
    return dict(zip("rgba", (*rgb, 1.0), strict=True))
