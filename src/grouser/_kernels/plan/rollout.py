"""Rollouts of body-velocity commands, judged at every step: cost, tip margin, slip, energy, clearance, violations.

The loop is that of all rollouts (`simulation/rollout.py`); what is added stands in its hooks.
"""

import math

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, array, indices, integer, number, record, struct
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch
from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.plan.cost import CLEARANCE, COST, OWN_INPUTS, PRESENT, SUMS, CostArrays, Raster, end_cost
from grouser._kernels.plan.cost import to_go as left_to_go
from grouser._kernels.plan.drive import Driving, DrivingScratch, drive_step
from grouser._kernels.plan.judge import (
    KEPT_OUT,
    add_end,
    clearance_at,
    judge_step,
    kinematic_power,
    place,
    start_sums,
    verdict,
    wheel_motion,
)
from grouser._kernels.plan.lane_scratch import LaneGround, LaneScratch
from grouser._kernels.scratch import Scratch
from grouser._kernels.simulation.dynamic_rollout import advance_dynamics, clear_dynamics, solve_dynamics
from grouser._kernels.simulation.rollout import Batch, clear_kinematics, rollouts_of, solve_kinematics
from grouser._kernels.simulation.step import OK, euler_step
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays


class Trial(Struct):
    """What a batch of planned rollouts is given besides model and ground, and what is added up of each."""

    wanted = array("n", "steps", 3)  # forward, left [m/s], turn [rad/s] of each step
    white = array("groups", "noisy", 6)  # disturbance of the body velocity (ω, v) in each step, by group
    wander = array("groups", "noisy", 6)  # the part of it that changes slowly
    together = integer()  # rollouts in a group, one after another: those that share a disturbance
    reference = array("n_reference", "n_steps", 3)  # x, y, yaw that rollout n % n_reference is steered to
    feedback = array(3)  # gains on the distance ahead [1/s], to the side [1/m²] and on the heading [1/s]
    by_distance = integer()  # whether white noise is per √(m/s) of speed and what wanders per m/s, else both per second
    sums = array("n", SUMS)
    present = record(PRESENT, "n")
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
    inputs = array(OWN_INPUTS)
    out = array(1)
    unused = array(1)
    table = integer()  # address of the drive law that reads rates
    rates = integer()  # address of driving.rates


_SHARED = {
    "vehicle": struct(VehicleArrays),
    "ground": struct(Ground),
    "batch": struct(Batch),
    "s": struct(Scratch),
    "driving": struct(Driving),
    "trial": struct(Trial),
    "cost": struct(CostArrays),
    "keep_out": struct(Raster),
    "field": struct(Raster),
    "w": struct(TrialScratch),
}
PlannedKinematics = type(
    "PlannedKinematics",
    (Struct,),
    {**_SHARED, "model": struct(KinematicModel), "lanes": struct(LaneScratch), "look": struct(LaneGround)},
)
"""A batch of planned kinematic rollouts with the work space of one thread."""
PlannedDynamics = type(
    "PlannedDynamics", (Struct,), {**_SHARED, "model": struct(DynamicModel), "d": struct(DynamicScratch)}
)
"""The same of dynamic rollouts."""


@kernel
def start_step(job, n, k):
    """The rates of step k are put where its drive law reads them."""
    batch = job.batch
    w = job.w.driving
    if k == 0:
        batch.drives[n, 0] = job.w.table
        batch.drives[n, 1] = job.w.rates
        start_sums(job.trial.sums[n])
        place(job.trial.present[n], batch.q[n])
    for i in range(3):
        w.aim[i] = job.trial.wanted[n, k, i]
    if job.trial.reference.shape[0] > 0:
        steer_back(job.trial, n, k, w.aim)
    drive_step(job.driving, w, batch.q[n], k, batch.dt)


@kernel
def steer_back(trial, n, k, aim):
    """Feedback of a path follower on the distance from the reference, as a controller that plans again would give.

    aim: forward, left [m/s], turn [rad/s] of the reference, corrected in place (Kanayama et al. 1990).
    """
    present = trial.present[n]
    target = trial.reference[n % trial.reference.shape[0], k]
    dx = target[0] - present.x
    dy = target[1] - present.y
    c = math.cos(present.yaw)
    s = math.sin(present.yaw)
    ahead = c * dx + s * dy
    aside = c * dy - s * dx
    aim[2] += trial.feedback[1] * aim[0] * aside + trial.feedback[2] * math.sin(target[2] - present.yaw)
    aim[0] += trial.feedback[0] * ahead


@kernel
def finish_step(job, n, k, status):
    """After the state has moved: where it is, and at the end of the rollout the cost of that. Returns the status."""
    sums = job.trial.sums[n]
    present = job.trial.present[n]
    place(present, job.batch.q[n])
    if k == job.batch.steps - 1:
        left = left_to_go(job.cost, job.field, present, present.x, present.y)
        add_end(job, sums, left, clearance_at(job, present.x, present.y))
        sums[COST] += end_cost(job.cost, present)
        if status == OK and sums[CLEARANCE] < 0.0:
            return KEPT_OUT
    return status


@kernel
def solve_planned_kinematics(job, n, k, row):
    """The velocity of a state under the command of the step."""
    start_step(job, n, k)
    return solve_kinematics(job, n, k, row)


@kernel
def judge_kinematics(job, n, count, k):
    """The step by its velocity."""
    rim, along, across = wheel_motion(job.vehicle, job.s)
    judge_step(job, n, k, kinematic_power(job.trial, job.s, rim, across), rim, along)


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
    start_step(job, n, k)
    return solve_dynamics(job, n, k, -1)


@kernel
def judge_dynamics(job, n, count, k):
    """The step by the velocity it begins with, and the power of its actuators; they do not recuperate."""
    s = job.s
    d = job.d
    rim, along, _ = wheel_motion(job.vehicle, s)
    power = job.trial.idle
    for a in range(job.vehicle.actuated.size):
        # an ideal actuator supplies whatever its row of the force balance lacks
        i = 6 + job.vehicle.actuated[a]
        torque = d.residual[i] if job.model.ideal else d.torque[a]
        power += max(torque * 0.5 * (s.v[i] + d.u[i]), 0.0)
    judge_step(job, n, k, power, rim, along)


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
