"""From a wanted body velocity to the rates of the actuated joints: limits, delay and lag, steering."""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.lanes import where
from grouser._compile.struct import Struct, array, lanes, number, struct
from grouser._kernels.kinematics.steering import SteeringPlan, angle_feedback, find_level_angles, wheel_rate


class Driving(Struct):
    """What turns commands (forward, left [m/s], turn [rad/s]) into joint rates; shared by all rollouts of a batch."""

    steering = struct(SteeringPlan)
    least = array(3)  # smallest command of each kind
    most = array(3)  # largest
    change = array(3)  # largest change in a second
    curvature = number()  # |turn| ≤ curvature |forward, left|; infinite for vehicles that turn on the spot
    gain = number()  # of the powertrain: rate per command
    delay = number()  # of the powertrain, in steps
    left_early = number()  # share of the difference from a command left when that of a step begins to act, within it
    left_late = number()  # share of the difference from that one left at the end of the step
    lag = number()  # time constant, in steps
    past = array("past", 3)  # commands issued before the start, the last one last; at least one row
    moving = array(3)  # what the powertrain does at the start, as a command


class DrivingScratch(Struct):
    """Work space of one thread."""

    rates = array("table")  # (1, actuators, 1, rate of each), as the drive law `table` reads them
    queue = array("queue", 3)  # commands issued, those before the start first
    aim = array(3)  # the command that is wanted
    change = array(3)  # of the command in a second
    acted = array(3)  # what the powertrain does, as a command
    twist = array(3)  # its mean over the step
    joints = array("nj")
    R = array("nf", 3, 3)
    p = array("nf", 3)
    present = array("ns")
    most = array("ns")


LaneDriving = type("LaneDriving", (Struct,), {name: lanes(*one.shape) for name, one in DrivingScratch._fields.items()})
"""The same of eight rollouts."""


@inlined
def limit_command(driving, wanted, before, dt, command):
    """command ← the wanted one within limits, reached from the one before at most as fast as the vehicle can."""
    for i in range(3):
        step = driving.change[i] * dt
        low = max(driving.least[i], before[i] - step)
        high = min(driving.most[i], before[i] + step)
        back = min(max(before[i], driving.least[i]), driving.most[i])
        back = min(max(back, before[i] - step), before[i] + step)
        apart = low > high  # the command before is out of bounds: return towards them
        command[i] = min(max(wanted[i], where(apart, back, low)), where(apart, back, high))
    if driving.curvature < math.inf:
        turn = driving.curvature * math.sqrt(command[0] * command[0] + command[1] * command[1])
        command[2] = min(max(command[2], -turn), turn)


@kernel
def issue_command(driving, w, k, dt):
    """The command of step k from w.aim, after its limits, into w.queue; returns its row."""
    past = driving.past.shape[0]
    if k == 0:
        for i in range(3):
            w.acted[i] = driving.moving[i]
            for r in range(past):
                w.queue[r, i] = driving.past[r, i]
    row = past + k
    limit_command(driving, w.aim, w.queue[row - 1], dt, w.queue[row])
    for i in range(3):
        w.change[i] = (w.queue[row, i] - w.queue[row - 1, i]) / dt
    return row


@kernel
def follow_command(driving, w, row):
    """Mean of what the powertrain does over the step into w.twist: delayed, then a first-order lag, P §5.

    The delay may be a part of a step: two commands act in it then, one after the other. Exact: of
    acted′ = (target − acted)/lag the mean is mean target − lag Δacted.
    """
    whole = math.floor(driving.delay)
    part = driving.delay - whole
    late = max(row - whole, 0)
    later = max(row - whole - 1, 0)
    for i in range(3):
        early = driving.gain * w.queue[later, i]
        target = driving.gain * w.queue[late, i]
        between = early + driving.left_early * (w.acted[i] - early)
        end = target + driving.left_late * (between - target)
        w.twist[i] = (1.0 - part) * target + part * early - driving.lag * (end - w.acted[i])
        w.acted[i] = end


@kernel
def find_rates(driving, w, q):
    """Rates of the actuated joints for w.twist at the joints of a state, into w.rates."""
    plan = driving.steering
    find_level_angles(plan, w.twist, w.present, w.most, w.joints, w.R, w.p)
    for a in range(plan.driven.size):
        w.rates[3 + a] = wheel_rate(plan, w.twist, a, w.R, w.p)
        if plan.steered[a] >= 0:
            gain, target, limit = angle_feedback(plan, a, w.joints, w.R, w.p)
            w.rates[3 + a] += min(max(gain * (target - q[6 + plan.steered[a]]), -limit), limit)


@kernel
def drive_step(driving, w, q, k, dt):
    """The rates of step k into w.rates: w.aim is issued within limits, delayed, lagged and steered at a state."""
    row = issue_command(driving, w, k, dt)
    follow_command(driving, w, row)
    find_rates(driving, w, q)


@entry
def issue_one(driving, w, dt):
    """The command after `driving.past`, from w.aim, into w.queue, and what the powertrain makes of it; its row."""
    row = issue_command(driving, w, 0, dt)
    follow_command(driving, w, row)
    return row
