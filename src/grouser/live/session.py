"""A drive by hand: the simulation, the driver's commands, and simulated time. No clock, no threads."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import GrouserError
from grouser.live.pilot import Pilot, limits_at
from grouser.live.settings import Garage, Settings
from grouser.simulation.drive import level_rates
from grouser.simulation.recorder import Recorder
from grouser.simulation.status import Status

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.plan import Limits
    from grouser.simulation.run import Run
    from grouser.simulation.stepping import Simulation

ROW = 1.0 / 30.0
"""Time from one recorded row to the next, at least [s]."""
MOST_ROWS = 200_000
"""Rows of a recording, almost two hours."""
FORGOTTEN = 1.5
"""Time without commands after which the stick counts as released [s]."""
BEHIND = 0.1
"""Largest delay of the simulation that is caught up [s]; more is dropped, and simulated time runs slower."""
FACTORS = (0.1, 20.0)
"""Range of the speed of simulated time over real time."""
ACCELERATION = np.array([2.0, 2.0, 4.0])
"""Largest change of a command by hand: forward, left [m/s²], turn [rad/s²]."""
MOVED = 0.01
"""Distance below which a recording that is replaced is not kept [m]."""


class Session:
    """Advances a simulation in time, commanded by a driver or by the planner."""

    def __init__(
        self,
        sim: Simulation,
        *,
        limits: Limits,
        pilot: Pilot,
        settings: Settings | None = None,
        keep: Callable[[Run], object] | None = None,
    ) -> None:
        """keep: is given each recording that ends; None: nothing is recorded."""
        self.sim, self.limits, self.pilot = sim, limits, pilot
        self.settings = settings or Settings(speed=limits.speed)
        """State of the sliders."""
        self.garage = Garage(sim.model)
        """Makes the models for other settings."""
        self.paused = False
        """Whether simulated time is stopped."""
        self.factor = 1.0
        """Wanted simulated time over real time."""
        self.heard = 0
        """Number of the last command by hand."""
        self.distance = 0.0
        """Distance driven since the start or the last reset [m]."""
        self.recorder: Recorder | None = None
        """The recording in progress; None if there is none."""
        self._keep = keep
        self._notes: list[str] = []
        self._held: FloatArray = np.zeros(3)
        self._silent = 0.0
        self._due = 0.0
        self.twist: FloatArray = np.zeros(3)
        """Current command: forward, left [m/s], turn [rad/s], (3,)."""
        self.record(keep is not None)

    def steer(self, forward: float, left: float, turn: float, number: int = 0) -> None:
        """Set the stick: shares of the largest speeds and turn rate, −1 to 1; a moved stick ends a drive to a goal.

        number: counts the commands, so that a picture can be traced to the key that changed it.
        """
        wanted = np.clip(np.array([forward, left, turn], dtype=np.float64), -1.0, 1.0)
        if not np.isfinite(wanted).all() or not 0 <= number < 2**53:
            raise GrouserError("steer: forward, left and turn are numbers from -1 to 1")
        if wanted.any() and self.pilot.goal is not None:
            self.pilot.cancel("you drive")
        self._held, self._silent, self.heard = wanted, 0.0, number

    def let_go(self) -> None:
        """Release the stick."""
        self._held = np.zeros(3)

    def go(self, x: float, y: float) -> None:
        """Let the planner drive to a position [m]."""
        if not (math.isfinite(x) and math.isfinite(y)):
            raise GrouserError("go: x and y are numbers")
        self.let_go()
        self.pilot.start((x, y), limits_at(self.limits, self.settings.speed), self.sim.time)

    def hurry(self, factor: float) -> None:
        """Set the ratio of simulated to real time."""
        least, most = FACTORS
        if not least <= factor <= most:
            raise GrouserError(f"factor: {factor!r:.40} is not from {least:g} to {most:g}")
        self.factor = float(factor)

    def use(self, settings: Settings, model: Kinematics | Dynamics) -> None:
        """Continue with other settings and their model, as `Garage.built` makes it."""
        before, now = dataclasses.asdict(self.settings), dataclasses.asdict(settings)
        changes = ", ".join(f"{name} {value}" for name, value in now.items() if value != before[name])
        if model is not self.sim.model:
            self.sim.replace_model(model)
        self.settings = settings
        if changes and self.recorder is not None:
            self._notes.append(f"t = {self.recorder.duration:.3g} s: {changes}")
        if self.pilot.goal is not None and now["speed"] != before["speed"]:
            self.go(*self.pilot.goal)

    def reset(self) -> None:
        """Back to the start, at rest; a recording ends and another begins."""
        recording = self.recorder is not None
        self.record(False)
        self.pilot.cancel()
        self.sim.reset()
        self.twist, self._due, self.distance = np.zeros(3), 0.0, 0.0
        self.let_go()
        self.record(recording)

    def record(self, on: bool, *, always: bool = False) -> None:
        """Begin a recording, or end and keep it. One in which nothing moved is not kept, unless `always`."""
        if on == (self.recorder is not None):
            return
        if not on:
            run = self._recorded()
            if run is not None and self._keep is not None and (always or run.distance > MOVED):
                self._keep(run)
            self.recorder = None
        elif self._keep is None:
            raise GrouserError("recording: there is no file to save to; start with --out run.npz")
        else:
            self.recorder = Recorder(self.sim, every=max(1, round(ROW / self.sim.dt)))
            self._notes = []

    def _recorded(self) -> Run | None:
        if self.recorder is None or len(self.recorder) == 0:
            return None
        run = self.recorder.run()
        return dataclasses.replace(run, model="; ".join([f"{run.model}, driven by hand", *self._notes]))

    def step(self) -> None:
        """One step of simulated time, also while paused."""
        sim, twist = self.sim, self._wanted()
        if sim.status is not Status.OK:
            return
        change = ACCELERATION * sim.dt
        self.twist = np.clip(twist, self.twist - change, self.twist + change)
        state = sim.state
        rates = level_rates(sim.model.vehicle, self.twist, state)
        if self.recorder is None:
            sim.step(rates)
        else:
            self.recorder.step(rates)
        self.distance += math.dist(state[4:7], sim.state[4:7])
        if sim.status is not Status.OK:
            self.pilot.cancel()
        elif self.recorder is not None and len(self.recorder) >= MOST_ROWS:
            self.record(False)

    def advance(self, seconds: float, stop: Callable[[], bool] = lambda: False) -> float:
        """Simulate for an interval of real time [s]; returns the simulated time [s].

        stop: after each step, whether to stop computing; a delay beyond `BEHIND` is dropped.
        """
        self._silent += seconds
        if self._silent > FORGOTTEN:
            self.let_go()
        if self.paused or self.sim.status is not Status.OK:
            self._due = 0.0
            return 0.0
        self._due += seconds * self.factor
        before, dt = self.sim.time, self.sim.dt
        while self._due >= dt * (1.0 - 1e-9) and self.sim.status is Status.OK:
            if self.pilot.is_late(self.sim.time):
                break
            self.step()
            self._due -= dt
            if stop():
                break
        self._due = min(self._due, BEHIND * self.factor)
        return self.sim.time - before

    def _wanted(self) -> FloatArray:
        """Forward, left [m/s] and turn [rad/s] wanted by driver or planner, within the limits of the vehicle, (3,)."""
        if self.pilot.goal is not None:
            return self.pilot.twist(self.sim.time, self.sim.state)
        limits, speed = self.limits, self.settings.speed
        most = np.array([speed, min(limits.lateral, speed), limits.turn * min(1.0, max(speed, 0.5))])
        twist: FloatArray = self._held * most
        if math.isfinite(limits.curvature):
            turn = limits.curvature * math.hypot(twist[0], twist[1])
            # Driving backwards, the wheels stay turned as they were: the stick's left is the wheel's left.
            twist[2] = self._held[2] * turn * (-1.0 if twist[0] < 0.0 else 1.0)
        return twist

    @property
    def pose(self) -> FloatArray:
        """x, y [m], yaw [rad], (3,)."""
        return planar_pose(self.sim.state)

    def summary(self) -> dict[str, Any]:
        """Key numbers of the drive."""
        return {
            "vehicle": self.sim.model.vehicle.name,
            "status": str(self.sim.status),
            "seconds": self.sim.time,
            "distance": self.distance,
            "final_position": [float(p) for p in self.sim.state[4:7]],
            "final_yaw": float(self.pose[2]),
        }
