"""Where an episode takes place: the ground, the start on it and the goal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.terrain import Terrain, parse, rough
from grouser.vehicles import Vehicle

MakeTerrain = Callable[[np.random.Generator], Terrain]
TRIES = 1000
"""Goals that are drawn before a map counts as too small."""


class Course:
    """What does not change from episode to episode."""

    def __init__(
        self,
        vehicle: Vehicle,
        terrain: Terrain | str | MakeTerrain | None,
        start: ArrayLike | None,
        goal: ArrayLike | None,
        goal_range: tuple[float, float],
    ) -> None:
        """As in `RoughTerrainEnv`; without a terrain, each episode is on a new rough ground."""
        low, high = checks.array(goal_range, "goal_range", (2,)).tolist()
        if not 0.0 < low <= high:
            raise SimulationError(f"goal_range: {low:g} to {high:g} m is not a range of distances above zero")
        made: Any = parse(terrain) if isinstance(terrain, str) else terrain
        if made is None:
            made = _rough_for(vehicle, high)
        elif not isinstance(made, Terrain) and not callable(made):
            wanted = "a Terrain, a line such as rough:rms=.1,length=1,seed=1, or a function"
            raise SimulationError(f"terrain: {made!r:.60} is not {wanted}")
        self.terrain: Terrain | MakeTerrain = made
        """The ground, or what makes one for each episode."""
        self.start = None if start is None else checks.array(start, "start", (3,))
        """x, y [m], yaw [rad]; None: the middle of the map, any heading."""
        self.goal = None if goal is None else checks.array(goal, "goal", (2,))
        """x, y [m]; None: anywhere on the map at a distance within the range."""
        self.goal_range: tuple[float, float] = low, high
        """Least and largest distance of a goal from the start [m]."""
        self._margin = vehicle_reach(vehicle)

    def draw(
        self, rng: np.random.Generator, start: FloatArray | None, goal: FloatArray | None
    ) -> tuple[Terrain, FloatArray, FloatArray]:
        """Ground, start (x, y, yaw) and goal (x, y) of an episode; what is given here overrides."""
        ground = self.terrain if isinstance(self.terrain, Terrain) else self.terrain(rng)
        checks.instance(ground, Terrain, "terrain", "a function given as terrain returns a ground")
        heading = rng.uniform(-math.pi, math.pi)
        start = self.start if start is None else start
        if start is None:
            xmin, xmax, ymin, ymax = ground.bounds
            middle = [0.5 * (xmin + xmax), 0.5 * (ymin + ymax)]
            start = np.array([*(x if math.isfinite(x) else 0.0 for x in middle), heading])
        goal = self.goal if goal is None else goal
        return ground, start, self._goal(rng, ground, start) if goal is None else goal

    def _goal(self, rng: np.random.Generator, ground: Terrain, start: FloatArray) -> FloatArray:
        margin = self._margin
        xmin, xmax, ymin, ymax = ground.bounds
        for _ in range(TRIES):
            distance, direction = rng.uniform(*self.goal_range), rng.uniform(-math.pi, math.pi)
            goal: FloatArray = start[:2] + distance * np.array([math.cos(direction), math.sin(direction)])
            roomy = xmin + margin <= goal[0] <= xmax - margin and ymin + margin <= goal[1] <= ymax - margin
            if roomy and bool(ground.sample(goal[0], goal[1]).inside):
                return goal
        low, high = self.goal_range
        raise SimulationError(
            f"goal_range: the map of {ground.description or ground.kind} has no room for a goal {low:g} to {high:g} m"
            f" from x = {start[0]:g}, y = {start[1]:g} m; use a larger map, or a nearer goal"
        )


def vehicle_reach(vehicle: Vehicle) -> float:
    """Distance from the body frame to the farthest rim, in the plan [m]."""
    return float(np.hypot(*vehicle.wheel_positions[:, :2].T).max() + vehicle.arrays.radius.max())


def _rough_for(vehicle: Vehicle, farthest: float) -> MakeTerrain:
    """Bumps the wheels can climb: RMS a quarter of their radius, correlated over four radii."""
    radius = float(vehicle.arrays.radius.mean())
    size = 2.0 * (farthest + 2.0 * vehicle_reach(vehicle))
    return lambda rng: rough(0.25 * radius, 4.0 * radius, int(rng.integers(2**31)), size=size)
