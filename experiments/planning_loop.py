"""A drive in closed loop for the planning experiments: MPPI, and a true vehicle whose slip it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import grouser as gr
from grouser.checks import FloatArray
from grouser.plan import MPPI, Bounds, KeepOut
from grouser.plan.trials import Roller


@dataclass(frozen=True)
class Driven:
    """How a drive went."""

    reached: bool
    """Whether it came to the goal."""
    status: str
    """ok, or how it failed: tipped, keep_out, stuck, …."""
    braked: int
    """Steps in which no plan passed."""
    time: float
    """[s]."""
    path: FloatArray
    """True x, y [m], (T, 2)."""
    tip_margin: float
    """Least on the way [rad]."""


def drive(
    controller: MPPI,
    truth: Any,
    ground: gr.Terrain,
    *,
    start: tuple[float, float, float],
    goal: tuple[float, float],
    duration: float,
    near: float = 0.4,
    keep_out: KeepOut | None = None,
    bounds: Bounds | None = None,
    noise_from: Any = None,
    seed: int = 0,
) -> Driven:
    """Drive until the goal is near [m], a judge ends it, or the time [s] is over; the truth has its own bounds."""
    world = Roller(truth, ground, dt=controller.dt, keep_out=keep_out, bounds=bounds, threads=1)
    world.powertrain = controller.uncertain.powertrain
    rng = np.random.default_rng([seed, 11])
    q = gr.settle(truth.vehicle, ground, x=start[0], y=start[1], yaw=start[2]).state
    steps, braked, margin = round(duration / controller.dt), 0, np.pi
    path = [q[4:6].copy()]
    for k in range(steps):
        past, moving = (one.copy() for one in controller.issued)
        order = controller.command(q)
        braked += not order.feasible
        noise = None if noise_from is None else noise_from.disturbance(1, 1, controller.dt, rng)
        one = world.run(order.twist[None, None], q, past=past, moving=moving, disturbance=noise)
        margin = min(margin, float(one.least_tip_margin[0]))
        if one.status[0] != "ok":
            return Driven(False, str(one.status[0]), braked, (k + 1) * controller.dt, np.array(path), margin)
        q = one.final_state[0]
        path.append(q[4:6].copy())
        if np.hypot(q[4] - goal[0], q[5] - goal[1]) < near:
            return Driven(True, "ok", braked, (k + 1) * controller.dt, np.array(path), margin)
    return Driven(False, "ok", braked, steps * controller.dt, np.array(path), margin)
