"""A way across a map: searched on a lattice of places and headings, then driven on the real ground by the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.plan import search as kernels
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError, SimulationError
from grouser.plan.keep_out import KeepOut
from grouser.plan.limits import Limits
from grouser.plan.room import half_width
from grouser.plan.slopes import PER_SLOPE, SlopeTable, slope_table
from grouser.plan.trials import Bounds, Effort, Roller, Trials
from grouser.plan.uncertain import Uncertain
from grouser.simulation.settle import start_state
from grouser.terrain import Terrain

checked = Checker(PlanError)
CRITERIA = ("energy", "time", "risk")
MOST_PLACES = 420
"""Places of the lattice along the longer side of the map."""
BUDGET = 200_000
"""Nodes that are expanded between two reports of progress."""
MOST_TRIES = 25
"""Searches; after each that leads to a place where the drive fails, that place is refused."""
DT = 0.1
"""Step of the drives that check a way [s]."""
DRAWS = 8
"""Drawn models on planes, for the hazard of slopes."""


@dataclass(frozen=True, eq=False)
class Refusal:
    """A way that was looked at and not taken."""

    what: str
    """"straight way", or "way 1", "way 2", … as found."""
    reason: str
    """Why, in a few words, with the place."""
    place: tuple[float, float]
    """Where it fails (x, y) [m]."""
    path: FloatArray
    """(n, 2) [m], up to there."""

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Route:
    """A way across a map and what it costs."""

    minimise: str
    """What it is best for: energy, time or risk."""
    reached: bool
    """Whether there is a way that the engine drives to its end."""
    reason: str
    """Why not; empty if there is."""
    path: FloatArray
    """x, y [m], yaw [rad] of the lattice's places on the way, (n, 3)."""
    driven: FloatArray
    """States of the drive that checked it [1, m, rad], (T, nq)."""
    distance: float
    """[m]."""
    duration: float
    """[s]."""
    energy: float
    """[J]."""
    risk: float
    """Chance of failure on the way, by the hazard of its slopes, a ratio."""
    least_tip_margin: float
    """[rad]."""
    largest_slip: float
    """Ratio."""
    cost: float
    """Of the search, in units of what is minimised [J, s, or −log of the chance of success]."""
    refused: tuple[Refusal, ...] = ()
    """Ways that fail."""
    alternatives: tuple[Route, ...] = ()
    """Ways that are best for something else."""

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        names = ("minimise", "reached", "reason", "distance", "duration", "energy", "risk", "largest_slip", "cost")
        return {
            **{name: getattr(self, name) for name in names},
            "least_tip_margin_deg": math.degrees(self.least_tip_margin),
            "refused": [str(one) for one in self.refused],
            "path": self.path.tolist(),
            "alternatives": [one.summary() for one in self.alternatives],
        }


