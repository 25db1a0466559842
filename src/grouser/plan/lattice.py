"""A map for the search of a route: slopes, soils and refused cells, and a lattice of places and headings over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.plan import search as kernels
from grouser._kernels.terrain.ground import sample_ground
from grouser._kernels.terrain.soils import sample_soils
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.plan.keep_out import KeepOut
from grouser.plan.limits import Limits
from grouser.plan.slopes import CRITERIA, PER_SLOPE, SlopeTable
from grouser.terrain import Terrain

checked = Checker(PlanError)
MOST_PLACES = 1000
"""Places of the lattice along the longer side of the map, unless a spacing is given."""
MOST_CELLS = 25_000_000
"""Cells of the map that are looked at."""
WALL = 1.7
"""Slope of a face, 60°, that no vehicle passes if it is higher than a wheel's radius, rise per way."""
BUDGET = 400_000
"""Nodes that are expanded between two reports of progress."""
STEP = float(np.diff(np.unwrap(kernels.ANGLES)).max())
"""Largest angle between two headings [rad]."""
NEAR = 0.9
"""Distance in places at which the goal is reached: at least one place is as near."""


class Lattice:
    """Places in rows along x, columns along y, of which the start is one; cells of the map between them."""

    def __init__(
        self, ground: Terrain, vehicle: Any, start: FloatArray, window: Sequence[float], *,
        spacing: float | None, limits: Limits, keep_out: KeepOut | None, reach: float,
    ) -> None:  # fmt: skip
        """window: xmin, xmax, ymin, ymax of what is searched [m]. reach: to keep free around the middle [m]."""
        xmin, xmax, ymin, ymax = window
        sides = np.ptp(vehicle.wheel_positions[:, :2], axis=0)
        self.half = 0.5 * float(sides.max())
        extent = max(xmax - xmin, ymax - ymin)
        # A vehicle that does not turn on the spot turns by one heading along an edge.
        least = STEP / limits.curvature
        if spacing is None:
            self.spacing = max(self.half, extent / MOST_PLACES, 1.01 * least)
        else:
            self.spacing = checked.positive(spacing, "spacing")
            if self.spacing < least:
                raise PlanError(
                    f"spacing: {self.spacing:g} m is too fine for a vehicle whose largest curvature is "
                    f"{limits.curvature:.3g} 1/m; use at least {least:.3g} m"
                )
            if extent / self.spacing > 4000:
                raise PlanError(f"spacing: {self.spacing:g} m gives over 4000 places a side; use a larger one")
        cell = _cell(ground) or 0.25 * self.spacing
        self.cells = max(2, math.ceil(self.spacing / cell - 1e-6))
        while self.cells > 2 and (extent / self.spacing * self.cells) ** 2 > MOST_CELLS:
            self.cells -= 1
        self.cell = self.spacing / self.cells
        self.x, self.y = _places(start[0], xmin, xmax, self.spacing), _places(start[1], ymin, ymax, self.spacing)
        self.shape = nx, ny = len(self.x), len(self.y)
        self.ground, self.limits, self.sides, self.reach = ground, limits, sides, reach
        self._look(float(vehicle.arrays.radius.max()), keep_out)
        self.edges = {one: np.zeros((nx, ny, kernels.HEADINGS), dtype=np.float32) for one in CRITERIA}
        self.everywhere = np.ones((nx, ny), dtype=np.uint8)
        self.expanded = 0

    def _look(self, radius: float, keep_out: KeepOut | None) -> None:
        """Slopes at the scale of the vehicle, soils, and cells that no vehicle may cross."""
        n = self.cells
        x = self.x[0] + self.cell * np.arange(n * (self.shape[0] - 1) + 1)
        y = self.y[0] + self.cell * np.arange(n * (self.shape[1] - 1) + 1)
        height, kind = _sampled(self.ground, x, y)
        level = float(np.nanmedian(height[::n, ::n])) if np.isfinite(height[::n, ::n]).any() else 0.0
        height -= np.float32(level)
        blocked = ~np.isfinite(height)
        q = max(1, math.ceil(radius / self.cell - 1e-6))
        face = max(radius, WALL * q * self.cell)
        for axis in (0, 1):
            h = height if axis == 0 else height.T
            marked = blocked if axis == 0 else blocked.T
            steep = np.abs(h[q:] - h[:-q]) > face
            for k in range(q + 1):
                marked[k : len(h) - q + k] |= steep
        _widen(blocked, math.ceil(self.reach / self.cell))
        edge = np.minimum.reduce
        xmin, xmax, ymin, ymax = self.ground.bounds
        blocked[edge([x - xmin, xmax - x]) < self.reach] = True
        blocked[:, edge([y - ymin, ymax - y]) < self.reach] = True
        if keep_out is not None:
            i = np.clip(np.rint((x - keep_out.x) / keep_out.cell).astype(int), 0, keep_out.mask.shape[0] - 1)
            j = np.clip(np.rint((y - keep_out.y) / keep_out.cell).astype(int), 0, keep_out.mask.shape[1] - 1)
            blocked |= (keep_out.distance < self.reach)[np.ix_(i, j)]
        # The plane through the four corners of the vehicle.
        m = max(1, round(0.25 * float(self.sides.sum()) / self.cell))
        ends = (slice(2 * m, None), slice(None, -2 * m))  # m cells to the east and to the west, north and south
        a, b, c, d = (height[i, j] for i in ends for j in ends)
        self.slope_x, self.slope_y = np.zeros_like(height), np.zeros_like(height)
        inner = (slice(m, -m), slice(m, -m))
        if a.size:
            scale = np.float32(0.25 / (m * self.cell))
            self.slope_x[inner] = (a + b - c - d) * scale
            self.slope_y[inner] = (a + c - b - d) * scale
        rim = np.ones_like(blocked)
        rim[inner] = False
        blocked |= rim | ~np.isfinite(self.slope_x) | ~np.isfinite(self.slope_y)
        kind[blocked] = kernels.BLOCKED
        self.kind = kind
        self.height = np.nan_to_num(np.ascontiguousarray(height[::n, ::n]))

    def chart(self, table: FloatArray) -> kernels.Chart:
        """The map for a table of costs."""
        return kernels.Chart(
            self.slope_x, self.slope_y, self.kind, np.ascontiguousarray(table), PER_SLOPE, self.cell, self.cells
        )

    def task(self, table: SlopeTable, minimise: str, goal: FloatArray) -> kernels.Task:
        """A search for the least cost to a goal x, y [m], yaw [rad] or NaN."""
        steps = np.diff(np.append(np.unwrap(kernels.ANGLES), kernels.ANGLES[0] + 2.0 * math.pi))
        lengths = kernels.LENGTHS * self.spacing
        around = (np.arange(kernels.HEADINGS)[:, None] + np.array([-1, 0, 1])) % kernels.HEADINGS
        turned = np.column_stack([np.roll(steps, 1), np.zeros(kernels.HEADINGS), steps])
        can = turned <= self.limits.curvature * lengths[around] * (1.0 + 1e-9)
        i, j = self.place(goal[0], goal[1])
        cost = table.cost(minimise)
        ahead = (np.arange(cost.shape[1]) - cost.shape[1] // 2) / PER_SLOPE
        on_map = np.array([(self.kind == s).any() for s in range(len(cost))])
        used = np.isfinite(cost) & on_map[:, None, None]
        return kernels.Task(
            edges=self.edges[minimise],
            open=self.everywhere,
            height=self.height,
            turn=table.turn(minimise) * steps,
            bend=np.ascontiguousarray(np.where(can, table.bend(minimise) * turned, np.inf)),
            bound=_bound(cost[used], np.broadcast_to(ahead[None, :, None], cost.shape)[used]),
            goal=np.array(
                [
                    (goal[0] - self.x[0]) / self.spacing, (goal[1] - self.y[0]) / self.spacing,
                    -1.0 if math.isnan(goal[2]) else heading_of(goal[2]), NEAR, float(self.height[i, j]),
                ]
            ),
            ratio=1.0,
        )  # fmt: skip

    def search(
        self, chart: kernels.Chart, task: kernels.Task, start: FloatArray,
        progress: Callable[[float], None] | None = None,
    ) -> tuple[NDArray[np.int64], float]:  # fmt: skip
        """Nodes of the least-cost way from a place x, y [m], yaw [rad], and its cost; none where there is none."""
        nx, ny = self.shape
        n = nx * ny * kernels.HEADINGS
        size = min(4 * n, 1 << 18) + 8
        work = kernels.Work(
            np.full(n, np.inf, dtype=np.float32), np.zeros(n, dtype=np.int8),
            np.zeros(size, dtype=np.int32), np.zeros(size),
        )  # fmt: skip
        i, j = self.place(start[0], start[1])
        node = (i * ny + j) * kernels.HEADINGS + heading_of(start[2])
        state = np.array([0, -1, 0, 0], dtype=np.int64)
        while state[2] != 1:
            kernels.search(chart, task, work, node, BUDGET, state)
            if state[2] == 2:
                heap, keys = (np.concatenate([one, np.zeros_like(one)]) for one in (work.heap, work.keys))
                work = work._replace(heap=heap, keys=keys)
            if progress is not None:
                progress(min(int(state[3]) / n, 1.0))
        self.expanded += int(state[3])
        if state[1] < 0:
            return np.zeros(0, dtype=np.int64), math.inf
        nodes = np.zeros(4096, dtype=np.int64)
        while (count := kernels.trace(work.parent, int(state[1]), ny, nodes)) < 0:
            nodes = np.zeros(4 * len(nodes), dtype=np.int64)
        return nodes[:count][::-1].copy(), float(work.cost[state[1]])

    def place(self, x: float, y: float) -> tuple[int, int]:
        """The place nearest to a point [m]."""
        i, j = round((x - self.x[0]) / self.spacing), round((y - self.y[0]) / self.spacing)
        return min(max(i, 0), len(self.x) - 1), min(max(j, 0), len(self.y) - 1)

    def split(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Places i, j and headings of nodes."""
        places = nodes // kernels.HEADINGS
        return places // self.shape[1], places % self.shape[1], nodes % kernels.HEADINGS

    def points(self, nodes: NDArray[np.int64]) -> FloatArray:
        """Places of nodes (n, 2) [m], without those of turns on the spot."""
        i, j, _ = self.split(nodes)
        moved = np.append(True, (np.diff(i) != 0) | (np.diff(j) != 0))
        return np.asarray(np.column_stack([self.x[i], self.y[j]])[moved])

    def edges_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Moves of a way: places i, j and headings, (n, 3)."""
        i, j, k = self.split(nodes)
        moved = (np.diff(i) != 0) | (np.diff(j) != 0)
        return np.asarray(np.column_stack([i[:-1], j[:-1], k[1:]])[moved])

    def around(self, nodes: NDArray[np.int64], radius: int) -> NDArray[np.uint8]:
        """1 at the places at most a radius from a way, along x and along y, (nx, ny)."""
        near = np.zeros(self.shape, dtype=np.uint8)
        i, j, _ = self.split(nodes)
        near[i, j] = 1
        _widen(near, radius)
        return near

    def first_blocked(self, ends: FloatArray) -> tuple[float, float] | None:
        """The first cell on a line (2, 2) [m] that no vehicle may cross, x, y [m]; None if there is none."""
        count = math.ceil(2.0 * float(np.hypot(*(ends[1] - ends[0]))) / self.cell) + 1
        points = np.linspace(ends[0], ends[1], count)
        i, j = np.rint((points - [self.x[0], self.y[0]]) / self.cell).astype(int).T
        i, j = np.clip(i, 0, self.kind.shape[0] - 1), np.clip(j, 0, self.kind.shape[1] - 1)
        rows = np.flatnonzero(self.kind[i, j] == kernels.BLOCKED)
        # Both ends may lie nearer to the rim of the lattice than the vehicle is long.
        rows = rows[np.hypot(*(points[rows] - ends[1]).T) > self.spacing]
        return None if len(rows) == 0 else (float(points[rows[0], 0]), float(points[rows[0], 1]))

    def free(self, x: float, y: float) -> None:
        """A vehicle stands here: cells under it are no reason against leaving."""
        i, j = self.place(x, y)
        n, m = self.cells, math.ceil(self.reach / self.cell)
        part = self.kind[max(n * i - m, 0) : n * i + m + 1, max(n * j - m, 0) : n * j + m + 1]
        part[part == kernels.BLOCKED] = 0


def heading_of(yaw: float) -> int:
    """The heading nearest to a yaw [rad]."""
    return int(np.argmin(np.abs(np.angle(np.exp(1j * (kernels.ANGLES - yaw))))))


def _places(start: float, low: float, high: float, spacing: float) -> FloatArray:
    """Coordinates from low to high [m], of which the start is one."""
    first, last = math.floor((start - low) / spacing + 1e-9), math.floor((high - start) / spacing + 1e-9)
    return np.asarray(start + spacing * np.arange(-first, last + 1), dtype=np.float64)


def _cell(ground: Terrain) -> float | None:
    """Side of the cells of a map [m]; None where it has none."""
    own = []
    if "heights" in ground.settings:
        own = [float(np.diff(ground.settings[name][:2])[0]) for name in ("x", "y")]
    return min([*own, *(one for one in map(_cell, ground.children) if one is not None)], default=None)


def _sampled(ground: Terrain, x: FloatArray, y: FloatArray) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Heights [m], NaN off the map, and soils at the crossings of x and y, some rows at a time."""
    height = np.zeros((len(x), len(y)), dtype=np.float32)
    kind = np.zeros((len(x), len(y)), dtype=np.uint8)
    rows = max(1, 250_000 // len(y))
    for first in range(0, len(x), rows):
        part = slice(first, first + rows)
        xy = np.empty((len(x[part]), len(y), 2))
        xy[..., 0], xy[..., 1] = x[part, None], y
        points = xy.reshape(-1, 2)
        out = np.zeros((len(points), 3))
        sample_ground(*ground.bound.pair, points, out)
        height[part] = out[:, 0].reshape(-1, len(y))
        if ground.soils is not None:
            found = np.zeros(len(points), dtype=np.int64)
            sample_soils(ground.kernel, points, found)
            kind[part] = found.reshape(-1, len(y))
    return height, kind


def _widen(marked: NDArray[Any], cells: int) -> None:
    """Mark also what is within a number of cells along x and along y, in place."""
    from scipy.ndimage import maximum_filter1d

    if cells < 1 or not marked.any():
        return
    view = marked.view(np.uint8)
    for axis in (0, 1):
        maximum_filter1d(view, 2 * cells + 1, axis=axis, output=view, mode="constant")


def _bound(cost: FloatArray, slope: FloatArray) -> FloatArray:
    """Numbers a, b, c: a metre costs at least a + b · rise, and at least c, for the b with the largest a.

    Energy of a climb is mostly lifting: with its share taken out the bound holds on level ground as well as on hills.
    """
    best = (float(cost.min()), 0.0)
    steepest = float((cost / np.maximum(np.abs(slope), 0.1)).max())
    for b in np.linspace(0.0, steepest, 100)[1:]:
        a = float((cost - b * slope).min())
        if a > best[0]:
            best = (a, float(b))
    return np.array([*best, float(cost.min())])
