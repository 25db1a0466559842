"""Launching the compiled rollouts: arrays in, arrays out, one launch at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

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

FEW_STEPS = 100
"""Steps of a batch that one thread takes in less time than it takes to wake the others."""

# Numba's plain thread pool must not be entered from two threads at once.
_launch = threading.Lock()


class Forces(NamedTuple):
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


class Records(NamedTuple):
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
    return Launcher(model, ground, dt, steps, every, detailed)(drives, starts, velocities, threads)


class Launcher:
    """The engine made ready for a model on a ground; each call is a `launch`."""

    def __init__(
        self, model: Kinematics | Dynamics, ground: Terrain, dt: float, steps: int, every: int, detailed: bool
    ) -> None:
        vehicle = model.vehicle
        self._made_of = (model, ground, dt, steps, every, detailed)
        self._rows = steps // every + 1 if every > 0 else 0
        self._details = self._rows if detailed else 0
        nj, nw, na = vehicle.n_joints, len(vehicle.arrays.wheel), len(vehicle.arrays.actuated)
        self._sizes = (7 + nj, 6 + nj, nw, na)
        self._steps = steps
        self._dynamic = isinstance(model, Dynamics)
        arrays = model.vehicle_arrays if isinstance(model, Dynamics) else vehicle.arrays
        self.ground = ground.kernel
        """The ground as kernels take it."""
        self._scene = (arrays, model.arrays(dt), self.ground)
        order = (model.order,) if isinstance(model, Kinematics) else ()
        self._timing = (0.0, float(dt), int(steps), *order, int(every))

    def __reduce__(self) -> tuple[Any, ...]:
        # The scene holds addresses, which mean nothing in another process: a copy, pickled or deep, makes its own.
        return Launcher, self._made_of

    def __call__(
        self,
        drives: list[Bound] | NDArray[np.int64],
        starts: FloatArray,
        velocities: FloatArray | None = None,
        threads: int | None = None,
    ) -> Records:
        nq, nv, nw, na = self._sizes
        n, details = len(starts), self._details
        final = np.array(starts, dtype=np.float64, order="C")
        state = np.zeros((n, self._rows, nq))
        velocity = np.zeros((n, details, nv))
        contact = np.zeros((n, details, nw, CONTACT_COLUMNS))
        command = np.zeros((n, details, na))
        if isinstance(drives, list):
            drives = np.array([[d.address, d.par.ctypes.data] for d in drives], dtype=np.int64)
        alone = n == 1 or (threads is None and n * self._steps <= FEW_STEPS)
        count = 1 if alone else thread_count(threads)
        records = (state, velocity, contact, command)
        forces = None
        if self._dynamic:
            from grouser._kernels.dynamic_rollout import DIAGNOSTICS, FORCE_COLUMNS, dynamic_rollouts

            ends = np.zeros((n, 5), dtype=np.int64)
            last = np.zeros((n, nv)) if velocities is None else np.array(velocities, dtype=np.float64, order="C")
            force, torque = np.zeros((n, details, nw, FORCE_COLUMNS)), np.zeros((n, details, na))
            solver = np.zeros((n, details, DIAGNOSTICS))
            inputs = (*self._scene, drives, final, last, *self._timing)
            _call("dynamics", count, dynamic_rollouts, *inputs, *records, force, torque, solver, ends)
            forces = Forces(last, force[..., :3], force[..., 3], torque, solver, ends[:, 3], ends[:, 4])
            deficient = np.zeros(n, dtype=np.int64)
        else:
            ends = np.zeros((n, 4), dtype=np.int64)
            _call("kinematics", count, kinematic_rollouts, *self._scene, drives, final, *self._timing, *records, ends)
            deficient = ends[:, 3]
        status = tuple([OF_CODE[code] for code in ends[:, 0].tolist()])
        return Records(final, *records, status, ends[:, 1], deficient, ends[:, 2], forces)


def _call(part: str, threads: int, kernel: Callable[..., None], *arguments: Any) -> None:
    """Call a kernel on some threads, one call at a time."""
    with _launch, compiling(part):
        before = numba.get_num_threads()
        if threads == before:
            kernel(*arguments)
            return
        numba.set_num_threads(threads)
        try:
            kernel(*arguments)
        finally:
            numba.set_num_threads(before)


def thread_count(threads: int | None) -> int:
    """Threads to use: all that Numba has, unless fewer are asked for."""
    most = int(numba.config.NUMBA_NUM_THREADS)
    if threads is None:
        return most
    if isinstance(threads, bool) or not isinstance(threads, Integral) or not 1 <= threads <= most:
        raise SimulationError(
            f"threads: {threads!r:.40} is not a whole number from 1 to {most}; NUMBA_NUM_THREADS raises the limit"
        )
    return int(threads)
