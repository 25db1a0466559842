"""Planned kinematic rollouts, eight at once: each step of `rollout.py` done in eight lanes.

A lane that ends stops being alive and is left alone. One in which something is not regular (a turn of more than a
radian in a step, a number that is not finite) is marked `AGAIN`, to be rolled out by itself.
"""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.lanes import LANES, bits, either, lane, lanes_of, only, where, with_lane
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import centre_of_mass, force_at_centre_of_mass
from grouser._kernels.lanes import arctangent2
from grouser._kernels.plan.cost import end_cost, goal_left, raster_at, step_cost, way_left
from grouser._kernels.plan.lane_contact import find_lane_contacts
from grouser._kernels.plan.lane_drive import lane_command
from grouser._kernels.plan.lane_scratch import (
    CLEARANCE,
    COST,
    DISTANCE,
    ENERGY,
    GOAL,
    SLIP,
    STALLED,
    TIP,
)
from grouser._kernels.plan.lane_velocity import lane_velocity, move_lanes
from grouser._kernels.plan.rollout import (
    KEPT_OUT,
    STUCK,
    TIPPED,
    edge_distance,
    kinematic_power,
    motion_inputs,
    own_rate,
    place,
    speed_of,
    steer_back,
    wheel_motion,
)
from grouser._kernels.rotation import add, cross, dot, vector
from grouser._kernels.simulation.rollout import STATUS, TAKEN
from grouser._kernels.simulation.step import OFF_TERRAIN, OK, ROLLED_OVER
from grouser._kernels.vehicles.frames import pose_frames

AGAIN = 63
"""Status of a rollout that lanes cannot do."""


@inlined
def lane_tip_margin(corners, s):
    """As `tip_margin`: angles of the edges are compared by a number that grows with them."""
    least = 2.0 + 0.0 * s.q[0]
    best_y = 0.0 * s.q[0]
    best_x = -1.0 + 0.0 * s.q[0]
    n = corners.size
    for i in range(n):
        a = vector(s.p_contact[corners[i]], 0)
        edge = add(s.p_contact[corners[(i + 1) % n]], -1.0, a)
        length2 = max(dot(edge, edge), 1e-18)
        arm = add(s.centre, -1.0, a)
        arm = add(arm, -dot(arm, edge) / length2, edge)
        pull = add(s.force, -dot(s.force, edge) / length2, edge)
        y = -dot(cross(arm, pull), edge) / math.sqrt(length2)
        x = -dot(arm, pull)
        part = y / max(abs(x) + abs(y), 1e-300)
        grade = where(x < 0.0, math.copysign(2.0, y) - part, part)
        smaller = grade < least
        least = where(smaller, grade, least)
        best_y = where(smaller, y, best_y)
        best_x = where(smaller, x, best_x)
    return arctangent2(best_y, best_x)


@inlined
def lane_clearance(job, x, y):
    """As `clearance_at`."""
    free = edge_distance(job.trial.bounds, x, y)
    if job.keep_out.values.shape[0] > 1:
        for k in range(LANES):
            free = with_lane(free, k, min(lane(free, k), raster_at(job.keep_out, lane(x, k), lane(y, k))))
    return free - job.trial.reach


@inlined
def rollout_of(first, last, k):
    """The rollout in lane k; lanes that are left over repeat the last."""
    return min(first + k, last - 1)


@inlined
def lane_to_go(job, first, last, x, y):
    """As `to_go`."""
    total = goal_left(job.cost, x, y)
    if job.cost.path.shape[0] > 1 or job.field.values.shape[0] > 1:
        for k in range(last - first):  # not the lanes left over, which would move on in the way of the last rollout
            tally = job.trial.tally[first + k]
            rest = way_left(job.cost, job.field, tally, lane(x, k), lane(y, k))
            total = with_lane(total, k, lane(total, k) + rest)
    return total


@kernel
def place_lanes(job, first, last):
    """Where the vehicles are now, into their tallies; lanes left over have no contacts and drift away."""
    s = job.lanes
    one = job.s.q_stage
    for k in range(last - first):
        for i in range(6):
            one[i] = lane(s.q[i], k)
        place(job.trial.tally[first + k], one)


