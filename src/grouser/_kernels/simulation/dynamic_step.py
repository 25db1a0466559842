"""One step of the dynamics, in the order it happens, halved where it does not converge or turns too far."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.dynamics.inertia import (
    bias_force,
    joint_space_inertia,
    set_inertias,
    set_rotation,
    set_subspaces,
    single_body_bias,
    work_rate,
)
from grouser._kernels.dynamics.newton import solve_step
from grouser._kernels.group import move
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.rotation import add, cross, put, vector
from grouser._kernels.simulation.drive import command
from grouser._kernels.simulation.step import DIVERGED, OFF_TERRAIN, OK, ROLLED_OVER, UNSOLVED, is_finite
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
def external_forces(vehicle, external, q, s, d):
    """Subtract external forces from the bias force: c ← c − Jᵀ f for each row of `external`."""
    for e in range(external.shape[0]):
        frame = int(external[e, 0])
        R = d.R
        set_rotation(vehicle, q, frame, s, R)
        for i in range(3):
            d.law_in[i] = s.p[frame, i]
            for k in range(3):
                d.law_in[i] += R[i, k] * external[e, 2 + k]
        for i in range(3):
            force = 0.0
            torque = 0.0
            for k in range(3):
                turned = s.R_world_body[k, i] if external[e, 1] != 0.0 else R[i, k]
                force += turned * external[e, 5 + k]
                torque += turned * external[e, 8 + k]
            d.momentum[0, i] = torque
            d.momentum[0, 3 + i] = force
        f = d.momentum[0]
        put(add(f, 1.0, cross(d.law_in, vector(f, 3))), f, 0)
        for i in range(6):
            d.c[i] -= f[i]
        while frame > 0:
            d.c[5 + frame] -= work_rate(d.S[frame], f)
            frame = vehicle.parent[frame]


@inlined
def equations_of_motion(vehicle, model, q, v, first, s, d):
    """M and c of the state into d; M only the first time if the inertia is held fixed, T §2.4.4."""
    set_subspaces(vehicle, s, d)
    if first or not model.fixed_inertia:
        set_inertias(vehicle, q, s, d)
        joint_space_inertia(vehicle, model.armature, s, d)
    if model.single_body:
        single_body_bias(model.gravity, v, s, d)
    else:
        if model.fixed_inertia and not first:
            set_inertias(vehicle, q, s, d)
        bias_force(vehicle, model.gravity, v, s, d)
    external_forces(vehicle, model.external, q, s, d)


@kernel
def accelerate(vehicle, model, ground, drive, t, q, dt, first, fresh, last, s, d):
    """Velocity at the end of the step into d.u from state q and velocity s.v; returns (status, iterations).

    Contacts, M and c are those of the state that s.v reaches within `model.lead` of the step. Forces need Δz at the
    step's beginning, so Δz is carried back from there. A step that turns too far counts as unsolved unless `last`.
    """
    lead = model.lead * dt
    move(q, s.v, lead, s.q_stage)
    pose_frames(vehicle, s.q_stage, s)
    if not find_contacts(vehicle, ground, s):
        return OFF_TERRAIN, 0
    if s.R_world_body[2, 2] < model.tip_cosine:
        return ROLLED_OVER, 0
    wheel_jacobians(vehicle, s)
    for w in range(vehicle.wheel.size):
        for i in range(s.v.size):
            s.height_error[w] -= lead * s.A[3 * w + 2, i] * s.v[i]
    if fresh:
        command(drive, t, q, s)
    equations_of_motion(vehicle, model, s.q_stage, s.v, first, s, d)
    converged, iterations = solve_step(vehicle, model, q, s.v, dt, s, d)
    if not is_finite(d.u):
        return DIVERGED, iterations
    if not last and turns_too_far(vehicle, dt, d):
        return UNSOLVED, iterations
    return OK if converged else UNSOLVED, iterations


@inlined
def finish(vehicle, model, q, dt, s, d):
    """q and s.v move on to the end of the step, T (2.85), (2.86); actuator and joint laws remember."""
    for i in range(s.v.size):
        d.acceleration[i] = (d.u[i] - s.v[i]) / dt
        s.v[i] = d.u[i]
    for i in range(d.memory.size):
        d.memory[i] = d.memory_next[i]
    move(q, s.v, dt, q)


@kernel
def halved_step(vehicle, model, ground, drive, t, q, dt, s, d):
    """The step again in 2, 4, … parts where the whole did not do; returns (status, iterations)."""
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
            status, done = accelerate(
                vehicle, model, ground, drive, t, q, dt / parts, False, False, parts == MOST_PARTS, s, d
            )
            iterations += done
            if status != OK:
                break
            finish(vehicle, model, q, dt / parts, s, d)
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
