"""Triangles and diffuse colours of a COLLADA 1.4 or 1.5 file (.dae), as its scene places them. No textures, no skins.

Coordinates are those of the file times its unit in metres. `up_axis` is ignored, see `grouser.vehicles.mesh`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from grouser.errors import VehicleError
from grouser.rotation import about
from grouser.vehicles.mesh import Colour, Mesh, MeshPart
from grouser.vehicles.safe_xml import parse_xml

MOST_ELEMENTS = 300_000
MOST_NODES = 20_000
"""Nodes of the scene, each instance counted."""
DEEPEST = 60
MOST_CORNERS = 12_000_000
"""Corners of triangles of a scene, each instance counted."""
Array = NDArray[np.float64]
Integers = NDArray[np.int64]
PRIMITIVES = ("triangles", "polygons", "polylist", "trifans", "tristrips")


def parse_collada(data: bytes) -> Mesh:
    """The parts of a mesh, one for each piece of geometry and material where the scene has it [m]."""
    root = parse_xml(data, "COLLADA file", most_elements=MOST_ELEMENTS)
    if root.tag != "COLLADA":
        raise VehicleError(f"element <{root.tag:.60}>: a COLLADA file begins with <COLLADA>")
    try:
        return tuple(_Scene(root).parts())
    except (ValueError, IndexError, OverflowError) as error:  # numbers that are none, indices beyond a list
        raise VehicleError(f"is a damaged COLLADA file ({error!s:.100})") from None


class _Scene:
    """The libraries of a file by id, and its scene."""

    def __init__(self, root: Element) -> None:
        self.root = root
        unit = root.find("asset/unit")
        self.metre = float(unit.get("meter", "1")) if unit is not None else 1.0
        if not (math.isfinite(self.metre) and self.metre > 0.0):
            raise VehicleError(f"element <unit>: {self.metre:g} is not a positive length in metres")
        self.by_id = {one.get("id", ""): one for one in root.iter() if one.get("id")}
        self.nodes = self.corners = 0
        self.surfaces: dict[str, list[tuple[str, Array, Integers]]] = {}

    def parts(self) -> Iterator[MeshPart]:
        """All that the scene holds; of a file without one, all geometry as it is."""
        place = np.diag([self.metre, self.metre, self.metre, 1.0])
        scene = self._of(self.root.find("scene/instance_visual_scene"))
        if scene is None:
            scene = self.root.find("library_visual_scenes/visual_scene")
        if scene is None:
            for geometry in self.root.findall("library_geometries/geometry"):
                yield from self._drawn(geometry, {}, place)
            return
        for node in scene.findall("node"):
            yield from self._node(node, place, 0)

    def _node(self, node: Element, above: Array, depth: int) -> Iterator[MeshPart]:
        self.nodes += 1
        if self.nodes > MOST_NODES or depth > DEEPEST:
            raise VehicleError(f"its scene has more than {MOST_NODES} nodes, or some deeper than {DEEPEST}")
        place = above @ _transform(node)
        for one in node:
            if one.tag == "instance_geometry":
                geometry = self._of(one)
                if geometry is not None:
                    yield from self._drawn(geometry, self._materials(one), place)
            elif one.tag in ("node", "instance_node"):
                below = one if one.tag == "node" else self._of(one)
                if below is not None and below.tag == "node":
                    yield from self._node(below, place, depth + 1)

    def _drawn(self, geometry: Element, materials: dict[str, Colour | None], place: Array) -> Iterator[MeshPart]:
        """The triangles of a geometry where the scene has it; a mirror image keeps its outside outside."""
        name = geometry.get("id", "")
        if name not in self.surfaces:
            self.surfaces[name] = list(self._surfaces(geometry))
        for material, vertices, faces in self.surfaces[name]:
            self.corners += faces.size
            if self.corners > MOST_CORNERS:
                raise VehicleError(f"has more than {MOST_CORNERS // 3} triangles, the most that are read")
            turned = faces[:, ::-1] if np.linalg.det(place[:3, :3]) < 0.0 else faces
            colour = materials.get(material, self._colour(self.by_id.get(material)))
            yield MeshPart(vertices @ place[:3, :3].T + place[:3, 3], turned, colour)

    def _surfaces(self, geometry: Element) -> Iterator[tuple[str, Array, Integers]]:
        """Material symbol, corners and triangles of each primitive."""
        mesh = geometry.find("mesh")
        for one in () if mesh is None else mesh:
            if one.tag not in PRIMITIVES:
                continue
            inputs = [(i.get("semantic"), int(i.get("offset", "0")), i.get("source", "")) for i in one.findall("input")]
            corners = [(offset, source) for semantic, offset, source in inputs if semantic == "VERTEX"]
            if not corners:
                continue
            stride = 1 + max(offset for _, offset, _ in inputs)
            offset, source = corners[0]
            found = self.by_id.get(source.lstrip("#"))
            position = None if found is None else found.find("input[@semantic='POSITION']")
            values = self._of(position, "source")
            if values is None:
                raise VehicleError(f"geometry '{geometry.get('id', ''):.60}': its corners have no positions")
            vertices = _positions(values)
            rings = [_whole(p.text)[offset::stride] for p in one.findall("p")]
            rings += [_whole(p.text)[offset::stride] for p in one.findall("ph/p")]
            faces = _faces(one.tag, rings, _whole(one.findtext("vcount")))
            if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
                raise VehicleError(f"geometry '{geometry.get('id', ''):.60}': a triangle names a corner it has not")
            yield one.get("material", ""), vertices, faces

    def _materials(self, instance: Element) -> dict[str, Colour | None]:
        """Colour by the symbol that a geometry uses for a material."""
        bound = instance.findall("bind_material/technique_common/instance_material")
        return {one.get("symbol", ""): self._colour(self._of(one, "target")) for one in bound}

    def _colour(self, material: Element | None) -> Colour | None:
        """Diffuse colour of a material; None where it has a texture. Exporters differ in which opacity is solid."""
        effect = None if material is None else self._of(material.find("instance_effect"))
        if effect is None:
            return None
        for shading in ("phong", "blinn", "lambert", "constant"):
            for part in ("diffuse", "emission") if shading == "constant" else ("diffuse",):
                found = effect.find(f"profile_COMMON/technique/{shading}/{part}/color")
                if found is not None:
                    red, green, blue = np.clip(_numbers(found.text)[:3], 0.0, 1.0).tolist()
                    return red, green, blue, 1.0
        return None

    def _of(self, element: Element | None, attribute: str = "url") -> Element | None:
        """What an element refers to in this file."""
        return None if element is None else self.by_id.get(element.get(attribute, "").lstrip("#"))


def _transform(node: Element) -> Array:
    """The node's transformations, the first outermost."""
    made = np.eye(4)
    for one in node:
        if one.tag not in ("matrix", "translate", "rotate", "scale"):
            continue
        values, step = _numbers(one.text), np.eye(4)
        if one.tag == "matrix":
            step = values.reshape(4, 4)
        elif one.tag == "translate":
            step[:3, 3] = values
        elif one.tag == "scale":
            step[:3, :3] = np.diag(values)
        else:
            step[:3, :3] = _turn(values)
        made = made @ step
    return made


