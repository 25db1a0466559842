"""Planned kinematic rollouts, eight at once: each step of `rollout.py` done in eight lanes.

A lane that ends stops being alive and is left alone. One in which something is not regular (a turn of more than a
radian in a step, a number that is not finite) is marked `AGAIN`, to be rolled out by itself.
"""

import math

import grouser._kernels.lanes  # noqa: F401  # sine, cosine and their inverses of lanes
from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.lanes import LANES, bits, both, lane, lanes_of, only, with_lane
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.plan.cost import (
    CLEARANCE,
    COST,
    LEAST_TIP,
    STALLED,
    SUMS,
    end_cost,
    goal_left,
    raster_at,
    way_left,
)
from grouser._kernels.plan.drive import drive_step
from grouser._kernels.plan.judge import (
    KEPT_OUT,
    STUCK,
    TIPPED,
    add_end,
    add_up,
    edge_distance,
    kinematic_power,
    measure,
    own_rate,
    place,
    start_sums,
    step_rate,
    wheel_motion,
)
from grouser._kernels.plan.lane_contact import find_lane_contacts
from grouser._kernels.plan.lane_velocity import lane_velocity, move_lanes
from grouser._kernels.plan.rollout import steer_back
from grouser._kernels.simulation.rollout import STATUS, TAKEN
from grouser._kernels.simulation.step import OFF_TERRAIN, OK, ROLLED_OVER
from grouser._kernels.vehicles.frames import pose_frames

AGAIN = 63
"""Status of a rollout that lanes cannot do."""


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
            rest = way_left(job.cost, job.field, job.trial.present[first + k], lane(x, k), lane(y, k))
            total = with_lane(total, k, lane(total, k) + rest)
    return total


@kernel
def place_lanes(job, first, last):
    """Where the vehicles are now; lanes left over have no contacts and drift away."""
    s = job.lanes
    one = job.s.q_stage
    for k in range(last - first):
        for i in range(6):
            one[i] = lane(s.q[i], k)
        place(job.trial.present[first + k], one)


@kernel
def aim_lanes(job, first, last, k):
    """The wanted commands of step k, steered back to the reference if there is one."""
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
        job.lanes.driving.aim[i] = lanes_of(job.look.heights, LANES * i)


@kernel
def judge_lanes(job, first, last, k):
    """As `judge_kinematics`: cost, tip margin, slip, energy and clearance of the step."""
    s = job.lanes
    rim, along, across = wheel_motion(job.vehicle, s)
    free = lane_clearance(job, s.q[4], s.q[5])
    margin, slip = measure(job, s, s, s.sums, free, rim, along)
    power = kinematic_power(job.trial, s, rim, across)
    rate = step_rate(job, s, s, s.driving, s.q, k, free, (margin, slip, power))
    if job.cost.own.shape[0] > 0:
        place_lanes(job, first, last)
        for at in range(LANES):
            for i in range(s.inputs.size):
                job.w.inputs[i] = lane(s.inputs[i], at)
            for i in range(3):
                job.s.R_world_body[2, i] = lane(s.R_world_body[2, i], at)
            own = own_rate(job, rollout_of(first, last, at), job.s.R_world_body, job.w.inputs)
            rate = with_lane(rate, at, lane(rate, at) + own)
    add_up(job, s, s.sums, rate, lane_to_go(job, first, last, s.q[4], s.q[5]), power)


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
    for i in range(SUMS):
        job.trial.sums[n, i] = lane(s.sums[i], at)


@kernel
def end_lanes(job, first, alive, which, status, k):
    """The rollouts in these lanes end with a status, if they are alive; returns which are alive after that."""
    found = bits(both(alive, which))
    if found != 0:
        for at in range(LANES):
            if (found >> at) & 1:
                end_lane(job, first + at, at, status, k)
    return only(alive, which)


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
    trial = job.trial
    vehicle = job.vehicle
    aim_lanes(job, first, last, k)
    drive_step(job.driving, s.driving, s.q, k, job.batch.dt)
    pose_frames(vehicle, s.q, s)
    outside = find_lane_contacts(vehicle, job.ground, s, job.look, job.s, alive)
    alive = end_lanes(job, first, alive, outside, OFF_TERRAIN, k)
    alive = end_lanes(job, first, alive, s.R_world_body[2, 2] < job.model.tip_cosine, ROLLED_OVER, k)
    wheel_jacobians(vehicle, s)
    for a in range(vehicle.actuated.size):
        s.v[6 + vehicle.actuated[a]] = s.driving.rates[3 + a]
    lane_velocity(vehicle, job.model, s, job.s, alive)
    judge_lanes(job, first, last, k)
    alive = end_lanes(job, first, alive, s.sums[LEAST_TIP] < trial.tip_limit, TIPPED, k)
    alive = end_lanes(job, first, alive, s.sums[CLEARANCE] < 0.0, KEPT_OUT, k)
    alive = end_lanes(job, first, alive, s.sums[STALLED] >= trial.stuck_time, STUCK, k)
    if k < trial.white.shape[1]:
        disturb_lanes(job, first, last, k)
    regular = move_lanes(s.q, s.v, job.batch.dt)
    return end_lanes(job, first, alive, only(alive, regular), AGAIN, k)


@kernel
def finish_lanes(job, first, last, alive):
    """As `finish_step` after the last step: the cost of where each lane ends."""
    s = job.lanes
    steps = job.batch.steps
    place_lanes(job, first, last)
    left = lane_to_go(job, first, last, s.q[4], s.q[5])
    add_end(job, s.sums, left, lane_clearance(job, s.q[4], s.q[5]))
    found = bits(alive)
    for at in range(LANES):
        if (found >> at) & 1:
            n = first + at
            out = lane(s.sums[CLEARANCE], at) < 0.0
            end_lane(job, n, at, KEPT_OUT if out else OK, steps - 1 if out else steps)
            job.trial.sums[n, COST] += end_cost(job.cost, job.trial.present[n])


@kernel
def eight_rollouts(job, first, last):
    """Rollouts first to last, at most eight, from where they are."""
    s = job.lanes
    q = job.batch.q
    for i in range(s.q.size):
        for at in range(LANES):
            job.look.heights[at] = q[rollout_of(first, last, at), i]
        s.q[i] = lanes_of(job.look.heights, 0)
    start_sums(s.sums)
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
