"""A path across a map: searched on a lattice, its edges rolled out by the engine, then driven as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser._kernels.plan import search as kernels
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.plan.keep_out import KeepOut
from grouser.plan.lattice import Lattice, heading_of
from grouser.plan.limits import Limits, limits_for
from grouser.plan.places import check_ends, ends, window
from grouser.plan.room import half_width
from grouser.plan.slopes import CRITERIA, SlopeTable, slope_table
from grouser.plan.trials import Bounds, Effort, Trials
from grouser.plan.uncertain import Uncertain
from grouser.plan.ways import SHARP, Drive, Driver
from grouser.rotation import yaw_of
from grouser.terrain import Terrain

checked = Checker(PlanError)
DRAWS = 8
"""Drawn models, for the hazard of slopes and edges."""
MOST_TRIES = 25
"""Paths that are driven; after each failure the place where it failed is refused."""
MOST_ROUNDS = 400
"""Searches after which the best path so far is taken, each with the engine's costs of the edges of those before."""
LEAST_RISK = 1e-4
"""Chances of failure that differ by less count as equal."""
TOLERANCE = 0.005
"""How much cheaper than the best judged path another may seem, a ratio."""
LEAST_HOPE = 0.75
"""Least share of its cost by the table that an edge of a small lattice counts before the engine has judged it, a ratio.
It is 1 less 1.5 times the mean error of the table so far, so that edges whose cost it overestimates are searched."""
SMALL = 600_000
"""Nodes of a lattice that is searched as a whole each time; of a larger one only what is near the paths found."""
MOST_GLOBAL = 2
"""Searches of the whole of a larger lattice."""
CORRIDOR = 12
"""Half width of what is near, in places."""
DEARER = 1.05
"""How much more than a path that fails the straight one may cost to be taken in its place, a ratio."""
PIECES = 60
"""Edges that one straight piece may replace."""
SHOWN = 12
"""Failed paths that are kept, of each criterion."""


@dataclass(frozen=True, eq=False)
class Refusal:
    """A path that was examined and not taken."""

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
    """A path across a map and its costs."""

    minimise: str
    """The criterion: energy, time or risk."""
    reached: bool
    """Whether there is a path that the engine drives to its end."""
    reason: str
    """Why not; empty if there is."""
    path: FloatArray
    """x, y [m], yaw [rad] of the corners of the path, (n, 3)."""
    driven: FloatArray
    """States of the drive that checked it [quaternion, m, joints in rad or m], (T, nq)."""
    distance: float
    """Of that drive [m]."""
    duration: float
    """Of that drive [s]."""
    energy: float
    """Of that drive [J]."""
    risk: float
    """Chance of failure, a ratio: the engine's tip margins and slips of its pieces, with assumed spreads."""
    least_tip_margin: float
    """Of that drive [rad]."""
    largest_slip: float
    """Of that drive, a ratio."""
    cost: float
    """Of the search: that of all edges by the engine and of turns [J, s, or −log of the chance of success]; that of its
    drive, if a path found for another criterion turned out better."""
    refused: tuple[Refusal, ...] = ()
    """Failed paths."""
    alternatives: tuple[Route, ...] = ()
    """Paths that are best by the other criteria."""

    def driven_cost(self, minimise: str) -> float:
        """What its drive takes of energy [J], time [s] or risk (a ratio)."""
        return {"energy": self.energy, "time": self.duration, "risk": self.risk}[minimise]

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        names = ("minimise", "reached", "reason", "distance", "duration", "energy", "risk", "largest_slip")
        return {
            **{name: getattr(self, name) for name in names},
            "cost": self.cost if math.isfinite(self.cost) else None,
            "least_tip_margin_deg": math.degrees(self.least_tip_margin),
            "refused": [str(one) for one in self.refused],
            "path": self.path.tolist(),
            "alternatives": [one.summary() for one in self.alternatives],
        }


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
    """Find a path from start (x, y[, yaw]) to goal (x, y[, yaw]) [m, rad] of least energy, time or risk.

    What a metre costs on a slope and a soil is found by rollouts of the engine on planes, for drawn models too where
    the model is uncertain. A* searches places and 16 headings; a first cost of an edge is that of all cells on its
    line. The engine then rolls out the edges of the path found, in batches on the real ground, and the search is made
    again with these costs, until the best path has only edges that the engine has judged. That path, and one with
    straight pieces in place of its edges, are driven as a whole; the cheaper one is taken. Where both tip, get stuck or
    leave the map, the place is refused and the search goes on.

    A yaw of the goal is met within a lattice heading, and exactly by a vehicle that turns on the spot.
    spacing: of the places [m]; None: half the vehicle's length, 1/1000 of the map, or what its curvature asks for.
    alternatives: whether the best paths by the other two criteria are searched. progress(done, all) is called at
    intervals; done never falls.
    """
    unsure = Uncertain.of(model)
    checked.choice(minimise, "minimise", CRITERIA)
    vehicle = unsure.model.vehicle
    limits = limits_for(vehicle, limits)
    first, last = ends(start, goal)
    reach = half_width(vehicle) if bounds is None or bounds.reach is None else bounds.reach
    check_ends(first, last, ground, keep_out, reach, 1e-6)
    meter = Meter(progress, 1 + 2 * (3 if alternatives else 1))
    lattice = Lattice(
        ground, vehicle, first, window(ground, first, last), spacing=spacing, limits=limits, keep_out=keep_out,
        reach=reach,
    )  # fmt: skip
    lattice.free(first[0], first[1])
    models = [unsure.model] if unsure.draw is None else [unsure.model, *unsure.models(DRAWS, (seed, 3))]
    table = slope_table(models, ground, limits=limits, effort=effort, bounds=bounds)
    driver = Driver(
        models, ground, lattice, limits=limits, start=first, goal=last, table=table, keep_out=keep_out,
        effort=effort, bounds=bounds,
    )  # fmt: skip
    meter.next()
    finder = _Finder(driver, table, meter)
    straight = finder.straight()
    best = finder.find(minimise, () if straight is None else (straight,))
    meter.next(2)
    if alternatives and best.reached:
        routes = [best]
        for one in CRITERIA:
            if one != minimise:
                routes.append(finder.find(one, (), searches=1))
                meter.next(2)
        best, *rest = _best_for_each([one for one in routes if one.reached])
        best = replace(best, alternatives=tuple(rest))
    meter.next(meter.all)
    return best


