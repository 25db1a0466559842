"""One step of the dynamics, in the order it happens, halved where it does not converge or turns too far."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.dynamics.equations import equations_of_motion
from grouser._kernels.dynamics.integrate import integrate
from grouser._kernels.dynamics.newton import solve_step, touches
from grouser._kernels.group import move
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.simulation.step import DIVERGED, OFF_TERRAIN, OK, ROLLED_OVER, UNSOLVED, is_finite
from grouser._kernels.terrain.soils import find_soils
from grouser._kernels.vehicles.frames import pose_frames

MOST_PARTS = 32
LARGEST_TURN = 0.25
"""Turn of the body or a link within a step [rad] above which it is halved: forces take Δz + v_z dt, the tangent of a
wheel's way, and a wheel on an arc r ends r turn²/2 deeper."""


@inlined
def turns_too_far(vehicle, dt, d):
    """Whether the body or a joint turns by more than LARGEST_TURN within the step; a wheel may spin."""
    largest = math.sqrt(d.u[0] * d.u[0] + d.u[1] * d.u[1] + d.u[2] * d.u[2])
    for frame in range(1, vehicle.parent.size):
        if vehicle.joint[frame] < 3 and vehicle.wheel_of_frame[frame] < 0:
            largest = max(largest, abs(d.u[5 + frame]))
    return largest * dt > LARGEST_TURN


@kernel
def accelerate(job, n, dt, first, last):
    """Velocity at the end of a step of rollout n into d.u, from its state q and velocity s.v; (status, iterations).

    Contacts, M and c are those of the state that s.v reaches within `model.lead` of the step. Forces need Δz at the
    step's beginning, so Δz is carried back from there. `first`: M is found even if the inertia is held fixed. A step
    that turns too far counts as unsolved unless `last`.
    """
    vehicle = job.vehicle
    model = job.model
    q = job.batch.q[n]
    s = job.s
    d = job.d
    lead = model.lead * dt
    move(q, s.v, lead, s.q_stage)
    pose_frames(vehicle, s.q_stage, s)
    if not find_contacts(vehicle, job.ground, s):
        return OFF_TERRAIN, 0
    find_soils(job.ground, model.contact.shape[1], s, model.link.size)
    if s.R_world_body[2, 2] < model.tip_cosine:
        return ROLLED_OVER, 0
    wheel_jacobians(vehicle, s)
    for w in range(vehicle.wheel.size):
        for i in range(s.v.size):
            s.height_error[w] -= lead * s.A[3 * w + 2, i] * s.v[i]
    for i in range(s.v.size):
        d.v_bias[i] = s.v[i] + 0.5 * dt * d.acceleration[i]
    equations_of_motion(vehicle, model, s.q_stage, d.v_bias, first, s, d)
    converged, iterations = solve_step(vehicle, model, q, s.v, dt, True, s, d)
    if not is_finite(d.u):
        return DIVERGED, iterations
    if not last and turns_too_far(vehicle, dt, d):
        return UNSOLVED, iterations
    return OK if converged else UNSOLVED, iterations


@inlined
def finish(q, dt, s, d):
    """q and s.v move on to the end of the step, T (2.85), (2.86); actuator and joint laws remember."""
    integrate(q, s.v, d.u, dt, d.lead[0], not touches(d), q)
    for i in range(s.v.size):
        d.acceleration[i] = (d.u[i] - s.v[i]) / dt
        s.v[i] = d.u[i]
    for i in range(d.memory.size):
        d.memory[i] = d.memory_next[i]


@kernel
def halved_step(job, n):
    """The step again in 2, 4, … parts where the whole was not solved, with the same command; (status, iterations)."""
    q = job.batch.q[n]
    dt = job.batch.dt
    s = job.s
    d = job.d
    for i in range(q.size):
        d.q_before[i] = q[i]
    for i in range(s.v.size):
        d.v_before[i] = s.v[i]
    for i in range(d.memory.size):
        d.memory_before[i] = d.memory[i]
    iterations = 0
    parts = 2
    status = UNSOLVED
    while parts <= MOST_PARTS:
        status = OK
        for _ in range(parts):
            status, done = accelerate(job, n, dt / parts, False, parts == MOST_PARTS)
            iterations += done
            if status != OK:
                break
            finish(q, dt / parts, s, d)
        if status == OK:
            return OK, iterations
        for i in range(q.size):
            q[i] = d.q_before[i]
        for i in range(s.v.size):
            s.v[i] = d.v_before[i]
        for i in range(d.memory.size):
            d.memory[i] = d.memory_before[i]
        if status in (OFF_TERRAIN, ROLLED_OVER):
            return status, iterations
        parts *= 2
    return status, iterations
