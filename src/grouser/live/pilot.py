"""The planner drives: it plans repeatedly to a goal on the ground, on a thread of its own."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.plan import MPPI, Command, Limits
    from grouser.terrain import Terrain

PERIOD = 0.08
"""Time from one plan to the next [s]."""
SAMPLES = 240
"""Sampled drives per plan."""
ARRIVED = 0.3
"""Distance at which the goal counts as reached [m]."""
PATIENCE = 15.0
"""Time without progress after which it gives up [s]."""
NEARER = 0.1
"""Least reduction of the distance that counts as progress [m]."""

Submit = Callable[[Callable[[], Any]], "Future[Any]"]


def at_once(work: Callable[[], Any], future: Future[Any] | None = None) -> Future[Any]:
    """Do work now, as a thread would later: the same drive each time."""
    future = future or Future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


class Worker:
    """A thread with a queue. Unlike an executor it may be left in the middle of its work when the program ends."""

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Do work after all that was submitted before."""
        future: Future[Any] = Future()
        self._queue.put((work, future))
        return future

    def _work(self) -> None:
        while True:
            at_once(*self._queue.get())


class Pilot:
    """Drives to a goal: plans with a fast model, corrected by the difference between predicted and real motion."""

    def __init__(self, model: Any, ground: Terrain, *, submit: Submit = at_once, seed: int = 1) -> None:
        """model: what is planned with, as `gr.plan.MPPI` takes it. submit: where plans are made."""
        self.model, self.ground, self.submit, self.seed = model, ground, submit, seed
        self.goal: tuple[float, float] | None = None
        """Goal x, y [m]; None without one."""
        self.path: FloatArray = np.zeros((0, 3))
        """The plan: x, y, z [m], (n, 3)."""
        self.reason = ""
        """Why it brakes or waits; empty otherwise."""
        self.news = ""
        """Outcome of the last goal; empty while there is none."""
        self._controller: MPPI | None = None
        self._forget()

    def _forget(self) -> None:
        self._pending: Future[Any] | None = None
        self._order: Command | None = None
        self._twist: FloatArray = np.zeros(3)
        self._asked = self._next = 0.0
        self._nearest, self._since = math.inf, 0.0

    def warm(self, limits: Limits, state: FloatArray) -> None:
        """Load the planner and make a first plan, so that the first click does not wait."""
        from grouser.plan import MPPI, Cost, Goal

        goal = Goal(float(state[4]), float(state[5]))
        try:
            MPPI(self.model, self.ground, Cost(goal), dt=PERIOD, samples=SAMPLES, limits=limits).command(state)
        except GrouserError:
            return  # a drive to a goal says so where it begins

    def start(self, goal: tuple[float, float], limits: Limits, time: float) -> None:
        """Drive to a place x, y [m] with some limits, from a time [s] on."""
        from grouser.plan import MPPI, CommandRate, Cost, Goal, TipMargin

        self.cancel()
        x, y = goal
        if not bool(self.ground.contains(x, y)):
            raise GrouserError(f"({x:.2f}, {y:.2f}) m is off the map; click on the ground")
        self.goal, self._next, self._since = goal, time, time

        def make() -> None:
            cost = Cost(Goal(x, y), TipMargin(), CommandRate())
            self._controller = MPPI(
                self.model, self.ground, cost, dt=PERIOD, samples=SAMPLES, seed=self.seed, limits=limits
            )

        self._pending = self.submit(make)

    def cancel(self, news: str = "") -> None:
        """Give up the goal."""
        self.goal, self.news, self.reason = None, news, ""
        self.path = np.zeros((0, 3))
        self._controller = None
        self._forget()

    def is_late(self, time: float) -> bool:
        """Whether simulated time must wait for the plan in progress."""
        pending = self._pending
        return (
            pending is not None and not pending.done() and time > self._asked + 2.0 * PERIOD and self._order is not None
        )

    def twist(self, time: float, state: FloatArray) -> FloatArray:
        """Forward, left [m/s] and turn [rad/s] at a time [s] in a state (nq,), (3,); it plans when it is due."""
        self._take()
        if self.goal is None:
            return np.zeros(3)
        pose = planar_pose(state)
        away = math.hypot(pose[0] - self.goal[0], pose[1] - self.goal[1])
        if away < self._nearest - NEARER:
            self._nearest, self._since = away, time
        if away < ARRIVED:
            self.cancel("arrived")
        elif time - self._since > PATIENCE:
            self.cancel(f"gave up {away:.1f} m before the goal: {self.reason or 'it does not come nearer'}")
        elif self._pending is None and time >= self._next - 1e-9:
            self._plan(time, state.copy(), pose)
        return self._twist

    def _plan(self, time: float, state: FloatArray, pose: FloatArray) -> None:
        controller, order = self._controller, self._order
        assert controller is not None

        def work() -> Command:
            if order is not None:
                controller.learn_bias(order, pose)
            return controller.command(state)

        self._asked, self._next = time, time + PERIOD
        self._pending = self.submit(work)
        self._take()

    def _take(self) -> None:
        """Take the result of the planning thread, if it has finished."""
        pending = self._pending
        if pending is None or not pending.done():
            return
        self._pending = None
        try:
            found = pending.result()
        except GrouserError as error:
            self.cancel(str(error))
            return
        if found is not None:
            self._order, self._twist = found, np.array(found.twist)
            self.path, self.reason = found.path[:, :3].copy(), found.reason


def limits_at(limits: Limits, speed: float) -> Limits:
    """Limits of a vehicle with another largest speed [m/s]; backwards it is slower."""
    return replace(limits, speed=speed, reverse=min(limits.reverse, speed), lateral=min(limits.lateral, speed))
