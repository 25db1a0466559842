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
from grouser.plan.trials import MEANING, Roller, Trials
from grouser.plan.uncertain import Uncertain
from grouser.simulation.settle import start_state
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
        steps = np.linalg.norm(np.diff(self.state[:, 4:7], axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])


class Follower:
    """Drives the best model of an uncertain one along routes."""

    def __init__(
        self,
        uncertain: Uncertain,
        ground: Terrain,
        *,
        minimise: str,
        samples: int,
        risk: float,
        seed: int,
        limits: Limits,
        **options: Any,
    ) -> None:
        """options: keep_out, bounds, effort, threads."""
        self.uncertain, self.ground, self.dt = uncertain, ground, DT
        self.minimise, self.limits, self.options = minimise, limits, options
        self.planner: dict[str, Any] = {"samples": samples, "risk": risk, "seed": seed}

    def drive(
        self,
        route: Route,
        start: FloatArray,
        goal: FloatArray,
        *,
        reached: float,
        progress: Callable[[int, int], None] | None = None,
    ) -> Followed:
        """Drive from start to goal, x, y [m] and yaw [rad], along a route."""
        model = self.uncertain.driven
        q = start_state(model.vehicle, self.ground, start, model.penetration)
        v = None if not hasattr(model, "contact") else np.zeros(6 + model.vehicle.n_joints)
        begin = v
        log = _Log(q, v)
        if not route.reached or len(route.path) < 2:
            return log.result(self.dt, begin, route.reason or "no route leads to the goal")
        points = np.ascontiguousarray(np.asarray(route.path, dtype=np.float64)[:, :2])
        points = np.concatenate([points[:1], points[1:][np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-6]])
        controller = self._controller(points)
        truth = Roller(
            model, self.ground, dt=self.dt, limits=self.limits, powertrain=self.uncertain.powertrain,
            **{**self.options, "threads": 1},
        )  # fmt: skip
        left = _length(points)
        speed = controller.limits.speed
        most = int((3.0 * left / speed + 20.0) / self.dt)
        fans_at = np.linspace(0.0, left, FANS, endpoint=False)
        waited, near, gone = 0, False, 0.0
        for _ in range(most):
            away = float(np.hypot(*(q[4:6] - goal[:2])))
            if away <= reached:
                why = "" if math.isnan(goal[2]) else self._turn_in(log, controller, truth, goal, reached)
                return log.result(self.dt, begin, why)
            if not near and away < 0.8 * HORIZON * speed and left - gone < 1.5 * HORIZON * speed:
                near = True
                controller.replace_cost(self._cost(self._ending(goal)))
            before = controller.issued
            order = controller.command(q, v)
            waited = 0 if order.feasible else waited + 1
            if waited * self.dt > PATIENCE:
                return log.result(self.dt, begin, order.reason)
            if len(log.fans) < FANS and gone >= fans_at[len(log.fans)]:
                log.fans.append(controller.fan(q, v, count=FAN))
            why = self._move(log, controller, truth, order.twist, before)
            if why:
                return log.result(self.dt, begin, why)
            gone += float(np.linalg.norm(log.state[-1][4:7] - q[4:7]))
            q, v = log.state[-1], log.velocity
            if progress is not None:
                progress(min(int(1000.0 * gone / left), 999), 1000)
        x, y = q[4:6]
        return log.result(self.dt, begin, f"it is still at ({x:.1f}, {y:.1f}) m after {most * self.dt:.0f} s")

    def _move(self, log: _Log, controller: MPPI, truth: Roller, twist: FloatArray, before: Any) -> str:
        """One step under a command that the controller has issued; what it had issued before it; why it failed."""
        q, vs = log.state[-1], None if log.velocity is None else log.velocity[None]
        one = truth.run(twist[None, None], q, velocities=vs, past=before[0], moving=before[1])
        log.add(twist, controller.rates(controller.mean, q), one)
        if one.status[0] == "ok":
            return ""
        x, y = one.end_place[0]
        return f"near ({x:.1f}, {y:.1f}) m {MEANING[str(one.status[0])]}"

    def _turn_in(self, log: _Log, controller: MPPI, truth: Roller, goal: FloatArray, reached: float) -> str:
        """Stop near the goal and drive to its pose by `reach`; why that fails, or nothing."""
        for _ in range(round(STOP / self.dt)):
            if np.abs(controller.issued[1]).max() < STILL and np.abs(controller.issued[0]).max() < STILL:
                break
            before = controller.issued
            if why := self._move(log, controller, truth, controller.issue(np.zeros(3)), before):
                return why
        off = abs(math.remainder(float(rotation.yaw_of(log.state[-1][:4])) - goal[2], math.tau))
        if off <= YAW and np.hypot(*(log.state[-1][4:6] - goal[:2])) <= reached:
            return ""
        options = {name: one for name, one in self.options.items() if name != "threads"}
        found = reach(
            self.uncertain.driven, self.ground, log.state[-1], goal, dt=self.dt, limits=controller.limits,
            tolerance=(0.3 * reached, 0.5 * YAW), powertrain=self.uncertain.powertrain, **options,
        )  # fmt: skip
        if not found.reached:
            return f"it came to the goal, but not to its yaw: {found.reason}"
        for twist in found.twists:
            before = controller.issued
            if why := self._move(log, controller, truth, controller.issue(twist), before):
                return why
        off = abs(math.remainder(float(rotation.yaw_of(log.state[-1][:4])) - goal[2], math.tau))
        return "" if off <= YAW else f"its yaw at the goal is {math.degrees(off):.0f}° off"

    def _controller(self, points: FloatArray) -> MPPI:
        slower = replace(self.limits, speed=HEADROOM * self.limits.speed)
        return MPPI(
            self.uncertain, self.ground, self._cost((Path(points),)), horizon=HORIZON, dt=self.dt, limits=slower,
            **self.planner, **self.options,
        )  # fmt: skip

    def _cost(self, where: tuple[Any, ...]) -> Cost:
        model = self.uncertain.model
        weight = model.vehicle.mass * model.gravity
        more = (Energy(CLIMB / weight),) if self.minimise == "energy" else ()
        return Cost(*where, TipMargin(), CommandRate(), *more)

    def _ending(self, goal: FloatArray) -> tuple[Any, ...]:
        """Terms near the end: the goal itself, no longer the way to it."""
        turned = (Heading(float(goal[2])),) if math.isfinite(goal[2]) else ()
        return (Goal(float(goal[0]), float(goal[1]), weight=2.0), *turned)


