"""The predicted drive along a route: MPPI in the loop with the model it plans with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.plan.cost import CommandRate, Cost, Energy, Goal, Heading, Path, TipMargin
from grouser.plan.limits import Limits
from grouser.plan.mppi import MPPI
from grouser.plan.reach import reach
from grouser.plan.trials import MEANING, Roller
from grouser.plan.uncertain import Uncertain
from grouser.simulation.settle import start_state
from grouser.spacing import path_lengths
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.plan.route import Route

DT = 0.1
"""Step of the drive [s]."""
HORIZON = 3.0
"""How far the drive is planned ahead [s]."""
HEADROOM = 0.9
"""Share of the largest speed that the drive uses, so that a vehicle that slips more can keep up."""
CLIMB = 0.2
"""Cost of the energy that lifts the vehicle by a metre [1/m]; below 1, or it would rather stand than climb."""
YAW = 0.05
"""Error of the yaw at a goal that has one [rad]."""
STOP, STILL = 5.0, 1e-3
"""Longest time to stop before turning to that yaw [s]; commands and motion [m/s, rad/s] of a vehicle that stands."""
PATIENCE = 5.0
"""Time without a feasible plan after which the drive ends [s]."""
FANS, FAN = 8, 60
"""Places at which samples are kept, and how many there."""


@dataclass(frozen=True, eq=False)
class Followed:
    """A drive along a route, T steps."""

    reached: bool
    """Whether it came to the goal."""
    reason: str
    """Why it did not; else empty."""
    time: FloatArray
    """[s], (T + 1,)."""
    state: FloatArray
    """States, (T + 1, nq)."""
    velocity: FloatArray | None
    """Velocity at the start (nv,); dynamics only."""
    twist: FloatArray
    """Commands: forward, left [m/s], turn [rad/s], (T, 3)."""
    rates: FloatArray
    """Rates of the actuated joints, behind the powertrain, mean of each step [rad/s or m/s], (T, na)."""
    tip_margin: FloatArray
    """Least in each step [rad], (T,)."""
    slip: FloatArray
    """Largest in each step, a share of the speed of the rims, (T,)."""
    energy: FloatArray
    """Of the motors in each step [J], (T,)."""
    fans: tuple[FloatArray, ...]
    """Samples of the planner at some places: x, y, z [m], (count, rows, 3) each."""

    @property
    def distance(self) -> FloatArray:
        """Way driven up to each state [m], (T + 1,)."""
        return path_lengths(self.state[:, 4:7])


def follow(
    uncertain: Uncertain,
    ground: Terrain,
    route: Route,
    start: FloatArray,
    goal: FloatArray,
    *,
    minimise: str,
    limits: Limits,
    reached: float,
    planner: dict[str, Any],
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Followed:
    """Drive the best model of an uncertain one along a route from start to goal, x, y [m] and yaw [rad].

    reached: distance at which the goal is reached [m]. planner: samples, risk and seed of `MPPI`. options: keep_out,
    bounds, effort, threads.
    """
    model = uncertain.driven
    q = start_state(model.vehicle, ground, start, model.penetration)
    run = _Run(q, None if not hasattr(model, "contact") else np.zeros(6 + model.vehicle.n_joints))
    if not route.reached or len(route.path) < 2:
        return run.result(route.reason or "no route leads to the goal")
    points = np.ascontiguousarray(np.asarray(route.path, dtype=np.float64)[:, :2])
    points = np.concatenate([points[:1], points[1:][np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-6]])
    shared = (Energy(CLIMB / (uncertain.model.vehicle.mass * uncertain.model.gravity)),) if minimise == "energy" else ()
    cost = Cost(Path(points), TipMargin(), CommandRate(), *shared)
    slower = replace(limits, speed=HEADROOM * limits.speed)
    controller = MPPI(uncertain, ground, cost, horizon=HORIZON, dt=DT, limits=slower, **planner, **options)
    options["threads"] = 1
    truth = Roller(model, ground, dt=DT, limits=limits, powertrain=uncertain.powertrain, **options)
    run.controller, run.truth = controller, truth
    left = float(path_lengths(points)[-1])
    speed = slower.speed
    most = int((3.0 * left / speed + 20.0) / DT)
    fans_at = np.linspace(0.0, left, FANS, endpoint=False)
    waited, near, gone = 0, False, 0.0
    for _ in range(most):
        q = run.state[-1]
        away = float(np.hypot(*(q[4:6] - goal[:2])))
        if away <= reached:
            return run.result("" if math.isnan(goal[2]) else _turn_in(run, goal, reached, options))
        if not near and away < 0.8 * HORIZON * speed and left - gone < 1.5 * HORIZON * speed:
            near = True  # the goal itself counts now, no longer the path to it
            turned = (Heading(float(goal[2])),) if math.isfinite(goal[2]) else ()
            end = Goal(float(goal[0]), float(goal[1]), weight=2.0)
            controller.replace_cost(Cost(end, *turned, *cost.terms[1:]))
        before = controller.issued
        order = controller.command(q, run.velocity)
        waited = 0 if order.feasible else waited + 1
        if waited * DT > PATIENCE:
            return run.result(order.reason)
        if len(run.fans) < FANS and gone >= fans_at[len(run.fans)]:
            run.fans.append(controller.fan(q, run.velocity, count=FAN))
        if why := run.step(order.twist, before):
            return run.result(why)
        gone += float(np.linalg.norm(run.state[-1][4:7] - q[4:7]))
        if progress is not None:
            progress(min(int(1000.0 * gone / left), 999), 1000)
    x, y = run.state[-1][4:6]
    return run.result(f"it is still at ({x:.1f}, {y:.1f}) m after {most * DT:.0f} s")


def _turn_in(run: _Run, goal: FloatArray, reached: float, options: dict[str, Any]) -> str:
    """Stop near the goal and drive to its pose by `reach`; why that fails, or nothing."""
    controller, truth = run.controller, run.truth

    def off_yaw() -> float:
        return abs(math.remainder(float(rotation.yaw_of(run.state[-1][:4])) - goal[2], math.tau))

    for _ in range(round(STOP / DT)):
        if all(np.abs(one).max() < STILL for one in controller.issued):
            break
        if why := run.issue(np.zeros(3)):
            return why
    if off_yaw() <= YAW and np.hypot(*(run.state[-1][4:6] - goal[:2])) <= reached:
        return ""
    options = {name: one for name, one in options.items() if name != "threads"}
    found = reach(
        truth.model, truth.ground, run.state[-1], goal, dt=DT, limits=controller.limits,
        tolerance=(0.3 * reached, 0.5 * YAW), powertrain=truth.powertrain, **options,
    )  # fmt: skip
    if not found.reached:
        return f"it came to the goal, but not to its yaw: {found.reason}"
    for twist in found.twists:
        if why := run.issue(twist):
            return why
    return "" if off_yaw() <= YAW else f"its yaw at the goal is {math.degrees(off_yaw()):.0f}° off"


class _Run:
    """A vehicle that is driven by a controller, with the log of its steps."""

    controller: MPPI
    truth: Roller

    def __init__(self, q: FloatArray, velocity: FloatArray | None) -> None:
        self.state, self.velocity, self.begin = [q], velocity, velocity
        self.twist: list[FloatArray] = []
        self.rates: list[FloatArray] = []
        self.judged: list[tuple[float, float, float]] = []
        self.fans: list[FloatArray] = []

    def issue(self, wanted: FloatArray) -> str:
        """One step under a command, which the controller issues within limits; why it failed."""
        before = self.controller.issued
        return self.step(self.controller.issue(wanted), before)

    def step(self, twist: FloatArray, before: Any) -> str:
        """One step under a command that the controller has issued; before: what it had issued before; why it failed."""
        q, vs = self.state[-1], None if self.velocity is None else self.velocity[None]
        one = self.truth.run(twist[None, None], q, velocities=vs, past=before[0], moving=before[1])
        self.state.append(one.final_state[0])
        self.velocity = None if self.velocity is None else one.final_velocity[0]
        self.twist.append(twist)
        self.rates.append(self.controller.rates(self.controller.mean, q))
        self.judged.append((float(one.least_tip_margin[0]), float(one.largest_slip[0]), float(one.energy[0])))
        if one.status[0] == "ok":
            return ""
        x, y = one.end_place[0]
        return f"near ({x:.1f}, {y:.1f}) m {MEANING[str(one.status[0])]}"

    def result(self, reason: str) -> Followed:
        """The drive so far."""
        tip, slip, energy = np.array(self.judged).reshape(-1, 3).T.copy()
        return Followed(
            reached=not reason,
            reason=reason,
            time=DT * np.arange(len(self.state), dtype=np.float64),
            state=np.array(self.state),
            velocity=self.begin,
            twist=np.array(self.twist).reshape(-1, 3),
            rates=np.array(self.rates),
            tip_margin=tip,
            slip=slip,
            energy=energy,
            fans=tuple(self.fans),
        )
