"""Launching the compiled rollouts: arrays in, arrays out, one launch at a time."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from grouser._kernels.rollout import CONTACT_COLUMNS, kinematic_rollouts
from grouser.checks import FloatArray
from grouser.compiling import compiling
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation.drive import Bound
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain

# Numba's plain thread pool must not be entered from two threads at once.
_launch = threading.Lock()


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


def launch(
    model: Kinematics,
    ground: Terrain,
    drives: list[Bound] | NDArray[np.int64],
    starts: FloatArray,
    *,
    dt: float,
    steps: int,
    every: int,
    detailed: bool,
    threads: int | None = None,
) -> Records:
    """Roll out from each start (N, nq). every = 0 records nothing but the last state; detailed adds contacts."""
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
    ends = np.zeros((n, 4), dtype=np.int64)
    if isinstance(drives, list):
        drives = np.array([[d.address, d.par.ctypes.data] for d in drives], dtype=np.int64)
    with _launch, compiling("kinematics"):
        before = numba.get_num_threads()
        numba.set_num_threads(1 if n == 1 else thread_count(threads))
        try:
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
        finally:
            numba.set_num_threads(before)
    status = tuple(OF_CODE[int(code)] for code in ends[:, 0])
    return Records(final, state, velocity, contact, command, status, ends[:, 1], ends[:, 2], ends[:, 3])


def thread_count(threads: int | None) -> int:
    """Threads to use: all that Numba has, unless fewer are asked for."""
    most = int(numba.config.NUMBA_NUM_THREADS)
    if threads is None:
        return most
    if not isinstance(threads, int) or not 1 <= threads <= most:
        raise SimulationError(f"threads: {threads!r:.40} is not from 1 to {most}; NUMBA_NUM_THREADS raises the limit")
    return threads
