"""One step of the dynamics, in the order it happens, in parts where it does not converge, turns or moves too far."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill
from grouser._kernels.contact.face import HELD, LACK, any_deep, foresee, is_unexplained, keep_faces
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.dynamics.contacts import (
    add_forces,
    carry_back,
    contact_jacobians,
    find_dynamic_contacts,
    record_hull,
)
from grouser._kernels.dynamics.equations import equations_of_motion, integrate
from grouser._kernels.dynamics.newton import solve_step, touches
from grouser._kernels.group import move
from grouser._kernels.law import call_law
from grouser._kernels.simulation.energy import add_work
from grouser._kernels.simulation.step import DIVERGED, OFF_TERRAIN, OK, ROLLED_OVER, UNSOLVED, is_finite
from grouser._kernels.terrain.soils import find_soils
from grouser._kernels.vehicles.frames import pose_frames
from grouser._kernels.vehicles.kinds import rolling_count, turn_along

MOST_PARTS = 32
LARGEST_TURN = 0.25
"""Turn of the body or a link within a step [rad] above which it is halved: forces take Δz + v_z dt, the tangent of a
wheel's way, and a wheel on an arc r ends r turn²/2 deeper."""
FAR = 0.25
"""Way of a wheel within a step above which it is looked for ground that rose before it, as a share of its radius."""


@inlined
def turns_too_far(vehicle, dt, d):
    """Whether the body or a joint turns by more than LARGEST_TURN within the step; a wheel may spin."""
    largest = math.sqrt(d.u[0] * d.u[0] + d.u[1] * d.u[1] + d.u[2] * d.u[2])
    for frame in range(1, vehicle.parent.size):
        if vehicle.joint[frame] < 3 and vehicle.wheel_of_frame[frame] < 0:
            largest = max(largest, abs(d.u[5 + frame]))
    return largest * dt > LARGEST_TURN


@inlined
def moves_far(vehicle, dt, s, d):
    """Whether wheels may move by more than `FAR` radii within the step; a bound from the body's twist."""
    u = d.u
    f = vehicle.wheel[0]
    arm = s.p[f, 0] * s.p[f, 0] + s.p[f, 1] * s.p[f, 1]
    turn = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
    speed = u[3] * u[3] + u[4] * u[4] + u[5] * u[5]
    far = FAR * vehicle.radius[0]
    # (|v| + |ω| r)² ≤ 2 (v² + ω² r²)
    return 2.0 * (speed + arm * turn) * dt * dt > far * far


@kernel
def runs_into(job, n, dt):
    """Whether a wheel is deeper in the ground at the end of the step than its motion explains, or passes through some.

    The frames of the end are posed, the contacts there found.
    """
    vehicle = job.vehicle
    s = job.s
    d = job.d
    for w in range(vehicle.wheel.size):
        copy(s.rims[w, 0], d.centre[w])
    integrate(job.batch.q[n], s.v, d.u, dt, d.lead[0], not touches(d), s.q_stage)
    if not is_finite(s.q_stage):
        return False
    pose_frames(vehicle, s.q_stage, s)
    if not find_contacts(vehicle, job.ground, s):
        return False
    for w in range(rolling_count(vehicle)):
        if d.face[w, HELD] != 0.0:
            continue
        if is_unexplained(vehicle, w, s.height_error[w], d.depth[w] + d.face[w, LACK]) or passes_through(job, w):
            return True
    return False


