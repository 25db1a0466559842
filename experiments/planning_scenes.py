"""Scenes in which the asked risk decides: a gate between keep-outs, a bank near the tip limit, the edge of the map."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import grouser as gr
from experiments.planning_loop import Driven, drive
from grouser.checks import FloatArray
from grouser.plan import MPPI, CommandRate, Cost, KeepOut, Limits, Path, Uncertain
from grouser.plan.room import half_width

KINDS = ("gate", "bank", "edge")
LENGTH, FIRST, LAST = 5.0, 2.0, 3.0
"""Distance of the goal, and between which x the lane runs [m]."""
SLIP = np.array([-0.1, -0.05, -0.4, 0.0, 0.0, -0.1])
"""p₁ … p₆ of the planner's best model, `gr.slip.BodySlip`."""
SIGMA = np.array([0.05, 0.05, 0.2, 0.05, 0.05, 0.1])
"""Of a drawn vehicle's slip."""
DENSITY = np.diag([2e-3, 2e-3, 6e-3])
"""Of the process noise: forward, left [m²/m], turn [rad²/m]."""
DT, HORIZON = 0.2, 2.0
SAMPLES = 96
LONGEST = 10.0
"""Of a drive [s]."""
VEHICLE = gr.vehicle("husky").replace_frame("body", com=(0.0, 0.0, 0.3))
"""With a load on top: it tips at 30° to the side."""
WIDTH = 2.0 * half_width(VEHICLE)
"""[m]."""
STEEPEST = math.radians(30.5)
"""Slope to the side at which it tips [rad]."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A place to drive."""

    kind: str
    """One of `KINDS`."""
    ground: gr.terrain.Terrain
    keep_out: KeepOut | None
    start: tuple[float, float, float]
    """x, y [m], yaw [rad]."""
    lane: tuple[float, float]
    """Least and largest y of the body in the lane [m]."""

    @property
    def goal(self) -> tuple[float, float]:
        """x, y [m]."""
        return LENGTH, self.start[1]

    @property
    def way(self) -> FloatArray:
        """The shortest way, x, y [m], (4, 2): it touches a side of the lane where the straight way does not pass."""
        y = min(max(self.start[1], self.lane[0]), self.lane[1])
        return np.array([self.start[:2], (FIRST, y), (LAST, y), self.goal])


def scene(seed: int) -> Scene:
    """The kinds take turns; sizes are drawn."""
    rng = np.random.default_rng([seed, 21])
    return (_gate, _bank, _edge)[seed % 3](rng)


def _grid(heights: FloatArray, x: FloatArray, y: FloatArray) -> gr.terrain.Terrain:
    return gr.terrain.grid(heights, x=x, y=y)


def _axes(xmin: float, xmax: float, ymin: float, ymax: float) -> tuple[FloatArray, FloatArray]:
    cell = 0.1
    return np.arange(xmin, xmax + 0.5 * cell, cell), np.arange(ymin, ymax + 0.5 * cell, cell)


def _gate(rng: np.random.Generator) -> Scene:
    """A lane 1 m long and 0.1 to 0.5 m wider than the vehicle through a wall, on a slope to the side."""
    room, middle = WIDTH + rng.uniform(0.1, 0.5), rng.uniform(-0.3, 0.3)
    x, y = _axes(-1.0, 6.0, -2.0, 2.0)
    slope = math.tan(math.radians(rng.uniform(-14.0, 14.0)))
    ground = _grid(np.broadcast_to(slope * y, (len(x), len(y))), x, y)
    keep_out = _keep_out(ground, lambda x, y: (x > FIRST) & (x < LAST) & (abs(y - middle) > 0.5 * room))
    free = 0.5 * (room - WIDTH)
    return Scene("gate", ground, keep_out, (0.0, 0.0, 0.0), (middle - free, middle + free))


def _bank(rng: np.random.Generator) -> Scene:
    """A bank that steepens uphill; a keep-out below leaves a lane where the tip margin falls to some degrees."""
    x, y = _axes(-1.0, 6.0, -2.0, 2.0)
    # The slope to the side is s at y = 0 and grows by 1 in a metre.
    steep = math.tan(rng.uniform(STEEPEST - math.radians(12.0), STEEPEST - math.radians(1.0)))
    side = np.maximum(y + steep, 0.0)
    ground = _grid(np.broadcast_to(0.5 * side**2, (len(x), len(y))), x, y)
    keep_out = _keep_out(ground, lambda x, y: (x > FIRST) & (x < LAST) & (y < -0.5 * WIDTH - 0.1))
    return Scene("bank", ground, keep_out, (0.0, -0.4, 0.0), (-0.1, math.tan(STEEPEST) - steep))


def _edge(rng: np.random.Generator) -> Scene:
    """A lane 1 m long and 0.1 to 0.5 m wider than the vehicle between a keep-out and the edge, sloping to either."""
    room, top = WIDTH + rng.uniform(0.1, 0.5), rng.uniform(0.6, 1.0)
    x, y = _axes(-1.0, 6.0, -2.0, round(top, 1))
    slope = math.tan(math.radians(rng.uniform(-14.0, 14.0)))
    ground = _grid(np.broadcast_to(slope * y, (len(x), len(y))), x, y)
    keep_out = _keep_out(ground, lambda x, y: (x > FIRST) & (x < LAST) & (y < float(ground.bounds[3]) - room))
    high = float(ground.bounds[3]) - 0.5 * WIDTH
    return Scene("edge", ground, keep_out, (0.0, 0.0, 0.0), (high - room + WIDTH, high))


def _keep_out(ground: gr.terrain.Terrain, inside: Callable[[FloatArray, FloatArray], NDArray[np.bool_]]) -> KeepOut:
    cell = 0.02
    xmin, xmax, ymin, ymax = ground.bounds
    x, y = np.arange(xmin, xmax, cell), np.arange(ymin, ymax + cell, cell)
    return KeepOut(inside(x[:, None], y[None, :]), float(x[0]), float(y[0]), cell)


def model(slip: FloatArray) -> gr.Kinematics:
    """The vehicle with that slip."""
    return gr.Kinematics(VEHICLE, slip=gr.slip.BodySlip(slip))


def belief() -> Uncertain:
    """What the planner knows: slip with its spread, and the noise."""
    noise = gr.motion.Noise(components=("vx", "vy", "wz"), density=DENSITY)
    return Uncertain(model=model(SLIP), draw=lambda rng: model(SLIP + SIGMA * rng.standard_normal(6)), noise=noise)


def risky_drive(seed: int, risk: float, *, wider: float = 1.0) -> tuple[str, Driven]:
    """A drive of a vehicle with drawn slip at an asked risk; its slip spreads `wider` times as far as is believed."""
    place, unsure = scene(seed), belief()
    cost = Cost(Path(place.way, aside=1.0), CommandRate(speed=0.02, turn=0.02))
    controller = MPPI(
        unsure, place.ground, cost, horizon=HORIZON, dt=DT, samples=SAMPLES, risk=risk, seed=seed, threads=1,
        limits=Limits(speed=1.0, reverse=0.3, turn=1.0), keep_out=place.keep_out,
    )  # fmt: skip
    rng = np.random.default_rng([seed, 22])
    truth = model(SLIP + wider * SIGMA * rng.standard_normal(6))
    driven = drive(
        controller, truth, place.ground, start=place.start, goal=place.goal, duration=LONGEST, near=0.4, patience=2.0,
        keep_out=place.keep_out, noise_from=unsure, seed=seed,
    )  # fmt: skip
    return place.kind, driven
