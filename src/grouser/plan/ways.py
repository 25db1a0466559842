"""Paths over a map as the engine drives them: straight pieces in batches, and whole paths steered by feedback."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.plan import search as kernels
from grouser.checks import FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import PlanError, SimulationError
from grouser.plan.lattice import STEP, Lattice
from grouser.plan.limits import Limits
from grouser.plan.slopes import DT, PACE, SlopeTable, as_risk, judge_straight, paced, rolling
from grouser.plan.trials import Roller, Trials
from grouser.simulation.settle import start_state
from grouser.spacing import path_lengths
from grouser.terrain import Terrain

SHARP = 1.2 * STEP
"""Angle between two pieces of a path above which a vehicle turns on the spot, if it can [rad]."""
YAW = STEP
"""Largest difference from the goal's yaw of a vehicle that cannot turn on the spot [rad]: a lattice heading."""
ROUNDS = 3
"""How often corners are cut to round them."""


@dataclass(frozen=True, eq=False)
class Drive:
    """A drive along a path."""

    path: FloatArray
    """Corners of the path x, y [m], yaw of the piece that begins there [rad], (n, 3)."""
    trials: Trials
    """Its rollout."""
    arrived: bool
    """Whether it ended at the goal."""
    risk: float
    """Chance of failure, by the tip margins and slips of its pieces."""

    def value(self, minimise: str) -> float:
        """Its cost by a criterion [J, s, or −log of the chance of success]."""
        if not self.arrived:
            return math.inf
        duration = float(self.trials.duration[0])
        if minimise == "risk":
            return float(as_risk(np.array(self.risk), np.array(duration)))
        return duration if minimise == "time" else float(self.trials.energy[0])


