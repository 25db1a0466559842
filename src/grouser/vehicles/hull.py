"""The hull: shapes besides the wheels that touch the ground in dynamics, each as balls or points of one frame.

A vehicle that is high-centred, bellies on a rock or lies on its back is carried by them.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser.checks import set_checked
from grouser.errors import VehicleError
from grouser.vehicles.rows import Shape, checked, mirrored_pose

__all__ = ["SHAPES", "Hull", "hull_of_mesh"]

Array = NDArray[np.float64]
SPACED = ("capsule", "cylinder", "box")
SHAPES = {
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "box": ("size",),
    "points": ("points",),
}
"""Shapes, and the fields that each needs."""
OPTIONAL = {"points": ("radius",), **dict.fromkeys(SPACED, ("spacing",))}
MOST_POINTS = 2000
MESH_POINTS = 200
"""Points that are kept of a mesh."""
SPACES = 6
"""Spaces between points along the longest side where no spacing is given."""


@dataclass(frozen=True)
class Hull(Shape):
    """A shape fixed to a frame; only the balls or points that stand for it touch the ground.

    "sphere": one ball. "capsule": balls along its axis z. "cylinder", about z, and "box": points all over the surface.
    "points": the points given, or balls around them. Ground that reaches between two points
    has no contact: use a spacing smaller than the obstacles on which the vehicle may rest.
    """

    frame: str
    """Name of the frame it moves with; not a wheel."""
    shape: str
    """One of sphere, capsule, cylinder, box, points; in files also mesh, with the field `file`."""
    xyz: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of the shape in its frame [m]."""
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw of the shape against its frame [rad], R = Rz Ry Rx."""
    size: Sequence[float] | None = None
    """Sides of a box along x, y, z [m], > 0."""
    radius: float | None = None
    """Radius of a sphere, capsule, cylinder or of balls around points [m], > 0."""
    length: float | None = None
    """Length of a cylinder, and of a capsule between the centres of its ends [m], > 0."""
    points: Sequence[Sequence[float]] | None = None
    """Points in the axes of the shape [m], n rows of 3."""
    spacing: float | None = None
    """Largest distance of neighbouring points of a box, cylinder or capsule [m], > 0; None: a sixth of its longest
    side."""

    def __post_init__(self) -> None:
        where = self._check("hull", SHAPES, OPTIONAL)
        set_checked(self, where, checked.positive, "spacing")
        set_checked(self, where, _points, "points")
        if math.prod(self._grid_nodes) > 100 * MOST_POINTS:
            raise VehicleError(f"{where} spacing: makes {math.prod(self._grid_nodes)} points; give a larger one")

    @property
    def _grid_nodes(self) -> tuple[int, ...]:
        """Points along each side of a box, around and along a cylinder, along a capsule."""
        if self.shape not in SPACED:
            return ()
        sides: tuple[float, ...]
        if self.size is not None:
            sides = tuple(self.size)
        else:
            length, radius = self.length or 0.0, self.radius or 0.0
            sides = (2.0 * math.pi * radius, length) if self.shape == "cylinder" else (length,)
        longest = max(self.length or 0.0, 2.0 * (self.radius or 0.0)) if self.size is None else max(sides)
        spacing = longest / SPACES if self.spacing is None else self.spacing
        return tuple(int(min(math.ceil(side / spacing * (1.0 - 1e-12)), 10**6)) + 1 for side in sides)

    @property
    def ball_radius(self) -> float:
        """Radius of the balls that stand for the shape [m]; 0 for points."""
        return 0.0 if self.shape in ("box", "cylinder") else self.radius or 0.0

    @cached_property
    def centres(self) -> Array:
        """Centres of the balls, or points, that stand for the shape, frame axes [m], shape (n, 3)."""
        local = getattr(self, f"_{self.shape}")()
        made: Array = np.asarray(self.xyz) + local @ self.rotation.T
        return made

    def _sphere(self) -> Array:
        return np.zeros((1, 3))

    def _points(self) -> Array:
        return np.array(self.points, dtype=np.float64)

    def _capsule(self) -> Array:
        length = self.length or 0.0
        z = np.linspace(-0.5, 0.5, self._grid_nodes[0]) * length
        return np.column_stack([0.0 * z, 0.0 * z, z])

    def _box(self) -> Array:
        """The nodes of a lattice that lie on the surface."""
        nodes = self._grid_nodes
        index = np.stack(np.meshgrid(*(np.arange(n) for n in nodes), indexing="ij"), axis=-1).reshape(-1, 3)
        surface = ((index == 0) | (index == np.array(nodes) - 1)).any(axis=1)
        made: Array = (index[surface] / (np.array(nodes) - 1.0) - 0.5) * np.asarray(self.size)
        return made

    def _cylinder(self) -> Array:
        """Circles along the axis, and smaller ones on both ends."""
        around, along = max(self._grid_nodes[0] - 1, 16), self._grid_nodes[1]
        radius, length = self.radius or 0.0, self.length or 0.0
        spacing = 2.0 * math.pi * radius / around
        rows = [_circle(radius, around, z) for z in np.linspace(-0.5, 0.5, along) * length]
        rings = math.ceil(radius / spacing)
        for z in (-0.5 * length, 0.5 * length):
            rows += [_circle(radius * k / rings, max(round(around * k / rings), 1), z) for k in range(rings)]
        return np.concatenate(rows)

    def mirrored(self) -> Hull:
        """The shape seen in a mirror that swaps left and right."""
        points = self.points if self.points is None else [(x, -y, z) for x, y, z in self.points]
        return dataclasses.replace(self, **mirrored_pose(self), points=points)

    def describe(self) -> str:
        """The shape, its size and number of points, as text."""
        sizes = (f"{name} {getattr(self, name):g} m" for name in ("radius", "length") if getattr(self, name))
        box = [] if self.size is None else [" × ".join(f"{side:g}" for side in self.size) + " m"]
        return ", ".join([self.shape, *box, *sizes, f"{len(self.centres)} points"])


def _points(value: Any, name: str) -> tuple[tuple[float, ...], ...]:
    rows = checked.array(value, name, (None, 3))
    if not 0 < len(rows) <= MOST_POINTS:
        raise VehicleError(f"{name}: has {len(rows)} rows, 1 to {MOST_POINTS} are accepted")
    return tuple(map(tuple, rows.tolist()))


def _circle(radius: float, count: int, z: float) -> Array:
    # Half a space off the x axis, so that the mirror image is the same circle.
    angle = (np.arange(count) + 0.5) * 2.0 * math.pi / count
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, z)])


def hull_of_mesh(path: str | os.PathLike[str], scale: Sequence[float] = (1.0, 1.0, 1.0)) -> list[list[float]]:
    """Corners of the convex hull of a mesh file [m], at most 200 that are far apart, n rows of 3."""
    from scipy.spatial import ConvexHull, QhullError

    from grouser.vehicles.mesh import read_mesh

    vertices = np.concatenate([part.vertices for part in read_mesh(path)])
    points = np.unique(vertices * np.asarray(scale), axis=0)
    if not (len(points) and np.isfinite(points).all()):
        raise VehicleError(f"{path}: has no corners, or some that are not finite; a hull needs at least one")
    try:
        corners = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # flat, or fewer than four points: all of them are corners
        corners = points
    return [[float(x) for x in corner] for corner in _spread(corners, MESH_POINTS)]


def thinned(hull: Sequence[Hull]) -> tuple[Hull, ...]:
    """The shapes with MOST_POINTS points in all or fewer: of those without balls, equal shares that are far apart."""
    total = sum(len(one.centres) for one in hull)
    if total <= MOST_POINTS:
        return tuple(hull)
    made = []
    for one in hull:
        if one.ball_radius == 0.0:
            count = max(int(len(one.centres) * MOST_POINTS / total), 1)
            one = Hull(one.frame, "points", points=_spread(one.centres, count).tolist())
        made.append(one)
    return tuple(made)


def _spread(points: Array, most: int) -> Array:
    """The points, or so many of them: each next one is the farthest from those before."""
    if len(points) <= most:
        return points
    chosen = [int(np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    distance = np.full(len(points), np.inf)
    while len(chosen) < most:
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(distance)))
    return points[chosen]
