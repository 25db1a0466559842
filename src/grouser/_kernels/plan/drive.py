"""From a wanted body velocity to the rates of the actuated joints: limits, delay and lag, steering."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import Struct, array, number, struct
from grouser._kernels.kinematics.steering import SteeringPlan, plan_motion


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
    acted = array(3)  # what the powertrain does, as a command
    twist = array(3)  # its mean over the step
    segment = array("na", 5)  # rate, gain, joint, target and limit of each actuated joint
    joints = array("nj")
    R = array("nf", 3, 3)
    p = array("nf", 3)
    present = array("ns")
    most = array("ns")


@inlined
def limit_command(driving, wanted, before, dt, command):
    """command ← the wanted one within limits, reached from the one before at most as fast as the vehicle can."""
    for i in range(3):
        step = driving.change[i] * dt
        low = max(driving.least[i], before[i] - step)
        high = min(driving.most[i], before[i] + step)
        if low > high:  # the command before is out of bounds: return towards them
            low = high = min(max(before[i], driving.least[i]), driving.most[i])
            low = high = min(max(low, before[i] - step), before[i] + step)
        command[i] = min(max(wanted[i], low), high)
    if driving.curvature < math.inf:
        turn = driving.curvature * math.sqrt(command[0] * command[0] + command[1] * command[1])
        command[2] = min(max(command[2], -turn), turn)


@kernel
def issue_command(driving, w, wanted, k, dt):
    """The command of step k into w.queue, after its limits; returns its row."""
    past = driving.past.shape[0]
    if k == 0:
        for r in range(past):
            for i in range(3):
                w.queue[r, i] = driving.past[r, i]
        for i in range(3):
            w.acted[i] = driving.moving[i]
    limit_command(driving, wanted, w.queue[past + k - 1], dt, w.queue[past + k])
    return past + k


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
    plan_motion(driving.steering, w.twist, w.present, w.most, w.joints, w.R, w.p, w.segment)
    for a in range(w.segment.shape[0]):
        row = w.segment[a]
        rate = row[0]
        if row[1] != 0.0:
            feedback = row[1] * (row[3] - q[7 + math.floor(row[2])])
            rate += min(max(feedback, -row[4]), row[4])
        w.rates[3 + a] = rate
