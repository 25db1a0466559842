"""The chain on board: signals by their stamps through odometry and fusion.

An event that is newer than all others is processed at once. A late one is put where it belongs: the chain returns to
the last snapshot before it and processes it and all that follow again, so that the estimate is the one of signals in
order.
"""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy, copy_rows, fill
from grouser._kernels.fusion.estimate import write_estimate
from grouser._kernels.fusion.filter import take
from grouser._kernels.fusion.memory import IMU, WHEELS
from grouser._kernels.odometry.state import FAULT_TIME
from grouser._kernels.odometry.update import take_sample
from grouser._kernels.robot.memory import FAULT_BITS, NOTHING
from grouser._kernels.robot.slopes import correct, parameter_slopes
from grouser._kernels.rotation import matrix

AHEAD = 2.0  # A signal further ahead of all others [s] waits for others that confirm its clock
JUMP = 10.0  # A confirmed step of the clock above this [s] is one of the clock, not a silence
CONFIRMED = 20  # Signals in a row that agree on another clock, after which it is taken
TURNS = 2.0  # How long a turn lasts [s]
FRESH = 0.1  # Age of the IMU [s] up to which its rates and attitude are given to the odometry
BEGINNING = -1  # place of the snapshot before the first event


@entry
def put(chain):
    """Take the incoming event; if its kind is NOTHING, write the present estimate instead."""
    if chain.incoming.kind == NOTHING:
        write_estimate(chain.fusion, chain.estimate)
        chain.estimate.time -= chain.present.shift
        return
    if chain.present.sequence == 0:
        save(chain, BEGINNING)
    if not admit(chain):
        return
    at = insert(chain)
    first = at
    if at < chain.present.kept - 1:
        first = return_before(chain, at) + 1
        if first < 0:  # no snapshot is so old: the filter compares it with its own past
            process(chain, at)
            return
        chain.counted.replays += 1
        chain.counted.replayed += chain.present.kept - 1 - first
    for position in range(first, chain.present.kept):
        process(chain, position)


@kernel
def admit(chain):
    """Whether the incoming event can be used; moves its stamps to the clock of the chain."""
    event, now = chain.incoming, chain.present
    if not abs(event.time) < 1e12:
        chain.counted.too_early += 1
        return False
    time = event.time + now.shift
    if now.sequence > 0 and time > now.newest + AHEAD:
        now.ahead = now.ahead + 1 if abs(time - now.last_ahead) < AHEAD else 1
        now.last_ahead = time
        if now.ahead < CONFIRMED:
            chain.counted.too_early += 1
            return False
        if time > now.newest + JUMP:
            set_clock(chain, time)
            time = event.time + now.shift
    now.ahead = 0
    if now.sequence > 0 and time < now.newest - chain.settings.delay and (event.kind == IMU or event.kind == WHEELS):
        now.late += 1
        if now.late < CONFIRMED:
            chain.counted.too_late += 1
            return False
        set_clock(chain, time)
        time = event.time + now.shift
    if event.kind == IMU or event.kind == WHEELS:
        now.late = 0
    event.start += now.shift
    event.time = time
    return True


@kernel
def set_clock(chain, time):
    """The clock of the signals was set: that of the chain goes on."""
    now = chain.present
    now.shift += now.newest + 0.01 - time
    now.late = now.ahead = 0
    chain.counted.clock += 1


@kernel
def comes_before(chain, place, time, kind):
    """Whether a kept event comes before one of this time and kind; IMU samples come first of those at one time."""
    other = chain.time[place]
    if other != time:
        return other < time
    return not (kind == IMU and chain.events[place].kind != IMU)


@kernel
def insert(chain):
    """Put the incoming event into the ring; returns its position in the order of time."""
    now, order, event = chain.present, chain.order, chain.incoming
    # What comes too late for a replay is compared with the past of the filter instead.
    time = max(event.time, now.newest - chain.settings.delay) if now.sequence > 0 else event.time
    if now.kept == order.size:
        slot = order[0]
        for k in range(now.kept - 1):
            order[k] = order[k + 1]
        now.kept -= 1
    else:
        slot = now.kept
    at = now.kept
    while at > 0 and not comes_before(chain, order[at - 1], time, event.kind):
        order[at] = order[at - 1]
        at -= 1
    order[at] = slot
    now.kept += 1
    chain.events[slot] = event
    chain.time[slot] = time
    now.sequence += 1
    chain.sequence[slot] = now.sequence
    if event.kind == WHEELS:
        rows = chain.order.size
        copy(chain.rates[rows], chain.rates[slot])
        copy(chain.angles[rows], chain.angles[slot])
        copy_rows(chain.linear[rows], chain.linear[slot])
    now.newest = max(now.newest, time) if now.sequence > 1 else time
    return at


@kernel
def process(chain, position):
    """The event at a position in the order of time."""
    slot = chain.order[position]
    if chain.events[slot].kind == WHEELS:
        measure_joints(chain, position)
    take(chain.fusion, chain.events[slot])
    last = chain.present.snapshots
    if last == 0 or chain.time[slot] >= chain.saved[chain.snapshot_rows[last - 1]].time + chain.settings.spacing:
        save(chain, slot)


