"""Launching the compiled rollouts: arrays in, arrays out, one launch at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from grouser._kernels.rollout import CONTACT_COLUMNS, kinematic_rollouts
from grouser.checks import FloatArray
from grouser.compiling import compiling
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation.drive import Bound
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain

# Numba's plain thread pool must not be entered from two threads at once.
_launch = threading.Lock()


@dataclass(frozen=True)
class Forces:
    """Forces and solver of a batch of N dynamic rollouts, `rows` recorded rows each."""

    final_velocity: FloatArray
    """Last velocity of each, shape (N, nv)."""
    force: FloatArray
    """Contact forces of the step that begins at a row, contact frame [N], (N, rows, nw, 3)."""
    power: FloatArray
    """Power of the ground on each wheel at the end of that step [W], (N, rows, nw)."""
    torque: FloatArray
    """Torques of the actuators in that step [N m], (N, rows, na)."""
    solver: FloatArray
    """Newton iterations, residual [N], kinetic and potential energy [J], (N, rows, 4)."""
    iterations: NDArray[np.int64]
    """Newton iterations of all steps of each, (N,)."""
    halved: NDArray[np.int64]
    """Steps of each that were taken in parts, (N,)."""


@dataclass(frozen=True)
class Records:
    """What a batch of N rollouts left: `rows` recorded rows each."""

    final: FloatArray
    """Last state of each, shape (N, nq)."""
    state: FloatArray
    """(N, rows, nq)."""
    velocity: FloatArray
    """(N, rows, nv)."""
    contact: FloatArray
    """(N, rows, nw, CONTACT_COLUMNS)."""
    command: FloatArray
    """(N, rows, na)."""
    status: tuple[Status, ...]
    """How each ended."""
    steps: NDArray[np.int64]
    """Steps each completed, (N,)."""
    deficient: NDArray[np.int64]
    """Steps of each whose constraints left a velocity open, (N,)."""
    rows: NDArray[np.int64]
    """Rows each recorded before it ended, (N,)."""
    forces: Forces | None = None
    """What only dynamics knows."""


def launch(
    model: Kinematics | Dynamics,
    ground: Terrain,
    drives: list[Bound] | NDArray[np.int64],
    starts: FloatArray,
    *,
    dt: float,
    steps: int,
    every: int,
    detailed: bool,
    velocities: FloatArray | None = None,
    threads: int | None = None,
) -> Records:
    """Roll out from each start (N, nq). every = 0 records nothing but the last state; detailed adds contacts.

    Dynamics starts with `velocities` (N, nv), or at rest.
    """
    vehicle = model.vehicle
    n = len(starts)
    rows = steps // every + 1 if every > 0 else 0
    details = rows if detailed else 0
    nq, nv, nw, na = 7 + vehicle.n_joints, 6 + vehicle.n_joints, vehicle.n_wheels, len(vehicle.actuated)
    final = np.array(starts, dtype=np.float64, order="C")
    state = np.zeros((n, rows, nq))
    velocity = np.zeros((n, details, nv))
    contact = np.zeros((n, details, nw, CONTACT_COLUMNS))
    command = np.zeros((n, details, na))
    if isinstance(drives, list):
        drives = np.array([[d.address, d.par.ctypes.data] for d in drives], dtype=np.int64)
    forces = None
    if isinstance(model, Dynamics):
        from grouser._kernels.dynamic_rollout import DIAGNOSTICS, FORCE_COLUMNS, dynamic_rollouts

        ends = np.zeros((n, 5), dtype=np.int64)
        last = np.zeros((n, nv)) if velocities is None else np.array(velocities, dtype=np.float64, order="C")
        force, torque = np.zeros((n, details, nw, FORCE_COLUMNS)), np.zeros((n, details, na))
        solver = np.zeros((n, details, DIAGNOSTICS))
        with _launching("dynamics", n, threads):
            dynamic_rollouts(
                model.vehicle_arrays,
                model.arrays(dt),
                ground.kernel,
                drives,
                final,
                last,
                0.0,
                float(dt),
                int(steps),
                int(every),
                state,
                velocity,
                contact,
                command,
                force,
                torque,
                solver,
                ends,
            )
        forces = Forces(last, force[..., :3], force[..., 3], torque, solver, ends[:, 3], ends[:, 4])
        deficient = np.zeros(n, dtype=np.int64)
    else:
        ends = np.zeros((n, 4), dtype=np.int64)
        with _launching("kinematics", n, threads):
            kinematic_rollouts(
                vehicle.arrays,
                model.arrays(dt),
                ground.kernel,
                drives,
                final,
                0.0,
                float(dt),
                int(steps),
                model.order,
                int(every),
                state,
                velocity,
                contact,
                command,
                ends,
            )
        deficient = ends[:, 3]
    status = tuple(OF_CODE[int(code)] for code in ends[:, 0])
    return Records(final, state, velocity, contact, command, status, ends[:, 1], deficient, ends[:, 2], forces)


@contextmanager
def _launching(part: str, n: int, threads: int | None) -> Iterator[None]:
    """One launch at a time, on as many threads as asked for; a batch of one needs one."""
    with _launch, compiling(part):
        before = numba.get_num_threads()
        numba.set_num_threads(1 if n == 1 else thread_count(threads))
        try:
            yield
        finally:
            numba.set_num_threads(before)


def thread_count(threads: int | None) -> int:
    """Threads to use: all that Numba has, unless fewer are asked for."""
    most = int(numba.config.NUMBA_NUM_THREADS)
    if threads is None:
        return most
    if not isinstance(threads, int) or not 1 <= threads <= most:
        raise SimulationError(f"threads: {threads!r:.40} is not from 1 to {most}; NUMBA_NUM_THREADS raises the limit")
    return threads
