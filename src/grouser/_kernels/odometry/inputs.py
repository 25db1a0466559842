"""Inputs of streaming odometry: what is wrong with a sample, and what is used instead."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.odometry import slots

LARGEST = 1e9
"""Rates and angles are smaller. NaN and infinity are not: isfinite(x) would be folded away by the compiler's flags."""
UPRIGHT = 0.02
"""Cosine of pitch below which roll and yaw are the same turn: such an attitude tells nothing."""
UNSEEN_ANGLE = 0.5
"""How fast a joint that is not seen may turn, one sigma [rad/s], and how far [rad]."""


@kernel
def check_time(settings, memory, t):
    """Fault bits of a time stamp; slots.FAULT_TIME alone means that the sample is to be ignored."""
    if memory[slots.M_STARTED] == 0.0:
        return 0 if abs(t) < slots.LATEST else slots.FAULT_TIME
    if not (memory[slots.M_TIME] < t < slots.LATEST):
        memory[slots.LATE] += 1.0
        memory[slots.M_LOST] = 1.0
        if memory[slots.LATE] > slots.LATE_MOST and abs(t) < slots.LATEST:
            memory[slots.LATE] = 0.0
            return slots.FAULT_TIME | slots.FAULT_CLOCK
        return slots.FAULT_TIME
    memory[slots.LATE] = 0.0
    return slots.FAULT_GAP if t - memory[slots.M_TIME] > settings[slots.GAP] else 0


@kernel
def check_inputs(settings, memory, joints, rates, angles, attitude, t, q, out):
    """Fault bits of rates, angles and attitude; displacements into q, the attitude to use into attitude."""
    faults = 0
    out[slots.O_RATE_JOINT] = -1.0
    out[slots.O_ANGLE_JOINT] = -1.0
    for j in range(rates.size):
        if abs(rates[j]) < LARGEST:
            joints[j, slots.RATE_WANTED] = 1.0
        elif joints[j, slots.RATE_WANTED] > 0.0:
            faults |= slots.FAULT_RATE
            if out[slots.O_RATE_JOINT] < 0.0:
                out[slots.O_RATE_JOINT] = j
        angle = angles[j]
        joints[j, slots.ANGLE_SIGMA + 1] = 0.0
        bad = 0
        if abs(angle) < LARGEST:
            excess = max(angle - joints[j, slots.ABOVE], joints[j, slots.BELOW] - angle)
            if excess > 0.0:
                angle = min(max(angle, joints[j, slots.BELOW]), joints[j, slots.ABOVE])
                joints[j, slots.ANGLE_SIGMA + 1] = excess
                bad = slots.FAULT_ANGLE
            joints[j, slots.LAST_ANGLE] = angle
            joints[j, slots.ANGLE_SEEN] = t
            joints[j, slots.ANGLE_WANTED] = 1.0
        else:
            angle = joints[j, slots.LAST_ANGLE]
            if joints[j, slots.ANGLE_WANTED] > 0.0:
                since = 1.0
                if not math.isnan(joints[j, slots.ANGLE_SEEN]):
                    since = min(max(t - joints[j, slots.ANGLE_SEEN], 0.0), 1.0)
                joints[j, slots.ANGLE_SIGMA + 1] = UNSEEN_ANGLE * since
                bad = slots.FAULT_ANGLE_MISSING
        if bad != 0:
            faults |= bad
            if out[slots.O_ANGLE_JOINT] < 0.0:
                out[slots.O_ANGLE_JOINT] = j
        if settings[slots.PLANAR] > 0.0 and joints[j, slots.HELD] > 0.0:
            angle = joints[j, slots.HELD + 1]
        q[7 + j] = angle
    sigma = settings[slots.ATTITUDE_SIGMA]
    good = abs(attitude[0]) < 100.0 and abs(attitude[1]) < 100.0
    if good:
        good = abs(math.cos(attitude[1])) > UPRIGHT
    if good:
        if memory[slots.M_ATTITUDE_SEEN] != -math.inf:
            # Angles go on past half a turn, so that means of neighbours are between them.
            for i in range(2):
                turns = (attitude[i] - memory[slots.M_ATTITUDE + i]) / (2.0 * math.pi)
                attitude[i] -= 2.0 * math.pi * math.floor(turns + 0.5)
        memory[slots.M_ATTITUDE_SEEN] = t
    else:
        # Infinity says that none was given, which is no fault as long as none ever was.
        told = attitude[0] == math.inf
        if memory[slots.M_ATTITUDE_SEEN] != -math.inf or not told:
            faults |= slots.FAULT_ATTITUDE
            since = 1.0
            if memory[slots.M_ATTITUDE_SEEN] != -math.inf:
                since = min(t - memory[slots.M_ATTITUDE_SEEN], 3.0)
            drift = settings[slots.ATTITUDE_DRIFT] * since
            sigma = math.sqrt(sigma * sigma + drift * drift)
        attitude[0] = memory[slots.M_ATTITUDE]
        attitude[1] = memory[slots.M_ATTITUDE + 1]
    if settings[slots.PLANAR] > 0.0:
        attitude[0] = 0.0
        attitude[1] = 0.0
        faults &= ~slots.FAULT_ATTITUDE
    memory[slots.M_ATTITUDE_SIGMA] = sigma
    return faults


@inlined
def choose_known(settings, joints, rates, model, given):
    """Entries of the joint-space velocity that are given, and the others, into the model."""
    known = model.known
    unknown = model.unknown
    nk = 0
    nu = 0
    for i in range(6):
        given[i] = 0.0
        # L §4.3.2: in the plane there is no roll, pitch or rise.
        if settings[slots.PLANAR] > 0.0 and (i == 0 or i == 1 or i == 5):
            known[nk] = i
            nk += 1
        else:
            unknown[nu] = i
            nu += 1
    for j in range(rates.size):
        rate = rates[j]
        if settings[slots.PLANAR] > 0.0 and joints[j, slots.HELD] > 0.0:
            rate = 0.0
        if abs(rate) < LARGEST:
            given[6 + j] = rate
            known[nk] = 6 + j
            nk += 1
        else:
            given[6 + j] = 0.0
            unknown[nu] = 6 + j
            nu += 1
    model.counts[0] = nk
    model.counts[1] = nu


@kernel
def rim_speed(vehicle, model, given, out):
    """Mean rim speed of the measured wheels, without sign [m/s]; their number into out."""
    total = 0.0
    count = 0
    for k in range(model.counts[0]):
        f = model.known[k] - 5
        if f > 0 and vehicle.wheel_of_frame[f] >= 0:
            total += abs(given[model.known[k]]) * vehicle.radius[vehicle.wheel_of_frame[f]]
            count += 1
    out[slots.O_MEASURED] = count
    return total / max(count, 1)
