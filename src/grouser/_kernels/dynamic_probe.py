"""Single evaluations of the dynamics for the public layer and the tests."""

from grouser._kernels.contact import contacts_on_ground_at, find_contacts
from grouser._kernels.dynamic_step import equations_of_motion
from grouser._kernels.dynamics import solve_step
from grouser._kernels.frames import pose_frames
from grouser._kernels.jacobian import wheel_jacobians
from grouser._kernels.jit import entry


@entry
def inertia_and_bias(vehicle, model, q, v, M, c, s, d):
    """M (nv, nv) and c (nv,), external forces subtracted, of one state."""
    pose_frames(vehicle, q, s)
    equations_of_motion(vehicle, model, q, v, True, s, d)
    for i in range(v.size):
        c[i] = d.c[i]
        for j in range(v.size):
            M[i, j] = d.M[i, j]


@entry
def forward(vehicle, model, ground, angles, q, v, command, memory, dt, u, forces, torques, residual, A, dz, s, d):
    """Velocity u at the end of a step from (q, v), with its forces; contacts at given angles, or found.

    Returns (ground under every wheel, converged, iterations).
    """
    pose_frames(vehicle, q, s)
    if angles.size > 0:
        inside = contacts_on_ground_at(vehicle, ground, angles, s)
    else:
        inside = find_contacts(vehicle, ground, s)
    if not inside:
        return False, False, 0
    wheel_jacobians(vehicle, s)
    for a in range(command.size):
        s.command[a] = command[a]
        d.memory[a] = memory[a]
    equations_of_motion(vehicle, model, q, v, True, s, d)
    converged, iterations = solve_step(vehicle, model, q, v, dt, s, d)
    for i in range(v.size):
        u[i] = d.u[i]
        residual[i] = d.residual[i]
    for w in range(vehicle.wheel.size):
        dz[w] = s.height_error[w]
        for i in range(3):
            forces[w, i] = d.f[w, i]
    for a in range(command.size):
        torques[a] = d.residual[6 + vehicle.actuated[a]] if model.ideal else d.torque[a]
    for r in range(A.shape[0]):
        for k in range(A.shape[1]):
            A[r, k] = s.A[r, k]
    return True, converged, iterations
