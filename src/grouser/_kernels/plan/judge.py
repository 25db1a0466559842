"""How a planned motion is judged at every step: cost, tip margin, slip, energy, clearance, violations.

Most of it takes one rollout or eight in lanes: s is the work space of the step, `sums` what is added up.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.lanes import both, either, only, where
from grouser._kernels.kinematics.tipping import edge_lever
from grouser._kernels.kinematics.velocity import centre_of_mass, force_at_centre_of_mass
from grouser._kernels.plan.cost import (
    CLEARANCE,
    COMMAND,
    COST,
    DISTANCE,
    ENERGY,
    LARGEST_SLIP,
    LEAST_TIP,
    OMEGA,
    PITCH,
    PLACE,
    POWER,
    ROLL,
    SLIP,
    STALLED,
    STEP,
    SUMS,
    TIME,
    TIP_MARGIN,
    TO_GO,
    VELOCITY,
    YAW,
    own_cost,
    raster_at,
    step_cost,
)
from grouser._kernels.plan.cost import to_go as left_to_go
from grouser._kernels.rotation import add, dot, put, vector
from grouser._kernels.simulation.step import OK
from grouser._kernels.vehicles.kinds import rolling_count

TIPPED, KEPT_OUT, STUCK = 32, 33, 34
"""Status of a rollout that a judge ends: tip margin below its limit; in a keep-out or beyond the edge; no progress."""


@inlined
def start_sums(sums):
    """Nothing is added up yet."""
    for i in range(SUMS):
        sums[i] = 0.0
    sums[LEAST_TIP] = math.pi
    sums[CLEARANCE] = math.inf


@inlined
def place(present, q):
    """Where the vehicle is now."""
    present.x = q[4]
    present.y = q[5]
    present.yaw = math.atan2(2.0 * (q[1] * q[2] + q[0] * q[3]), 1.0 - 2.0 * (q[2] * q[2] + q[3] * q[3]))


@kernel
def wheel_motion(vehicle, s):
    """Means over the wheels that roll: rim speed, slip velocity along and across, without sign [m/s]."""
    rim = along = across = 0.0
    nw = rolling_count(vehicle)
    for w in range(nw):
        a = b = 0.0
        for i in range(s.v.size):
            a += s.A[3 * w, i] * s.v[i]
            b += s.A[3 * w + 1, i] * s.v[i]
        rim += abs(vehicle.radius[w] * s.v[5 + vehicle.wheel[w]])
        along += abs(a)
        across += abs(b)
    return rim / max(nw, 1), along / max(nw, 1), across / max(nw, 1)


@inlined
def edge_distance(bounds, x, y):
    """Distance from (x, y) to the edge of the map [m]."""
    return min(min(x - bounds[0], bounds[1] - x), min(y - bounds[2], bounds[3] - y))


@inlined
def clearance_at(job, x, y):
    """Distance that is free around (x, y), of keep-outs and the map's edge, beyond the vehicle's own reach [m]."""
    free = edge_distance(job.trial.bounds, x, y)
    if job.keep_out.values.shape[0] > 1:
        free = min(free, raster_at(job.keep_out, x, y))
    return free - job.trial.reach


@kernel
def tip_margin(corners, s, centre, force):
    """Angle [rad] that the force may still turn about an edge of the support polygon before a wheel lifts, T §2.3.

    corners: wheels at the polygon's corners, counter-clockwise from above. centre, force: of the whole vehicle, body
    coordinates. The same angle as `rollover_margin` of `kinematics`, which finds the corners of each state. Angles of
    the edges are compared by a number that grows with them.
    """
    least = 2.0 + 0.0 * centre[0]
    best_y = 0.0 * centre[0]
    best_x = -1.0 + 0.0 * centre[0]
    n = corners.size
    for i in range(n):
        a = vector(s.p_contact[corners[i]], 0)
        edge = add(s.p_contact[corners[(i + 1) % n]], -1.0, a)
        y, x = edge_lever(a, edge, centre, force)
        part = y / max(abs(x) + abs(y), 1e-300)
        grade = where(x < 0.0, math.copysign(2.0, y) - part, part)
        smaller = both(grade < least, dot(edge, edge) > 1e-18)
        least = where(smaller, grade, least)
        best_y = where(smaller, y, best_y)
        best_x = where(smaller, x, best_x)
    return math.atan2(best_y, best_x)


@kernel
def measure(job, s, w, sums, free, rim, along):
    """Tip margin and slip of the present state of s, into the sums with the clearance `free`; returns them.

    w: work space. rim, along: rim speed and slip velocity of `wheel_motion` [m/s].
    """
    trial = job.trial
    centre_of_mass(job.vehicle, s, w.centre)
    force_at_centre_of_mass(s, w.centre, trial.gravity, w.v_centre, w.force)
    margin = tip_margin(trial.corners, s, w.centre, w.force)
    # Slow wheels have no slip to speak of.
    slip = along / max(rim, 0.05)
    sums[LEAST_TIP] = min(sums[LEAST_TIP], margin)
    sums[LARGEST_SLIP] = max(sums[LARGEST_SLIP], slip)
    sums[CLEARANCE] = min(sums[CLEARANCE], free)
    stalled = both(rim > 0.05, either(slip > trial.stuck_slip, speed_of(s) < (1.0 - trial.stuck_slip) * rim))
    turning = abs(s.v[2]) > 0.05
    sums[STALLED] = where(only(stalled, turning), sums[STALLED] + job.batch.dt, 0.0)
    return margin, slip


@inlined
def motion_inputs(job, s, q, queue, k, measured, x):
    """What terms of cost take of step k into x, but for the attitude.

    s has the velocity and `queue` the commands; measured: tip margin, slip and power.
    """
    x[TIME] = k * job.batch.dt
    put(vector(q, 4), x, PLACE)
    put(vector(s.v, 0), x, OMEGA)
    put(vector(s.v, 3), x, VELOCITY)
    x[TIP_MARGIN], x[SLIP], x[POWER] = measured
    put(queue[job.driving.past.shape[0] + k], x, COMMAND)
    x[STEP] = job.batch.dt


@kernel
def own_rate(job, n, R, x):
    """Cost in a second of the user's own terms in rollout n, attitude R; x has all other inputs."""
    x[ROLL] = math.atan2(R[2, 1], R[2, 2])
    x[PITCH] = -math.asin(min(max(R[2, 0], -1.0), 1.0))
    x[YAW] = job.trial.present[n].yaw
    return own_cost(job.cost, x, job.w.out, job.w.unused)


