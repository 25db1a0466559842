"""Least cost over a lattice of places and 16 headings, every edge of which the engine has rolled out.

Plain NumPy and SciPy's Dijkstra: no table of slopes, no chart, no A*. An edge is driven straight from a settled state
with the speed of ways; what it has not covered because it slips is added in proportion. Turns cost what is given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.special import ndtr

from grouser.errors import SimulationError
from grouser.plan import Limits
from grouser.plan.trials import Roller
from grouser.simulation.settle import settle

MOVES = [(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1)]
MOVES += [(-x, -y) for x, y in MOVES]
ANGLES = np.array([math.atan2(y, x) for x, y in MOVES])
DT = 0.1


def edge_costs(model: Any, ground: Any, x: Any, y: Any, *, limits: Limits, keep_out: Any = None) -> dict[str, Any]:
    """Energy, time and risk of leaving each place in each heading, (nx, ny, 16); infinite where it fails."""
    speed = 0.8 * limits.speed
    slow = Limits(**{**vars(limits), "speed": speed})
    costs = {name: np.full((len(x), len(y), 16), np.inf) for name in ("energy", "time", "risk")}
    spacing = x[1] - x[0]
    for k, (dx, dy) in enumerate(MOVES):
        spots, states = [], []
        for i in range(max(0, -dx), len(x) - max(0, dx)):
            for j in range(max(0, -dy), len(y) - max(0, dy)):
                try:
                    one = settle(
                        model.vehicle, ground, x=x[i], y=y[j], yaw=ANGLES[k], penetration=model.penetration
                    )  # fmt: skip
                except SimulationError:
                    continue
                spots.append((i, j))
                states.append(one.state)
        at, q = np.array(spots), np.array(states)
        metres = spacing * math.hypot(dx, dy)
        steps = round(metres / speed / DT)
        ahead = np.array([math.cos(ANGLES[k]), math.sin(ANGLES[k])])
        line = np.empty((len(q), steps, 3))
        line[..., :2] = q[:, None, 4:6] + (np.arange(steps) * speed * DT)[:, None] * ahead
        line[..., 2] = ANGLES[k]
        wanted = np.zeros((len(q), steps, 3))
        wanted[..., 0] = speed
        roller = Roller(model, ground, dt=DT, limits=slow, keep_out=keep_out)
        done = roller.run(wanted, q, moving=np.array([speed, 0.0, 0.0]), reference=line)
        moved = (done.final_state[:, 4:6] - q[:, 4:6]) @ ahead
        good = done.ok & (moved > 0.1 * speed * steps * DT)
        share = np.where(good, metres / np.where(good, moved, 1.0), np.inf)
        hazard = ndtr(-done.least_tip_margin / math.radians(4.0)) + ndtr((done.largest_slip - 0.8) / 0.1)
        time = steps * DT * share
        here = (at[:, 0], at[:, 1], k)
        costs["time"][here] = time
        costs["energy"][here] = np.where(good, done.energy * np.where(good, share, 0.0), np.inf)
        costs["risk"][here] = -np.log1p(-np.minimum(hazard * metres, 0.999)) + 1e-5 * time
    return costs


def least_cost(
    edges: Any, start: tuple[int, int, int], goal: tuple[int, int], *, spacing: float, limits: Limits,
    bend: float, spot: float,
) -> float:  # fmt: skip
    """Of all ways from a node (i, j, heading) to a place, in any heading. bend, spot: cost of a radian of turning
    along an edge and on the spot."""
    nx, ny, _ = edges.shape
    number = np.arange(nx * ny * 16).reshape(nx, ny, 16)
    rows, columns, values = [], [], []
    for k, (dx, dy) in enumerate(MOVES):
        here = edges[:, :, k]
        i, j = np.nonzero(np.isfinite(here))
        for d in (-1, 0, 1):
            before = (k + d) % 16
            angle = abs(math.remainder(ANGLES[k] - ANGLES[before], 2 * math.pi))
            if angle > limits.curvature * spacing * math.hypot(dx, dy) * (1 + 1e-9):
                continue
            rows.append(number[i, j, before])
            columns.append(number[i + dx, j + dy, k])
            values.append(here[i, j] + bend * angle)
            if d and math.isfinite(spot):
                rows.append(number[:, :, before].ravel())
                columns.append(number[:, :, k].ravel())
                values.append(np.full(nx * ny, spot * angle))
    n = nx * ny * 16
    graph = coo_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))
    found = dijkstra(graph.tocsr(), indices=number[start])
    return float(found[number[goal]].min())
