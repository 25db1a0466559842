"""The ground: planes, ramps, grids, meshes, random rough ground, formulas, and files of them."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.terrain.files import read
    from grouser.terrain.function import law
    from grouser.terrain.grid import grid, spline
    from grouser.terrain.ground import GroundSample, Terrain
    from grouser.terrain.ground_map import GroundMap, read_ground_map
    from grouser.terrain.mesh import mesh
    from grouser.terrain.relief import steep_warning, steepest
    from grouser.terrain.rough import rough
    from grouser.terrain.shapes import moved, plane, ramp, slope, stack
    from grouser.terrain.soil_raster import SoilRaster, polygons, read_soils
    from grouser.terrain.soils import Soil, Soils, soils
    from grouser.terrain.spec import parse

__all__ = [
    "GroundMap", "GroundSample", "Soil", "SoilRaster", "Soils", "Terrain", "grid", "law", "mesh", "moved", "parse",
    "plane", "polygons", "ramp", "read", "read_ground_map", "read_soils", "rough", "slope", "soils", "spline", "stack",
    "steep_warning", "steepest",
]  # fmt: skip

lazy(__name__)
