"""The parts of a dynamic rollout, and what of it is recorded."""

import math

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, struct
from grouser._kernels.arrays import copy, fill
from grouser._kernels.contact.face import any_deep, keep_faces, stays_buried
from grouser._kernels.contact.ruts import press_soil
from grouser._kernels.contact.second import find_wheel_contacts
from grouser._kernels.dynamics.contacts import add_forces, record_hull
from grouser._kernels.dynamics.equations import equations_of_motion
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch, clear_dynamic_scratch
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.scratch import Scratch, clear_scratch
from grouser._kernels.simulation.drive import command
from grouser._kernels.simulation.dynamic_step import accelerate, finish, halved_step, moves_far, runs_into
from grouser._kernels.simulation.energy import EVERY, energies, gains_energy
from grouser._kernels.simulation.rollout import TAKEN, Batch, drive_of, record_contacts, rollouts_of, time_of
from grouser._kernels.simulation.step import BURIED, GAINED_ENERGY, OFF_TERRAIN, OK, UNSOLVED
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser._kernels.vehicles.frames import pose_frames


class DynamicJob(Struct):
    """A batch of dynamic rollouts with the work space of one thread."""

    vehicle = struct(VehicleArrays)
    model = struct(DynamicModel)
    ground = struct(Ground)
    batch = struct(Batch)
    s = struct(Scratch)
    d = struct(DynamicScratch)


@kernel
def clear_dynamics(job):
    """At rest, with nothing remembered of another rollout."""
    clear_scratch(job.vehicle, job.s)
    clear_dynamic_scratch(job.model, job.d)


@kernel
def largest_residual(model, d):
    """Largest entry of the force balance over the free velocities [N or N m]."""
    largest = 0.0
    for i in range(model.free.size):
        largest = max(largest, abs(d.residual[model.free[i]]))
    return largest if not math.isnan(largest) else math.inf


@kernel
def observe(vehicle, model, ground, q, first, s, d):
    """Contacts, Jacobians, M and c at the state q itself, for the record; False where the ground ends."""
    pose_frames(vehicle, q, s)
    if not find_wheel_contacts(vehicle, ground, model.second, s):
        return False
    if any_deep(vehicle, s, d):
        keep_faces(vehicle, ground, 0.0, s, d)
    wheel_jacobians(vehicle, s)
    equations_of_motion(vehicle, model, q, s.v, first, s, d)
    return True


@kernel
def record_state(job, n, first, row):
    """Contacts and (kinetic, potential) energy of the state a step begins at; False where the ground ends."""
    contacts = job.batch.contacts[n]
    if row >= contacts.shape[0]:
        return True
    if not observe(job.vehicle, job.model, job.ground, job.batch.q[n], first, job.s, job.d):
        return False
    record_contacts(job.vehicle, job.s, contacts[row])
    kinetic, potential = energies(job.vehicle, job.model, job.s, job.d)
    job.batch.diagnostics[n, row, 2] = kinetic
    job.batch.diagnostics[n, row, 3] = potential
    return True


@kernel
def solve_dynamics(job, n, k, row):
    """The velocity at the end of the step; counts Newton iterations."""
    batch = job.batch
    s = job.s
    first = batch.ends[n, TAKEN] + k == 0
    if k == 0:
        copy(batch.v[n], s.v)
    if row >= 0 and not record_state(job, n, first, row):
        return OFF_TERRAIN, 0
    command(drive_of(batch, n), time_of(batch, n, k), batch.q[n], s)
    status, iterations = accelerate(job, n, batch.dt, first, False)
    if ((batch.ends[n, TAKEN] + k) % EVERY == 0 or k >= batch.steps - 1) and status in (OK, UNSOLVED):
        lead = job.model.lead * batch.dt
        if job.model.energy_check and gains_energy(job.vehicle, job.model, lead, s, job.d):
            return GAINED_ENERGY, iterations
        if any_deep(job.vehicle, s, job.d) and stays_buried(job.vehicle, job.ground, EVERY * batch.dt, s, job.d):
            return BURIED, iterations
    return status, iterations


@kernel
def record_dynamics(job, n, iterations, row):
    """Contact forces and their power, actuator torques, and (iterations, residual) of one step."""
    forces = job.batch.forces[n]
    if row >= forces.shape[0]:
        return
    torques = job.batch.torques[n]
    fill(forces[row], 0.0)
    fill(torques[row], 0.0)
    add_forces(job, 1.0, forces[row], torques[row])
    if job.vehicle.hull_frame.size > 0:
        record_hull(job.vehicle, job.model, job.s, job.d, job.batch.hull[n, row])
    job.batch.diagnostics[n, row, 0] = iterations
    job.batch.diagnostics[n, row, 1] = largest_residual(job.model, job.d)


@kernel
def advance_dynamics(job, n, k, status):
    """State and velocity move on to the end of the step, which is taken in parts where it was not solved."""
    batch = job.batch
    iterations = 0
    halved = 0
    if status == OK and moves_far(job.vehicle, batch.dt, job.s, job.d) and runs_into(job, n, batch.dt):
        status = UNSOLVED
    if status == OK:
        finish(job.vehicle, job.model, batch.q[n], batch.dt, job.s, job.d)
    else:
        halved = 1
        row = k // batch.every if batch.every > 0 and k % batch.every == 0 else -1
        status, iterations = halved_step(job, n, row if row < batch.forces[n].shape[0] else -1)
    if status == OK:
        copy(job.s.v, batch.v[n])
        if job.model.rut_side > 0:
            press_soil(job.vehicle, job.model, batch.dt, job.s, job.d)
    return status, iterations, halved


dynamic_rollouts = rollouts_of("dynamic_rollouts", clear_dynamics, solve_dynamics, record_dynamics, advance_dynamics)