def _best_for_each(routes: list[Route]) -> list[Route]:
    """The best drive by the criterion of each route, which may be that of another route.

    The lattice adds up edges that are driven one by one; on ground rougher than an edge is long, a whole drive costs
    more than their sum, and not by the same ratio for all paths.
    """
    best = []
    for own in routes:
        other = min(routes, key=lambda one: one.driven_cost(own.minimise))
        better = other.driven_cost(own.minimise) < (1.0 - TOLERANCE) * own.driven_cost(own.minimise) - LEAST_RISK
        if better:
            other = replace(other, minimise=own.minimise, cost=other.driven_cost(own.minimise), refused=own.refused)
        best.append(other if better else own)
    return best


class _Finder:
    """A search for paths between two places, by one criterion after another."""

    def __init__(self, driver: Driver, table: SlopeTable, meter: Meter) -> None:
        self.driver, self.table, self.meter = driver, table, meter
        self.lattice, self.start, self.goal = driver.lattice, driver.start, driver.goal
        self.corridor = np.zeros(self.lattice.shape, dtype=np.uint8)
        self.found: list[Refusal] = []
        self.direct: list[Drive] = []

    def straight(self) -> Refusal | None:
        """Why the straight path is refused; None if it is not."""
        ends = np.array([self.start[:2], self.goal[:2]])
        drive = self.driver.drive(ends)
        if not drive.arrived:
            return _refusal("straight way", drive.trials)
        wall = self.lattice.first_blocked(ends)
        if wall is not None:
            reason = f"meets a wall, a hole or a keep-out near ({wall[0]:.0f}, {wall[1]:.0f})"
            return Refusal("straight way", reason, wall, np.array([ends[0], wall]))
        if math.isnan(self.goal[2]) or self.driver.on_the_spot:
            self.direct = [drive]
        return None

    def find(self, minimise: str, refused: tuple[Refusal, ...], *, searches: int = MOST_GLOBAL) -> Route:
        """The best path that the engine drives to its end; searches: of the whole of a large lattice."""
        chart = self.lattice.chart(self.table.cost(minimise))
        task = self.lattice.task(self.table, minimise, self.goal)
        self.found = list(refused)
        why = "the map has no way from start to goal"
        spare = self.direct
        for _ in range(MOST_TRIES):
            nodes, value = self.judged_way(chart, task, minimise, searches)
            if len(nodes) == 0:
                break
            corners = self.corners(nodes)
            drives = [self.driver.drive(corners)]
            # A vehicle that cannot turn on the spot ends with the yaw of the last edge.
            last = int(not self.driver.on_the_spot and math.isfinite(self.goal[2]) and len(corners) > 2)
            short = self.shortened(chart, minimise, corners[: len(corners) - last])
            short = np.concatenate([short, corners[len(corners) - last :]])
            if len(short) < len(corners):
                drives.append(self.driver.drive(short))
            best = min([*drives, *spare], key=lambda one: one.value(minimise))
            if best.arrived and (best in drives or best.value(minimise) <= DEARER * value):
                return self.route(minimise, value, best)
            one = self.refuse(drives[0].trials, nodes)
            why = f"the last way tried fails: {one.reason}"
        if spare:
            return self.route(minimise, spare[0].value(minimise), spare[0])
        nq = len(self.driver.model.vehicle.joints) + 7
        empty, none = np.zeros((0, 3)), np.zeros((0, nq))
        if self.found and why.startswith("the map"):
            why += f"; {self.found[-1]}"
        return Route(minimise, False, why, empty, none, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, math.inf, tuple(self.found))

    def judged_way(self, chart: Any, task: Any, minimise: str, searches: int) -> tuple[NDArray[np.int64], float]:
        """Nodes of the best path with all edges judged by the engine, and its cost; none where there is none.

        An edge has its cost by the table until it lies on the best path; then the engine rolls it out. A large lattice
        is searched as a whole some times, and in between along the paths found.
        """
        lattice, edges = self.lattice, self.lattice.edges[minimise]
        small = lattice.everywhere.size * kernels.HEADINGS <= SMALL
        spent = np.zeros(3)  # truth, guess and error of the edges judged
        best: tuple[NDArray[np.int64], float] = (np.zeros(0, dtype=np.int64), math.inf)
        whole, searched = True, 0
        for _ in range(MOST_ROUNDS):
            searched += whole
            task = task._replace(open=lattice.everywhere if whole else self.corridor)
            nodes, value = lattice.search(chart, task, self.start, self.meter.part if whole else None)
            if value >= (1.0 - TOLERANCE) * best[1] or len(nodes) == 0:
                if whole or (len(best[0]) and searched >= searches):
                    return best
                whole = True
                continue
            moves = lattice.edges_of(nodes)
            new = moves[edges[tuple(moves.T)] > 0.0]
            if len(new):
                at = tuple(new.T)
                guess = edges[at].astype(float)
                failed = self.driver.judge(new)
                truth = -edges[at].astype(float)
                value += float((truth - task.ratio * guess).sum())
                fine = np.isfinite(truth)
                truth, guess = truth[fine], guess[fine]
                spent += truth.sum(), guess.sum(), np.abs(truth - guess).sum()
                if spent[1] > 0.0:
                    # Risk is that of a few edges, which say little about the others.
                    bias = 1.0 if minimise == "risk" else min(max(spent[0] / spent[1], 0.5), 2.0)
                    hope = max(1.0 - 1.5 * spent[2] / spent[0], LEAST_HOPE) if small else 1.0
                    task = task._replace(ratio=bias * hope)
                if failed is not None and len(self.found) < SHOWN:
                    self.found.append(_refusal(f"way {len(self.found) + 1}", *failed, lattice.points(nodes)))
            if value < best[1]:
                best = nodes, value
            if not small:
                self.corridor |= lattice.around(nodes, CORRIDOR)
                whole = False
        return best

    def corners(self, nodes: NDArray[np.int64]) -> FloatArray:
        """Places of a path (n, 2) [m], from the start to the goal."""
        points = self.lattice.points(nodes)
        goal = np.array(self.goal[:2])
        # The last place stands for the goal, which lies between places.
        if len(points) > 1 and float(np.hypot(*(points[-1] - goal))) > 1e-9:
            points[-1] = goal
        return points if len(points) > 1 else np.array([self.start[:2], self.goal[:2]])

    def shortened(self, chart: Any, minimise: str, corners: FloatArray) -> FloatArray:
        """The path with straight pieces in place of edges where they cost less by the table."""
        lattice = self.lattice
        cells = np.ascontiguousarray((corners - [lattice.x[0], lattice.y[0]]) / lattice.cell)
        sharp = SHARP if self.driver.on_the_spot else 0.9 * min(lattice.spacing * lattice.limits.curvature, 1.5)
        turn = np.array([self.table.bend(minimise), sharp, self.table.turn(minimise)])
        best = np.zeros((len(cells), 2))
        kernels.shorten(chart, cells, PIECES, turn, best)
        if not math.isfinite(best[-1, 0]):
            return corners
        kept = [len(corners) - 1]
        while kept[-1] > 0:
            kept.append(int(best[kept[-1], 1]))
        return corners[kept[::-1]]

    def refuse(self, trials: Trials, nodes: NDArray[np.int64]) -> Refusal:
        """Note why a path fails, and refuse the places around in about this heading to all others.

        The drive may have left its path: the nearest place of the path is refused, too, or it would be found again.
        """
        one = _refusal(f"way {len(self.found) + 1}", trials)
        self.found.append(one)
        lattice = self.lattice
        moves = lattice.edges_of(nodes)
        away = np.hypot(lattice.x[moves[:, 0]] - one.place[0], lattice.y[moves[:, 1]] - one.place[1])
        failed = (*lattice.place(*one.place), heading_of(float(yaw_of(trials.final_state[0, :4]))))
        for i, j, k in (failed, *moves[np.argmin(away)][None].tolist()):
            headings = (k + np.arange(-2, 3)) % kernels.HEADINGS
            for edges in lattice.edges.values():
                edges[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2, headings] = np.inf
        return one

    def route(self, minimise: str, value: float, drive: Drive) -> Route:
        trials = drive.trials
        return Route(
            minimise=minimise,
            reached=True,
            reason="",
            path=drive.path,
            driven=trials.state[0],
            distance=float(trials.distance[0]),
            duration=float(trials.duration[0]),
            energy=float(trials.energy[0]),
            risk=drive.risk,
            least_tip_margin=float(trials.least_tip_margin[0]),
            largest_slip=float(trials.largest_slip[0]),
            cost=value,
            refused=tuple(self.found),
        )