@kernel
def measure_joints(chain, position):
    """Body velocity of the joint sample at a position by odometry; it becomes the measurement of the fusion."""
    slot = chain.order[position]
    store, sample, m, event = chain.odometry, chain.sample, chain.fusion, chain.events[slot]
    copy(chain.rates[slot], sample.rates[0])
    copy(chain.angles[slot], sample.angles[0])
    if store.settings.linear == 1:
        copy_rows(chain.linear[slot], store.linear)
        correct(chain, position)
    sense = sample.sense[0]
    sense.time = event.time
    lean(m, sense, event.time)
    bits = take_sample(store, sample, 0)
    for bit in range(FAULT_BITS):
        if (bits >> bit) & 1:
            chain.faults[bit] += 1.0
    out, now = sample.last, chain.present
    step = event.time - now.joints
    for i in range(6):
        chain.gained[i] = out.twist[i] - now.twist[i]
    copy(out.twist, event.twist)
    copy(out.twist, now.twist)
    now.joints = event.time
    fill(event.observed, 0.0)
    if out.wheels == 0 or (bits & FAULT_TIME) != 0:
        return
    for i in range(2, 5):
        event.observed[i] = out.observed[i]
    share = store.memory.intensity / store.work.period
    for i in range(6):
        for j in range(6):
            event.covariance[i, j] = out.twist_covariance[i, j] - share * chain.settings.wander[i, j]
    if 0.0 < step < 1.0:
        for i in range(6):
            event.covariance[i, i] += (chain.settings.sync * chain.gained[i] / step) ** 2
        # What a slip model leaves of a turn lasts as long as the turn: its samples are not independent.
        turning = chain.settings.turn_slip * event.twist[2]
        event.covariance[2, 2] += turning * turning * (1.0 + 2.0 * TURNS / step)
        measure_rise(chain, event, step)
    if chain.learned.size > 0:
        parameter_slopes(chain)


@kernel
def lean(m, sense, time):
    """Roll and pitch by the fusion, and the gyro's rates about x and y; that about z stays the wheels' own."""
    sense.attitude_given = sense.gyro_given = 0
    if not m.counts.ready or time - m.clock.now > FRESH:
        return
    R = m.R
    matrix(m.state.quaternion, R)
    sense.attitude_given = 1
    sense.attitude[0] = math.atan2(R[2, 1], R[2, 2])
    sense.attitude[1] = math.asin(min(max(-R[2, 0], -1.0), 1.0))
    sense.gyro_given = 1
    for i in range(2):
        sense.gyro[i] = m.imu.now[i] - m.state.gyro_bias[i]
    sense.gyro[2] = math.nan


@kernel
def measure_rise(chain, event, step):
    """Wheels follow the ground: the vertical velocity of the body is a small part of its speed.

    What it is differs by bump and lasts for a length, so a sample counts as the share of the length that it covers.
    """
    if event.observed[3] == 0.0:
        return
    speed = math.hypot(event.twist[3], event.twist[4])
    sigma = chain.settings.rise * speed + 1e-3
    lasts = 1.0 + 2.0 * chain.settings.rise_length / max(speed * step, 1e-3)
    fill(event.covariance[5], 0.0)
    fill(event.covariance[:, 5], 0.0)
    event.observed[5] = 1.0
    event.twist[5] = 0.0
    event.covariance[5, 5] = sigma * sigma * lasts


@kernel
def save(chain, slot):
    """A snapshot after the event in a slot, or at the beginning; the oldest is forgotten when there is no room."""
    now, rows = chain.present, chain.snapshot_rows
    if now.snapshots == rows.size:
        oldest = rows[0]
        for k in range(now.snapshots - 1):
            rows[k] = rows[k + 1]
        rows[now.snapshots - 1] = oldest
        now.snapshots -= 1
    k = rows[now.snapshots]
    now.snapshots += 1
    row = chain.saved[k]
    row.place = slot
    row.sequence = 0 if slot == BEGINNING else chain.sequence[slot]
    row.time = -math.inf if slot == BEGINNING else chain.time[slot]
    row.joints = now.joints
    copy(now.twist, row.twist)
    copy(chain.faults, row.faults)
    copy(chain.fusion.everything, chain.saved_fusion[k])
    copy(chain.odometry.suspicion.everything, chain.saved_suspicion[k])
    chain.saved_memory[k] = chain.memory[0]
    chain.saved_estimate[k] = chain.last[0]
    for j in range(chain.odometry.joints.size):
        chain.saved_joints[k, j] = chain.odometry.joints[j]


@kernel
def position_of(chain, k):
    """Position in the order of time of the event of snapshot k; −1 for the beginning, −2 if it is kept no longer."""
    row, now = chain.saved[k], chain.present
    if row.place == BEGINNING:
        return -1 if now.sequence == now.kept else -2
    if chain.sequence[row.place] != row.sequence:
        return -2
    for at in range(now.kept - 1, -1, -1):
        if chain.order[at] == row.place:
            return at
    return -2


@kernel
def return_before(chain, at):
    """Restore the last snapshot before a position, and forget later ones; the position of its event, −2 if none is."""
    now = chain.present
    while now.snapshots > 0:
        k = chain.snapshot_rows[now.snapshots - 1]
        position = position_of(chain, k)
        if -1 <= position < at:
            restore(chain, k)
            return position
        now.snapshots -= 1
    return -2


@kernel
def restore(chain, k):
    """Return to snapshot k."""
    now, row = chain.present, chain.saved[k]
    now.joints = row.joints
    copy(row.twist, now.twist)
    copy(row.faults, chain.faults)
    copy(chain.saved_fusion[k], chain.fusion.everything)
    copy(chain.saved_suspicion[k], chain.odometry.suspicion.everything)
    chain.memory[0] = chain.saved_memory[k]
    chain.last[0] = chain.saved_estimate[k]
    for j in range(chain.odometry.joints.size):
        chain.odometry.joints[j] = chain.saved_joints[k, j]
