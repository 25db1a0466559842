"""Many independent rollouts; one run is a batch of one."""

import numpy as np

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices, integer, number, struct
from grouser._kernels.contact.geometry import contact_angle
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch
from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.scratch import Scratch, clear_scratch
from grouser._kernels.simulation.step import DIVERGED, OK, Function, euler_step, kinematic_velocity, runge_kutta_step
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays

CONTACT_COLUMNS = 11
FORCE_COLUMNS = 4
DIAGNOSTICS = 4
END_COLUMNS = 5


class Batch(Struct):
    """N rollouts of a model on a ground. Row i of each array belongs to rollout i; arrays may have no rows to record.

    A rollout that fails keeps its last good state; the others do not notice. One whose `ends` say that it has taken
    steps goes on from there, with the work space as it was left: such a rollout must be alone with it.
    """

    drives = indices("n", 2)  # law and parameters of each drive
    q = array("n", "nq")  # where each starts, and then its last state
    v = array("n", "nv")  # its velocity there; dynamics only
    states = array("n", "rows", "nq")
    velocities = array("n", "details", "nv")
    contacts = array("n", "details", "nw", CONTACT_COLUMNS)
    commands = array("n", "details", "na")
    forces = array("n", "forced", "nw", FORCE_COLUMNS)
    torques = array("n", "forced", "na")
    diagnostics = array("n", "forced", DIAGNOSTICS)
    ends = indices("n", END_COLUMNS)  # status, steps, rows, then deficient steps, or Newton iterations and halved steps
    t0 = number()  # [s]
    dt = number()  # [s]
    steps = integer()
    order = integer()  # of the integrator of kinematics
    every = integer()  # steps from one recorded row to the next; 0: none is recorded
    closing = integer()  # whether velocity and contacts of the last state are looked for, too


class KinematicJob(Struct):
    """A batch of kinematic rollouts with the work space of one thread."""

    vehicle = struct(VehicleArrays)
    model = struct(KinematicModel)
    ground = struct(Ground)
    batch = struct(Batch)
    s = struct(Scratch)


class DynamicJob(Struct):
    """A batch of dynamic rollouts with the work space of one thread."""

    vehicle = struct(VehicleArrays)
    model = struct(DynamicModel)
    ground = struct(Ground)
    batch = struct(Batch)
    s = struct(Scratch)
    d = struct(DynamicScratch)


@inlined
def copy_row(values, rows, row):
    """rows[row] ← values, if there is such a row."""
    if row < rows.shape[0]:
        for i in range(values.size):
            rows[row, i] = values[i]


@kernel
def record_contacts(vehicle, s, out):
    """Per wheel: point (world), normal (world), velocity of the contact (its own frame), height error, angle."""
    R = s.R_world_body
    for w in range(vehicle.wheel.size):
        for i in range(3):
            point = s.p_world_body[i]
            normal = 0.0
            for k in range(3):
                point += R[i, k] * s.p_contact[w, k]
                normal += R[i, k] * s.axes[w, 2, k]
            speed = 0.0
            for k in range(s.v.size):
                speed += s.A[3 * w + i, k] * s.v[k]
            out[w, i] = point
            out[w, 3 + i] = normal
            out[w, 6 + i] = speed
        out[w, 9] = s.height_error[w]
        out[w, 10] = contact_angle(vehicle, s, w)


@kernel
def kinematic_rollout(vehicle, model, ground, batch, i, s):
    """Rollout i of the batch, from where it is; returns status, steps, rank-deficient steps, recorded rows."""
    drive = Function(batch.drives[i, 0], batch.drives[i, 1])
    q = batch.q[i]
    states = batch.states[i]
    velocities = batch.velocities[i]
    contacts = batch.contacts[i]
    commands = batch.commands[i]
    dt = batch.dt
    before = batch.ends[i, 1]
    steps = batch.steps
    every = batch.every
    deficient = 0
    row = 0
    status = OK
    for k in range(steps + 1):
        t = batch.t0 + (before + k) * dt
        if k == steps and not batch.closing:
            copy_row(q, states, row)
            return OK, k, deficient, row + 1
        status, lost_rank = kinematic_velocity(vehicle, model, ground, drive, t, q, s)
        if status != OK:
            return status, k, deficient, row
        if every > 0 and k % every == 0:
            copy_row(q, states, row)
            copy_row(s.v, velocities, row)
            copy_row(s.command, commands, row)
            if row < contacts.shape[0]:
                record_contacts(vehicle, s, contacts[row])
            row += 1
        if k == steps:
            break
        deficient += lost_rank
        if batch.order == 1:
            euler_step(q, dt, s)
        else:
            status = runge_kutta_step(vehicle, model, ground, drive, t, q, dt, s)
            if status != OK:
                return status, k, deficient, row
        total = 0.0
        for j in range(q.size):
            total += abs(q[j])
        if not total < np.inf:
            return DIVERGED, k, deficient, row
    return OK, steps, deficient, row


@entry
def kinematic_rollouts(job, first, last):
    """Rollouts `first` to `last` of a KinematicJob."""
    for i in range(first, last):
        ends = job.batch.ends
        if ends[i, 1] == 0:
            clear_scratch(job.vehicle, job.s)
        status, done, deficient, rows = kinematic_rollout(job.vehicle, job.model, job.ground, job.batch, i, job.s)
        ends[i, 0] = status
        ends[i, 1] += done
        ends[i, 2] = rows
        ends[i, 3] += deficient
