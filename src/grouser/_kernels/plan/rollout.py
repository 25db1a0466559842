"""Rollouts of body-velocity commands, judged at every step: cost, tip margin, slip, energy, clearance, violations.

The loop is that of all rollouts (`simulation/rollout.py`); what is added stands in its hooks.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import Struct, array, indices, integer, number, record, struct
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch
from grouser._kernels.kinematics.velocity import KinematicModel, centre_of_mass, force_at_centre_of_mass
from grouser._kernels.plan.cost import (
    COMMAND,
    OMEGA,
    OWN_INPUTS,
    PITCH,
    PLACE,
    POWER,
    ROLL,
    SLIP,
    STEP,
    TALLY,
    TIME,
    TIP_MARGIN,
    VELOCITY,
    YAW,
    CostArrays,
    Raster,
    end_cost,
    own_cost,
    raster_at,
    step_cost,
)
from grouser._kernels.plan.cost import to_go as left_to_go
from grouser._kernels.plan.drive import Driving, DrivingScratch, find_rates, follow_command, issue_command
from grouser._kernels.plan.lane_scratch import LaneGround, LaneScratch
from grouser._kernels.plan.tip import tip_margin
from grouser._kernels.rotation import put, vector
from grouser._kernels.scratch import Scratch
from grouser._kernels.simulation.dynamic_rollout import advance_dynamics, clear_dynamics, solve_dynamics
from grouser._kernels.simulation.rollout import Batch, clear_kinematics, rollouts_of, solve_kinematics
from grouser._kernels.simulation.step import OK, euler_step
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser._kernels.vehicles.kinds import rolling_count

TIPPED, KEPT_OUT, STUCK = 32, 33, 34
"""Status of a rollout that a judge ends: tip margin below its limit; in a keep-out or beyond the edge; no progress."""


class Trial(Struct):
    """What a batch of planned rollouts is given besides model and ground, and what is added up of each."""

    wanted = array("n", "steps", 3)  # forward, left [m/s], turn [rad/s] of each step
    white = array("groups", "noisy", 6)  # disturbance of the body velocity (ω, v) in each step, by group
    wander = array("groups", "noisy", 6)  # the part of it that changes slowly
    together = integer()  # rollouts in a group, one after another: those that share a disturbance
    reference = array("n_reference", "n_steps", 3)  # x, y, yaw that rollout n % n_reference is steered to
    feedback = array(3)  # gains on the distance ahead [1/s], to the side [1/m²] and on the heading [1/s]
    by_distance = integer()  # whether white noise is per √(m/s) of speed and what wanders per m/s, else both per second
    tally = record(TALLY, "n")
    corners = indices("corners")  # wheels at the corners of the support polygon, counter-clockwise from above
    mass = number()  # of the vehicle [kg]
    gravity = number()  # [m/s²]
    rolling = number()  # resistance per load
    scrub = number()  # friction of sideways slip, force per load
    idle = number()  # power at rest [W]
    tip_limit = number()  # tip margin [rad] below which a rollout ends
    reach = number()  # distance from the body's origin to keep free of keep-outs and edges [m]
    bounds = array(4)  # xmin, xmax, ymin, ymax of the map [m]
    stuck_slip = number()  # slip above which the wheels turn without moving the vehicle
    stuck_time = number()  # how long until it counts as stuck [s]


class TrialScratch(Struct):
    """Work space of one thread."""

    driving = struct(DrivingScratch)
    centre = array(3)  # of mass, body coordinates [m]
    v_centre = array(3)
    force = array(3)  # per mass there [m/s²]
    x = array(OWN_INPUTS)
    change = array(3)  # of the command in a second
    out = array(1)
    unused = array(1)
    table = integer()  # address of the drive law that reads rates
    rates = integer()  # address of driving.rates


class PlannedKinematics(Struct):
    """A batch of planned kinematic rollouts with the work space of one thread."""

    vehicle = struct(VehicleArrays)
    model = struct(KinematicModel)
    ground = struct(Ground)
    batch = struct(Batch)
    s = struct(Scratch)
    driving = struct(Driving)
    trial = struct(Trial)
    cost = struct(CostArrays)
    keep_out = struct(Raster)
    field = struct(Raster)
    w = struct(TrialScratch)
    lanes = struct(LaneScratch)
    look = struct(LaneGround)


class PlannedDynamics(Struct):
    """The same of dynamic rollouts."""

    vehicle = struct(VehicleArrays)
    model = struct(DynamicModel)
    ground = struct(Ground)
    batch = struct(Batch)
    s = struct(Scratch)
    d = struct(DynamicScratch)
    driving = struct(Driving)
    trial = struct(Trial)
    cost = struct(CostArrays)
    keep_out = struct(Raster)
    field = struct(Raster)
    w = struct(TrialScratch)


@kernel
def drive_step(job, n, k):
    """The rates of step k are put where its drive law reads them."""
    batch = job.batch
    w = job.w.driving
    if k == 0:
        batch.drives[n, 0] = job.w.table
        batch.drives[n, 1] = job.w.rates
        tally = job.trial.tally[n]
        tally.tip_margin = math.pi
        tally.clearance = math.inf
        place(tally, batch.q[n])
    for i in range(3):
        w.aim[i] = job.trial.wanted[n, k, i]
    if job.trial.reference.shape[0] > 0:
        steer_back(job.trial, n, k, w.aim)
    row = issue_command(job.driving, w, w.aim, k, batch.dt)
    for i in range(3):
        job.w.change[i] = (w.queue[row, i] - w.queue[row - 1, i]) / batch.dt
    follow_command(job.driving, w, row)
    find_rates(job.driving, w, batch.q[n])


@kernel
def steer_back(trial, n, k, aim):
    """Feedback of a path follower on the distance from the reference, as a controller that plans again would give.

    aim: forward, left [m/s], turn [rad/s] of the reference, corrected in place (Kanayama et al. 1990).
    """
    tally = trial.tally[n]
    target = trial.reference[n % trial.reference.shape[0], k]
    dx = target[0] - tally.x
    dy = target[1] - tally.y
    c = math.cos(tally.yaw)
    s = math.sin(tally.yaw)
    ahead = c * dx + s * dy
    aside = c * dy - s * dx
    aim[2] += trial.feedback[1] * aim[0] * aside + trial.feedback[2] * math.sin(target[2] - tally.yaw)
    aim[0] += trial.feedback[0] * ahead


@inlined
def place(tally, q):
    """Where the vehicle is now."""
    tally.x = q[4]
    tally.y = q[5]
    tally.yaw = math.atan2(2.0 * (q[1] * q[2] + q[0] * q[3]), 1.0 - 2.0 * (q[2] * q[2] + q[3] * q[3]))


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
def measure(job, n, rim, along):
    """Tip margin, clearance and slip of the present state into the tally; returns tip margin and slip."""
    trial = job.trial
    tally = trial.tally[n]
    w = job.w
    centre_of_mass(job.vehicle, job.s, w.centre)
    force_at_centre_of_mass(job.s, w.centre, trial.gravity, w.v_centre, w.force)
    margin = tip_margin(trial.corners, job.s, w.centre, w.force)
    # Slow wheels have no slip to speak of.
    slip = along / max(rim, 0.05)
    tally.tip_margin = min(tally.tip_margin, margin)
    tally.slip = max(tally.slip, slip)
    tally.free = clearance_at(job, tally.x, tally.y)
    tally.clearance = min(tally.clearance, tally.free)
    speed = speed_of(job.s)
    stalled = rim > 0.05 and (slip > trial.stuck_slip or speed < (1.0 - trial.stuck_slip) * rim)
    turning = abs(job.s.v[2]) > 0.05
    tally.stalled = tally.stalled + job.batch.dt if stalled and not turning else 0.0
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
    x[YAW] = job.trial.tally[n].yaw
    return own_cost(job.cost, x, job.w.out, job.w.unused)


@kernel
def add_step(job, n, k, power, margin, slip):
    """The cost of a step, whose velocity is s.v and power is given, and what it uses."""
    s = job.s
    x = job.w.x
    dt = job.batch.dt
    tally = job.trial.tally[n]
    motion_inputs(job, s, job.batch.q[n], job.w.driving.queue, k, (margin, slip, power), x)
    rate = step_cost(job.cost, tally.free, x, job.w.change)
    if job.cost.own.shape[0] > 0:
        rate += own_rate(job, n, s.R_world_body, x)
    tally.cost += dt * rate
    tally.goal += dt * left_to_go(job.cost, job.field, tally, tally.x, tally.y)
    tally.energy += dt * power
    tally.distance += dt * speed_of(s)


@inlined
def speed_of(s):
    """Of the body's origin [m/s]."""
    return math.sqrt(s.v[3] * s.v[3] + s.v[4] * s.v[4] + s.v[5] * s.v[5])


