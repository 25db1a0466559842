"""A vehicle whose torus wheels roll on smooth ground: R (16.17), eliminated by hand and integrated by Runge–Kutta."""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.contact.geometry import set_contact
from grouser._kernels.group import correct_slope, move
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.suspension import spring_sag
from grouser._kernels.least_squares import least_squares
from grouser._kernels.null_space import factorise_rows, smallest_solution
from grouser._kernels.rolling.closure import align_contacts, contact_rates, coupling_error, meet_ground, tangent_axes
from grouser._kernels.rotation import dot, times
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.simulation.rollout import copy_row, record_contacts
from grouser._kernels.simulation.step import DIVERGED, OK
from grouser._kernels.vehicles.frames import pose_frames

FASTEST = 1e6
"""Sum of all rates beyond which a vehicle has come to a singular configuration."""


@kernel
def follow_rows(job, q, place, m):
    """Hard rows from m on that lead the platform along a path: its speed, and the rates of the steering joints.

    place: the row of the path where it should be. Without steering joints, the turn rate is the row. Returns their end.
    """
    H, rhs = job.work.hard, job.work.hard_side
    R = job.s.R_world_body
    heading = math.atan2(R[1, 0], R[0, 0])
    c = math.cos(place[2])
    d = math.sin(place[2])
    ahead = c * (place[0] - q[4]) + d * (place[1] - q[5])
    left = c * (q[5] - place[1]) - d * (q[4] - place[0])
    turned = math.atan2(math.sin(heading - place[2]), math.cos(heading - place[2]))
    # e_y' = e_ψ and e_ψ' = κ_c − κ: critically damped over the path length ℓ.
    span = job.path_length
    curvature = place[4] - left / (span * span) - 2.0 * turned / span
    speed = place[3] + job.path_gain * ahead
    H[m] = 0.0
    for j in range(3):
        H[m, 3 + j] = math.cos(heading) * R[0, j] + math.sin(heading) * R[1, j]
    rhs[m] = speed
    m += 1
    for k in range(max(job.steering.shape[0], 1)):
        H[m] = 0.0
        if job.steering.shape[0] == 0:
            for j in range(3):
                H[m, j] = R[2, j] * job.units[j]
            rhs[m] = speed * curvature
        else:
            one = job.steering[k]
            joint = int(one[0])
            wanted = math.atan2(one[1] * curvature, 1.0 - one[2] * curvature)
            H[m, 6 + joint] = job.units[6 + joint]
            rhs[m] = one[3] * (wanted - q[7 + joint])
        m += 1
    return m


@kernel
def hard_rows(job, q, half):
    """The gap along the normal, rigid couplings, and rolling, or the rows that follow a path; returns how many."""
    vehicle, work, units = job.vehicle, job.work, job.units
    H, rhs = work.hard, work.hard_side
    n = job.s.v.size
    follows = job.path.shape[0] > 0
    m = 0
    for w in range(vehicle.wheel.size):
        for j in range(n):
            H[m, j] = work.row[w, 4, j] * units[j]
        rhs[m] = -job.sigma * work.violation[w, 4]
        m += 1
        for k in range(0 if follows else 2):
            for j in range(n):
                H[m, j] = work.row[w, k, j] * units[j]
            rhs[m] = 0.0
            m += 1
    for c in job.rigid:
        size = 0.0
        for j in range(n - 6):
            size = max(size, abs(vehicle.coupling[c, j]))
        H[m] = 0.0
        for j in range(n - 6):
            H[m, 6 + j] = vehicle.coupling[c, j] / size * units[6 + j]
        rhs[m] = -job.sigma * coupling_error(vehicle, c, q) / size
        m += 1
    if follows:
        m = follow_rows(job, q, job.path[min(half, job.path.shape[0] - 1)], m)
    return m


@kernel
def soft_rows(job, half, rank):
    """What is minimised in the null space of the hard rows: joint rates away from the desired ones, and slip if a
    path is followed. Returns how many."""
    work, units = job.work, job.units
    B, b, Q, x = work.soft, work.soft_side, work.Q, work.particular
    n = job.s.v.size
    free = n - rank
    follows = job.path.shape[0] > 0
    desired = job.desired[min(half, job.desired.shape[0] - 1)]
    joint_weight = job.rate_weight if follows else 1.0
    for j in range(n - 6):
        g = joint_weight * job.weights[j] * units[6 + j]
        b[j] = joint_weight * job.weights[j] * (desired[j] + work.pull[j]) - g * x[6 + j]
        for i in range(free):
            B[i, j] = g * Q[6 + j, rank + i]
    soft = n - 6
    for w in range(job.vehicle.wheel.size if follows else 0):
        a, along, c = tangent_axes(work.ground[w, 0], work.ground[w, 1])
        row = work.row[w]
        for k in range(2):
            for i in range(-1, free):
                total = 0.0
                for j in range(n):
                    along_axis = a * row[0, j] if k == 0 else c * (row[1, j] - along * row[0, j])
                    total += along_axis * units[j] * (x[j] if i < 0 else Q[j, rank + i])
                if i < 0:
                    b[soft] = -total
                else:
                    B[i, soft] = total
            soft += 1
    return soft