def _turn(values: Array) -> Array:
    """Rotation about an axis x y z by an angle [deg]."""
    x, y, z, degrees = values
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return np.eye(3)
    return about(np.array([x, y, z]) / length, math.radians(degrees))


def _positions(source: Element) -> Array:
    """x, y, z of a source, (n, 3)."""
    values = _numbers(source.findtext("float_array"))
    accessor = source.find("technique_common/accessor")
    stride = 3 if accessor is None else int(accessor.get("stride", "3"))
    start = 0 if accessor is None else int(accessor.get("offset", "0"))
    if stride < 3 or start < 0:
        raise VehicleError(f"source '{source.get('id', ''):.60}': its corners do not have three coordinates")
    values = values[start:]
    count = (len(values) + stride - 3) // stride
    rows = np.arange(count)[:, None] * stride + np.arange(3)
    placed: Array = values[rows]
    return placed


def _faces(kind: str, rings: list[Integers], counts: Integers) -> Integers:
    """Triangles (n, 3) of a primitive, from the lists of corners in it and those of polygons in a <polylist>.

    Polygons become fans from their first corner: right for convex ones, as exporters write them.
    """
    if kind == "tristrips":  # every second triangle of a strip runs the other way round
        steps = [np.arange(max(len(ring) - 2, 0))[:, None] for ring in rings]
        turned = [np.hstack([k + k % 2, k + 1 - k % 2, k + 2]) for k in steps]
        kind, rings = "triangles", [ring[k].ravel() for ring, k in zip(rings, turned, strict=True)]
    if kind == "triangles":
        rings = [ring[: len(ring) // 3 * 3] for ring in rings]
    corners = np.concatenate(rings or [np.zeros(0, np.int64)])
    if kind == "triangles":
        counts = np.full(len(corners) // 3, 3)
    elif kind != "polylist":
        counts = np.array([len(ring) for ring in rings], np.int64)
    elif (counts < 0).any() or counts.sum() > len(corners):
        raise VehicleError("element <polylist>: has fewer corners than its <vcount> says")
    inside = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, inside)
    k = np.arange(inside.sum()) - np.repeat(np.cumsum(inside) - inside, inside)
    return np.column_stack([corners[first], corners[first + k + 1], corners[first + k + 2]])


def _numbers(text: str | None) -> Array:
    return np.array((text or "").split(), dtype=np.float64)


def _whole(text: str | None) -> Integers:
    return np.array((text or "").split(), dtype=np.int64)
