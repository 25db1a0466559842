"""Drives to a pose in legs from rest to rest, for ground on which no single shape of them ends there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from grouser._compile.lanes import LANES
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.plan.guesses import guesses
from grouser.plan.newton import Solution, Solver
from grouser.plan.shapes import ROOM, Piece, Shape, Stretch, shape_of

LEFT = np.array([0.7, 1.2, 2.0, 3.5])
"""Distances to the pose [m] that may be left to the next leg; of least turning radii, if these are longer than 1 m."""
SHORT = np.array([0.3, 0.6, 1.0, 1.5])
"""Distances before the place where a drive failed [m] at which a leg may end."""
SHORTEST = 0.2
"""Shortest leg [m]."""
DEPTH = 4
"""Legs up to a place near the pose."""
NEAR = 2
"""Legs from there."""
MOST = 1500
"""Rollouts before the search is given up, where eight take as long as one; a quarter of that elsewhere."""


@dataclass(frozen=True)
class Leg:
    """The drive so far."""

    state: FloatArray
    """Where it stands, (1, nq)."""
    velocity: FloatArray | None
    """Of dynamics, (1, nv)."""
    twists: FloatArray
    """Commands until there, (T, 3)."""
    stretches: tuple[Stretch, ...]
    """The same as polynomials, rests between them."""


class Legs:
    """Search of a drive: the quickest shape, then legs that continue from near its end, then other shapes."""

    def __init__(self, root: Solver) -> None:
        self.root = root
        self.spent = self.iterations = 0
        self.most = MOST if root.in_lanes else MOST // 4
        self.found: Leg | None = None
        self.solution: Solution | None = None

    def search(self) -> bool:
        """Whether a drive to the pose has been found."""
        root = self.root
        return self._from(root, Leg(root.state, root.velocity, np.zeros((0, 3)), ()), 1, near=0)

    def _from(self, solver: Solver, leg: Leg, depth: int, near: int) -> bool:
        """Whether a drive is found from the end of a leg. near: legs since one that ended near the pose."""
        x, y, yaw = solver.aim.tolist()
        shapes = guesses(x, y, yaw, solver.easy, solver.roller.dt)
        failed: list[tuple[Shape, float]] = []
        first = list(islice(shapes, 2 if near else 1))
        for shape in first:
            if self._through(solver, leg, shape, depth, near):
                return True
        while not near and self.spent < self.most:
            group = [solver.ready(shape) for shape in islice(shapes, LANES)]
            if not group:
                break
            trials = solver.screen(group)
            self.spent += len(group)
            for k, shape in enumerate(group):
                if not trials.ok[k]:
                    failed.append((shape, trials.steps[k] / shape.basis.shape[1]))
                elif self._through(solver, leg, shape, depth, near):
                    return True
        if near or depth >= DEPTH:
            return False
        nodes = []
        for at in range(0, len(failed), 2):
            cuts = []
            for shape, share in failed[at : at + 2]:
                way = length_of(shape) * share
                cuts += [until(shape, way - short) for short in SHORT if way - short > SHORTEST]
            nodes += self._ends(solver, cuts)
        nodes.sort(key=lambda node: node[0])
        return any(self._on(solver, leg, shape, depth, near=0) for _, shape in nodes[:2])

    def _through(self, solver: Solver, leg: Leg, shape: Shape, depth: int, near: int) -> bool:
        """Whether a shape comes to the pose, or another one from near the end of the rollout that came nearest."""
        before = solver.rollouts, solver.iterations
        solved = solver.solve(shape)
        self.spent += solver.rollouts - before[0]
        self.iterations += solver.iterations - before[1]
        if solved:
            assert solver.nearest is not None
            return self._whole(leg, solver.nearest, solver)
        nearest = solver.nearest
        if nearest is None or nearest.size == math.inf or near >= NEAR or self.spent >= self.most:
            return False
        whole = length_of(nearest.shape)
        ways = whole - LEFT * max(1.0, 1.0 / solver.limits.curvature)
        cuts = [until(nearest.shape, way) for way in ways if way > SHORTEST]
        nodes = sorted(self._ends(solver, cuts), key=lambda node: node[0])
        return any(self._on(solver, leg, shape, depth, near + 1) for _, shape in nodes[: NEAR - near])

    def _ends(self, solver: Solver, cuts: Sequence[list[Piece]]) -> list[tuple[float, Shape]]:
        """Of the beginnings of drives those that end well, and how easy the pose is from there."""
        shapes = [shape_of(pieces, solver.easy, solver.roller.dt) for pieces in cuts]
        shapes = [one.within(ROOM * solver.limits.curvature) for one in shapes]
        shapes = [one for one in shapes if max(solver.excess(one)) <= 1.0]
        if not shapes:
            return []
        trials = solver.screen(shapes)
        self.spent += len(cuts)
        out = []
        for k, shape in enumerate(shapes):
            if trials.ok[k]:
                there = replace_start(solver, trials.final_state[k : k + 1], None)
                out.append((ease(there), shape))
        return out

    def _on(self, solver: Solver, leg: Leg, shape: Shape, depth: int, near: int) -> bool:
        """Whether a drive is found after one more leg of this shape."""
        if self.spent >= self.most:
            return False
        twists = shape.twists(shape.values[None])
        rest = max(2 * solver.rest, 1)  # what a powertrain has left of a speed is not to be seen in the next leg
        twists = np.concatenate([twists, np.zeros((1, rest, 3))], axis=1)
        trials = solver.run(twists)
        self.spent += 1
        if not trials.ok[0]:
            return False
        dt = solver.roller.dt
        pause = Stretch(0.0, 0.0, (0.0,), rest * dt, 0.5 * rest * dt)
        stretches = (*leg.stretches, *shape.stretches(), pause)
        velocity = None if isinstance(solver.roller.model, Kinematics) else trials.final_velocity
        longer = Leg(trials.final_state, velocity, np.concatenate([leg.twists, twists[0]]), stretches)
        return self._from(replace_start(solver, longer.state, velocity), longer, depth + 1, near)

    def _whole(self, leg: Leg, last: Solution, solver: Solver) -> bool:
        """Whether all legs, driven at once from the start, end at the pose."""
        twists = np.concatenate([leg.twists, last.twists])
        self.found = Leg(last.trials.final_state, None, twists, (*leg.stretches, *last.shape.stretches()))
        if solver is self.root:
            self.solution = last
            return True
        trials = self.root.run(twists[None])
        self.spent += 1
        size = float(self.root.sizes(trials)[0])
        self.solution = Solution(size, last.shape, twists, trials.some(slice(1)))
        return size <= 1.0


def replace_start(solver: Solver, state: FloatArray, velocity: FloatArray | None) -> Solver:
    """A solver to the same pose from another state."""
    return Solver(solver.roller, solver.limits, state, solver.pose, solver.close, velocity)


def ease(solver: Solver) -> float:
    """How far the pose is from the start of a solver [m], with the turns to it, forwards or backwards."""
    x, y, yaw = solver.aim
    away = math.hypot(x, y)
    radius = max(1.0 / solver.limits.curvature, 0.5)
    costs = []
    for way, speed in ((1.0, solver.limits.speed), (-1.0, solver.limits.reverse)):
        if speed > 0.0:
            aim = math.atan2(way * y, way * x)
            turns = abs(aim) + abs(math.remainder(yaw - aim, math.tau))
            lack = max(1.5 * radius * turns + 0.5 - away, 0.0)
            costs.append(away * solver.limits.speed / speed + radius * turns + 3.0 * lack)
    return min(costs)


def length_of(shape: Shape) -> float:
    """Length of a shape [m]."""
    return sum(math.hypot(one.forward, one.left) for one in shape.stretches())


def until(shape: Shape, way: float) -> list[Piece]:
    """The beginning of a shape up to a distance [m]; turns on the spot are none."""
    out: list[Piece] = []
    for one in shape.driven():
        length = math.hypot(one.forward, one.left)
        if length > way:
            return [*out, one.until(way / length)]
        out.append(one)
        way -= length
    return out