@inlined
def verdict(job, n):
    """Whether a judge ends the rollout, and why."""
    tally = job.trial.tally[n]
    if tally.tip_margin < job.trial.tip_limit:
        return TIPPED
    if tally.clearance < 0.0:
        return KEPT_OUT
    if tally.stalled >= job.trial.stuck_time:
        return STUCK
    return OK


@kernel
def finish_step(job, n, k, status):
    """The tally after the state has moved; at the end of the rollout the cost of where it ends. Returns the status."""
    tally = job.trial.tally[n]
    place(tally, job.batch.q[n])
    if k == job.batch.steps - 1:
        # Half by where it ends, half by the mean along the way: a detour to the same end costs more.
        duration = job.batch.steps * job.batch.dt
        end = left_to_go(job.cost, job.field, tally, tally.x, tally.y)
        tally.cost += 0.5 * (end + tally.goal / duration) + end_cost(job.cost, tally)
        tally.clearance = min(tally.clearance, clearance_at(job, tally.x, tally.y))
        if status == OK and tally.clearance < 0.0:
            return KEPT_OUT
    return status


@kernel
def solve_planned_kinematics(job, n, k, row):
    """The velocity of a state under the command of the step."""
    drive_step(job, n, k)
    return solve_kinematics(job, n, k, row)