class _Log:
    """Steps of a drive as they are made."""

    def __init__(self, q: FloatArray, velocity: FloatArray | None) -> None:
        self.state, self.velocity = [q], velocity
        self.twist: list[FloatArray] = []
        self.rates: list[FloatArray] = []
        self.judged: list[tuple[float, float, float]] = []
        self.fans: list[FloatArray] = []

    def add(self, twist: FloatArray, rates: FloatArray, one: Trials) -> None:
        """A step: command, rates, and what the engine says of it."""
        self.state.append(one.final_state[0])
        self.velocity = None if self.velocity is None else one.final_velocity[0]
        self.twist.append(twist)
        self.rates.append(rates)
        self.judged.append((float(one.least_tip_margin[0]), float(one.largest_slip[0]), float(one.energy[0])))

    def result(self, dt: float, velocity: FloatArray | None, reason: str) -> Followed:
        """The drive so far."""
        tip, slip, energy = np.array(self.judged).reshape(-1, 3).T.copy()
        return Followed(
            reached=not reason,
            reason=reason,
            time=dt * np.arange(len(self.state), dtype=np.float64),
            state=np.array(self.state),
            velocity=velocity,
            twist=np.array(self.twist).reshape(-1, 3),
            rates=np.array(self.rates),
            tip_margin=tip,
            slip=slip,
            energy=energy,
            fans=tuple(self.fans),
        )


def _length(points: FloatArray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