class Meter:
    """Reports progress in parts of steps; it never falls."""

    def __init__(self, report: Callable[[int, int], None] | None, steps: int, parts: int = 1000) -> None:
        """parts: of a step that are counted."""
        self.report, self.parts, self.all, self.done, self.step = report, parts, parts * steps, 0, 0

    def part(self, share: float) -> None:
        """A share of the present step is done, or more steps than one."""
        at = min(int(self.parts * (self.step + share)), self.all)
        if self.report is not None and at > self.done:
            self.done = at
            self.report(at, self.all)

    def over(self, steps: int) -> Callable[[int, int], None]:
        """The progress of a function that takes some steps."""
        return lambda done, total: self.part(steps * done / max(total, 1))

    def next(self, steps: int = 1) -> None:
        """Steps are done."""
        self.step += steps
        self.part(0.0)


def _refusal(what: str, trials: Trials, row: int = 0, path: FloatArray | None = None) -> Refusal:
    """Why a drive failed; path: where it led [m], (n, 2), if it was not recorded."""
    q = trials.final_state[row]
    tilt = math.degrees(math.acos(min(max(1.0 - 2.0 * (q[1] ** 2 + q[2] ** 2), -1.0), 1.0)))
    x, y = float(q[4]), float(q[5])
    status = str(trials.status[row])
    slips = status in ("stuck", "ok") and float(trials.largest_slip[row]) > 0.3
    words = {
        "ok": "does not keep up" if slips else "misses the goal or its yaw",
        "tipped": f"tips at {tilt:.0f}°", "rolled_over": f"rolls over at {tilt:.0f}°",
        "stuck": "gets stuck", "keep_out": "enters a keep-out or passes the edge", "off_terrain": "leaves the map",
    }  # fmt: skip
    slip = f" at {100 * float(trials.largest_slip[row]):.0f} % slip" if slips else ""
    if path is None:
        path = trials.state[row, : int(trials.steps[row]) + 1, 4:6]
    return Refusal(what, f"{words.get(status, status)}{slip} near ({x:.0f}, {y:.0f})", (x, y), path)