@kernel
def passes_through(job, w):
    """Whether the ground is above the middle between axle and rim somewhere on the straight way of a wheel's centre."""
    s = job.s
    before = job.d.centre[w]
    after = s.rims[w, 0]
    R = job.vehicle.radius[w]
    way = math.sqrt((after[0] - before[0]) ** 2 + (after[1] - before[1]) ** 2)
    looks = min(int(2.0 * way / R), 64)
    for k in range(1, looks):
        part = k / looks
        for i in range(2):
            s.ground_in[i] = before[i] + part * (after[i] - before[i])
        call_law(job.ground.address, job.ground.par, s.ground_in, s.ground_out, s.unused)
        if s.ground_out[0] > before[2] + part * (after[2] - before[2]) - 0.5 * R:
            return True
    return False


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
    if not find_dynamic_contacts(vehicle, model, job.ground, dt, s):
        return OFF_TERRAIN, 0
    if s.R_world_body[2, 2] < model.tip_cosine:
        return ROLLED_OVER, 0
    if any_deep(vehicle, s, d):
        keep_faces(vehicle, job.ground, lead, s, d)
        for w in range(vehicle.wheel.size):
            if d.face[w, HELD] != 0.0:
                s.height_error[vehicle.wheel.size + w] = math.inf
    contact_jacobians(vehicle, model, s)
    find_soils(job.ground, model.contact.shape[1], s, s.live[0])
    carry_back(model, lead, s)
    for i in range(s.v.size):
        d.v_bias[i] = s.v[i] + 0.5 * dt * d.acceleration[i]
    equations_of_motion(vehicle, model, s.q_stage, d.v_bias, first, s, d)
    converged, iterations = solve_step(vehicle, model, q, s.v, dt, True, s, d)
    turn_along(vehicle, d.u)
    if not is_finite(d.u):
        return DIVERGED, iterations
    if not last and turns_too_far(vehicle, dt, d):
        return UNSOLVED, iterations
    return OK if converged else UNSOLVED, iterations


@inlined
def finish(vehicle, model, q, dt, s, d):
    """q and s.v move on to the end of the step, T (2.85), (2.86); actuator and joint laws remember."""
    foresee(vehicle, dt, d)
    add_work(vehicle, model, q, dt, s, d)
    integrate(q, s.v, d.u, dt, d.lead[0], not touches(d), q)
    for i in range(s.v.size):
        d.acceleration[i] = (d.u[i] - s.v[i]) / dt
        s.v[i] = d.u[i]
    copy(d.memory_next, d.memory)


@inlined
def exchange(now, before, back):
    """What is now is kept as it was before a step, or put back."""
    if back:
        copy(before, now)
    else:
        copy(now, before)


@kernel
def keep(q, s, d, back):
    """All that a step changes is kept, or put `back`."""
    exchange(q, d.q_before, back)
    exchange(s.v, d.v_before, back)
    exchange(d.memory, d.memory_before, back)
    exchange(d.acceleration, d.acceleration_before, back)
    exchange(d.account, d.account_before, back)
    for w in range(d.face.shape[0]):
        exchange(d.face[w], d.face_before[w], back)


@kernel
def halved_step(job, n, row):
    """The step again in 2, 4, … parts where the whole was not solved, with the same command; (status, iterations).

    Means of the forces go to the recorded row, unless it is −1.
    """
    batch = job.batch
    q = batch.q[n]
    dt = batch.dt
    s = job.s
    d = job.d
    begun = d.begun[0]
    keep(q, s, d, False)
    iterations = 0
    parts = 2
    status = UNSOLVED
    while parts <= MOST_PARTS:
        status = OK
        if row >= 0:
            fill(batch.forces[n, row], 0.0)
            fill(batch.torques[n, row], 0.0)
        for _ in range(parts):
            status, done = accelerate(job, n, dt / parts, False, parts == MOST_PARTS)
            iterations += done
            if status != OK:
                break
            if row >= 0:
                add_forces(job, 1.0 / parts, batch.forces[n, row], batch.torques[n, row])
                if job.vehicle.hull_frame.size > 0:
                    record_hull(job.vehicle, job.model, s, d, batch.hull[n, row])
            if parts < MOST_PARTS and moves_far(job.vehicle, dt / parts, s, d) and runs_into(job, n, dt / parts):
                status = UNSOLVED
                break
            finish(job.vehicle, job.model, q, dt / parts, s, d)
        if status == OK:
            return OK, iterations
        keep(q, s, d, True)
        d.begun[0] = begun
        if status in (OFF_TERRAIN, ROLLED_OVER):
            return status, iterations
        parts *= 2
    return status, iterations
