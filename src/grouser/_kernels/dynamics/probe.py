"""Single evaluations of the dynamics for the public layer and the tests."""

from grouser._compile.jit import entry
from grouser._compile.struct import Struct, array, indices, number, struct
from grouser._kernels.arrays import copy
from grouser._kernels.contact.geometry import contacts_on_ground_at
from grouser._kernels.dynamics.contacts import contact_jacobians, drop_other_contacts, find_dynamic_contacts
from grouser._kernels.dynamics.equations import equations_of_motion, integrate
from grouser._kernels.dynamics.forces import motor_torque
from grouser._kernels.dynamics.newton import solve_step
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch, clear_dynamic_scratch
from grouser._kernels.scratch import Scratch, clear_scratch
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.terrain.soils import find_soils
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser._kernels.vehicles.frames import pose_frames
from grouser._kernels.vehicles.kinds import turn_along


@entry
def inertia_and_bias(vehicle, model, q, v, M, c, s, d):
    """M (nv, nv) and c (nv,), external forces subtracted, of one state."""
    clear_scratch(vehicle, s)
    clear_dynamic_scratch(model, d)
    pose_frames(vehicle, q, s)
    equations_of_motion(vehicle, model, q, v, True, s, d)
    copy(d.c, c)
    for i in range(v.size):
        copy(d.M[i], M[i])


class StepJob(Struct):
    """One step of forward dynamics: what it starts from, and what it gives."""

    vehicle = struct(VehicleArrays)
    model = struct(DynamicModel)
    ground = struct(Ground)
    s = struct(Scratch)
    d = struct(DynamicScratch)
    dt = number()  # [s]
    at_angles = indices(1)  # whether contacts are at `angles` or found
    angles = array("nw")
    q = array("nq")
    v = array("nv")
    command = array("na")
    state = array("nq")  # at the end of the step
    velocity = array("nv")  # there
    acceleration = array("nv")
    force = array("nw", 3)
    torque = array("na")
    residual = array("nv")


@entry
def forward(job):
    """One step from (q, v); returns (ground under every wheel, converged, iterations)."""
    vehicle = job.vehicle
    model = job.model
    s = job.s
    d = job.d
    clear_scratch(vehicle, s)
    clear_dynamic_scratch(model, d)
    pose_frames(vehicle, job.q, s)
    if job.at_angles[0]:
        inside = contacts_on_ground_at(vehicle, job.ground, job.angles, s)
        drop_other_contacts(vehicle, s)
    else:
        inside = find_dynamic_contacts(vehicle, model, job.ground, job.dt, s)
    if not inside:
        return False, False, 0
    contact_jacobians(vehicle, model, s)
    find_soils(job.ground, model.contact.shape[1], s, s.live[0])
    copy(job.command, s.command)
    copy(job.v, d.v_bias)
    equations_of_motion(vehicle, model, job.q, job.v, True, s, d)
    converged, iterations = solve_step(vehicle, model, job.q, job.v, job.dt, False, s, d)
    turn_along(vehicle, d.u)
    copy(d.u, job.velocity)
    copy(d.residual, job.residual)
    for i in range(job.v.size):
        job.acceleration[i] = (d.u[i] - job.v[i]) / job.dt
    integrate(job.q, job.v, job.velocity, job.dt, 0.0, False, job.state)
    for w in range(vehicle.wheel.size):
        copy(d.f[w], job.force[w])
    for a in range(job.command.size):
        job.torque[a] = motor_torque(vehicle, model, a, d)
    return True, converged, iterations
