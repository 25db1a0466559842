"""A drive in closed loop for the planning experiments: MPPI, and a true vehicle whose slip it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import grouser as gr
from grouser.checks import FloatArray
from grouser.plan import MPPI, Bounds, Disturbance, KeepOut, Uncertain
from grouser.plan.trials import Roller

PATIENCE = 3.0
"""Time without a feasible plan, or without moving, after which a drive ends [s]."""
STILL = 0.05
"""It has not moved if it stays within this distance [m]."""
STUCK_TIME, STUCK_SHARE = 2.0, 0.1
"""It is stuck if in this time [s] it moves less than this share of what it was commanded."""


@dataclass(frozen=True)
class Driven:
    """How a drive went."""

    reached: bool
    """Whether it came to the goal."""
    status: str
    """ok, or how it failed: tipped, keep_out, stuck, ….; ok includes a vehicle that stopped or ran out of time."""
    reason: str
    """Why no plan passed in the last step; empty if one did."""
    braked: int
    """Steps in which no plan passed."""
    spent: float
    """Sum of the risks of all commands as the planner estimates them, a ratio."""
    time: float
    """[s]."""
    path: FloatArray
    """True x, y [m], (T, 2)."""
    tip_margin: float
    """Least on the way [rad]."""

    @property
    def violated(self) -> bool:
        """Whether it tipped, left the map, entered a keep-out or got stuck."""
        return self.status != "ok"


def drive(
    controller: MPPI,
    truth: Any,
    ground: gr.terrain.Terrain,
    *,
    start: tuple[float, float, float],
    goal: tuple[float, float],
    duration: float,
    near: float = 0.4,
    keep_out: KeepOut | None = None,
    bounds: Bounds | None = None,
    noise_from: Uncertain | None = None,
    ending: Any = None,
    level: bool = False,
    patience: float = PATIENCE,
    seed: int = 0,
) -> Driven:
    """Drive until the goal is near [m], a judge ends it, or the time [s] is over; the truth has its own bounds.

    ending: a cost that replaces that of the controller when the goal is within its horizon. level: the controller sees
    x, y and yaw only.
    """
    dt = controller.dt
    world = Roller(truth, ground, dt=dt, keep_out=keep_out, bounds=bounds, threads=1)
    world.powertrain = controller.uncertain.powertrain
    dynamic = hasattr(truth, "contact")
    q = gr.settle(truth.vehicle, ground, x=start[0], y=start[1], yaw=start[2]).state
    v = np.zeros((1, 6 + truth.vehicle.n_joints)) if dynamic else None
    steps, braked, waited, margin, reason = round(duration / dt), 0, 0, np.pi, ""
    noise = None if noise_from is None else noise_from.disturbance(1, steps, dt, np.random.default_rng([seed, 11]))
    path, asked = [q[4:6].copy()], [0.0]

    def result(reached: bool, status: str = "ok") -> Driven:
        time = (len(path) - 1) * dt
        return Driven(reached, status, reason, braked, controller.spent, time, np.array(path), margin)

    for k in range(steps):
        away = float(np.hypot(q[4] - goal[0], q[5] - goal[1]))
        if away < near:
            return result(True)
        if ending is not None and away < 0.7 * controller.steps * dt * controller.limits.speed:
            controller.replace_cost(ending)
            ending = None
        past, moving = (one.copy() for one in controller.issued)
        order = controller.command((*q[4:6], gr.rotation.yaw_of(q[:4])) if level else q)
        reason = order.reason
        braked += not order.feasible
        waited = 0 if order.feasible else waited + 1
        if waited * dt > patience:
            return result(False)
        one = world.run(order.twist[None, None], q, velocities=v, past=past, moving=moving, disturbance=_step(noise, k))
        margin = min(margin, float(one.least_tip_margin[0]))
        q = one.final_state[0]
        v = one.final_velocity if dynamic else None
        path.append(q[4:6].copy())
        asked.append(abs(float(order.twist[0])) * dt if abs(order.twist[2]) < 0.1 else np.nan)
        if one.status[0] != "ok":
            return result(False, str(one.status[0]))
        if _stuck(path, asked, round(STUCK_TIME / dt)):
            return result(False, "stuck")
        if k * dt > patience and np.linalg.norm(path[-1] - path[-1 - round(patience / dt)]) < STILL:
            return result(False)
    return result(False)


def _step(noise: Disturbance | None, k: int) -> Disturbance | None:
    """The disturbance of one step."""
    if noise is None:
        return None
    rows = slice(k, k + 1)
    return Disturbance(noise.white[:, rows].copy(), noise.wander[:, rows].copy(), noise.by_distance)


def _stuck(path: list[FloatArray], asked: list[float], steps: int) -> bool:
    """Whether the wheels turned without moving the vehicle in the last steps; not while it turns."""
    if len(path) <= steps:
        return False
    wanted = sum(asked[-steps:])
    gone = float(np.linalg.norm(np.diff(path[-steps - 1 :], axis=0), axis=1).sum())
    return bool(wanted > 0.1 and gone < STUCK_SHARE * wanted)