@kernel
def aim_lanes(job, first, last, k):
    """The wanted commands of step k into s.aim, steered back to the reference if there is one."""
    s = job.lanes
    steered = job.trial.reference.shape[0] > 0
    if steered:
        place_lanes(job, first, last)
    aim = job.w.driving.aim
    for at in range(LANES):
        n = rollout_of(first, last, at)
        for i in range(3):
            aim[i] = job.trial.wanted[n, k, i]
        if steered:
            steer_back(job.trial, n, k, aim)
        for i in range(3):
            job.look.heights[LANES * i + at] = aim[i]
    for i in range(3):
        s.aim[i] = lanes_of(job.look.heights, LANES * i)


@kernel
def judge_lanes(job, first, last, k):
    """As `judge_kinematics`: cost, tip margin, slip, energy and clearance of the step."""
    s = job.lanes
    trial = job.trial
    dt = job.batch.dt
    total = s.total
    rim, along, across = wheel_motion(job.vehicle, s)
    centre_of_mass(job.vehicle, s, s.centre)
    force_at_centre_of_mass(s, s.centre, trial.gravity, s.v_centre, s.force)
    margin = lane_tip_margin(trial.corners, s)
    slip = along / max(rim, 0.05)
    free = lane_clearance(job, s.q[4], s.q[5])
    speed = speed_of(s)
    power = kinematic_power(trial, s, rim, across)
    total[TIP] = min(total[TIP], margin)
    total[SLIP] = max(total[SLIP], slip)
    total[CLEARANCE] = min(total[CLEARANCE], free)
    stalled = where(slip > trial.stuck_slip, 1.0, where(speed < (1.0 - trial.stuck_slip) * rim, 1.0, 0.0))
    stalled = where(rim > 0.05, where(abs(s.v[2]) > 0.05, 0.0, stalled), 0.0)
    total[STALLED] = where(stalled > 0.5, total[STALLED] + dt, 0.0)
    x = s.inputs
    motion_inputs(job, s, s.q, s.queue, k, (margin, slip, power), x)
    rate = step_cost(job.cost, free, x, s.change)
    if job.cost.own.shape[0] > 0:
        place_lanes(job, first, last)
        for at in range(LANES):
            for i in range(x.size):
                job.w.x[i] = lane(x[i], at)
            for i in range(3):
                job.s.R_world_body[2, i] = lane(s.R_world_body[2, i], at)
            own = own_rate(job, rollout_of(first, last, at), job.s.R_world_body, job.w.x)
            rate = with_lane(rate, at, lane(rate, at) + own)
    total[COST] += dt * rate
    total[GOAL] += dt * lane_to_go(job, first, last, s.q[4], s.q[5])
    total[ENERGY] += dt * power
    total[DISTANCE] += dt * speed


@kernel
def end_lane(job, n, at, status, k):
    """Rollout n, in a lane, ends with a status before step k, where it is now."""
    s = job.lanes
    batch = job.batch
    batch.ends[n, STATUS] = status
    if status == AGAIN:
        return
    batch.ends[n, TAKEN] = k
    for i in range(s.q.size):
        batch.q[n, i] = lane(s.q[i], at)
    tally = job.trial.tally[n]
    total = s.total
    tally.cost = lane(total[COST], at)
    tally.tip_margin = lane(total[TIP], at)
    tally.slip = lane(total[SLIP], at)
    tally.energy = lane(total[ENERGY], at)
    tally.distance = lane(total[DISTANCE], at)
    tally.clearance = lane(total[CLEARANCE], at)


@kernel
def end_lanes(job, first, last, which, status, k):
    """The rollouts in these lanes end with a status; returns which lanes."""
    found = bits(which)
    if found != 0:
        for at in range(LANES):
            if (found >> at) & 1:
                end_lane(job, first + at, at, status, k)
    return found


@kernel
def disturb_lanes(job, first, last, k):
    """The noise of step k is added to s.v, as in `advance_planned_kinematics`."""
    trial = job.trial
    s = job.lanes
    white = 1.0 + 0.0 * s.q[0]
    wander = 1.0 + 0.0 * s.q[0]
    if trial.by_distance:
        wander = wheel_motion(job.vehicle, s)[0]
        white = math.sqrt(wander)
    for at in range(LANES):
        group = rollout_of(first, last, at) // trial.together
        for i in range(6):
            noise = lane(white, at) * trial.white[group, k, i] + lane(wander, at) * trial.wander[group, k, i]
            s.v[i] = with_lane(s.v[i], at, lane(s.v[i], at) + noise)


