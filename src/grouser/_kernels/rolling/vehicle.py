"""A vehicle whose torus wheels roll on smooth ground: R (16.17), eliminated by hand and integrated by Runge–Kutta.

State: q as everywhere, and for each wheel its contact coordinates (u, v, x, y).
"""

import math

import numpy as np

from grouser._compile.jit import allocating, entry, kernel
from grouser._kernels.group import correct_slope, move
from grouser._kernels.least_squares import least_squares
from grouser._kernels.null_space import factorise_rows, smallest_solution
from grouser._kernels.rolling.closure import (
    align_contacts,
    contact_rates,
    make_room,
    make_touch,
    meet_ground,
    slip_velocity,
    tangent_axes,
)
from grouser._kernels.rolling.contact import DIVERGED, OK
from grouser._kernels.vehicles.frames import pose_frames

# Entries of `settings`.
SIGMA = 0
TOLERANCE = 1
RATE_WEIGHT = 2
PATH_GAIN = 3
PATH_LENGTH = 4
REALIGN = 5


@allocating
def make_solver(nv, hard, soft):
    """Work space of `rolling_velocity` for nv velocities: hard rows and right side, Q, soft columns and right side."""
    return (
        np.zeros((hard, nv)),
        np.zeros(hard),
        np.zeros((nv, nv)),
        np.zeros((nv, soft)),
        np.zeros(soft),
        np.zeros((nv, nv)),
        np.zeros((4, max(hard, soft, nv))),
        np.zeros(nv, np.int64),
        np.zeros((3, nv)),
    )


@kernel
def follow_rows(settings, q, path, steering, units, s, H, rhs, m, n):
    """Rows that lead the platform along a path: its speed, and the rates of the steering joints; returns their end.

    path = (x, y, heading, speed, curvature) of the point it should be at; `steering` has a row (joint, x, y, gain) for
    each joint, x and y of its axis from the point that is led. Without steering joints, the turn rate is the row.
    """
    R = s.R_world_body
    heading = math.atan2(R[1, 0], R[0, 0])
    c = math.cos(path[2])
    d = math.sin(path[2])
    ahead = c * (path[0] - q[4]) + d * (path[1] - q[5])
    left = c * (q[5] - path[1]) - d * (q[4] - path[0])
    turned = math.atan2(math.sin(heading - path[2]), math.cos(heading - path[2]))
    # e_y' = e_ψ and e_ψ' = κ_c − κ: critically damped over the path length ℓ.
    span = settings[PATH_LENGTH]
    curvature = path[4] - left / (span * span) - 2.0 * turned / span
    speed = path[3] + settings[PATH_GAIN] * ahead
    for j in range(n):
        H[m, j] = 0.0
    for j in range(3):
        H[m, 3 + j] = math.cos(heading) * R[0, j] + math.sin(heading) * R[1, j]
    rhs[m] = speed
    m += 1
    for k in range(max(steering.shape[0], 1)):
        for j in range(n):
            H[m, j] = 0.0
        if steering.shape[0] == 0:
            for j in range(3):
                H[m, j] = R[2, j] * units[j]
            rhs[m] = speed * curvature
        else:
            joint = int(steering[k, 0])
            wanted = math.atan2(steering[k, 1] * curvature, 1.0 - steering[k, 2] * curvature)
            H[m, 6 + joint] = units[6 + joint]
            rhs[m] = steering[k, 3] * (wanted - q[7 + joint])
        m += 1
    return m


@kernel
def rolling_velocity(vehicle, settings, q, desired, weights, units, path, steering, s, touch, solver):
    """Joint-space velocity into s.v; returns the rank of the hard rows.

    Hard rows: the gap along the normal, the couplings, and rolling; among what they leave, the joint rates nearest to
    the desired ones (16.10). With a path instead, the rows that follow it are hard, and slip is what is made small,
    with the joint rates weighed by a little.
    """
    frame, row, violation, _, _ = touch
    H, rhs, Q, B, b, N, wide, pivot, vectors = solver
    sigma = settings[SIGMA]
    nw = vehicle.wheel.size
    nc = vehicle.coupling_value.size
    n = s.v.size
    follows = path.size > 0
    m = 0
    for w in range(nw):
        for j in range(n):
            H[m, j] = row[w, 4, j] * units[j]
        rhs[m] = -sigma * violation[w, 4]
        m += 1
        for k in range(0 if follows else 2):
            for j in range(n):
                H[m, j] = row[w, k, j] * units[j]
            rhs[m] = 0.0
            m += 1
    for c in range(nc):
        size = 0.0
        miss = -vehicle.coupling_value[c]
        for j in range(n - 6):
            size = max(size, abs(vehicle.coupling[c, j]))
            miss += vehicle.coupling[c, j] * q[7 + j]
        for j in range(6):
            H[m, j] = 0.0
        for j in range(n - 6):
            H[m, 6 + j] = vehicle.coupling[c, j] / size * units[6 + j]
        rhs[m] = -sigma * miss / size
        m += 1
    if follows:
        m = follow_rows(settings, q, path, steering, units, s, H, rhs, m, n)
    rank = factorise_rows(H, rhs, m, n, settings[TOLERANCE], Q)
    x = vectors[0]
    smallest_solution(H, rhs, m, n, rank, Q, N, vectors[1], x)
    free = n - rank
    joint_weight = settings[RATE_WEIGHT] if follows else 1.0
    for j in range(n - 6):
        g = joint_weight * weights[j] * units[6 + j]
        b[j] = joint_weight * weights[j] * desired[j] - g * x[6 + j]
        for i in range(free):
            B[i, j] = g * Q[6 + j, rank + i]
    soft = n - 6
    if follows:
        for w in range(nw):
            a, along, c = tangent_axes(frame[w, 0], frame[w, 1])
            for k in range(2):
                for i in range(-1, free):
                    total = 0.0
                    for j in range(n):
                        along_axis = a * row[w, 0, j] if k == 0 else c * (row[w, 1, j] - along * row[w, 0, j])
                        total += along_axis * units[j] * (x[j] if i < 0 else Q[j, rank + i])
                    if i < 0:
                        b[soft] = -total
                    else:
                        B[i, soft] = total
                soft += 1
    z = vectors[2]
    least_squares(B, b, soft, free, N, z, wide, pivot)
    for j in range(n):
        total = x[j]
        for i in range(free):
            total += Q[j, rank + i] * z[i]
        s.v[j] = units[j] * total
    return rank


