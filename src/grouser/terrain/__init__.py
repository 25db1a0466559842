"""The ground: planes, ramps, grids, meshes, random rough ground, formulas, and files of them."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.terrain.files import read
    from grouser.terrain.function import law
    from grouser.terrain.grid import grid
    from grouser.terrain.ground import GroundSample, Terrain
    from grouser.terrain.mesh import mesh
    from grouser.terrain.moved import moved
    from grouser.terrain.plane import plane, slope
    from grouser.terrain.ramp import ramp
    from grouser.terrain.rough import rough
    from grouser.terrain.spec import parse
    from grouser.terrain.spline import spline
    from grouser.terrain.stack import stack

__all__ = [
    "GroundSample",
    "Terrain",
    "grid",
    "law",
    "mesh",
    "moved",
    "parse",
    "plane",
    "ramp",
    "read",
    "rough",
    "slope",
    "spline",
    "stack",
]

lazy(__name__)
