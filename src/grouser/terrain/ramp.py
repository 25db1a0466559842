"""A ramp obstacle: up, along a flat top, and down again."""

from __future__ import annotations

import math

import numpy as np

from grouser._kernels.terrain import ground as kernels
from grouser.errors import TerrainError
from grouser.terrain.checks import flag, number
from grouser.terrain.ground import EVERYWHERE, Bounds, Terrain
from grouser.terrain.plane import plane
from grouser.terrain.stack import stack


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
    base: whether it stands on level ground at z = 0; otherwise nothing is beside it, for `stack`.
    """
    height = number(height, "height", low=1e-6, high=1e4)
    down = flag(down, "down")
    base = flag(base, "base")
    top = number(top, "top", low=0.0, infinite=not down)
    width = number(width, "width", low=1e-6, infinite=True)
    x = number(x, "x")
    y = number(y, "y")
    heading_deg = number(heading_deg, "heading_deg", low=-360.0, high=360.0, unit="°")
    run = _run(height, deg, length, top, sides=2 if down else 1)
    heading = math.radians(heading_deg)
    c, s = math.cos(heading), math.sin(heading)
    alone = Terrain(
        kind="ramp",
        law=kernels.ramp,
        par=np.array([x, y, c, s, height, run, top, 0.5 * width, float(down)]),
        bounds=_bounds(x, y, c, s, run * (2 if down else 1) + top, 0.5 * width),
        description=f"ramp {height:g} m high, {math.degrees(math.atan2(height, run)):.3g}°",
        settings={
            "height": height,
            "deg": None if deg is None else float(deg),
            "length": None if length is None else float(length),
            "top": top,
            "width": width,
            "x": x,
            "y": y,
            "heading_deg": heading_deg,
            "down": down,
            "base": False,
        },
    )
    return stack(alone, plane(), description=alone.description) if base else alone


def _run(height: float, deg: float | None, length: float | None, top: float, *, sides: int) -> float:
    """Horizontal length of one side [m]."""
    if (deg is None) == (length is None):
        raise TerrainError("a ramp needs its steepness or its length; give exactly one of deg and length")
    if deg is not None:
        return height / math.tan(math.radians(number(deg, "deg", low=0.1, high=85.0, unit="°")))
    if top == math.inf:
        raise TerrainError("a ramp with an endless top has no length; give deg instead of length")
    shortest = top + sides * height / math.tan(math.radians(85.0))
    return (number(length, "length", low=shortest) - top) / sides


def _bounds(x: float, y: float, c: float, s: float, length: float, half_width: float) -> Bounds:
    """Rectangle around the ramp; everywhere if it is endless and not along x."""
    if s == 0.0 and c == 1.0:
        return (x, x + length, y - half_width, y + half_width)
    if math.isinf(length) or math.isinf(half_width):
        return EVERYWHERE
    xs = [x + c * u - s * v for u in (0.0, length) for v in (-half_width, half_width)]
    ys = [y + s * u + c * v for u in (0.0, length) for v in (-half_width, half_width)]
    return (min(xs), max(xs), min(ys), max(ys))