@inlined
def kinematic_power(trial, s, rim, across):
    """Resistance and climbing at the rims, no recuperation, and sideways scrubbing [W]."""
    R = s.R_world_body
    rise = R[2, 0] * s.v[3] + R[2, 1] * s.v[4] + R[2, 2] * s.v[5]
    weight = trial.mass * trial.gravity
    # Force along the way times the speed of the rims, which slip: sin of the slope is rise per way.
    climb = rise / max(speed_of(s), 0.05)
    return max(weight * (trial.rolling * R[2, 2] + climb) * rim, 0.0) + trial.scrub * weight * across + trial.idle


@kernel
def judge_kinematics(job, n, count, k):
    """The step by its velocity."""
    rim, along, across = wheel_motion(job.vehicle, job.s)
    margin, slip = measure(job, n, rim, along)
    add_step(job, n, k, kinematic_power(job.trial, job.s, rim, across), margin, slip)


@kernel
def advance_planned_kinematics(job, n, k, status):
    """The state moves with the velocity and its noise, unless a judge ends the rollout."""
    ended = verdict(job, n)
    if ended != OK:
        return ended, 0, 0
    trial = job.trial
    s = job.s
    if k < trial.white.shape[1]:
        group = n // trial.together
        white = wander = 1.0
        if trial.by_distance:
            wander = wheel_motion(job.vehicle, s)[0]  # distance is what the wheels roll, as in `motion/noise.py`
            white = math.sqrt(wander)
        for i in range(6):
            s.v[i] += white * trial.white[group, k, i] + wander * trial.wander[group, k, i]
    euler_step(job.batch.q[n], job.batch.dt, s)
    return finish_step(job, n, k, status), 0, 0


@kernel
def solve_planned_dynamics(job, n, k, row):
    """The velocity at the end of the step under its command."""
    drive_step(job, n, k)
    return solve_dynamics(job, n, k, -1)


@kernel
def judge_dynamics(job, n, count, k):
    """The step by the velocity it begins with, and the power of its actuators; they do not recuperate."""
    s = job.s
    d = job.d
    rim, along, _ = wheel_motion(job.vehicle, s)
    margin, slip = measure(job, n, rim, along)
    power = job.trial.idle
    for a in range(job.vehicle.actuated.size):
        # an ideal actuator supplies whatever its row of the force balance lacks
        i = 6 + job.vehicle.actuated[a]
        torque = d.residual[i] if job.model.ideal else d.torque[a]
        power += max(torque * 0.5 * (s.v[i] + d.u[i]), 0.0)
    add_step(job, n, k, power, margin, slip)


@kernel
def advance_planned_dynamics(job, n, k, status):
    """State and velocity move on, unless a judge ends the rollout."""
    ended = verdict(job, n)
    if ended != OK:
        return ended, 0, 0
    status, count, halved = advance_dynamics(job, n, k, status)
    return finish_step(job, n, k, status), count, halved


planned_kinematics = rollouts_of(
    "planned_kinematics", clear_kinematics, solve_planned_kinematics, judge_kinematics, advance_planned_kinematics
)
planned_dynamics = rollouts_of(
    "planned_dynamics", clear_dynamics, solve_planned_dynamics, judge_dynamics, advance_planned_dynamics
)
