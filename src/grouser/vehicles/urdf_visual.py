"""The <visual> elements of a URDF: shapes with their colours, on the frames that their links move with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.errors import VehicleError
from grouser.vehicles.mesh_path import Packages, found_mesh
from grouser.vehicles.urdf_numbers import floats, origin
from grouser.vehicles.visual import Visual

Array = NDArray[np.float64]
FIELDS = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}


@dataclass(frozen=True)
class LinkVisual:
    """What a link looks like: a shape at R = R_link_shape, p [m] of its link."""

    R: Array
    p: Array
    fields: dict[str, Any]
    """Fields of a `Visual`; of a mesh `mesh` as the URDF names it, and `scale`."""


def read_visuals(robot: Element) -> dict[str, list[LinkVisual]]:
    """The visuals of each link, by its name; a <material> without a colour of its own is meant by its name."""
    everywhere = [*robot.findall("material"), *robot.findall("link/visual/material")]
    colours = {one.get("name", ""): found for one in reversed(everywhere) if (found := _colour(one)) is not None}
    visuals = {}
    for link in robot.findall("link"):
        where = f"link '{link.get('name', ''):.60}', element <visual>"
        shapes = (_visual(one, colours, where) for one in link.findall("visual"))
        visuals[link.get("name", "")] = [one for one in shapes if one is not None]
    return visuals


def placed(
    shapes: Iterable[tuple[str, Array, Array, LinkVisual]], folder: Path, packages: Packages = ()
) -> tuple[Visual, ...]:
    """Visuals of frames, from (frame, R_frame_link, p_frame_link, visual); meshes are looked up, not read."""
    made = []
    for frame, R, p, one in shapes:
        fields = dict(one.fields)
        if "mesh" in fields:
            fields["mesh"] = found_mesh(fields["mesh"], folder, packages)
        rpy = rotation.to_rpy(R @ one.R)
        made.append(Visual(frame, xyz=tuple(p + R @ one.p), rpy=tuple(rpy), **fields))
    return tuple(made)


def _visual(element: Element, colours: dict[str, tuple[float, ...]], where: str) -> LinkVisual | None:
    """None for a shape that URDF does not know, or of no size."""
    geometry = element.find("geometry")
    shapes = [] if geometry is None else [one for one in geometry if one.tag in (*FIELDS, "mesh")]
    if not shapes:
        return None
    one = shapes[0]
    fields: dict[str, Any] = {"shape": one.tag}
    if one.tag == "mesh":
        if not one.get("filename"):
            raise VehicleError(f"{where}: has a <mesh> without a filename")
        fields["mesh"] = one.get("filename")
        fields["scale"] = floats(one.get("scale", "1 1 1"), 3, f"{where}, field scale")
        if 0.0 in fields["scale"]:
            return None
    for name in FIELDS.get(one.tag, ()):
        values = floats(one.get(name, ""), 3 if name == "size" else 1, f"{where}, field {name}")
        fields[name] = values if name == "size" else values[0]
        if min(values) <= 0.0:  # a placeholder, which some exporters write
            return None
    material = element.find("material")
    if material is not None:
        fields["color"] = _colour(material) or colours.get(material.get("name", ""))
    return LinkVisual(*origin(element, where), fields)


def _colour(material: Element) -> tuple[float, ...] | None:
    """Red, green, blue, opacity; None where it has no colour, or one that is none: a picture is not worth a refusal."""
    color = material.find("color")
    try:
        red, green, blue, opacity = (float(word) for word in ("" if color is None else color.get("rgba", "")).split())
    except ValueError:
        return None
    return tuple(np.clip(np.nan_to_num([red, green, blue, opacity]), 0.0, 1.0).tolist())