@kernel
def pose_contacts(job):
    """The contacts just met as kinematics has them, with their Jacobians, into s."""
    vehicle, s, work = job.vehicle, job.s, job.work
    R = s.R_world_body
    for w in range(vehicle.wheel.size):
        rim = s.rims[w]
        rim[1:] = 0.0
        for i in range(3):
            # The rim shrinks to the contact point, so that its angle does not matter.
            rim[0, i] = s.p_world_body[i] + dot(R[i], work.point[w])
        n = work.ground[w, 2]
        set_contact(vehicle, s, w, w, 0.0, 0.0, times(R, n))
        s.height_error[w] = dot(n, work.gap[w])
    wheel_jacobians(vehicle, s)


@kernel
def pull_springs(job, q):
    """Joint rates with which every spring returns to where it carries the weight, C θ̇ = −ρ (c − c₀), into work.pull."""
    vehicle, pull = job.vehicle, job.work.pull
    pose_contacts(job)
    spring_sag(vehicle, job.suspension, job.s, job.s.sag)
    pull[:] = 0.0
    for c in range(vehicle.coupling_value.size):
        if job.suspension.give[c] > 0.0:
            row = vehicle.coupling[c]
            squared = 0.0
            for j in range(pull.size):
                squared += row[j] * row[j]
            rate = -job.returning * (coupling_error(vehicle, c, q) - job.s.sag[c]) / squared
            for j in range(pull.size):
                pull[j] += row[j] * rate


@kernel
def rolling_velocity(job, q, half):
    """Joint-space velocity into s.v; returns the rank of the hard rows.

    Among what the hard rows leave, the joint rates nearest to the desired ones (16.10) with the pull of springs; with a
    path the least slip, with the joint rates weighed by a little.
    """
    work, v = job.work, job.s.v
    n = v.size
    if job.returning > 0.0:
        pull_springs(job, q)
    m = hard_rows(job, q, half)
    rank = factorise_rows(work.hard, work.hard_side, m, n, job.tolerance, work.Q)
    smallest_solution(work.hard, work.hard_side, m, rank, work.Q, work.N, work.inner, work.particular)
    soft = soft_rows(job, half, rank)
    free = n - rank
    least_squares(work.soft, work.soft_side, soft, free, work.N, work.free, work.wide, work.pivot)
    for j in range(n):
        total = work.particular[j]
        for i in range(free):
            total += work.Q[j, rank + i] * work.free[i]
        v[j] = job.units[j] * total
    return rank


@kernel
def evaluate(job, q, half):
    """Velocity of an extended state into work.velocity, `half` half steps from the start; status, rank and ‖C‖."""
    pose_frames(job.vehicle, q, job.s)
    status, squared = meet_ground(job, q)
    if status != OK:
        return status, 0, 0.0
    rank = rolling_velocity(job, q, half)
    contact_rates(job)
    total = 0.0
    for rate in job.work.velocity:
        total += abs(rate)
    return OK if total < FASTEST else DIVERGED, rank, math.sqrt(squared)


@kernel
def record(job, q, rank, norm, row):
    """The state just evaluated, into a row."""
    vehicle, s, work = job.vehicle, job.s, job.work
    copy_row(q, job.states, row)
    copy_row(work.velocity, job.velocities, row)
    job.closure[row] = norm
    job.rank[row] = rank
    pose_contacts(job)
    record_contacts(vehicle, s, job.contacts[row])


@entry
def roll_vehicle(job):
    """Integrate job.state over the steps of a job; returns the status, the steps done and the rows recorded.

    Every `every`-th step and the last are recorded.
    """
    q, work, k = job.state, job.work, job.work.slopes
    clear_scratch(job.vehicle, job.s)
    row = 0
    for step in range(job.steps + 1):
        status, rank, norm = evaluate(job, q, 2 * step)
        if status != OK:
            return status, step, row
        if step % job.every == 0 or step == job.steps:
            record(job, q, rank, norm, row)
            row += 1
        if step == job.steps:
            break
        for i in range(k.shape[1]):
            k[0, i] = work.velocity[i]
        for stage in range(1, 4):
            h = job.dt if stage == 3 else 0.5 * job.dt
            move(q, k[stage - 1], h, work.stage)
            status, _, _ = evaluate(job, work.stage, 2 * step + (stage + 1) // 2)
            if status != OK:
                return status, step, row
            correct_slope(k[stage - 1], h, work.velocity, k[stage], job.s.twists)
        for i in range(k.shape[1]):
            work.velocity[i] = (k[0, i] + 2.0 * (k[1, i] + k[2, i]) + k[3, i]) / 6.0
        move(q, work.velocity, job.dt, q)
        if job.realign:
            pose_frames(job.vehicle, q, job.s)
            align_contacts(job, q)
    return OK, job.steps, row