@kernel
def evaluate(
    vehicle, address, par, settings, q, contact, desired, weights, units, path, steering, s, touch, room, solver
):
    """Velocity and contact rates of a state; returns status, rank and ‖C‖."""
    pose_frames(vehicle, q, s)
    status, squared = meet_ground(vehicle, address, par, q, contact, s, touch, room)
    if status != OK:
        return status, 0, 0.0
    rank = rolling_velocity(vehicle, settings, q, desired, weights, units, path, steering, s, touch, solver)
    contact_rates(settings[SIGMA], s, touch)
    total = 0.0
    for j in range(s.v.size):
        total += abs(s.v[j])
    for w in range(vehicle.wheel.size):
        for i in range(4):
            total += abs(touch[4][w, i])
    return OK if total < 1e6 else DIVERGED, rank, math.sqrt(squared)


@entry
def roll_vehicle(
    vehicle, address, par, settings, q, contact, desired, weights, units, path, steering, dt, steps, every, out_q,
    out_contact, out_v, out_rate, out_slip, out_closure, out_rank, s,
):  # fmt: skip
    """Integrate q and contact, in place, over `steps` of dt; returns the status, the steps done and the rows recorded.

    `desired` (1 or 2 steps + 1, nj) and `path` (0 or 2 steps + 1, 5) hold their values at every half step. With 0 steps
    one row is recorded.
    """
    nw = vehicle.wheel.size
    nv = q.size - 1
    hard = 3 * nw + vehicle.coupling_value.size + 2 + steering.shape[0]
    touch = make_touch(nw, nv)
    room = make_room(nv)
    solver = make_solver(nv, hard, nv - 6 + 2 * nw)
    rate = touch[4]
    k = s.stage
    k_contact = np.zeros((4, nw, 4))
    contact_stage = np.zeros((nw, 4))
    constant = desired.shape[0] == 1
    follows = path.shape[0] > 0
    row = 0
    for step in range(steps + 1):
        for stage in range(4):
            half = 2 * step + (0 if stage == 0 else 1 if stage < 3 else 2)
            wanted = desired[0 if constant else min(half, desired.shape[0] - 1)]
            place = path[min(half, path.shape[0] - 1)] if follows else wanted[:0]
            if stage == 0:
                status, rank, norm = evaluate(
                    vehicle, address, par, settings, q, contact, wanted, weights, units, place, steering, s, touch,
                    room, solver,
                )  # fmt: skip
                if status == OK and (step % every == 0 or step == steps):
                    for i in range(nv + 1):
                        out_q[row, i] = q[i]
                    for i in range(nv):
                        out_v[row, i] = s.v[i]
                    for w in range(nw):
                        slip_velocity(w, s, touch, out_slip[row, w])
                        for i in range(4):
                            out_contact[row, w, i] = contact[w, i]
                            out_rate[row, w, i] = rate[w, i]
                    out_closure[row] = norm
                    out_rank[row] = rank
                    row += 1
                if status == OK and step == steps:
                    return OK, step, row
                for i in range(nv):
                    k[0, i] = s.v[i]
            else:
                h = dt if stage == 3 else 0.5 * dt
                move(q, k[stage - 1], h, s.q_stage)
                for w in range(nw):
                    for i in range(4):
                        contact_stage[w, i] = contact[w, i] + h * k_contact[stage - 1, w, i]
                status, rank, norm = evaluate(
                    vehicle, address, par, settings, s.q_stage, contact_stage, wanted, weights, units, place, steering,
                    s, touch, room, solver,
                )  # fmt: skip
                correct_slope(k[stage - 1], h, s.v, k[stage], s.twists)
            if status != OK:
                return status, step, row
            for w in range(nw):
                for i in range(4):
                    k_contact[stage, w, i] = rate[w, i]
        for i in range(nv):
            s.v[i] = (k[0, i] + 2.0 * (k[1, i] + k[2, i]) + k[3, i]) / 6.0
        move(q, s.v, dt, q)
        for w in range(nw):
            for i in range(4):
                total = k_contact[0, w, i] + 2.0 * (k_contact[1, w, i] + k_contact[2, w, i]) + k_contact[3, w, i]
                contact[w, i] += dt * total / 6.0
        if settings[REALIGN] > 0.0:
            pose_frames(vehicle, q, s)
            align_contacts(vehicle, address, par, q, contact, s, touch, room)
    return OK, steps, row
