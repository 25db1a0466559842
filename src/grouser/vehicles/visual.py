"""Visuals: what a frame of a vehicle looks like. They are drawn only; nothing of them enters the motion."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import listed, set_checked
from grouser.errors import VehicleError
from grouser.vehicles.rows import Shape, checked, mirrored_pose

if TYPE_CHECKING:
    from grouser.vehicles.mesh import Mesh

__all__ = ["SHAPES", "Visual"]

SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",), "mesh": ("mesh",)}
"""Shapes, and the fields that each needs."""


@dataclass(frozen=True)
class Visual(Shape):
    """A coloured shape fixed to a frame; a cylinder stands along its z."""

    frame: str
    """Name of the frame it moves with."""
    shape: str = "mesh"
    """One of box, cylinder, sphere, mesh."""
    mesh: str | None = None
    """File of a mesh: .stl, .obj, .ply or .dae; in a vehicle file a path from that file, or a package:// address."""
    xyz: Sequence[float] = (0.0, 0.0, 0.0)
    """Origin of the shape in its frame [m]."""
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw of the shape against its frame [rad], R = Rz Ry Rx."""
    scale: Sequence[float] = (1.0, 1.0, 1.0)
    """Of a mesh along its x, y, z, a ratio, not 0; 0.001 for a mesh in millimetres."""
    size: Sequence[float] | None = None
    """Sides of a box along x, y, z [m], > 0."""
    radius: float | None = None
    """Radius of a cylinder or sphere [m], > 0."""
    length: float | None = None
    """Length of a cylinder [m], > 0."""
    color: Sequence[float] | None = None
    """Red, green, blue and maybe opacity, each a share of 0 to 1, where a mesh brings no colour; None: the page's."""
    geometry: Mesh | None = field(default=None, compare=False, repr=False)
    """The mesh itself where no file is needed, as of a saved run; axes and scale as drawn."""

    def __post_init__(self) -> None:
        where = self._check("visual", SHAPES, {})
        set_checked(self, where, checked.numbers, "scale", count=3)
        if 0.0 in self.scale:
            raise VehicleError(f"{where} scale: has a zero, which makes a mesh flat; use 1 for its own size")
        if self.shape != "mesh" and any(one != 1.0 for one in self.scale):
            raise VehicleError(f"{where} scale: is for a mesh; give the size of a {self.shape} itself")
        if self.mesh is not None and not (isinstance(self.mesh, str) and self.mesh):
            raise VehicleError(f"{where} mesh: {self.mesh!r:.60} is not the name of a file")
        set_checked(self, where, _colour, "color")

    def read(self) -> Mesh:
        """The triangles of a mesh, scaled [m], axes of the shape; VehicleError where its file is not to be read."""
        if self.geometry is not None:
            return self.geometry
        assert self.mesh is not None
        from grouser.vehicles.mesh import read_mesh
        from grouser.vehicles.mesh_path import find_mesh

        file = find_mesh(self.mesh, Path())
        return tuple(part.scaled(np.asarray(self.scale)) for part in read_mesh(file))

    def mirrored(self) -> Visual:
        """The shape seen in a mirror that swaps left and right: pose S T S, a mesh scaled by S = diag(1, −1, 1)."""
        S = np.array([1.0, -1.0, 1.0])
        more: dict[str, Any] = {}
        if self.shape == "mesh":
            given = self.geometry
            more["scale"] = tuple(S * self.scale)
            more["geometry"] = None if given is None else tuple(part.scaled(S) for part in given)
        return dataclasses.replace(self, **mirrored_pose(self), **more)


def _colour(value: Any, name: str) -> tuple[float, ...]:
    """Red, green, blue, opacity, which may be left out."""
    color = checked.numbers(value, 3 if isinstance(value, Sequence) and len(value) == 3 else 4, name)
    for share in color:
        checked.number(share, name, low=0.0, high=1.0, unit="of 1")
    return (*color, 1.0)[:4]


def described(visuals: Sequence[Visual]) -> str:
    """How many there are, and which meshes, as text."""
    files = {one.mesh: one.geometry is not None for one in visuals if one.mesh is not None}
    names = [Path(name).name + ("" if kept or Path(name).is_file() else " (not found)") for name, kept in files.items()]
    frames = len({one.frame for one in visuals})
    return f"{len(visuals)} on {frames} frame{'s' * (frames != 1)}" + (f"; {listed(names, 12)}" if names else "")
