"""A ground put elsewhere."""

from __future__ import annotations

import math

import numpy as np

from grouser._kernels.terrain import curvature as terrain_curvature
from grouser._kernels.terrain import ground as kernels
from grouser.errors import TerrainError
from grouser.terrain.checks import flag, number
from grouser.terrain.ground import EVERYWHERE, Bounds, Terrain


def moved(
    ground: Terrain,
    *,
    x: float = 0.0,
    y: float = 0.0,
    z: float = 0.0,
    yaw: float = 0.0,
    mirror: bool = False,
) -> Terrain:
    """The same ground mirrored, then turned about the origin, then shifted.

    x, y, z: shift [m].
    yaw: turn from +x towards +y [rad].
    mirror: whether left and right (y and −y) change places first.
    """
    if not isinstance(ground, Terrain):
        raise TerrainError(f"ground is a {type(ground).__name__}; it must be a Terrain")
    x, y, z = number(x, "x"), number(y, "y"), number(z, "z")
    yaw = number(yaw, "yaw", low=-1e3, high=1e3, unit="rad")
    mirror = flag(mirror, "mirror")
    side = -1.0 if mirror else 1.0
    c, s = math.cos(yaw), math.sin(yaw)
    return Terrain(
        kind="moved",
        law=kernels.moved,
        second_law=terrain_curvature.moved,
        par=np.array([*ground.bound.pair, x, y, z, c, s, side], dtype=np.float64),
        bounds=_bounds(ground.bounds, x, y, c, s, side),
        description=f"{ground.description}, moved by ({x:g}, {y:g}, {z:g}) m and {math.degrees(yaw):g}°"
        + (", mirrored" if mirror else ""),
        settings={"x": x, "y": y, "z": z, "yaw": yaw, "mirror": mirror},
        children=(ground,),
    )


def _bounds(child: Bounds, x: float, y: float, c: float, s: float, side: float) -> Bounds:
    """Rectangle around the moved rectangle; everywhere if an endless one is turned."""
    xmin, xmax = child[:2]
    ymin, ymax = sorted((side * child[2], side * child[3]))
    if s == 0.0 and c == 1.0:
        return (x + xmin, x + xmax, y + ymin, y + ymax)
    if not all(map(math.isfinite, child)):
        return EVERYWHERE
    xs = [x + c * u - s * v for u in (xmin, xmax) for v in (ymin, ymax)]
    ys = [y + s * u + c * v for u in (xmin, xmax) for v in (ymin, ymax)]
    return (min(xs), max(xs), min(ys), max(ys))
