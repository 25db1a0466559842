"""Many independent rollouts; one run is a batch of one."""

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices, integer, number, struct
from grouser._kernels.contact.geometry import contact_angle
from grouser._kernels.group import move
from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.scratch import Scratch, clear_scratch
from grouser._kernels.simulation.step import (
    DIVERGED,
    INTERRUPTED,
    OK,
    UNSOLVED,
    Function,
    euler_step,
    is_finite,
    kinematic_velocity,
    runge_kutta_step,
)
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays

CONTACT_COLUMNS = 11
FORCE_COLUMNS = 11
"""Of a wheel: force at its first contact (contact frame), power, axle torque, force and point of its second (world)."""
HULL_COLUMNS = 8
"""Of the hull: total force, its centre (world), points that touch, power."""
DIAGNOSTICS = 4
STATUS, TAKEN, RECORDED, COUNTED, HALVED = range(5)
"""Columns of `ends`: status; steps; rows; rank-deficient steps, or Newton iterations of dynamics; steps in parts."""
END_COLUMNS = 5


class Batch(Struct):
    """N rollouts of a model on a ground. Row i of each array belongs to rollout i; arrays may have no rows to record.

    A rollout that fails keeps its last good state; the others are not affected. One that has taken steps goes on from
    there, with the work space as it was left: such a rollout must be alone with it.
    """

    drives = indices("n", 2)  # law and parameters of each drive
    q = array("n", "nq")  # where each starts, and then its last state
    v = array("n", "nv")  # its velocity there; dynamics only
    states = array("n", "rows", "nq")
    velocities = array("n", "details", "nv")
    contacts = array("n", "details", "nw", CONTACT_COLUMNS)
    commands = array("n", "details", "na")
    forces = array("n", "forced", "nw", FORCE_COLUMNS)
    hull = array("n", "forced", HULL_COLUMNS)
    torques = array("n", "forced", "na", 2)  # torque and power of each actuator
    diagnostics = array("n", "forced", DIAGNOSTICS)
    disturbances = array("n", "disturbed", 6)  # twist of the body added in each step; no rows: none
    halt = indices(1)  # not zero: every rollout ends before its next step; set by another thread
    ends = indices("n", END_COLUMNS)  # how each ended, in the columns STATUS to HALVED
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


def rollouts_of(name, clear, solve, record, advance):
    """The entry of a kind of jobs: rollouts `first` to `last`, each a loop over the parts of a step.

    name: of the entry, in the cache of compiled code and in the progress of compiling.
    clear(job): the work space, before the first step of a rollout.
    solve(job, n, k, row) → status, count: what moves rollout n at its step k; `row` is where that is recorded, or −1.
    record(job, n, count, row): what is recorded besides state, velocity and command.
    advance(job, n, k, status) → status, count, halved: the state moves on.
    """

    @kernel
    def rollout(job, n):
        """Rollout n of the batch, from where it is; returns status, steps, rows, and the sums of count and halved."""
        batch = job.batch
        q = batch.q[n]
        states = batch.states[n]
        velocities = batch.velocities[n]
        commands = batch.commands[n]
        disturbances = batch.disturbances[n]
        row = total = halved = 0
        for k in range(batch.steps + 1):
            if batch.halt[0] != 0:
                return INTERRUPTED, k, row, total, halved
            if k == batch.steps and not batch.closing:
                copy_row(q, states, row)
                return OK, k, row + 1, total, halved
            recorded = batch.every > 0 and k % batch.every == 0
            status, count = solve(job, n, k, row if recorded else -1)
            if status != OK and status != UNSOLVED:
                return status, k, row, total, halved
            if recorded:
                copy_row(q, states, row)
                copy_row(job.s.v, velocities, row)
                copy_row(job.s.command, commands, row)
                record(job, n, count, row)
                row += 1
            if k == batch.steps:
                break
            total += count
            status, count, parts = advance(job, n, k, status)
            total += count
            halved += parts
            if status == OK and k < disturbances.shape[0]:
                move(q, disturbances[k], batch.dt, q)
            if status == OK and not is_finite(q):
                status = DIVERGED
            if status != OK:
                return status, k, row, total, halved
        return OK, batch.steps, row, total, halved

    def rollouts(job, first, last):
        ends = job.batch.ends
        for n in range(first, last):
            if ends[n, TAKEN] == 0:
                clear(job)
            status, done, rows, total, halved = rollout(job, n)
            ends[n, STATUS] = status
            ends[n, TAKEN] += done
            ends[n, RECORDED] = rows
            ends[n, COUNTED] += total
            ends[n, HALVED] += halved

    rollouts.__name__ = rollouts.__qualname__ = name
    return entry(rollouts)


@inlined
def time_of(batch, n, k):
    """Time of step k of rollout n [s]."""
    return batch.t0 + (batch.ends[n, TAKEN] + k) * batch.dt


@inlined
def drive_of(batch, n):
    """The drive of rollout n."""
    return Function(batch.drives[n, 0], batch.drives[n, 1])


@kernel
def clear_kinematics(job):
    """Nothing is remembered of another rollout."""
    clear_scratch(job.vehicle, job.s)


@kernel
def solve_kinematics(job, n, k, row):
    """The velocity of a state; counts where it is rank deficient."""
    t = time_of(job.batch, n, k)
    drive = drive_of(job.batch, n)
    status, deficient = kinematic_velocity(job.vehicle, job.model, job.ground, drive, t, job.batch.q[n], job.s)
    return status, int(deficient)


@kernel
def record_kinematics(job, n, count, row):
    """The contacts."""
    contacts = job.batch.contacts[n]
    if row < contacts.shape[0]:
        record_contacts(job.vehicle, job.s, contacts[row])


@kernel
def advance_kinematics(job, n, k, status):
    """The state moves with the velocity."""
    batch = job.batch
    q = batch.q[n]
    if batch.order == 1:
        euler_step(q, batch.dt, job.s)
    else:
        t = time_of(batch, n, k)
        status = runge_kutta_step(job.vehicle, job.model, job.ground, drive_of(batch, n), t, q, batch.dt, job.s)
    return status, 0, 0


kinematic_rollouts = rollouts_of(
    "kinematic_rollouts", clear_kinematics, solve_kinematics, record_kinematics, advance_kinematics
)
