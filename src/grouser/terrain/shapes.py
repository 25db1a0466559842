"""Simple grounds: planes, slopes, ramps; several on top of each other, and one put elsewhere."""

from __future__ import annotations

import math

import numpy as np

from grouser._kernels.terrain import ground as kernels
from grouser.errors import TerrainError
from grouser.terrain.ground import EVERYWHERE, Bounds, Terrain, checked

MOST_CHILDREN = 1000


def plane(height: float = 0.0) -> Terrain:
    """Level ground everywhere.

    height: world z of the ground [m].
    """
    height = checked.number(height, "height")
    return Terrain(
        kind="plane",
        law=kernels.plane,
        second_law=kernels.plane_second,
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
    deg = checked.number(deg, "deg", low=-85.0, high=85.0, unit="°")
    heading_deg = checked.number(heading_deg, "heading_deg", low=-360.0, high=360.0, unit="°")
    height = checked.number(height, "height")
    rise = math.tan(math.radians(deg))
    heading = math.radians(heading_deg)
    return Terrain(
        kind="slope",
        law=kernels.plane,
        second_law=kernels.plane_second,
        par=np.array([height, rise * math.cos(heading), rise * math.sin(heading)]),
        description=f"slope of {deg:g}° rising towards {heading_deg:g}°",
        settings={"deg": deg, "heading_deg": heading_deg, "height": height},
    )


def ramp(
    height: float,
    deg: float | None = None,
    *,
    length: float | None = None,
    top: float = 0.0,
    width: float = math.inf,
    x: float = 0.0,
    y: float = 0.0,
    heading_deg: float = 0.0,
    down: bool = True,
    base: bool = True,
) -> Terrain:
    """A ramp that rises from z = 0, has a flat top, and descends on the other side.

    height: of its top [m], > 0.
    deg: steepness of its sides, 0.1 to 85 [°]; or
    length: horizontal length of the whole ramp, top included [m]. Give exactly one of the two.
    top: length of the flat top [m]; infinite (a step up to a plateau) only with `down=False`.
    width: across its heading [m], infinite by default.
    x, y: middle of the foot where it begins to rise [m].
    heading_deg: direction in which it rises, from +x towards +y [°].
    down: whether it descends on the other side; otherwise it ends after the top, in a vertical drop.
    base: whether it stands on level ground at z = 0; otherwise there is no ground around it, for `stack`.
    """
    height = checked.number(height, "height", low=1e-6, high=1e4)
    down, base = checked.flag(down, "down"), checked.flag(base, "base")
    top = math.inf if top == math.inf and not down else checked.number(top, "top", low=0.0)
    width = math.inf if width == math.inf else checked.number(width, "width", low=1e-6)
    x, y = checked.number(x, "x"), checked.number(y, "y")
    heading_deg = checked.number(heading_deg, "heading_deg", low=-360.0, high=360.0, unit="°")
    run = _run(height, deg, length, top, sides=2 if down else 1)
    c, s = math.cos(math.radians(heading_deg)), math.sin(math.radians(heading_deg))
    sizes = {name: None if value is None else float(value) for name, value in (("deg", deg), ("length", length))}
    settings = {**sizes, "height": height, "top": top, "width": width, "x": x, "y": y, "heading_deg": heading_deg}
    alone = Terrain(
        kind="ramp",
        law=kernels.ramp,
        par=np.array([x, y, c, s, height, run, top, 0.5 * width, float(down)]),
        bounds=_bounds((0.0, run * (2 if down else 1) + top, -0.5 * width, 0.5 * width), x, y, c, s),
        description=f"ramp {height:g} m high, {math.degrees(math.atan2(height, run)):.3g}°",
        settings={**settings, "down": down, "base": False},
    )
    return stack(alone, plane(), description=alone.description) if base else alone


def _run(height: float, deg: float | None, length: float | None, top: float, *, sides: int) -> float:
    """Horizontal length of one side [m]."""
    if (deg is None) == (length is None):
        raise TerrainError("a ramp needs its steepness or its length; give exactly one of deg and length")
    if deg is not None:
        return height / math.tan(math.radians(checked.number(deg, "deg", low=0.1, high=85.0, unit="°")))
    if top == math.inf:
        raise TerrainError("a ramp with an endless top has no length; give deg instead of length")
    shortest = top + sides * height / math.tan(math.radians(85.0))
    return (checked.number(length, "length", low=shortest) - top) / sides


def stack(*terrains: Terrain, description: str = "") -> Terrain:
    """The highest of several grounds at every place; outside only where all of them are.

    terrains: from 1 to 1000 grounds; where two are equally high, the first one's slope counts.
    description: what it is, for people.
    """
    if not 1 <= len(terrains) <= MOST_CHILDREN:
        raise TerrainError(f"a stack of {len(terrains)} terrains; it must be made of 1 to {MOST_CHILDREN}")
    for i, terrain in enumerate(terrains):
        checked.instance(terrain, Terrain, f"terrain {i} of the stack", "use gr.terrain.plane() or another")
        if terrain.soils is not None:
            raise TerrainError(
                f"terrain {i} of the stack has soils; stack the grounds first, then use gr.terrain.soils(stack, …)"
            )
    bounds = np.array([terrain.bounds for terrain in terrains])
    return Terrain(
        kind="stack",
        law=kernels.stack,
        par=np.array([len(terrains), *(n for terrain in terrains for n in terrain.bound.pair)], dtype=np.float64),
        bounds=(bounds[:, 0].min(), bounds[:, 1].max(), bounds[:, 2].min(), bounds[:, 3].max()),
        description=description or "highest of: " + "; ".join(t.description for t in terrains),
        children=terrains,
    )


def moved(
    ground: Terrain, *, x: float = 0.0, y: float = 0.0, z: float = 0.0, yaw: float = 0.0, mirror: bool = False
) -> Terrain:
    """The same ground mirrored, then turned about the origin, then shifted.

    x, y, z: shift [m].
    yaw: turn from +x towards +y [rad].
    mirror: whether left and right (y and −y) change places first.
    """
    checked.instance(ground, Terrain, "ground", "use gr.terrain.plane() or another")
    x, y, z = checked.number(x, "x"), checked.number(y, "y"), checked.number(z, "z")
    yaw = checked.number(yaw, "yaw", low=-1e3, high=1e3, unit="rad")
    mirror = checked.flag(mirror, "mirror")
    side = -1.0 if mirror else 1.0
    c, s = math.cos(yaw), math.sin(yaw)
    return Terrain(
        kind="moved",
        law=kernels.moved,
        second_law=kernels.moved_second,
        par=np.array([*ground.bound.pair, x, y, z, c, s, side], dtype=np.float64),
        bounds=_bounds(ground.bounds, x, y, c, s, side),
        description=f"{ground.description}, moved by ({x:g}, {y:g}, {z:g}) m and {math.degrees(yaw):g}°"
        + (", mirrored" if mirror else ""),
        settings={"x": x, "y": y, "z": z, "yaw": yaw, "mirror": mirror},
        children=(ground,),
        soils=None if ground.soils is None else ground.soils.moved(x, y, c, s, side),
    )


def _bounds(child: Bounds, x: float, y: float, c: float, s: float, side: float = 1.0) -> Bounds:
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
