"""Many independent rollouts at once; one run is a batch of one."""

import numpy as np
from numba import prange

from grouser._kernels.contact import contact_angle
from grouser._kernels.jit import inlined, kernel, parallel_entry
from grouser._kernels.scratch import make_scratch
from grouser._kernels.step import DIVERGED, OK, Function, euler_step, kinematic_velocity, runge_kutta_step

CONTACT_COLUMNS = 11


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
def kinematic_rollout(
    vehicle, model, ground, drive, q, t0, dt, steps, order, every, states, velocities, contacts, commands, s
):
    """One rollout from q, which ends as its last state; returns status, steps, rank-deficient steps, recorded rows."""
    deficient = 0
    row = 0
    status = OK
    for k in range(steps + 1):
        t = t0 + k * dt
        if k == steps and contacts.shape[0] == 0 and velocities.shape[0] == 0:
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
        if order == 1:
            euler_step(q, dt, s)
        else:
            status = runge_kutta_step(vehicle, model, ground, drive, t, q, dt, s)
            if status != OK:
                return status, k, deficient, row
        total = 0.0
        for i in range(q.size):
            total += abs(q[i])
        if not total < np.inf:
            return DIVERGED, k, deficient, row
    return OK, steps, deficient, row


@parallel_entry
def kinematic_rollouts(
    vehicle, model, ground, drives, q, t0, dt, steps, order, every, states, velocities, contacts, commands, ends
):
    """Rollout i starts at q[i] and drives by the law drives[i]; ends[i] = (status, steps, rows, deficient steps).

    A rollout that fails keeps its last good state in q[i]; the others do not notice.
    """
    for i in prange(q.shape[0]):
        drive = Function(drives[i, 0], drives[i, 1])
        status, done, deficient, rows = kinematic_rollout(
            vehicle,
            model,
            ground,
            drive,
            q[i],
            t0,
            dt,
            steps,
            order,
            every,
            states[i],
            velocities[i],
            contacts[i],
            commands[i],
            make_scratch(vehicle),
        )
        ends[i, 0] = status
        ends[i, 1] = done
        ends[i, 2] = rows
        ends[i, 3] = deficient
