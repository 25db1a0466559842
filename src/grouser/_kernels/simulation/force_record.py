"""What is recorded of the forces of a step; of a step in parts, their means."""

from grouser._compile.jit import kernel
from grouser._kernels.dynamics.contacts import world_force, world_point
from grouser._kernels.dynamics.forces import contact_power, contact_torque
from grouser._kernels.rotation import add, put, vector


@kernel
def clear_forces(forces, torques):
    """Rows of wheels (nw, FORCE_COLUMNS) and actuators (na, 2) to zero."""
    for w in range(forces.shape[0]):
        for i in range(forces.shape[1]):
            forces[w, i] = 0.0
    for a in range(torques.shape[0]):
        for i in range(2):
            torques[a, i] = 0.0


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
        # an ideal actuator supplies whatever its row of the force balance lacks
        i = 6 + vehicle.actuated[a]
        torque = d.residual[i] if model.ideal else d.torque[a]
        torques[a, 0] += share * torque
        torques[a, 1] += share * torque * 0.5 * (job.s.v[i] + d.u[i])
