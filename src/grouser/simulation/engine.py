"""Launching the compiled rollouts: arrays in, arrays out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.simulation import rollout as engine
from grouser._kernels.simulation.step import INTERRUPTED
from grouser.checks import FloatArray
from grouser.collision.frames import SCRATCH
from grouser.kinematics import Kinematics
from grouser.law import BoundLaw
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

FEW_STEPS = 100
"""Steps of a batch that one thread takes in less time than it takes to wake the others."""
MANY_STEPS = 20_000
"""Steps of a single run above which Ctrl-C ends it early: about a tenth of a second."""
SLICE = 8
"""Rollouts that a thread takes at a time: few, as one may end early and another be halved often."""


class Forces(NamedTuple):
    """Forces and solver of a batch of N dynamic rollouts, `rows` recorded rows each."""

    final_velocity: FloatArray
    """Last velocity of each, shape (N, nv)."""
    contact: FloatArray
    """Of each wheel over the step that begins at a row: force in its contact frame [N], power of the ground [W], moment
    about its axle [N m], force and place of its second contact in the world [N, m], (N, rows, nw, FORCE_COLUMNS)."""
    hull: FloatArray
    """Force of the ground on the hull and its centre, world [N, m], points that touch, power [W], (N, rows, 8)."""
    torque: FloatArray
    """Torques of the actuators in that step [N m], and their mean power [W], (N, rows, na, 2)."""
    solver: FloatArray
    """Newton iterations, residual [N], kinetic and potential energy [J], (N, rows, 4)."""
    halved: NDArray[np.int64]
    """Steps of each that were taken in parts, (N,)."""


class Records(NamedTuple):
    """Results of a batch of N rollouts, `rows` recorded rows each."""

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
    """Forces; None for kinematics."""
    pressed: FloatArray | None = None
    """Cells of soil with a rut after the only rollout: x, y and sinkage [m], (n, 3); None where no soil remembers."""
    halted: bool = False
    """Whether Ctrl-C ended it."""


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
    disturbances: FloatArray | None = None,
    threads: int | None = None,
    halted: bool = False,
) -> Records:
    """Roll out from each start (N, nq). every = 0 records nothing but the last state; detailed adds contacts.

    Dynamics starts with `velocities` (N, nv), or at rest. `disturbances` (N, steps, 6) are twists (ω, v) of the body
    [rad/s, m/s] that are added in each step. Ctrl-C in a batch ends it; the rollouts that were left, and all of one
    that is `halted`, are interrupted before their first step.
    """
    vehicle = model.vehicle_arrays
    scene = (vehicle, model.arrays(dt, soils=ground.soils), ground.kernel)
    dynamic = not isinstance(model, Kinematics)
    n, nv, nw, na = len(starts), 6 + model.vehicle.n_joints, len(vehicle.wheel), len(vehicle.actuated)
    rows = steps // every + 1 if every > 0 else 0
    details = rows if detailed else 0
    batch = engine.Batch.zeros(
        n=n, nq=nv + 1, nv=nv, nw=nw, na=na, rows=0, details=0, forced=0, disturbed=0, t0=0.0, dt=dt, steps=steps,
        order=model.order, every=every, closing=details > 0,
    )  # fmt: skip
    batch.ends[:, engine.STATUS], batch.halt[0] = INTERRUPTED, halted
    batch.drives[:] = [one.pair for one in drives] if isinstance(drives, list) else drives
    batch.q[:] = starts
    if velocities is not None:
        batch.v[:] = velocities
    # Records lie outside the block, so that one array of a run can be kept without the others.
    if disturbances is not None:
        batch.repoint(disturbances=np.ascontiguousarray(disturbances))
    if rows:
        batch.repoint(states=np.zeros((n, rows, nv + 1)))
    if details:
        contacts = np.zeros((n, details, nw, engine.CONTACT_COLUMNS))
        batch.repoint(velocities=np.zeros((n, details, nv)), contacts=contacts, commands=np.zeros((n, details, na)))
    if details and dynamic:
        batch.repoint(
            forces=np.zeros((n, details, nw, engine.FORCE_COLUMNS)),
            hull=np.zeros((n, details if len(vehicle.hull_frame) else 0, engine.HULL_COLUMNS)),
            torques=np.zeros((n, details, na, 2)),
            diagnostics=np.zeros((n, details, engine.DIAGNOSTICS)),
        )
    alone = n == 1 or (threads is None and n * (steps + 1) <= FEW_STEPS)
    workers = 1
    if not alone:
        from grouser.threads import thread_count

        workers = thread_count(threads)
    # A drive in Python is interrupted by itself, and stays on the thread of its caller.
    watch = getattr(drives[0].keep, "watch", None) if isinstance(drives, list) else None
    watched = n == 1 and steps > MANY_STEPS and watch is None
    pressed = _roll_out(scene, batch, n, workers, watched=watched, watch=watch)
    return records_of(batch, dynamic)._replace(pressed=pressed, halted=bool(batch.halt[0]))


def _roll_out(
    scene: tuple[Any, Any, Any], batch: engine.Batch, n: int, threads: int, *, watched: bool = False, watch: Any = None
) -> FloatArray | None:
    """Roll out the batch of a vehicle, a model and a ground on some threads, each with work space of its own.

    Returns the pressed cells of a single rollout. watched: Ctrl-C ends it, and the steps so far are kept. watch(job)
    gets the job of a drive in Python.
    """
    pressed = None
    vehicle, model, _ = scene
    kernel: Any = engine.kinematic_rollouts
    jobs: list[Any]
    dynamic = not isinstance(model, KinematicModel)
    scratch = [SCRATCH.take(vehicle) for _ in range(min(threads, n))]
    if dynamic:
        # Loaded when used: it takes 20 ms.
        from grouser._kernels.simulation.dynamic_rollout import DynamicJob
        from grouser._kernels.simulation.dynamic_rollout import dynamic_rollouts as kernel
        from grouser.dynamics.model import DYNAMIC_SCRATCH

        jobs = [DynamicJob(*scene, batch, s, DYNAMIC_SCRATCH.take(model, vehicle)) for s in scratch]
    else:
        jobs = [engine.KinematicJob(*scene, batch, s) for s in scratch]
    if watch is not None:
        watch(jobs[0])
    if watched:
        from grouser.threads import interruptible

        kernel(jobs[0], 0, 0)  # no rollout: compiles on this thread
        interruptible(lambda: kernel(jobs[0], 0, n), batch.halt)
    elif n == 1:
        kernel(jobs[0], 0, n)
    else:
        from grouser.threads import in_slices

        try:
            in_slices(lambda worker, first, last: kernel(jobs[worker], first, last), n, threads=threads, size=SLICE)
        except KeyboardInterrupt:  # those that were not taken are `interrupted` already
            batch.halt[0] = 1
    for job in jobs:
        SCRATCH.give(vehicle, job.s)
        if dynamic:
            if n == 1 and model.rut_side > 0:
                from grouser.contact.ruts import pressed_cells

                pressed = pressed_cells(job.d.rut_depth, job.d.rut_key, model.rut_cell)
            DYNAMIC_SCRATCH.give(model, job.d)
    return pressed


def recorded_arrays(model: Kinematics | Dynamics) -> tuple[str, ...]:
    """Arrays of a batch that hold the recorded rows besides the states."""
    return ("velocities", "contacts", "commands") + ("forces", "hull", "torques", "diagnostics") * model.dynamic


def records_of(batch: Any, dynamic: bool) -> Records:
    """Results of a batch that is rolled out: a `Batch`, or its arrays put together from several."""
    ends, forces, deficient = batch.ends, None, batch.ends[:, engine.COUNTED]
    if dynamic:
        forces = Forces(batch.v, batch.forces, batch.hull, batch.torques, batch.diagnostics, ends[:, engine.HALVED])
        deficient = np.zeros_like(deficient)
    status = tuple([OF_CODE[code] for code in ends[:, engine.STATUS].tolist()])
    rows = (batch.states, batch.velocities, batch.contacts, batch.commands)
    return Records(batch.q, *rows, status, ends[:, engine.TAKEN], deficient, ends[:, engine.RECORDED], forces)