@kernel
def record_lanes(job, first, last, k):
    """The states of all lanes as row k, where states are recorded."""
    states = job.batch.states
    if k < states.shape[1]:
        for n in range(first, last):
            for i in range(states.shape[2]):
                states[n, k, i] = lane(job.lanes.q[i], n - first)


@kernel
def step_lanes(job, first, last, k, alive):
    """Step k of all lanes; returns which are still alive."""
    s = job.lanes
    vehicle = job.vehicle
    aim_lanes(job, first, last, k)
    lane_command(job.driving, s, k, job.batch.dt)
    pose_frames(vehicle, s.q, s)
    outside = find_lane_contacts(vehicle, job.ground, s, job.look, job.s, alive)
    if end_lanes(job, first, last, outside, OFF_TERRAIN, k) != 0:
        alive = only(alive, outside)
    over = only(s.R_world_body[2, 2] < job.model.tip_cosine, only(s.number[0] >= 0.0, alive))
    if end_lanes(job, first, last, over, ROLLED_OVER, k) != 0:
        alive = only(alive, over)
    wheel_jacobians(vehicle, s)
    for a in range(vehicle.actuated.size):
        s.v[6 + vehicle.actuated[a]] = s.rates[a]
    lane_velocity(vehicle, job.model, s, job.s)
    judge_lanes(job, first, last, k)
    alive = judged_lanes(job, first, last, k, alive)
    if k < job.trial.white.shape[1]:
        disturb_lanes(job, first, last, k)
    wild = move_lanes(s.q, s.v, job.batch.dt)
    wild = only(alive, only(alive, wild))
    if end_lanes(job, first, last, wild, AGAIN, k) != 0:
        alive = only(alive, wild)
    return alive


@inlined
def judged_lanes(job, first, last, k, alive):
    """As `verdict`: lanes that a judge ends at step k are no longer alive."""
    total = job.lanes.total
    trial = job.trial
    none = only(job.lanes.number[0] >= 0.0, alive)
    ended = only(total[TIP] < trial.tip_limit, none)
    if end_lanes(job, first, last, ended, TIPPED, k) != 0:
        alive = only(alive, ended)
        none = either(none, ended)
    ended = only(total[CLEARANCE] < 0.0, none)
    if end_lanes(job, first, last, ended, KEPT_OUT, k) != 0:
        alive = only(alive, ended)
        none = either(none, ended)
    ended = only(total[STALLED] >= trial.stuck_time, none)
    if end_lanes(job, first, last, ended, STUCK, k) != 0:
        alive = only(alive, ended)
    return alive


@kernel
def finish_lanes(job, first, last, alive):
    """As `finish_step` after the last step: the cost of where each lane ends."""
    s = job.lanes
    batch = job.batch
    total = s.total
    place_lanes(job, first, last)
    left = lane_to_go(job, first, last, s.q[4], s.q[5])
    total[COST] += 0.5 * (left + total[GOAL] / (batch.steps * batch.dt))
    total[CLEARANCE] = min(total[CLEARANCE], lane_clearance(job, s.q[4], s.q[5]))
    found = bits(alive)
    for at in range(LANES):
        if (found >> at) & 1:
            n = first + at
            status = KEPT_OUT if lane(total[CLEARANCE], at) < 0.0 else OK
            end_lane(job, n, at, status, batch.steps if status == OK else batch.steps - 1)
            job.trial.tally[n].cost += end_cost(job.cost, job.trial.tally[n])


@kernel
def eight_rollouts(job, first, last):
    """Rollouts first to last, at most eight, from where they are."""
    s = job.lanes
    q = job.batch.q
    for i in range(s.q.size):
        for at in range(LANES):
            job.look.heights[at] = q[rollout_of(first, last, at), i]
        s.q[i] = lanes_of(job.look.heights, 0)
    for i in range(s.total.size):
        s.total[i] = 0.0
    s.total[TIP] = math.pi
    s.total[CLEARANCE] = math.inf
    alive = s.number[0] < float(last - first)
    for k in range(job.batch.steps):
        record_lanes(job, first, last, k)
        alive = step_lanes(job, first, last, k, alive)
        if bits(alive) == 0:
            return
    record_lanes(job, first, last, job.batch.steps)
    finish_lanes(job, first, last, alive)


@entry
def planned_lanes(job, first, last):
    """Planned kinematic rollouts first to last, eight at a time."""
    for n in range(first, last, LANES):
        eight_rollouts(job, n, min(n + LANES, last))