@kernel
def step_rate(job, s, w, driving, q, k, free, measured):
    """Cost in a second of the terms of step k at a state q, without the user's own; see `motion_inputs`."""
    motion_inputs(job, s, q, driving.queue, k, measured, w.inputs)
    return step_cost(job.cost, free, w.inputs, driving.change)


@inlined
def add_up(job, s, sums, rate, left, power):
    """A step with a cost in a second, what is left to go, and a power [W]."""
    dt = job.batch.dt
    sums[COST] += dt * rate
    sums[TO_GO] += dt * left
    sums[ENERGY] += dt * power
    sums[DISTANCE] += dt * speed_of(s)


@kernel
def judge_step(job, n, k, power, rim, along):
    """The step by its velocity s.v and its power [W]; rim, along: of `wheel_motion`."""
    s = job.s
    w = job.w
    sums = job.trial.sums[n]
    present = job.trial.present[n]
    free = clearance_at(job, present.x, present.y)
    margin, slip = measure(job, s, w, sums, free, rim, along)
    rate = step_rate(job, s, w, w.driving, job.batch.q[n], k, free, (margin, slip, power))
    if job.cost.own.shape[0] > 0:
        rate += own_rate(job, n, s.R_world_body, w.inputs)
    add_up(job, s, sums, rate, left_to_go(job.cost, job.field, present, present.x, present.y), power)


@inlined
def speed_of(s):
    """Of the body's origin [m/s]."""
    return math.sqrt(s.v[3] * s.v[3] + s.v[4] * s.v[4] + s.v[5] * s.v[5])


@inlined
def verdict(job, n):
    """Whether a judge ends the rollout, and why."""
    sums = job.trial.sums[n]
    if sums[LEAST_TIP] < job.trial.tip_limit:
        return TIPPED
    if sums[CLEARANCE] < 0.0:
        return KEPT_OUT
    if sums[STALLED] >= job.trial.stuck_time:
        return STUCK
    return OK


@inlined
def add_end(job, sums, left, free):
    """What is left to go where a rollout ends, and the clearance there.

    Half by where it ends, half by the mean along the way: a detour to the same end costs more.
    """
    sums[COST] += 0.5 * (left + sums[TO_GO] / (job.batch.steps * job.batch.dt))
    sums[CLEARANCE] = min(sums[CLEARANCE], free)


@inlined
def kinematic_power(trial, s, rim, across):
    """Resistance and climbing at the rims, no recuperation, and sideways scrubbing [W]."""
    R = s.R_world_body
    rise = R[2, 0] * s.v[3] + R[2, 1] * s.v[4] + R[2, 2] * s.v[5]
    weight = trial.mass * trial.gravity
    # Force along the way times the speed of the rims, which slip: sin of the slope is rise per way.
    climb = rise / max(speed_of(s), 0.05)
    return max(weight * (trial.rolling * R[2, 2] + climb) * rim, 0.0) + trial.scrub * weight * across + trial.idle
