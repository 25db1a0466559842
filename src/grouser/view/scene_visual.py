"""Visuals of a vehicle as shapes of a page: few triangles, whole numbers for their corners, each mesh once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.vehicles.mesh import MeshPart
from grouser.vehicles.visual import Visual
from grouser.vehicles.visual_meshes import few_triangles
from grouser.view import arrays

Shape = dict[str, Any]
LEVELS = 65_535
"""Steps of a coordinate from the least to the largest of a mesh."""


def visual_shapes(
    name: str, visuals: Sequence[Visual]
) -> tuple[dict[str, list[Shape]], list[dict[str, Any]], set[str]]:
    """Shapes by frame, the meshes they use by number, and the frames that lack some.

    name: of the vehicle; meshes that are missing or damaged are left out with one warning for it.
    """
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