class Driver:
    """Drives edges of a lattice and whole paths between two places, x, y [m] and yaw [rad]."""

    def __init__(
        self, models: Sequence[Any], ground: Terrain, lattice: Lattice, *, limits: Limits, start: Any, goal: Any,
        table: SlopeTable, **options: Any,
    ) -> None:  # fmt: skip
        """models: the first has the best values, others are drawn. options: keep_out, effort and bounds."""
        self.lattice, self.limits, self.ground = lattice, limits, ground
        self.start, self.goal, self.spot, self.gain = start, goal, table.spot[0], table.gain
        self.speed = PACE * limits.speed
        self.on_the_spot = math.isfinite(self.spot)
        self.model = models[0]
        self.pieces = Roller(list(models), ground, dt=DT, limits=paced(limits), **options)
        self.whole = Roller(models[0], ground, dt=DT, limits=limits, **options, threads=1)
        self.judged = 0

    def judge(self, edges: NDArray[np.int64]) -> tuple[Trials, int] | None:
        """Roll out edges i, j, heading (n, 3) and note their costs; returns the first that fails, and its rollout."""
        lattice = self.lattice
        failed: list[tuple[int, Trials, int]] = []
        lengths = kernels.LENGTHS[edges[:, 2]]
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            i, j, k = edges[rows].T
            places = np.column_stack([lattice.x[i], lattice.y[j], kernels.ANGLES[k]])
            metres = float(length) * lattice.spacing
            one = judge_straight(self.pieces, places, speed=self.speed, seconds=metres / self.speed)
            time = one.time * metres
            costs = {"energy": one.energy * metres, "time": time, "risk": as_risk(one.hazard * metres, time)}
            for name, value in costs.items():
                lattice.edges[name][i, j, k] = -np.maximum(value, kernels.LEAST_EDGE)
            bad = np.flatnonzero(~np.isfinite(one.time))
            failed += [(int(rows[n]), one.trials, int(n)) for n in bad]
        self.judged += len(edges)
        return min(failed, key=lambda one: one[0])[1:] if failed else None

    def drive(self, corners: FloatArray) -> Drive:
        """Drive along corners (n, 2), from the start to the goal."""
        points = _divided(corners, self.lattice.spacing)
        yaw = _yaws(points)
        metres = np.hypot(*np.diff(points, axis=0).T)
        longest = float(metres.max())
        # The last piece ends at the goal; it is judged over the same length as the others.
        starts = points[:-1].copy()
        starts[-1] = points[-1] - longest * np.array([math.cos(yaw[-1]), math.sin(yaw[-1])])
        judged = judge_straight(
            self.pieces, np.column_stack([starts, yaw]), speed=self.speed, seconds=longest / self.speed
        )
        survives = 1.0 - np.clip(np.where(np.isfinite(judged.hazard), judged.hazard * metres, 1.0), 0.0, 1.0)
        pace = np.where(np.isfinite(judged.time), judged.time, 1.0 / self.speed)
        reference, wanted = self._reference(points, yaw, pace)
        try:
            q = start_state(self.model.vehicle, self.ground, self.start, self.model.penetration)
        except SimulationError as error:
            raise PlanError(f"start: {error}") from None
        trials = self.whole.run(
            wanted[None], q, velocities=rolling(self.model, float(wanted[0, 0]))[None], moving=wanted[0].copy(),
            reference=reference[None], record=True,
        )  # fmt: skip
        away = float(np.hypot(*(trials.final_state[0, 4:6] - points[-1])))
        # After a stop it lags by what it takes to accelerate, and feedback has not always caught up at the end.
        late = self.speed**2 / (2.0 * self.limits.acceleration)
        arrived = bool(trials.ok[0]) and away <= max(self.lattice.half, 0.5 * self.lattice.spacing) + late
        off = float(planar_pose(trials.final_state)[0, 2]) - float(self.goal[2])  # NaN if no yaw is asked for
        arrived &= self.on_the_spot or not abs(math.remainder(off, math.tau)) > YAW
        path = np.column_stack([corners, np.append(_yaws(corners), self._last_yaw(yaw[-1]))])
        return Drive(path, trials, arrived, float(1.0 - np.prod(survives)))

    def _last_yaw(self, yaw: float) -> float:
        asked = float(self.goal[2])
        return asked if self.on_the_spot and math.isfinite(asked) else yaw

    def _reference(self, points: FloatArray, yaw: FloatArray, pace: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Poses (T, 3) and commands (T, 3) of a drive along points, each piece with its time of a metre [s/m]."""
        turns = np.abs(np.angle(np.exp(1j * np.diff(yaw))))
        stops = np.flatnonzero(turns > SHARP) + 1 if self.on_the_spot else np.zeros(0, dtype=int)
        ends = [0, *stops.tolist(), len(points) - 1]
        poses: list[FloatArray] = []
        speeds: list[FloatArray] = []  # forward speed, and the ratio of commanded to wanted turn rate
        facing = float(self.start[2]) if self.on_the_spot else float(yaw[0])
        for first, last in pairwise(ends):
            chain = _followed(points[first : last + 1], pace[first:last])
            self._turn(poses, speeds, points[first], facing, float(chain[0, 2]))
            poses.append(chain)
            speeds.append(np.tile([self.speed, self.gain], (len(chain), 1)))
            facing = float(chain[-1, 2])
        self._turn(poses, speeds, points[-1], facing, self._last_yaw(facing))
        reference = np.concatenate(poses)
        reference[:, 2] = np.unwrap(reference[:, 2])
        rate = np.gradient(reference[:, 2], DT) if len(reference) > 1 else np.zeros(len(reference))
        forward, more = np.concatenate(speeds).T
        wanted = np.column_stack([forward, np.zeros(len(reference)), more * rate])
        return np.ascontiguousarray(reference), np.ascontiguousarray(wanted)

    def _turn(self, poses: list[FloatArray], speeds: list[FloatArray], at: FloatArray, old: float, new: float) -> None:
        """Add a turn on the spot, of a vehicle that can."""
        angle = math.remainder(new - old, 2.0 * math.pi)
        if not self.on_the_spot or abs(angle) < 0.02:
            return
        steps = math.ceil(abs(angle) * self.spot / DT)
        part = (np.arange(steps) + 1.0) / steps
        poses.append(np.column_stack([np.tile(at, (steps, 1)), old + part * angle]))
        speeds.append(np.tile([0.0, self.spot * PACE * self.limits.turn], (steps, 1)))


def _yaws(points: FloatArray) -> FloatArray:
    ahead = np.diff(points, axis=0)
    return np.asarray(np.arctan2(ahead[:, 1], ahead[:, 0]))


def _divided(points: FloatArray, longest: float) -> FloatArray:
    """The same path with points at most a distance [m] apart."""
    rows = [points[:1]]
    for a, b in pairwise(points):
        count = max(1, math.ceil(float(np.hypot(*(b - a))) / longest - 1e-6))
        rows.append(a + (np.arange(count)[:, None] + 1.0) / count * (b - a))
    return np.concatenate(rows)


def _followed(points: FloatArray, pace: FloatArray) -> FloatArray:
    """Poses of a drive along points with rounded corners, a row each DT; pace: time of a metre of each piece [s/m]."""
    middle = 0.5 * (points[:-1] + points[1:])
    smooth = _rounded(points)
    s = path_lengths(smooth)
    # Rounding shortens a path a little: pieces keep their share of it.
    lengths = np.hypot(*np.diff(points, axis=0).T)
    middles = (np.cumsum(lengths) - 0.5 * lengths) * (s[-1] / lengths.sum())
    time = np.concatenate([[0.0], np.cumsum(np.diff(s) * np.interp(0.5 * (s[:-1] + s[1:]), middles, pace))])
    at = np.append(np.arange(0.0, time[-1] - 1e-9, DT), time[-1])
    x, y = np.interp(at, time, smooth[:, 0]), np.interp(at, time, smooth[:, 1])
    yaw = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x))) if len(middle) and len(at) > 1 else np.zeros(len(at))
    return np.column_stack([x, y, yaw])


def _rounded(path: FloatArray) -> FloatArray:
    """The path with its corners rounded by repeated cutting (Chaikin)."""
    for _ in range(ROUNDS):
        if len(path) < 3:
            return path
        a, b = path[:-1], path[1:]
        cut = np.empty((2 * len(a), 2))
        cut[0::2], cut[1::2] = 0.75 * a + 0.25 * b, 0.25 * a + 0.75 * b
        cut[0], cut[-1] = path[0], path[-1]
        path = cut
    return path
