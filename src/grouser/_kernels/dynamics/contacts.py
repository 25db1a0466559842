"""Contacts of a dynamic model, one or two a wheel and the points of the hull: Jacobians, and forces for the record.

Of a step in parts the record holds the mean forces.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import fill
from grouser._kernels.contact.hull import find_hull_contacts
from grouser._kernels.contact.second import find_wheel_contacts
from grouser._kernels.dynamics.forces import contact_power, contact_torque, motor_torque
from grouser._kernels.kinematics.jacobian import (
    free_across,
    point_jacobian,
    sliding_jacobians,
    turn_with_leader,
    wheel_jacobians,
)
from grouser._kernels.rotation import add, column, dot, put, scale, times, vector


@kernel
def other_jacobian(vehicle, model, k, s):
    """Rows of A of a contact that is not the first of a wheel."""
    row = model.row[k]
    rows = s.A[row : row + 3]
    w = vehicle.wheel_of_frame[model.link[k]]
    point_jacobian(vehicle, s, model.link[k], s.p_contact[k], s.axes[k], rows)
    if w >= 0 and vehicle.rollers[w]:
        free_across(rows)
    if model.axle[k] != model.link[k]:
        turn_with_leader(vehicle, w, rows)


@inlined
def find_dynamic_contacts(vehicle, model, ground, dt, s):
    """All contacts of the posed frames that may touch within dt; False if the ground ends."""
    if not find_wheel_contacts(vehicle, ground, model.second, s):
        return False
    if vehicle.hull_frame.size > 0:
        find_hull_contacts(vehicle, ground, dt, s)
    return True


@inlined
def contact_jacobians(vehicle, model, s):
    """Rows of A of all contacts that were found; s.live is the number of slots that hold them."""
    wheel_jacobians(vehicle, s)
    if vehicle.friction.size > 0:
        sliding_jacobians(vehicle, s)
    s.live[0] = vehicle.wheel.size
    for k in range(vehicle.wheel.size, s.height_error.size):
        if s.height_error[k] != math.inf:
            other_jacobian(vehicle, model, k, s)
            s.live[0] = k + 1


@inlined
def drop_other_contacts(vehicle, s):
    """Only the first contact of each wheel is left."""
    s.live[0] = vehicle.wheel.size
    for k in range(vehicle.wheel.size, s.height_error.size):
        s.height_error[k] = math.inf


@inlined
def carry_back(model, lead, s):
    """Δz a time `lead` before the posed state, with the velocity s.v."""
    if lead == 0.0:
        return
    for k in range(s.live[0]):
        if s.height_error[k] != math.inf:
            row = model.row[k] + 2
            for i in range(s.v.size):
                s.height_error[k] -= lead * s.A[row, i] * s.v[i]


@inlined
def world_force(k, s, d):
    """Force of contact k in world axes [N]."""
    f = d.f[k]
    axes = s.axes[k]
    body = (dot(f, column(axes, 0)), dot(f, column(axes, 1)), dot(f, column(axes, 2)))
    return times(s.R_world_body, body)


@inlined
def world_point(k, s):
    """Contact k in the world [m]."""
    return add(s.p_world_body, 1.0, times(s.R_world_body, s.p_contact[k]))


@kernel
def record_hull(vehicle, model, s, d, out):
    """Total force of the ground on the hull, its centre, the number of points that touch, and its power.

    The centre is the mean of the points that touch, weighted by their normal forces.
    """
    fill(out, 0.0)
    pressed = 0.0
    for k in range(2 * vehicle.wheel.size, s.live[0]):
        weight = d.f[k, 2]
        if weight != 0.0:
            put(add(vector(out, 0), 1.0, world_force(k, s, d)), out, 0)
            put(add(vector(out, 3), weight, world_point(k, s)), out, 3)
            out[6] += 1.0
            out[7] += contact_power(model, k, s, d)
            pressed += weight
    if pressed > 0.0:
        put(scale(1.0 / pressed, vector(out, 3)), out, 3)


@kernel
def add_forces(job, share, forces, torques):
    """Contact forces, their power and axle torque, torques and power of actuators, times a share of the step."""
    vehicle = job.vehicle
    model = job.model
    d = job.d
    for w in range(vehicle.wheel.size):
        for i in range(3):
            forces[w, i] += share * d.f[w, i]
        forces[w, 3] += share * contact_power(model, w, job.s, d)
        forces[w, 4] += share * contact_torque(model, w, job.s, d)
        k = vehicle.wheel.size + w
        if d.f[k, 2] != 0.0:
            put(add(vector(forces[w], 5), share, world_force(k, job.s, d)), forces[w], 5)
            put(world_point(k, job.s), forces[w], 8)
            forces[w, 3] += share * contact_power(model, k, job.s, d)
            forces[w, 4] += share * contact_torque(model, k, job.s, d)
    for a in range(vehicle.actuated.size):
        i = 6 + vehicle.actuated[a]
        torque = motor_torque(vehicle, model, a, d)
        torques[a, 0] += share * torque
        torques[a, 1] += share * torque * 0.5 * (job.s.v[i] + d.u[i])
