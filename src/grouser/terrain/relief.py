"""Where a ground is lowest, highest and steepest, and a warning where it is too steep for a height over x and y."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grouser.terrain.ground import Terrain

TOO_STEEP = 75.0
"""Slope above which a wheel that touches a face is behind it a moment later [°]: its rim is then far below the top."""
_SAMPLES = 200
_ENDLESS = 20.0
FOLD = math.radians(25.0)
"""Change of slope between neighbouring cells of a grid above which a wheel may touch two of them."""
AT_ONCE = 250_000
"""Nodes processed together: they fit in the cache of the processor."""


class Relief(NamedTuple):
    """Extreme heights and slopes of a grid."""

    lowest: float
    """Smallest height [m]; infinite where none is known."""
    highest: float
    """Largest height [m]."""
    holes: int
    """Nodes without a height, a count."""
    slope: float
    """Steepest edge between two nodes, rise per run [m/m]."""
    x: float
    """World x of its first node [m]."""
    y: float
    """World y of its first node [m]."""
    folded: bool
    """Whether the slope changes by more than 25° from one cell to the next somewhere."""


def relief(heights: npt.NDArray[Any], x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Relief:
    """The relief of heights (nx, ny) [m] of nodes at x and y [m], found some rows at a time in memory order."""
    turned = abs(heights.strides[0]) < abs(heights.strides[1])
    rows, along, across = (heights.T, y, x) if turned else (heights, x, y)
    steps = (along[-1] - along[0]) / (len(along) - 1), (across[-1] - across[0]) / (len(across) - 1)
    low, high, holes, folded = math.inf, -math.inf, 0, False
    steepest = (0.0, 0, 0)
    size = max(1, AT_ONCE // rows.shape[1])
    for first in range(0, len(rows), size):
        # Two rows more, which the last slopes and bends need.
        part = np.asarray(rows[first : first + size + 2], dtype=np.float64)
        own = part[:size]
        low, high = min(low, float(np.fmin.reduce(own, axis=None))), max(high, float(np.fmax.reduce(own, axis=None)))
        holes += int(np.count_nonzero(own != own))
        for axis, step in enumerate(steps):
            slopes = np.diff(part if axis == 0 else own, axis=axis) / step
            if slopes.size == 0:
                continue
            folded = folded or _bends(slopes, axis)
            np.abs(slopes, out=slopes)
            most = float(np.fmax.reduce(slopes, axis=None))
            if most > steepest[0]:  # not where all of them are NaN
                i, j = np.unravel_index(int(np.nanargmax(slopes)), slopes.shape)
                steepest = (most, first + int(i), int(j))
    slope, row, column = steepest
    place = float(along[row]), float(across[column])
    low, high = (low, high) if low <= high else (math.inf, -math.inf)
    return Relief(low, high, holes, slope, *(place[::-1] if turned else place), folded)


def _bends(slopes: npt.NDArray[np.float64], axis: int) -> bool:
    """Whether neighbouring slopes differ by more than `FOLD`, by tan(a − b) = (tan a − tan b)/(1 + tan a tan b)."""
    before, after = (slopes[:-1], slopes[1:]) if axis == 0 else (slopes[:, :-1], slopes[:, 1:])
    return bool((np.abs(after - before) > math.tan(FOLD) * (1.0 + before * after)).any())  # NaN is not above


class Steepest(NamedTuple):
    """The steepest place that was found."""

    degrees: float
    """Slope there [°]; 90 where the height jumps."""
    x: float
    """World x [m]."""
    y: float
    """World y [m]."""


def steepest(ground: Terrain) -> Steepest:
    """The steepest place of a ground: of ramps, grids and meshes exactly, of a formula on a grid of samples."""
    if ground.kind == "stack":
        return max(map(steepest, ground.children))
    if ground.kind == "moved":
        return _moved(ground, steepest(ground.children[0]))
    if ground.kind in ("plane", "slope"):
        return Steepest(abs(float(ground.settings.get("deg", 0.0))), 0.0, 0.0)
    if ground.kind == "ramp":
        return _ramp(ground)
    if ground.kind == "mesh":
        return _mesh(ground)
    if ground.relief is not None:
        return Steepest(math.degrees(math.atan(ground.relief.slope)), ground.relief.x, ground.relief.y)
    return _sampled(ground)


def steep_warning(ground: Terrain) -> str:
    """A sentence where a ground is steeper than `TOO_STEEP`, else nothing."""
    found = steepest(ground)
    if found.degrees <= TOO_STEEP:
        return ""
    slope = "vertical" if found.degrees >= 89.9 else f"steep by {found.degrees:.0f}°"
    x, y = (f"{round(value, 3):.10g}" for value in (found.x, found.y))  # all digits of coordinates of a map
    return (
        f"the ground is {slope} at (x, y) = ({x}, {y}) m; above {TOO_STEEP:g}°"
        " a wheel's contact with it is approximate: use slopes below that, or short steps"
    )


def _ramp(ground: Terrain) -> Steepest:
    """Its sides, and the drop where it ends or is cut off at its width."""
    x, y, c, s, height, run, top, half, down = ground.par.tolist()
    if not down and math.isfinite(top):
        return Steepest(90.0, x + c * (run + top), y + s * (run + top))
    if math.isfinite(half):
        return Steepest(90.0, x + c * run - s * half, y + s * run + c * half)
    return Steepest(math.degrees(math.atan2(height, run)), x + 0.5 * c * run, y + 0.5 * s * run)


def _moved(ground: Terrain, child: Steepest) -> Steepest:
    s = ground.settings
    side = -child.y if s["mirror"] else child.y
    cosine, sine = math.cos(s["yaw"]), math.sin(s["yaw"])
    return Steepest(child.degrees, s["x"] + cosine * child.x - sine * side, s["y"] + sine * child.x + cosine * side)


def _mesh(ground: Terrain) -> Steepest:
    """Steepest triangle, vertical ones included."""
    corners = np.asarray(ground.settings["vertices"])[np.asarray(ground.settings["faces"])]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    degrees = np.degrees(np.arctan2(np.hypot(normal[:, 0], normal[:, 1]), np.abs(normal[:, 2])))
    i = int(np.argmax(degrees))
    x, y, _ = corners[i].mean(axis=0)
    return Steepest(float(degrees[i]), float(x), float(y))


def _sampled(ground: Terrain) -> Steepest:
    low_x, high_x, low_y, high_y = (
        edge if math.isfinite(edge) else math.copysign(_ENDLESS, edge) for edge in ground.bounds
    )
    x, y = np.meshgrid(np.linspace(low_x, high_x, _SAMPLES), np.linspace(low_y, high_y, _SAMPLES), indexing="ij")
    found = ground.sample(x, y)
    rise = np.where(found.inside, np.hypot(found.gradient[..., 0], found.gradient[..., 1]), 0.0)
    i, j = np.unravel_index(int(np.argmax(rise)), rise.shape)
    return Steepest(math.degrees(math.atan(rise[i, j])), float(x[i, j]), float(y[i, j]))
