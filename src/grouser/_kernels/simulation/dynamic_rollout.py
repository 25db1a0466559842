"""The parts of a dynamic rollout, and what of it is recorded."""

import math

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, struct
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.contact.ruts import press_soil
from grouser._kernels.dynamics.equations import equations_of_motion
from grouser._kernels.dynamics.newton import contact_power, contact_torque
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch, clear_dynamic_scratch
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.scratch import Scratch, clear_scratch
from grouser._kernels.simulation.drive import command
from grouser._kernels.simulation.dynamic_step import accelerate, finish, halved_step
from grouser._kernels.simulation.rollout import TAKEN, Batch, drive_of, record_contacts, rollouts_of, time_of
from grouser._kernels.simulation.step import OFF_TERRAIN, OK
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
def energies(vehicle, model, s, d):
    """Kinetic energy of s.v and potential energy of the posed frames [J]."""
    kinetic = 0.0
    for i in range(s.v.size):
        for j in range(s.v.size):
            kinetic += 0.5 * s.v[i] * d.M[i, j] * s.v[j]
    m = d.composite[0, 0]
    height = m * s.p_world_body[2]
    for i in range(3):
        height += s.R_world_body[2, i] * d.composite[0, 1 + i]
    return kinetic, model.gravity * height


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
    if not find_contacts(vehicle, ground, s):
        return False
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
        for i in range(s.v.size):
            s.v[i] = batch.v[n, i]
    if row >= 0 and not record_state(job, n, first, row):
        return OFF_TERRAIN, 0
    command(drive_of(batch, n), time_of(batch, n, k), batch.q[n], s)
    return accelerate(job, n, batch.dt, first, False)


@kernel
def record_dynamics(job, n, iterations, row):
    """Contact forces and their power, actuator torques, and (iterations, residual) of one step."""
    vehicle = job.vehicle
    model = job.model
    d = job.d
    forces = job.batch.forces[n]
    if row >= forces.shape[0]:
        return
    for w in range(vehicle.wheel.size):
        for i in range(3):
            forces[row, w, i] = d.f[w, i]
        forces[row, w, 3] = contact_power(model, w, job.s, d)
        forces[row, w, 4] = contact_torque(model, w, job.s, d)
    for a in range(vehicle.actuated.size):
        # an ideal actuator supplies whatever its row of the force balance lacks
        i = 6 + vehicle.actuated[a]
        torque = d.residual[i] if model.ideal else d.torque[a]
        job.batch.torques[n, row, a, 0] = torque
        job.batch.torques[n, row, a, 1] = torque * 0.5 * (job.s.v[i] + d.u[i])
    job.batch.diagnostics[n, row, 0] = iterations
    job.batch.diagnostics[n, row, 1] = largest_residual(model, d)


@kernel
def advance_dynamics(job, n, k, status):
    """State and velocity move on to the end of the step, which is halved where it was not solved."""
    batch = job.batch
    iterations = 0
    halved = 0
    if status == OK:
        finish(batch.q[n], batch.dt, job.s, job.d)
    else:
        halved = 1
        status, iterations = halved_step(job, n)
    if status == OK:
        for i in range(job.s.v.size):
            batch.v[n, i] = job.s.v[i]
        if job.model.rut_side > 0:
            press_soil(job.vehicle, job.model, batch.dt, job.s, job.d)
    return status, iterations, halved


dynamic_rollouts = rollouts_of("dynamic_rollouts", clear_dynamics, solve_dynamics, record_dynamics, advance_dynamics)
