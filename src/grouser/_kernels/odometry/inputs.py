"""Inputs of streaming odometry: faults of a sample, and the values that are used instead."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.odometry import state
from grouser._kernels.odometry.state import LARGEST, LATEST

LATE_MOST = 10  # Late samples in a row after which the clock itself is taken to have been set back
UPRIGHT = 0.02  # Cosine of pitch below which roll and yaw are the same turn: such an attitude cannot be used
UNSEEN_ANGLE = 0.5  # How fast a joint that is not seen may turn, one sigma [rad/s], and how far [rad]


@kernel
def check_time(settings, memory, t):
    """Fault bits of a time stamp; FAULT_TIME alone means that the sample is to be ignored."""
    if memory.started == 0:
        return 0 if abs(t) < LATEST else state.FAULT_TIME
    if not (memory.time < t < LATEST):
        memory.late += 1
        memory.lost = 1
        if memory.late > LATE_MOST and abs(t) < LATEST:
            memory.late = 0
            return state.FAULT_TIME | state.FAULT_CLOCK
        return state.FAULT_TIME
    memory.late = 0
    return state.FAULT_GAP if t - memory.time > settings.gap else 0


@inlined
def check_angle(joint, angle, t):
    """Displacement to use, and a fault bit; the joint remembers it."""
    joint.fault_sigma = 0.0
    if abs(angle) < LARGEST:
        excess = max(angle - joint.above, joint.below - angle)
        angle = min(max(angle, joint.below), joint.above)
        joint.last_angle = angle
        joint.angle_seen = t
        joint.angle_wanted = 1
        if excess > 0.0:
            joint.fault_sigma = excess
            return angle, state.FAULT_STOP
        return angle, 0
    if joint.angle_wanted == 0:
        return joint.last_angle, 0
    unseen = 1.0 if math.isnan(joint.angle_seen) else min(max(t - joint.angle_seen, 0.0), 1.0)
    joint.fault_sigma = UNSEEN_ANGLE * unseen
    return joint.last_angle, state.FAULT_ANGLE


@kernel
def check_joints(store, rates, angles, t, out):
    """Fault bits of rates and angles; displacements into the state, contacts of wheels with an arm below them."""
    faults = 0
    out.rate_joint = out.angle_joint = -1
    for j in range(rates.size):
        joint = store.joints[j]
        if abs(rates[j]) < LARGEST:
            joint.rate_wanted = 1
        elif joint.rate_wanted == 1:
            faults |= state.FAULT_RATE
            out.rate_joint = j if out.rate_joint < 0 else out.rate_joint
        angle, bad = check_angle(joint, angles[j], t)
        if bad != 0:
            faults |= bad
            out.angle_joint = j if out.angle_joint < 0 else out.angle_joint
        if store.settings.planar == 1 and joint.held == 1:
            angle = joint.rest
        store.q[7 + j] = angle
    if store.settings.contacts == state.CONTACTS_BELOW_ARMS:
        for w in range(store.contact.size):
            store.contact[w] = -inner(store.arms[w], store.q[7:])  # an arm that swings nose down has its contact ahead
    return faults


@kernel
def check_attitude(settings, memory, sense, attitude):
    """A fault bit of roll and pitch; those to use into attitude, their sigma into the memory."""
    t = sense.time
    fault = 0
    sigma = settings.attitude_sigma
    ever = memory.attitude_seen != -math.inf
    good = sense.attitude_given == 1 and abs(sense.attitude[0]) < 100.0 and abs(sense.attitude[1]) < 100.0
    if good and abs(math.cos(sense.attitude[1])) > UPRIGHT:
        for i in range(2):
            attitude[i] = sense.attitude[i]
            if ever:  # angles continue past half a turn, so that means of neighbours are between them
                turns = (attitude[i] - memory.attitude[i]) / (2.0 * math.pi)
                attitude[i] -= 2.0 * math.pi * math.floor(turns + 0.5)
        memory.attitude_seen = t
    else:
        # No angle is a fault only after one was given.
        if ever or sense.attitude_given == 1:
            fault = state.FAULT_ATTITUDE
            since = min(t - memory.attitude_seen, 3.0) if ever else 1.0
            sigma = math.hypot(sigma, settings.attitude_drift * since)
        copy(memory.attitude, attitude)
    if settings.planar == 1:
        fill(attitude, 0.0)
        fault = 0
    memory.attitude_sigma = sigma
    return fault


@kernel
def check_lever(settings, memory, work, t):
    """Whether attitude gives how the body turned over its wheels since the last sample, into work.lever.

    Known contact angles give it themselves. With a gyro attitude is as good, and does not drift.
    """
    measured = memory.attitude_seen == t and settings.planar == 0
    turned = measured and memory.levelled == 1 and memory.started == 1
    wanted = settings.pitch_measured == 1 or (work.by_gyro[0] == 1.0 and work.by_gyro[1] == 1.0)
    work.lever = 1 if turned and wanted and settings.contacts_known != 1 else 0
    memory.levelled = 1 if measured else 0


@inlined
def joint_rate(store, j, rate):
    """Rate of joint j to use, NaN where it follows the wheels.

    What slides does not turn, and of a wheel that turns with another it is the other's rate that counts.
    Unmeasured steering that is driven stands, L §4.4.2, as held bogies; passive steering, as Zoë's, follows the wheels.
    """
    if store.vehicle.still[j]:
        return 0.0
    passive = store.joints[j].held == 1
    if passive and store.settings.planar == 1:
        return 0.0
    if abs(rate) < LARGEST:
        return rate
    if passive:
        return 0.0 if store.settings.bogies_held == 1 else math.nan
    return 0.0 if store.joints[j].driven == 1 and store.vehicle.wheel_of_frame[j + 1] < 0 else math.nan


@inlined
def choose_known(store, rates):
    """Entries of the joint-space velocity that are given, and the others, into the model."""
    model = store.model
    planar = store.settings.planar == 1
    nk = nu = 0
    for i in range(store.given.size):
        rate = 0.0
        if i < 6:
            known = planar and (i < 2 or i == 5)  # L §4.3.2: in the plane there is no roll, pitch or rise
        else:
            rate = joint_rate(store, i - 6, rates[i - 6])
            known = abs(rate) < LARGEST
        store.given[i] = rate if known else 0.0
        if known:
            model.known[nk] = i
            nk += 1
        else:
            model.unknown[nu] = i
            nu += 1
    model.counts[0] = nk
    model.counts[1] = nu
