"""One run, recorded in full."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.model import Model
from grouser.once import once_each
from grouser.simulation.drive import Callback, as_drive, described
from grouser.simulation.engine import launch
from grouser.simulation.run import Run
from grouser.simulation.samples import Uncertain, refuse_samples
from grouser.simulation.settle import start_state
from grouser.simulation.status import Status
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

MOST_VALUES = 400_000_000
"""Numbers a recorded run may hold (3.2 GB)."""


def simulate(
    model: Kinematics | Dynamics | Uncertain,
    ground: Terrain,
    drive: Any,
    *,
    duration: float,
    dt: float = 0.04,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    every: int = 1,
    samples: int | None = None,
    seed: int = 0,
) -> Run:
    """Drive a model over a ground for a duration [s] in steps of dt [s].

    `drive` is from `grouser.drive`, an array of commands (T, na) or a callable (time, state[, velocity[, contact]]) →
    commands (`drive.function`).
    `start` is (x, y, yaw), settled on the ground, or a whole state; None is the origin. Dynamics starts with a
    joint-space `velocity` (nv,); None is rolling along as the kinematic model would. Every `every`-th step is recorded.
    A run can continue from the last state and velocity of another; actuators lose their memory: a PI's integral starts
    at zero (`Simulation` keeps it). Ctrl-C ends the run with the status `interrupted` and what was computed so far.

    `model` may be a fit or a `MotionModel`: commands then pass its powertrain, and `samples` further runs (None: 200)
    with parameters drawn from the fit and process noise give `Run.samples` and `Run.covariance`. They repeat the
    commands of the run without noise, so a drive does not react to them. The same `seed` gives the same bytes.
    """
    if isinstance(model, Uncertain):
        options: dict[str, Any] = {"duration": duration, "dt": dt, "start": start, "velocity": velocity, "every": every}
        return model.simulate_on(ground, drive, **options, samples=samples, seed=seed)
    refuse_samples(samples)
    check_model(model, ground)
    seconds = checks.positive(duration, "duration")
    step = checks.positive(dt, "dt")
    steps = step_count(seconds, step)
    k = checks.count(every, "every", most=max(steps, 1))
    vehicle = model.vehicle
    row = 20 + 3 * vehicle.n_joints + 11 * len(vehicle.arrays.wheel)
    if steps // k * row > MOST_VALUES:
        raise SimulationError(f"a run of {steps} steps does not fit in memory; record fewer with every=…")
    driven = as_drive(drive)
    bound = driven.bind(vehicle, step)
    model.arrays(step)  # refuses a step that is too long for it
    state = start_state(vehicle, ground, start, model.penetration)
    v = start_velocity(model, ground, [bound], state[None], velocity, step)
    records = launch(model, ground, [bound], state[None], dt=step, steps=steps, every=k, detailed=True, velocities=v)
    if isinstance(bound.keep, Callback):
        if bound.keep.error is not None:
            raise bound.keep.error
        if bound.keep.interrupted:
            records = records._replace(status=(Status.INTERRUPTED,))
    run = Run.from_records(model, ground, records, dt=step, every=k)
    return replace(run, **described(driven, bound))


def start_velocity(
    model: Kinematics | Dynamics,
    ground: Terrain,
    drives: Any,
    starts: FloatArray,
    velocity: ArrayLike | None,
    dt: float,
) -> FloatArray | None:
    """Velocities dynamics starts with, shape (N, nv): given, or those of the kinematic model under the same drives."""
    if velocity is not None:
        return np.repeat(given_velocity(model, velocity)[None], len(starts), axis=0)
    if isinstance(model, Kinematics):
        return None
    # No step: the velocity of the first state is recorded, and that is all.
    records = launch(_rolling(model), ground, drives, starts, dt=dt, steps=0, every=1, detailed=True)
    return np.ascontiguousarray(records.velocity[:, 0])


def given_velocity(model: Kinematics | Dynamics, velocity: ArrayLike) -> FloatArray:
    """A joint-space velocity (nv,) to start with; a kinematic model takes none."""
    if isinstance(model, Kinematics):
        raise SimulationError("velocity: a kinematic model has none of its own; leave it out, or use Dynamics")
    return checks.array(velocity, "velocity", (6 + model.vehicle.n_joints,))


@once_each
def _rolling(model: Dynamics) -> Kinematics:
    """The kinematic model that rolls along as deep in the ground."""
    return Kinematics(model.vehicle, penetration=model.penetration)


def check_model(model: Any, ground: Any) -> None:
    """Refuse what is not a model on a ground."""
    if not isinstance(model, Model):
        raise SimulationError(f"model: {model!r:.60} is not a model; use grouser.Kinematics or Dynamics")
    checks.instance(ground, Terrain, "ground", "use grouser.terrain.plane() or another")


def step_count(duration: float, dt: float) -> int:
    """Whole steps in a duration; a duration that is not a multiple of dt is refused."""
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-6 * max(duration, dt):
        raise SimulationError(f"duration: {duration:g} s is not a whole number of steps of {dt:g} s")
    if steps > 10**8:
        raise SimulationError(f"duration: {duration:g} s in steps of {dt:g} s are {steps} steps; at most 10⁸ are run")
    return steps
