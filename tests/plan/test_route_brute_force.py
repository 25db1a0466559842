"""Routes against brute force: Dijkstra over every edge of the lattice, each rolled out by the engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.plan.lattice import Lattice, heading_of
from grouser.plan.room import half_width
from grouser.plan.slopes import slope_table
from tests.oracles.brute_force_route import edge_costs, least_cost

PLACES = 60
WITHIN = 1.03
"""Of the least cost; a way may also be a little cheaper than it, by the rounding of float32 costs."""


def scene(seed: int) -> tuple[Any, gr.plan.KeepOut]:
    """Hills, three soils of which two slip, and round keep-outs on a map of 61 m."""
    rng = np.random.default_rng(seed)
    size = 0.5 * (PLACES + 1)
    ground = gr.terrain.rough(
        rms=float(rng.uniform(0.5, 1.5)), length=float(rng.uniform(5, 10)), seed=seed, size=2 * size, spacing=1.0
    )
    raster = gr.terrain.SoilRaster(
        classes=rng.integers(0, 3, (6, 6)).astype(np.uint8), origin=(-size, -size), cell=2 * size / 6
    )
    slips = [gr.slip.BodySlip([-0.3, -0.1, -0.2, 0, 0, 0]), gr.slip.BodySlip([-0.8, -0.4, -0.3, 0, 0, 0])]
    circles = [(*rng.uniform(-0.6 * size, 0.6 * size, 2), rng.uniform(2, 5)) for _ in range(6)]
    keep_out = gr.plan.KeepOut.circles(circles, (-size, size, -size, size), cell=0.25)
    return gr.terrain.soils(ground, raster, [None, *slips]), keep_out


@pytest.mark.parametrize(("name", "seed"), [("zoe", 12), ("husky", 32)])
def test_cost_is_within_3_percent_of_brute_force(name: str, seed: int) -> None:
    model = gr.Kinematics(gr.vehicle(name))
    limits = gr.plan.Limits.of(model.vehicle)
    ground, keep_out = scene(seed)
    start, goal = (-26.0, -8.0), (26.0, 14.0)
    way = gr.plan.route(model, ground, start, goal, keep_out=keep_out, spacing=1.0)
    lattice = Lattice(
        ground, model.vehicle, np.array(start), ground.bounds, spacing=1.0, limits=limits, keep_out=keep_out,
        reach=half_width(model.vehicle),
    )  # fmt: skip
    assert min(lattice.shape) >= PLACES
    costs = edge_costs(model, ground, lattice.x, lattice.y, limits=limits, keep_out=keep_out)
    for one in costs.values():
        # Along the rim each edge can be driven, but not a whole way with its corners: a route keeps off it.
        one[[0, -1]] = one[:, [0, -1]] = np.inf
    table = slope_table([model], ground, limits=limits, effort=None, bounds=None)
    yaw = math.atan2(goal[1] - start[1], goal[0] - start[0])
    ways = {one.minimise: one for one in (way, *way.alternatives)}
    assert set(ways) == {"energy", "time", "risk"}
    ratios = {}
    for minimise, one in ways.items():
        least = least_cost(
            costs[minimise], (*lattice.place(*start), heading_of(yaw)), lattice.place(*goal), spacing=1.0,
            limits=limits, bend=table.bend(minimise), spot=table.turn(minimise),
        )  # fmt: skip
        ratios[minimise] = one.cost / least
    print(name, seed, {key: round(value, 4) for key, value in ratios.items()})
    for minimise, ratio in ratios.items():
        assert 1.0 - 1e-4 <= ratio <= WITHIN, (minimise, ratio)
