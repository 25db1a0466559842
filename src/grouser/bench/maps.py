"""Speed of a step on a large map next to a small one with the same hills: what is more is memory that is far away."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from grouser.bench.rounds import Work, report_of
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.simulation import drive, settle
from grouser.simulation.engine import launch
from grouser.simulation.simulate import start_velocity
from grouser.terrain import Terrain, grid
from grouser.vehicles import vehicle

SIDE, TILES = 200, 20
"""Nodes along a side of the small map; the large one is made of so many of it along each side."""
CELL = 1.0
"""Distance of nodes [m]."""
STARTS, STEPS, DT = 40, 100, 0.04
"""Rollouts in one timing, their steps, and the step [s]: 4 s at 1 m/s stay on one tile."""


@cache
def hills() -> Terrain:
    """Hills of RMS 2 m with bumps of RMS 0.03 m that repeat after the small map, in single precision."""
    rng = np.random.default_rng(1)
    k = np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None, :]
    wave = np.maximum(np.hypot(*k), 1.0 / SIDE)
    rough = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((SIDE, SIDE))) * wave**-2.0, s=(SIDE, SIDE))
    heights = 2.0 * rough / rough.std() + 0.03 * rng.standard_normal((SIDE, SIDE))
    return grid(heights.astype(np.float32), CELL * np.arange(SIDE), CELL * np.arange(SIDE))


def maps() -> list[Work]:
    """CPU time of a step of Husky, kinematic and dynamic, on the small and the large map, one after the other."""
    rover = vehicle("husky")
    return [work for model in (Kinematics(rover), Dynamics(rover)) for work in on_both(model)]


def on_both(model: Kinematics | Dynamics, tiles: int = TILES) -> list[Work]:
    """The same drives on the small map, and each on another tile of the large one."""
    small = hills()
    nodes = CELL * np.arange(SIDE * tiles)
    large = grid(np.tile(small.settings["heights"], (tiles, tiles)), nodes, nodes)
    kind = "kinematic" if isinstance(model, Kinematics) else "dynamic"
    works = []
    for ground, count in ((small, 1), (large, tiles)):
        launch_once = _drives(model, ground, count)
        launch_once()
        side = SIDE * count
        about = {"vehicle": model.vehicle.name, "model": kind, "nodes": [side, side], "dt": DT}
        works.append(Work(lambda once=launch_once: once(), report_of(about, "us_per_step", 3, scale=1e6)))  # type: ignore[misc]
    return works


def _drives(model: Kinematics | Dynamics, ground: Terrain, tiles: int) -> Callable[[], int]:
    rng = np.random.default_rng(2)
    middle = 0.5 * SIDE * CELL
    places = rng.uniform((middle - 60.0, middle - 60.0, -3.1), (middle + 60.0, middle + 60.0, 3.1), (STARTS, 3))
    places[:, :2] += SIDE * CELL * rng.integers(0, tiles, (STARTS, 2))
    starts = np.array(
        [settle(model.vehicle, ground, x=x, y=y, yaw=a, penetration=model.penetration).state for x, y, a in places]
    )
    drives = [drive.arc(1.0).bind(model.vehicle, DT)] * STARTS
    velocities = start_velocity(model, ground, drives, starts, None, DT)

    def once() -> int:
        done = launch(
            model, ground, drives, starts, dt=DT, steps=STEPS, every=0, detailed=False, velocities=velocities, threads=1
        )
        return int(done.steps.sum())

    return once


def with_ratio(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reports in pairs of small and large; the large one says how many times as long its step takes."""
    pairs = zip(reports[::2], reports[1::2], strict=True)
    return [
        one
        for small, large in pairs
        for one in (small, {**large, "ratio": round(large["us_per_step"] / small["us_per_step"], 3)})
    ]
