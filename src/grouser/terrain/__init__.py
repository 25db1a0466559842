"""The ground: planes, ramps, grids, meshes, random rough ground, formulas, and files of them."""

from grouser.terrain.files import read
from grouser.terrain.function import function
from grouser.terrain.grid import grid, spline
from grouser.terrain.ground import GroundSample, Terrain
from grouser.terrain.mesh import mesh
from grouser.terrain.rough import rough
from grouser.terrain.shapes import moved, plane, ramp, slope, stack
from grouser.terrain.spec import parse

__all__ = [
    "GroundSample",
    "Terrain",
    "function",
    "grid",
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
