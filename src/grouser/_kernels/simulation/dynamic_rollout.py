"""Many independent dynamic rollouts; one run is a batch of one."""

import numpy as np

from grouser._compile.jit import entry, inlined, kernel
from grouser._kernels.dynamics.newton import contact_power
from grouser._kernels.dynamics.scratch import clear_dynamic_scratch
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.simulation.dynamic_step import (
    accelerate,
    energies,
    finish,
    halved_step,
    largest_residual,
    observe,
)
from grouser._kernels.simulation.rollout import copy_row, record_contacts
from grouser._kernels.simulation.step import DIVERGED, OFF_TERRAIN, OK, UNSOLVED, Function


@kernel
def record_state(vehicle, model, ground, q, first, row, contacts, diagnostics, s, d):
    """Contacts and (kinetic, potential) energy of the state a step begins at; False where the ground ends."""
    if row >= contacts.shape[0]:
        return True
    if not observe(vehicle, model, ground, q, first, s, d):
        return False
    record_contacts(vehicle, s, contacts[row])
    kinetic, potential = energies(vehicle, model, s, d)
    diagnostics[row, 2] = kinetic
    diagnostics[row, 3] = potential
    return True


@inlined
def record_forces(vehicle, model, iterations, row, forces, torques, diagnostics, s, d):
    """Contact forces and their power, actuator torques, and (iterations, residual) of one step."""
    if row >= forces.shape[0]:
        return
    for w in range(vehicle.wheel.size):
        for i in range(3):
            forces[row, w, i] = d.f[w, i]
        forces[row, w, 3] = contact_power(vehicle, model, w, s, d)
    for a in range(vehicle.actuated.size):
        # an ideal actuator supplies whatever its row of the force balance lacks
        torques[row, a] = d.residual[6 + vehicle.actuated[a]] if model.ideal else d.torque[a]
    diagnostics[row, 0] = iterations
    diagnostics[row, 1] = largest_residual(model, d)


@kernel
def dynamic_rollout(vehicle, model, ground, batch, n, s, d):
    """Rollout n of the batch, from where it is; returns status, steps, rows, Newton iterations, halved steps."""
    drive = Function(batch.drives[n, 0], batch.drives[n, 1])
    q = batch.q[n]
    v = batch.v[n]
    states = batch.states[n]
    velocities = batch.velocities[n]
    contacts = batch.contacts[n]
    commands = batch.commands[n]
    forces = batch.forces[n]
    torques = batch.torques[n]
    diagnostics = batch.diagnostics[n]
    dt = batch.dt
    before = batch.ends[n, 1]
    steps = batch.steps
    every = batch.every
    for i in range(v.size):
        s.v[i] = v[i]
    total = 0
    halved = 0
    row = 0
    for k in range(steps + 1):
        t = batch.t0 + (before + k) * dt
        first = before + k == 0
        if k == steps and not batch.closing:
            copy_row(q, states, row)
            row += 1
            break
        recorded = every > 0 and k % every == 0
        if recorded and not record_state(vehicle, model, ground, q, first, row, contacts, diagnostics, s, d):
            return OFF_TERRAIN, k, row, total, halved
        status, iterations = accelerate(vehicle, model, ground, drive, t, q, dt, first, True, False, s, d)
        if status != OK and status != UNSOLVED:
            return status, k, row, total, halved
        if recorded:
            copy_row(q, states, row)
            copy_row(s.v, velocities, row)
            copy_row(s.command, commands, row)
            record_forces(vehicle, model, iterations, row, forces, torques, diagnostics, s, d)
            row += 1
        if k == steps:
            break
        if status == OK:
            finish(vehicle, model, q, dt, s, d)
        else:
            halved += 1
            status, more = halved_step(vehicle, model, ground, drive, t, q, dt, s, d)
            iterations += more
            if status != OK:
                return status, k, row, total, halved
        total += iterations
        size = 0.0
        for i in range(q.size):
            size += abs(q[i])
        if not size < np.inf:
            return DIVERGED, k, row, total, halved
        for i in range(v.size):
            v[i] = s.v[i]
    return OK, steps, row, total, halved


@entry
def dynamic_rollouts(job, first, last):
    """Rollouts `first` to `last` of a DynamicJob."""
    for i in range(first, last):
        ends = job.batch.ends
        if ends[i, 1] == 0:
            clear_scratch(job.vehicle, job.s)
            clear_dynamic_scratch(job.model, job.d)
        status, done, rows, iterations, halved = dynamic_rollout(
            job.vehicle, job.model, job.ground, job.batch, i, job.s, job.d
        )
        ends[i, 0] = status
        ends[i, 1] += done
        ends[i, 2] = rows
        ends[i, 3] += iterations
        ends[i, 4] += halved
