"""One run, recorded in full."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from grouser import checks
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation.drive import as_drive
from grouser.simulation.engine import launch
from grouser.simulation.run import Run
from grouser.simulation.settle import start_state
from grouser.terrain import Terrain

MOST_VALUES = 400_000_000
"""Numbers a recorded run may hold (3.2 GB)."""


def simulate(
    model: Kinematics,
    ground: Terrain,
    drive: Any,
    *,
    duration: float,
    dt: float = 0.04,
    start: ArrayLike | None = None,
    every: int = 1,
) -> Run:
    """Drive a model over a ground for a duration [s] in steps of dt [s].

    `drive` is from `grouser.drive`, an array of commands (T, na) or a callable (time, state) → commands. `start` is
    (x, y, yaw), settled on the ground, or a whole state; None is the origin. Every `every`-th step is recorded.
    """
    check_model(model, ground)
    seconds = checks.positive(duration, "duration")
    step = checks.positive(dt, "dt")
    steps = step_count(seconds, step)
    k = checks.count(every, "every", most=max(steps, 1))
    vehicle = model.vehicle
    row = 20 + 3 * vehicle.n_joints + 11 * vehicle.n_wheels
    if steps // k * row > MOST_VALUES:
        raise SimulationError(f"a run of {steps} steps does not fit in memory; record fewer with every=…")
    bound = as_drive(drive).bind(vehicle, step)
    model.gain(step)
    state = start_state(vehicle, ground, start, model.penetration)
    records = launch(model, ground, [bound], state[None], dt=step, steps=steps, every=k, detailed=True)
    bound.raise_error()
    return Run.from_records(model, ground, records, dt=step, every=k)


def check_model(model: Any, ground: Any) -> None:
    """Refuse what is not a model on a ground."""
    checks.instance(model, Kinematics, "model", "use grouser.Kinematics(vehicle)")
    checks.instance(ground, Terrain, "ground", "use grouser.terrain.plane() or another")


def step_count(duration: float, dt: float) -> int:
    """Whole steps in a duration; a duration that is not a multiple of dt is refused."""
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-6 * max(duration, dt):
        raise SimulationError(f"duration: {duration:g} s is not a whole number of steps of {dt:g} s")
    if steps > 10**8:
        raise SimulationError(f"duration: {duration:g} s in steps of {dt:g} s are {steps} steps; at most 10⁸ are run")
    return steps
