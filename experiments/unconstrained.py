"""The baseline of T §2.5.1: unconstrained motion, then terrain fitting, after Tarokh and McDermott."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments import unconstrained_kernels as kernels
from grouser import checks, rotation, terrain
from grouser._kernels.scratch import make_scratch
from grouser._kernels.simulation.rollout import CONTACT_COLUMNS
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.kinematics.suspension import suspension_of
from grouser.simulation.records import ContactRecord
from grouser.simulation.run import Run
from grouser.simulation.settle import settle, start_state
from grouser.simulation.simulate import check_model, simulate, step_count
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain

FITTINGS = {"newton": kernels.NEWTON, "nelder-mead": kernels.NELDER_MEAD}


@dataclass(frozen=True)
class UnconstrainedRun:
    """A run of the baseline and what its fitting cost."""

    run: Run
    """The run. Its velocities are the differences of successive states; contacts are those at the step's beginning."""
    work: NDArray[np.int64]
    """Newton iterations, or evaluations of the objective by Nelder–Mead, of each step, shape (steps,)."""
    unconverged: int
    """Steps whose fitting ended at its limit."""
    seconds: float
    """CPU time of the motion, fitting included, recording of contacts not; the first call's compiling included."""

    @property
    def contact_speed(self) -> FloatArray:
        """Speed of each contact point [m/s], shape (T, nw); zero would be rolling without slip."""
        speed: FloatArray = np.linalg.norm(self.run.contact.velocity, axis=-1)
        return speed


def simulate_unconstrained(
    model: Kinematics,
    ground: Terrain,
    drive: Any,
    *,
    duration: float,
    dt: float = 0.04,
    start: ArrayLike | None = None,
    fitting: str = "newton",
) -> UnconstrainedRun:
    """As `simulate`, by the traditional method: each step moves the body as if the ground were level, then fits it.

    The nominal velocity of a step, in body coordinates, is the model's on level ground under the same drive; it
    moves position, yaw and actuated joints. Then height, roll, pitch and the passive joints are set to the least
    squared height and coupling errors, T (2.28). No wheel is kept from slipping.

    fitting: "newton" as in `settle`, or "nelder-mead" with the defaults of MATLAB's fminsearch, as in the thesis.
    """
    check_model(model, ground)
    if not isinstance(fitting, str) or fitting not in FITTINGS:
        raise SimulationError(f"fitting: {fitting!r:.40} is not one of {', '.join(FITTINGS)}")
    step = checks.positive(dt, "dt")
    steps = step_count(checks.positive(duration, "duration"), step)
    vehicle = model.vehicle
    first = start_state(vehicle, ground, start, model.penetration)
    level = _level_run(model, drive, first, steps, step)

    # One state more than is reported, so that the last one has a velocity too.
    states = np.zeros((steps + 2, 7 + vehicle.n_joints))
    states[0] = first
    work = np.zeros(steps + 1, dtype=np.int64)
    law = ground.kernel
    begin = time.process_time()
    code, done, unconverged = kernels.fitted_states(
        vehicle.arrays,
        model.arrays(step),
        law,
        FITTINGS[fitting],
        level.velocity,
        step,
        states,
        work,
        make_scratch(vehicle.arrays),
    )
    seconds = time.process_time() - begin
    status = OF_CODE[int(code)]
    rows = steps + 1 if status is Status.OK else int(done)
    velocity = np.zeros((rows, 6 + vehicle.n_joints))
    c = np.zeros((rows, vehicle.n_wheels, CONTACT_COLUMNS))
    room = make_scratch(vehicle.arrays)
    kernels.step_velocities(vehicle.arrays, law, step, states[: rows + 1], velocity, c, room)
    run = Run(
        vehicle=vehicle,
        time=step * np.arange(rows, dtype=np.float64),
        state=states[:rows],
        velocity=velocity,
        command=level.command[:rows],
        contact=ContactRecord(c[..., :3], c[..., 3:6], c[..., 6:9], c[..., 9], c[..., 10]),
        status=status,
        steps=min(int(done), steps),
        dt=step,
        ground=ground,
    )
    return UnconstrainedRun(run, work[:rows], int(unconverged), seconds)


def _level_run(model: Kinematics, drive: Any, first: FloatArray, steps: int, dt: float) -> Run:
    """The same drive on level ground from the same place, heading and steering angles."""
    vehicle = model.vehicle
    flat = terrain.plane()
    joints = first[7:].copy()
    free = suspension_of(vehicle).free
    joints[free] = vehicle.rest[free]
    level_start = settle(
        vehicle,
        flat,
        x=first[4],
        y=first[5],
        yaw=float(rotation.to_rpy(rotation.from_quaternion(first[:4]))[2]),
        joints=joints,
        penetration=model.penetration,
    ).state
    level = simulate(model, flat, drive, duration=steps * dt, dt=dt, start=level_start)
    if level.status is not Status.OK:
        raise SimulationError(
            f"drive: on level ground, which gives the nominal motion, '{vehicle.name}' ends {level.status} after "
            f"{level.steps * dt:g} s"
        )
    return level
