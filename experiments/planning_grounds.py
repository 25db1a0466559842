"""Random rough grounds with ridges, pits, soils and keep-outs, crossed by a planner that knows the heights or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import grouser as gr
from experiments.planning_loop import Driven, drive
from grouser.checks import FloatArray
from grouser.errors import PlanError, SimulationError
from grouser.plan import (
    MPPI,
    Bounds,
    Clearance,
    CommandRate,
    Cost,
    Goal,
    KeepOut,
    Limits,
    Path,
    TipMargin,
    Uncertain,
    route,
)

VEHICLE = gr.vehicle("husky").replace_frame("body", com=(0.0, 0.0, 0.3))
"""With a load on top: it tips at 30° to the side."""
HALF = 6.0
"""Half the side of a map [m]."""
SLIP = np.array([-0.15, -0.1, -0.4, 0.0, 0.0, -0.15])
"""p₁ … p₆ of the planner's best model."""
SIGMA = np.array([0.05, 0.05, 0.15, 0.02, 0.02, 0.1])
SOILS = ((-0.1, -0.05, -0.3, 0.0, 0.0, -0.1), (-0.4, -0.25, -0.8, 0.0, 0.0, -0.3), (-0.6, -0.1, -1.2, 0.0, 0.0, -0.5))
"""True slip on firm ground, sand and wet clay."""
MARGINS = (math.radians(6.0), math.radians(3.0), 0.0)
"""Tip margins that a route is asked to keep, one after another until there is one [rad]."""
LIMITS = Limits(speed=0.8, reverse=0.3, turn=1.5, turn_acceleration=4.0)
DT, HORIZON, SAMPLES, RISK = 0.2, 4.0, 150, 0.05
TIP = TipMargin(margin=math.radians(10.0), weight=25.0)
"""Cost of a small tip margin; with a larger weight the vehicle would stop where all ways on have a small one."""
EDGE = Clearance(distance=0.2)
"""Cost of little room."""
REACH = 0.4
"""Room that a route keeps around the body's origin [m], where it keeps a tip margin, too: the wheels' corners."""
NEAR = 0.4
"""Distance at which the goal is reached [m]."""


@dataclass(frozen=True, eq=False)
class Place:
    """A ground to cross."""

    known: gr.terrain.Terrain
    """Heights, as the planner knows them."""
    true: gr.terrain.Terrain
    """The same with soils."""
    keep_out: KeepOut
    start: tuple[float, float, float]
    """x, y [m], yaw [rad]."""
    goal: tuple[float, float]
    """x, y [m]."""
    rms: float
    """Of the roughness [m], without ridges and pits."""
    length: float
    """Of its correlation [m]."""

    @property
    def flat(self) -> gr.terrain.Terrain:
        """A map of the same size without heights."""
        x = np.array([-HALF, 0.0, HALF])
        return gr.terrain.grid(np.zeros((3, 3)), x=x, y=x)


def place(seed: int) -> Place:
    """RMS from 0.05 to 0.3 m, correlation over 1 to 4 m; up to 2 ridges, 3 pits, 3 soils and 4 keep-outs."""
    rng = np.random.default_rng([seed, 31])
    rms, length = rng.uniform(0.05, 0.3), float(np.exp(rng.uniform(0.0, math.log(4.0))))
    rough = gr.terrain.rough(rms=rms, length=length, seed=seed, size=2.0 * HALF + 1.0, spacing=0.125)
    x = np.linspace(-HALF, HALF, 97)
    X, Y = np.meshgrid(x, x, indexing="ij")
    z = np.array(rough.sample(X, Y).height)
    for _ in range(rng.integers(0, 3)):
        z += _ridge(rng, X, Y)
    for _ in range(rng.integers(0, 4)):
        cx, cy, r = *rng.uniform(-4.0, 4.0, 2), rng.uniform(0.5, 1.2)
        z -= rng.uniform(0.2, 0.8) * np.exp(-0.5 * ((X - cx) ** 2 + (Y - cy) ** 2) / (0.5 * r) ** 2)
    known = gr.terrain.grid(z, x=x, y=x)
    start, goal = (-4.8, float(rng.uniform(-4.5, 4.5))), (4.8, float(rng.uniform(-4.5, 4.5)))
    circles: list[tuple[float, float, float]] = []
    for _ in range(rng.integers(0, 5)):
        cx, cy, r = *rng.uniform(-3.5, 3.5, 2), rng.uniform(0.3, 1.2)
        if min(math.hypot(cx - a, cy - b) for a, b in (start, goal)) > r + 0.8:
            circles.append((float(cx), float(cy), float(r)))
    classes = np.zeros((24, 24), dtype=np.uint8)
    for kind in (1, 2):
        i, j = rng.integers(0, 18, 2)
        a, b = rng.integers(4, 12, 2)
        classes[i : i + a, j : j + b] = kind
    raster = gr.terrain.SoilRaster(classes=classes, origin=(-HALF, -HALF), cell=0.5)
    true = gr.terrain.soils(known, raster, [gr.slip.BodySlip(p) for p in SOILS], names=["firm", "sand", "clay"])
    keep_out = KeepOut.circles(circles, known.bounds, cell=0.05)
    yaw = math.atan2(goal[1] - start[1], goal[0] - start[0])
    return Place(known, true, keep_out, (*start, yaw), goal, float(rms), length)


