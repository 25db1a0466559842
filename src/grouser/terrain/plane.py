"""Level and inclined planes."""

from __future__ import annotations

import math

import numpy as np

from grouser._kernels.terrain import curvature as terrain_curvature
from grouser._kernels.terrain import ground as kernels
from grouser.terrain.checks import number
from grouser.terrain.ground import Terrain


def plane(height: float = 0.0) -> Terrain:
    """Level ground everywhere.

    height: world z of the ground [m].
    """
    height = number(height, "height")
    return Terrain(
        kind="plane",
        law=kernels.plane,
        second_law=terrain_curvature.plane,
        par=np.array([height, 0.0, 0.0]),
        description=f"level ground at {height:g} m",
        settings={"height": height},
    )


def slope(deg: float, *, heading_deg: float = 0.0, height: float = 0.0) -> Terrain:
    """An inclined plane everywhere.

    deg: steepness, −85 to 85 [°]; negative falls along the heading.
    heading_deg: direction of steepest ascent, from +x towards +y [°].
    height: world z of the ground at the origin [m].
    """
    deg = number(deg, "deg", low=-85.0, high=85.0, unit="°")
    heading_deg = number(heading_deg, "heading_deg", low=-360.0, high=360.0, unit="°")
    height = number(height, "height")
    rise = math.tan(math.radians(deg))
    heading = math.radians(heading_deg)
    return Terrain(
        kind="slope",
        law=kernels.plane,
        second_law=terrain_curvature.plane,
        par=np.array([height, rise * math.cos(heading), rise * math.sin(heading)]),
        description=f"slope of {deg:g}° rising towards {heading_deg:g}°",
        settings={"deg": deg, "heading_deg": heading_deg, "height": height},
    )
