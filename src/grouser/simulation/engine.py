"""Launching the compiled rollouts: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.simulation.rollout import (
    CONTACT_COLUMNS,
    DIAGNOSTICS,
    FORCE_COLUMNS,
    Batch,
    DynamicJob,
    KinematicJob,
    kinematic_rollouts,
)
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.law import BoundLaw
from grouser.rooms import give_dynamic_scratch, give_scratch, take_dynamic_scratch, take_scratch
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain
from grouser.threads import in_slices, thread_count

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

FEW_STEPS = 100
"""Steps of a batch that one thread takes in less time than it takes to wake the others."""
SLICE = 8
"""Rollouts that a thread takes at a time: few, as one may end early and another be halved often."""


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
    drives: list[BoundLaw] | NDArray[np.int64],
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
        self._dynamic = not isinstance(model, Kinematics)
        arrays = vehicle.arrays if isinstance(model, Kinematics) else model.vehicle_arrays
        self.ground = ground.kernel
        """The ground as kernels take it."""
        self._scene: tuple[Any, Any, Any] = (arrays, model.arrays(dt), self.ground)
        order = model.order if isinstance(model, Kinematics) else 0
        self._timing = {"t0": 0.0, "dt": dt, "steps": steps, "order": order, "every": every}
        self._timing["closing"] = self._details > 0

    def __reduce__(self) -> tuple[Any, ...]:
        # The scene holds addresses, which mean nothing in another process: a copy, pickled or deep, makes its own.
        return Launcher, self._made_of

    def __call__(
        self,
        drives: list[BoundLaw] | NDArray[np.int64],
        starts: FloatArray,
        velocities: FloatArray | None = None,
        threads: int | None = None,
    ) -> Records:
        nq, nv, nw, na = self._sizes
        n, details = len(starts), self._details
        forced = details if self._dynamic else 0
        if isinstance(drives, list):
            drives = np.array([one.pair for one in drives])
        batch = Batch.zeros(n=n, nq=nq, nv=nv, nw=nw, na=na, rows=0, details=0, forced=0, **self._timing)
        batch.drives[:] = drives
        batch.q[:] = starts
        if velocities is not None:
            batch.v[:] = velocities
        # What is recorded lies outside the block: who keeps one array of a run need not keep all.
        if self._rows:
            batch.repoint(states=np.zeros((n, self._rows, nq)))
        if details:
            batch.repoint(
                velocities=np.zeros((n, details, nv)),
                contacts=np.zeros((n, details, nw, CONTACT_COLUMNS)),
                commands=np.zeros((n, details, na)),
            )
        if forced:
            batch.repoint(
                forces=np.zeros((n, forced, nw, FORCE_COLUMNS)),
                torques=np.zeros((n, forced, na)),
                diagnostics=np.zeros((n, forced, DIAGNOSTICS)),
            )
        self._launch(batch, n, threads)
        ends, forces, deficient = batch.ends, None, batch.ends[:, 3]
        if self._dynamic:
            force = batch.forces
            forces = Forces(
                batch.v, force[..., :3], force[..., 3], batch.torques, batch.diagnostics, ends[:, 3], ends[:, 4]
            )
            deficient = np.zeros(n, dtype=np.int64)
        status = tuple([OF_CODE[code] for code in ends[:, 0].tolist()])
        rows = (batch.states, batch.velocities, batch.contacts, batch.commands)
        return Records(batch.q, *rows, status, ends[:, 1], deficient, ends[:, 2], forces)

    def _launch(self, batch: Batch, n: int, threads: int | None) -> None:
        """Roll out the batch on some threads."""
        alone = n == 1 or (threads is None and n * (self._steps + 1) <= FEW_STEPS)
        count = 1 if alone else thread_count(threads)
        kernel: Callable[[Any, int, int], None] = _dynamic_rollouts() if self._dynamic else kinematic_rollouts
        jobs = [self._job(batch) for _ in range(min(count, n))]
        in_slices(lambda worker, first, last: kernel(jobs[worker], first, last), n, threads=count, size=SLICE)
        arrays, model, _ = self._scene
        for job in jobs:
            give_scratch(arrays, job.s)
            if isinstance(job, DynamicJob):
                give_dynamic_scratch(model, job.d)

    def _job(self, batch: Batch) -> KinematicJob | DynamicJob:
        """The batch with the work space of a thread."""
        arrays, model, _ = self._scene
        s = take_scratch(arrays)
        if not self._dynamic:
            return KinematicJob(*self._scene, batch, s)
        return DynamicJob(*self._scene, batch, s, take_dynamic_scratch(arrays, model))


def _dynamic_rollouts() -> Callable[[DynamicJob, int, int], None]:
    from grouser._kernels.simulation.dynamic_rollout import (
        dynamic_rollouts,  # loaded when used: the import alone takes 20 ms
    )

    kernel: Callable[[DynamicJob, int, int], None] = dynamic_rollouts
    return kernel