def _ridge(rng: np.random.Generator, X: FloatArray, Y: FloatArray) -> FloatArray:
    """A ridge across the map with a lower pass."""
    at, angle, width = rng.uniform(-2.5, 2.5), rng.uniform(-0.5, 0.5), rng.uniform(0.4, 0.9)
    across = (X - at) * math.cos(angle) + Y * math.sin(angle)
    along = Y * math.cos(angle) - (X - at) * math.sin(angle)
    gap = 1.0 - rng.uniform(0.5, 1.0) * np.exp(-0.5 * ((along - rng.uniform(-3.5, 3.5)) / rng.uniform(0.7, 1.5)) ** 2)
    return np.asarray(rng.uniform(0.2, 0.9) * gap * np.exp(-0.5 * (across / width) ** 2))


def model(slip: FloatArray = SLIP) -> gr.Kinematics:
    """The vehicle with that slip."""
    return gr.Kinematics(VEHICLE, slip=gr.slip.BodySlip(slip))


def way(ground: gr.terrain.Terrain, where: Place, margin: float) -> FloatArray | None:
    """A route x, y [m], (n, 2), that the engine drives to its end with that tip margin [rad]; None if there is none."""
    try:
        found = route(
            model(), ground, where.start, where.goal, minimise="risk", limits=LIMITS, keep_out=where.keep_out,
            bounds=Bounds(tip_margin=margin, reach=REACH if margin > 0.0 else None), alternatives=False,
        )  # fmt: skip
    except (PlanError, SimulationError):  # it tips where it starts
        return None
    if not found.reached:
        return None
    # The drive that checked the route is smoother than the lattice.
    driven = found.driven[:, 4:6]
    distance = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(driven, axis=0), axis=1))])
    rows = np.unique(np.searchsorted(distance, np.arange(0.0, distance[-1], 0.25)))
    points = np.concatenate([driven[rows], [where.goal]])
    return np.asarray(points[np.append(True, np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-6)])


def cross(where: Place, seed: int, *, planar: bool = False, truth: Any = None) -> Driven | None:
    """Route, then MPPI along it, on the true ground; None: no route. planar: the planner knows no heights.

    It starts with the heading of its route, as the route does: a vehicle that turns on the spot.
    """
    ground = where.flat if planar else where.known
    points = next((one for one in (way(ground, where, margin) for margin in MARGINS) if one is not None), None)
    if points is None:
        return None
    noise = gr.motion.Noise(components=("vx", "vy", "wz"), density=np.diag([2e-4, 2e-4, 5e-4]))
    unsure = Uncertain(model=model(), draw=lambda rng: model(SLIP + SIGMA * rng.standard_normal(6)), noise=noise)
    along = Cost(Path(points, aside=3.0), TIP, EDGE, CommandRate())
    controller = MPPI(
        unsure, ground, along, horizon=HORIZON, dt=DT, samples=SAMPLES, risk=RISK, draws=40, seed=seed, threads=1,
        limits=LIMITS, keep_out=where.keep_out,
    )  # fmt: skip
    rng = np.random.default_rng([seed, 32])
    body = model(SLIP + SIGMA * rng.standard_normal(6)) if truth is None else truth
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    ahead = points[min(2, len(points) - 1)] - points[0]
    start = (*where.start[:2], math.atan2(ahead[1], ahead[0]))
    return drive(
        controller, body, where.true, start=start, goal=where.goal, duration=15.0 + 3.0 * length / LIMITS.speed,
        near=NEAR, keep_out=where.keep_out, noise_from=unsure if truth is None else None,
        ending=Cost(Goal(*where.goal, weight=2.0), TIP, EDGE, CommandRate()), level=planar, patience=5.0, seed=seed,
    )  # fmt: skip