class Lattice:
    """Slopes, soils and refused places of a map at the scale of a vehicle."""

    def __init__(self, ground: Terrain, vehicle: Any, spacing: float | None, keep_out: KeepOut | None) -> None:
        if not all(map(math.isfinite, ground.bounds)):
            raise PlanError("ground: has no edge, so there is nothing to search; use a grid, a file or rough ground")
        xmin, xmax, ymin, ymax = ground.bounds
        x, y = vehicle.wheel_positions[:, 0], vehicle.wheel_positions[:, 1]
        self.half = 0.5 * float(max(np.ptp(x), np.ptp(y)))
        extent = max(xmax - xmin, ymax - ymin)
        self.spacing = max(self.half, extent / MOST_PLACES) if spacing is None else checked.positive(spacing, "spacing")
        if extent / self.spacing > 4000:
            raise PlanError(f"spacing: {self.spacing:g} m gives over 4000 places a side; use a larger one")
        self.x = np.arange(xmin + 0.5 * self.spacing, xmax, self.spacing)
        self.y = np.arange(ymin + 0.5 * self.spacing, ymax, self.spacing)
        X, Y = np.meshgrid(self.x, self.y, indexing="ij")
        around = [
            ground.sample(X + dx * self.half, Y + dy * self.half) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
        ]
        inside = np.all([one.inside for one in around], axis=0)
        e, w, n, s = (one.height for one in around)
        self.slope_x, self.slope_y = (e - w) / (2.0 * self.half), (n - s) / (2.0 * self.half)
        margin = half_width(vehicle)
        edge = np.minimum.reduce([X - xmin, xmax - X, Y - ymin, ymax - Y])
        blocked = ~inside | (edge < margin)
        if keep_out is not None:
            i = np.clip(np.rint((X - keep_out.x) / keep_out.cell).astype(int), 0, keep_out.mask.shape[0] - 1)
            j = np.clip(np.rint((Y - keep_out.y) / keep_out.cell).astype(int), 0, keep_out.mask.shape[1] - 1)
            blocked |= keep_out.distance[i, j] < margin
        self.blocked = blocked.astype(np.int64)
        self.soil = np.zeros(X.shape, dtype=np.int64)
        if ground.soils is not None:
            kinds = {one.kind: k + 1 for k, one in enumerate(ground.soils.soils)}
            classes = ground.soil(X, Y)
            for kind, row in kinds.items():
                self.soil[classes == kind] = row
        self.refused = np.zeros(X.shape, dtype=np.int64)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """The place nearest to a point [m]."""
        i, j = round((x - self.x[0]) / self.spacing), round((y - self.y[0]) / self.spacing)
        return min(max(i, 0), len(self.x) - 1), min(max(j, 0), len(self.y) - 1)

    def arrays(self, cost: FloatArray, limits: Limits, goal: tuple[int, int], turn: float, near: float) -> Any:
        """As the engine takes it, for a table of costs; turn: cost of a radian on the spot."""
        finite = cost[np.isfinite(cost)]
        if len(finite) == 0:
            raise PlanError("the vehicle cannot drive on any slope of this ground, not even on a level one")
        return kernels.Lattice(
            slope_x=self.slope_x, slope_y=self.slope_y, soil=self.soil, blocked=self.blocked, refused=self.refused,
            table=cost, spacing=self.spacing, least_slope=-(cost.shape[1] // 2) / PER_SLOPE, per_slope=PER_SLOPE,
            turn=turn, curvature=1e9 if math.isinf(limits.curvature) else limits.curvature, least=float(finite.min()),
            goal_x=goal[0], goal_y=goal[1], near=near,
        )  # fmt: skip

    def search(
        self, arrays: Any, start: tuple[int, int], yaw: float, progress: Callable[[int, int], None] | None = None
    ) -> tuple[list[int], float]:
        """Nodes of the least-cost way, and its cost; no nodes where there is none."""
        nx, ny = self.blocked.shape
        n = nx * ny * kernels.HEADINGS
        cost, parent = np.full(n, np.inf), np.full(n, -1, dtype=np.int64)
        heap, keys = np.zeros(4 * n, dtype=np.int64), np.zeros(4 * n)
        heading = int(np.argmin(np.abs(np.angle(np.exp(1j * (kernels.ANGLES - yaw))))))
        node = (start[0] * ny + start[1]) * kernels.HEADINGS + heading
        state = np.array([0, -1, 0, 0], dtype=np.int64)
        while not state[2]:
            kernels.search(arrays, node, cost, parent, heap, keys, BUDGET, state)
            if progress is not None:
                progress(min(int(state[3]), n), n)
        if state[1] < 0:
            return [], math.inf
        nodes, at = [], int(state[1])
        while at >= 0:
            nodes.append(at)
            at = int(parent[at])
        return nodes[::-1], float(cost[state[1]])

    def poses(self, nodes: list[int]) -> FloatArray:
        """x, y [m], yaw [rad] of nodes, (n, 3)."""
        ny = self.blocked.shape[1]
        rows = [(self.x[k // kernels.HEADINGS // ny], self.y[k // kernels.HEADINGS % ny]) for k in nodes]
        yaws = [kernels.ANGLES[k % kernels.HEADINGS] for k in nodes]
        return np.column_stack([np.array(rows), yaws])

    def refuse(self, x: float, y: float, yaw: float) -> None:
        """No way may lead through the places around a point in about this heading."""
        i, j = self.cell(x, y)
        k = int(np.argmin(np.abs(np.angle(np.exp(1j * (kernels.ANGLES - yaw))))))
        bits = sum(1 << ((k + d) % kernels.HEADINGS) for d in range(-2, 3))
        self.refused[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2] |= bits


def route(
    model: Any,
    ground: Terrain,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    minimise: str = "energy",
    limits: Limits | None = None,
    keep_out: KeepOut | None = None,
    spacing: float | None = None,
    effort: Effort | None = None,
    bounds: Bounds | None = None,
    alternatives: bool = True,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Route:
    """Find a way from start (x, y[, yaw]) to goal (x, y) [m, rad] that costs least energy, time or risk.

    What a metre costs on a slope and a soil is found by rollouts of the engine on planes, for drawn models too where
    the model is uncertain. A* searches places and 16 headings; the way is then driven on the real ground, steered by
    feedback. Where that drive tips, sticks or leaves, the place is refused and the search is made again.

    spacing: of the places [m]; None: half the vehicle's length, or 1/420 of the map. alternatives: whether ways that
    are best for the other two are looked for. progress(nodes, all) is called while searching.
    """
    unsure = Uncertain.of(model)
    checked.choice(minimise, "minimise", CRITERIA)
    vehicle = unsure.model.vehicle
    limits = Limits.of(vehicle) if limits is None else checked.instance(limits, Limits, "limits", "use Limits(…)")
    a, b = _place(start, "start"), _place(goal, "goal")
    for name, (x, y, _) in (("start", a), ("goal", b)):
        if not bool(ground.contains(x, y)):
            xmin, xmax, ymin, ymax = ground.bounds
            where = f"x {xmin:g} to {xmax:g} m, y {ymin:g} to {ymax:g} m"
            raise PlanError(f"{name} ({x:g}, {y:g}) m is off the map, which lies within {where}")
        if keep_out is not None and keep_out.clearance(x, y) < half_width(vehicle):
            raise PlanError(f"{name} ({x:g}, {y:g}) m is in a keep-out, or nearer to one than half the vehicle's width")
    lattice = Lattice(ground, vehicle, spacing, keep_out)
    if math.isnan(a[2]):
        a = (a[0], a[1], math.atan2(b[1] - a[1], b[0] - a[0]))
    models = [unsure.model] if unsure.draw is None else unsure.models(DRAWS, (seed, 3))
    table = slope_table(models, ground, limits=limits, effort=effort, bounds=bounds)
    finder = _Finder(unsure, ground, lattice, table, limits, keep_out, effort, bounds, a, b, progress)
    straight = finder.straight()
    best = replace(finder.find(minimise, () if straight is None else (straight,)))
    if alternatives and best.reached:
        others = tuple(finder.find(one, ()) for one in CRITERIA if one != minimise)
        best = replace(best, alternatives=tuple(one for one in others if one.reached))
    return best


class _Finder:
    """A search for ways between two places, by one criterion after another."""

    def __init__(
        self, unsure: Uncertain, ground: Terrain, lattice: Lattice, table: SlopeTable, limits: Limits,
        keep_out: KeepOut | None, effort: Any, bounds: Any, start: Any, goal: Any, progress: Any,
    ) -> None:  # fmt: skip
        self.ground, self.lattice, self.table, self.limits = ground, lattice, table, limits
        self.start, self.goal, self.progress = start, goal, progress
        # Both ends lie between places; a drive may come as near to the edge as the vehicle is wide.
        self.roller = Roller(
            unsure.model, ground, dt=DT, limits=None, keep_out=keep_out, effort=effort, bounds=bounds, threads=1
        )
        self.vehicle = unsure.model.vehicle

    def straight(self) -> Refusal | None:
        """Why the straight way is refused; None if it is not."""
        (x1, y1, _), (x2, y2, _) = self.start, self.goal
        path = np.array([[x1, y1], [x2, y2]])
        trials = self.drive(path)
        return None if trials.ok[0] else self.refusal("straight way", trials, path)

    def find(self, minimise: str, refused: tuple[Refusal, ...]) -> Route:
        """The best way that the engine drives to its end."""
        cost = self.table.cost(minimise)
        level = cost[0, cost.shape[1] // 2, 0]
        spot = {"time": 1.0 / self.limits.turn, "energy": 0.3 * level, "risk": 1e-5}[minimise]
        turn = spot if math.isinf(self.limits.curvature) else math.inf
        goal, start = self.lattice.cell(*self.goal[:2]), self.lattice.cell(*self.start[:2])
        # The vehicle stands at the start already: it may leave it.
        self.lattice.blocked[start] = 0
        arrays = self.lattice.arrays(cost, self.limits, goal, turn, near=0.9)
        why = "the lattice has no way from start to goal"
        for k in range(MOST_TRIES):
            nodes, value = self.lattice.search(arrays, start, self.start[2], self.progress)
            if not nodes:
                break
            poses = self.lattice.poses(nodes)
            # The first and the last place lie within half a spacing of start and goal, and stand for them.
            path = np.concatenate([[self.start[:2]], poses[1:-1, :2], [self.goal[:2]]])
            trials = self.drive(path)
            if trials.ok[0]:
                return self.route(minimise, value, poses, nodes, trials, refused)
            one = self.refusal(f"way {k + 1}", trials, path)
            refused = (*refused, one)
            why = f"the last of {k + 1} ways tried fails: {one.reason}"
            q = trials.final_state[0]
            yaw = math.atan2(2.0 * (q[1] * q[2] + q[0] * q[3]), 1.0 - 2.0 * (q[2] ** 2 + q[3] ** 2))
            self.lattice.refuse(*one.place, yaw)
        empty = np.zeros((0, 3))
        nq = 7 + self.vehicle.n_joints
        return Route(minimise, False, why, empty, np.zeros((0, nq)), 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, math.inf, refused)

    def drive(self, path: FloatArray) -> Trials:
        """Drive along a path (n, 2) on the real ground, steered by feedback; the engine judges it."""
        speed = 0.8 * self.limits.speed
        smooth = _rounded(path)
        s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(smooth, axis=0), axis=1))])
        # Ground that rises is longer than the map shows: the feedback catches up within the limits.
        at = np.arange(0.0, s[-1], speed * DT)
        x, y = np.interp(at, s, smooth[:, 0]), np.interp(at, s, smooth[:, 1])
        yaw = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x))) if len(at) > 1 else np.zeros(len(at))
        turn = np.gradient(yaw, DT) if len(at) > 1 else np.zeros(len(at))
        begin = yaw[0] if math.isinf(self.limits.curvature) else self.start[2]
        wanted = np.column_stack([np.full(len(at), speed), np.zeros(len(at)), turn])[None]
        reference = np.ascontiguousarray(np.column_stack([x, y, yaw])[None])
        model = self.roller.model
        try:
            q = start_state(self.vehicle, self.ground, (*self.start[:2], begin), model.penetration)
        except SimulationError as error:
            raise PlanError(f"start: {error}") from None
        moving = np.array([speed, 0.0, 0.0])
        return self.roller.run(np.ascontiguousarray(wanted), q, moving=moving, reference=reference, record=True)

    def refusal(self, what: str, trials: Trials, path: FloatArray) -> Refusal:
        """Why a drive along a way failed."""
        q = trials.final_state[0]
        tilt = math.degrees(math.acos(min(max(1.0 - 2.0 * (q[1] ** 2 + q[2] ** 2), -1.0), 1.0)))
        x, y = float(q[4]), float(q[5])
        words = {
            "tipped": f"tips at {tilt:.0f}°", "rolled_over": f"rolls over at {tilt:.0f}°", "stuck": "gets stuck",
            "keep_out": "enters a keep-out or passes the edge", "off_terrain": "leaves the map",
        }  # fmt: skip
        status = str(trials.status[0])
        slip = f" at {100 * float(trials.largest_slip[0]):.0f} % slip" if status == "stuck" else ""
        reason = f"{words.get(status, status)}{slip} near ({x:.0f}, {y:.0f})"
        return Refusal(what, reason, (x, y), trials.state[0, : int(trials.steps[0]) + 1, 4:6])

    def route(
        self, minimise: str, value: float, poses: FloatArray, nodes: list[int], trials: Trials, refused: Any
    ) -> Route:
        table = self.lattice.arrays(self.table.hazard, self.limits, (0, 0), 0.0, 0.0)
        ny = self.lattice.blocked.shape[1]
        edges = np.array(
            [
                (a // kernels.HEADINGS // ny, a // kernels.HEADINGS % ny, a % kernels.HEADINGS, b % kernels.HEADINGS)
                for a, b in pairwise(nodes)
            ],
            dtype=np.int64,
        ).reshape(-1, 4)
        hazard = np.zeros(len(edges))
        kernels.edge_costs(table, edges, hazard)
        survived = np.prod(1.0 - np.clip(hazard, 0.0, 1.0))
        return Route(
            minimise=minimise,
            reached=True,
            reason="",
            path=poses,
            driven=trials.state[0],
            distance=float(trials.distance[0]),
            duration=float(trials.duration[0]),
            energy=float(trials.energy[0]),
            risk=float(1.0 - survived),
            least_tip_margin=float(trials.least_tip_margin[0]),
            largest_slip=float(trials.largest_slip[0]),
            cost=value,
            refused=refused,
        )


def _rounded(path: FloatArray) -> FloatArray:
    """The path with its corners cut, twice (Chaikin), so that a vehicle can follow."""
    for _ in range(2):
        if len(path) < 3:
            return path
        a, b = path[:-1], path[1:]
        cut = np.empty((2 * len(a), 2))
        cut[0::2], cut[1::2] = 0.75 * a + 0.25 * b, 0.25 * a + 0.75 * b
        cut[0], cut[-1] = path[0], path[-1]
        path = cut
    return path


def _place(value: ArrayLike, name: str) -> tuple[float, float, float]:
    """x, y [m] and yaw [rad], NaN where it is not given."""
    numbers = checked.real(value, name).ravel()
    if len(numbers) not in (2, 3) or not np.isfinite(numbers).all():
        raise PlanError(f"{name}: {numbers.tolist()} is not (x, y) or (x, y, yaw)")
    x, y, yaw = (*numbers.tolist(), math.nan)[:3]
    return x, y, yaw
