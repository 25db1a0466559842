"""The fusion filter's loop over what sensors say, in the order in which it comes in."""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.fusion.delay import SAME_TIME, clone_now, clone_past, find_clone, remember, rotate, too_old
from grouser._kernels.fusion.measure import measure_pose, measure_wheels
from grouser._kernels.fusion.memory import (
    ACCELERATION_BIAS_SIGMA,
    ACCELERATION_IS_LOST,
    ACCELERATION_RANGE,
    ACCELERATION_SATURATED,
    ALIGN,
    ANCHOR,
    BEGAN,
    CALM_SINCE,
    CLONES,
    CORE,
    CORRECTION,
    DISTRUSTED,
    E_ACCELERATION,
    E_GYRO,
    E_LASTING,
    E_POSITION,
    E_SLIP,
    E_VELOCITY,
    FAULTS,
    FIGURES_ROW,
    GAP,
    GYRO_BIAS_SIGMA,
    GYRO_IS_LOST,
    GYRO_RANGE,
    GYRO_SATURATED,
    IMU,
    IMU_BACKWARDS,
    IMU_GAP,
    IMU_NOT_FINITE,
    KEYFRAME_LATE,
    LAST_POSE,
    LAST_SAMPLE,
    LAST_WHEELS,
    LASTING_SIGMA,
    LEVER_BODY,
    LOST_UNTIL,
    MISSING_AFTER,
    MOST_WAITING,
    MOVING_START,
    NEWEST,
    NOMINAL,
    NOMINAL_ROW,
    NOW,
    PAYLOAD,
    PLAN_ROW,
    POSE,
    POSE_MISSING,
    POSE_STREAK,
    POSITION,
    QUATERNION,
    READY,
    SAMPLE,
    SLIP_ARM,
    SLIP_SIGMA,
    SPEED,
    SPEED_TIME,
    SQUARES,
    START_SIGMA,
    START_YAW,
    STEP,
    STEP_ACCELERATION_LOST,
    STEP_GYRO_LOST,
    STILL_ACCELERATION,
    STILL_GYRO,
    STILL_SPEED,
    STILL_VELOCITY_SIGMA,
    SUM,
    TILT_SIGMA,
    TOO_EARLY,
    WAITING,
    WAITING_ROW,
    WHEELS,
    WHEELS_MISSING,
    WHEELS_STREAK,
    WINDOW,
    WINDOW_COUNT,
    WINDOW_ROLLING,
    WINDOW_START,
    WINDOW_WHEELS,
    YAW_SIGMA,
)
from grouser._kernels.fusion.predict import predict
from grouser._kernels.fusion.still import end_still, measure_rest, stand_still
from grouser._kernels.fusion.update import SPARE

AHEAD = 1.0
"""A measurement further ahead of the IMU [s] has a wrong time."""
OUTLIERS = 0.25
"""Share of the wheel measurements that may say something else while the vehicle stands."""
STALE = 0.5
"""The wheels' speed counts for so long [s]."""


@entry
def feed(memory, kinds, times, payloads, every, record, covariance):
    """Take events one by one; after every `every`-th IMU sample write the state to record and covariance; rows written.

    kinds (n,), times (n,), payloads (n, 48). record (m, 27): time, estimate (22), gyro (3), distrusted;
    covariance (m, 21, 21).
    """
    rows = 0
    since = 0
    for i in range(kinds.size):
        take(memory, kinds[i], times[i], payloads[i])
        if kinds[i] == IMU and every > 0:
            since += 1
            if since >= every and rows < record.shape[0] and memory.tallies[READY]:
                since = 0
                row = record[rows]
                row[0] = memory.desk[FIGURES_ROW][NOW]
                for k in range(NOMINAL):
                    row[1 + k] = memory.desk[NOMINAL_ROW][k]
                for k in range(3):
                    row[1 + NOMINAL + k] = memory.desk[FIGURES_ROW][SAMPLE + k]
                row[4 + NOMINAL] = memory.tallies[DISTRUSTED]
                for a in range(CORE):
                    for b in range(CORE):
                        covariance[rows, a, b] = memory.spread[a, b]
                rows += 1
    return rows


@kernel
def take(memory, kind, time, payload):
    """One event. Every measurement is put in line; the line is met up to the newest sample of the IMU."""
    if kind == IMU:
        if not admit_sample(memory, time, payload):
            return
    elif memory.tallies[READY]:
        queue(memory, kind, payload[1] if kind == POSE else time, payload)
    elif kind == WHEELS:
        watch_wheels(memory, payload)
    if memory.tallies[READY]:
        meet(memory)
        if kind == IMU:
            remember(memory)
            watch_sample(memory, payload)


@kernel
def measure(memory, kind, time, payload):
    """A measurement whose time has come."""
    if kind == WHEELS:
        watch_wheels(memory, payload)
        measure_wheels(memory, time, payload)
    elif kind == POSE:
        measure_pose(memory, payload)
    elif find_clone(memory, time) < 0:
        if abs(time - memory.desk[FIGURES_ROW][NOW]) <= SAME_TIME:
            clone_now(memory)
        elif too_old(memory, time) or clone_past(memory, time) < 0:
            memory.tallies[FAULTS + KEYFRAME_LATE] += 1


@kernel
def queue(memory, kind, time, payload):
    """Keep a measurement until the IMU has come as far."""
    t = memory.tallies
    if time > memory.desk[FIGURES_ROW][NOW] + AHEAD or t[WAITING] == MOST_WAITING:
        t[FAULTS + TOO_EARLY] += 1
        return
    row = memory.desk[WAITING_ROW + t[WAITING]]
    row[0] = kind
    row[1] = time
    for i in range(PAYLOAD):
        row[2 + i] = payload[i]
    t[WAITING] += 1


@kernel
def admit_sample(memory, time, payload):
    """Whether an IMU sample can be used; the filter will move up to it, meeting on the way what waits."""
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    finite = abs(time) < math.inf  # compared: the compiler may fold math.isfinite away
    for i in range(6):
        finite = finite and abs(payload[i]) < math.inf
    if not finite:
        t[FAULTS + IMU_NOT_FINITE] += 1
        f[LOST_UNTIL] = f[NOW] + 1.0
        return False
    if not t[READY]:
        align(memory, time, payload)
        return False
    step = time - f[LAST_SAMPLE]
    if step <= 0.0:
        t[FAULTS + IMU_BACKWARDS] += 1
        f[LOST_UNTIL] = f[NOW] + 1.0
        return False
    gap = step > plan[GAP]
    gyro = gap
    acceleration = gap
    if gap:
        t[FAULTS + IMU_GAP] += 1
        end_still(memory)
    for i in range(3):
        if not gyro and abs(payload[i]) >= plan[GYRO_RANGE]:
            gyro = True
            t[FAULTS + GYRO_SATURATED] += 1
        if not acceleration and abs(payload[3 + i]) >= plan[ACCELERATION_RANGE]:
            acceleration = True
            t[FAULTS + ACCELERATION_SATURATED] += 1
    if gyro or acceleration:
        f[LOST_UNTIL] = time + 1.0
    for i in range(3):
        f[NEWEST + i] = payload[i]
        # A shock ends as suddenly as it came: the last good reading is nearer to its mean than the end of the range.
        if gap or not acceleration:
            f[NEWEST + 3 + i] = payload[3 + i]
    f[STEP] = step
    was_lost = f[GYRO_IS_LOST] != 0.0
    f[GYRO_IS_LOST] = 1.0 if gyro else 0.0
    gyro = gyro or was_lost  # a step lies between two samples
    was_lost = f[ACCELERATION_IS_LOST] != 0.0
    f[ACCELERATION_IS_LOST] = 1.0 if acceleration else 0.0
    acceleration = acceleration or was_lost
    f[LAST_SAMPLE] = time
    if f[NOW] - f[SPEED_TIME] > STALE:
        f[SPEED] = 0.0
    missing(memory, time)
    f[STEP_GYRO_LOST] = 1.0 if gyro else 0.0
    f[STEP_ACCELERATION_LOST] = 1.0 if acceleration else 0.0
    return True


@kernel
def meet(memory):
    """Move to the newest sample, stopping at each measurement on the way in the order of their times."""
    t = memory.tallies
    end = memory.desk[FIGURES_ROW][LAST_SAMPLE]
    while True:
        first = -1
        for i in range(t[WAITING]):
            if memory.desk[WAITING_ROW + i, 1] <= end + SAME_TIME and (
                first < 0 or memory.desk[WAITING_ROW + i, 1] < memory.desk[WAITING_ROW + first, 1]
            ):
                first = i
        advance(memory, end if first < 0 else min(memory.desk[WAITING_ROW + first, 1], end))
        if first < 0:
            return
        row = memory.desk[WAITING_ROW + first]
        measure(memory, int(row[0]), row[1], row[2:])
        last = t[WAITING] - 1
        for k in range(2 + PAYLOAD):
            memory.desk[WAITING_ROW + first, k] = memory.desk[WAITING_ROW + last, k]
        t[WAITING] = last


@kernel
def advance(memory, to):
    """Move to a time between the last two samples, which are joined by a line."""
    f = memory.desk[FIGURES_ROW]
    dt = to - f[NOW]
    if dt <= 1e-9:
        return
    part = (to - f[NOW]) / max(f[LAST_SAMPLE] - f[NOW], 1e-9)
    mean = memory.desk[SPARE + 12]
    for i in range(6):
        there = f[SAMPLE + i] + part * (f[NEWEST + i] - f[SAMPLE + i])
        mean[i] = 0.5 * (f[SAMPLE + i] + there)
        f[SAMPLE + i] = there
    predict(memory, dt, mean, f[STEP_GYRO_LOST] != 0.0, f[STEP_ACCELERATION_LOST] != 0.0)
    f[NOW] = to


@kernel
def missing(memory, time):
    """Count the beginning of every time without wheels or without poses."""
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    limit = memory.desk[PLAN_ROW][MISSING_AFTER]
    if f[LAST_WHEELS] + limit < time and f[LAST_WHEELS] + limit >= f[NOW]:
        t[FAULTS + WHEELS_MISSING] += 1
    if f[LAST_POSE] + limit < time and f[LAST_POSE] + limit >= f[NOW]:
        t[FAULTS + POSE_MISSING] += 1


@kernel
def clear_window(memory, time):
    """Begin the next window of the standstill test."""
    f = memory.desk[FIGURES_ROW]
    for i in range(12):
        f[SUM + i] = 0.0
    f[WINDOW_START] = time
    f[WINDOW_COUNT] = 0.0
    f[WINDOW_WHEELS] = 0.0
    f[WINDOW_ROLLING] = 0.0


@kernel
def watch_wheels(memory, payload):
    """Wheel motion within the window."""
    f = memory.desk[FIGURES_ROW]
    f[WINDOW_WHEELS] += 1.0
    arm = memory.desk[PLAN_ROW][SLIP_ARM] * payload[2]
    square = arm * arm + payload[3] * payload[3] + payload[4] * payload[4]
    if not square <= memory.desk[PLAN_ROW][STILL_SPEED] * memory.desk[PLAN_ROW][STILL_SPEED]:
        f[WINDOW_ROLLING] += 1.0


@kernel
def add_sample(memory, payload):
    """Sums of the window."""
    f = memory.desk[FIGURES_ROW]
    f[WINDOW_COUNT] += 1.0
    for i in range(6):
        f[SUM + i] += payload[i]
        f[SQUARES + i] += payload[i] * payload[i]


@kernel
def quiet(memory):
    """Whether wheels, gyro and accelerometer did not move within the window beyond their noise."""
    f = memory.desk[FIGURES_ROW]
    n = f[WINDOW_COUNT]
    if n < 3.0 or f[WINDOW_ROLLING] > OUTLIERS * f[WINDOW_WHEELS]:
        return False
    for i in range(6):
        mean = f[SUM + i] / n
        variance = (f[SQUARES + i] / n - mean * mean) * n / (n - 1.0)
        if not variance <= memory.desk[PLAN_ROW][STILL_GYRO if i < 3 else STILL_ACCELERATION]:
            return False
    return True


@kernel
def watch_sample(memory, payload):
    """At the end of each window: is the vehicle standing?"""
    f = memory.desk[FIGURES_ROW]
    plan = memory.desk[PLAN_ROW]
    add_sample(memory, payload)
    if f[NOW] - f[WINDOW_START] < plan[WINDOW] - SAME_TIME:
        return
    if f[WINDOW_WHEELS] > 0.0 and quiet(memory):
        stand_still(memory)
    else:
        end_still(memory)
    clear_window(memory, f[NOW])


@kernel
def align(memory, time, payload):
    """Collect samples at rest; then level the attitude to them and begin."""
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    if f[WINDOW_COUNT] == 0.0:
        clear_window(memory, time)
    elif time <= f[LAST_SAMPLE]:
        t[FAULTS + IMU_BACKWARDS] += 1
        return
    else:
        f[STEP] = time - f[LAST_SAMPLE]
    add_sample(memory, payload)
    f[LAST_SAMPLE] = time
    f[NOW] = time
    for i in range(6):
        f[SAMPLE + i] = payload[i]
        f[NEWEST + i] = payload[i]
    if time - f[WINDOW_START] < plan[ALIGN] or f[WINDOW_COUNT] < 3.0:
        return
    begin(memory, time, quiet(memory))


@kernel
def begin(memory, time, still):
    """First estimate: level, at the start, biases as seen at rest."""
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    x = memory.desk[NOMINAL_ROW]
    n = f[WINDOW_COUNT]
    mean = memory.desk[SPARE]
    for i in range(6):
        mean[i] = f[SUM + i] / n
    roll = math.atan2(mean[4], mean[5])
    pitch = math.atan2(-mean[3], math.sqrt(mean[4] * mean[4] + mean[5] * mean[5]))
    yaw = plan[START_YAW]
    sr = math.sin(0.5 * roll)
    cr = math.cos(0.5 * roll)
    sp = math.sin(0.5 * pitch)
    cp = math.cos(0.5 * pitch)
    sy = math.sin(0.5 * yaw)
    cy = math.cos(0.5 * yaw)
    for i in range(NOMINAL):
        x[i] = 0.0
    x[QUATERNION] = cr * cp * cy + sr * sp * sy
    x[QUATERNION + 1] = sr * cp * cy - cr * sp * sy
    x[QUATERNION + 2] = cr * sp * cy + sr * cp * sy
    x[QUATERNION + 3] = cr * cp * sy - sr * sp * cy
    # The body's origin, not the IMU, is at the origin of the world; there ξ_p is the plain error of its position.
    rotate(x, QUATERNION, -plan[LEVER_BODY], -plan[LEVER_BODY + 1], -plan[LEVER_BODY + 2], 1.0, x, POSITION)
    P = memory.spread
    for i in range(CORE):
        for j in range(CORE):
            P[i, j] = 0.0
    speed = plan[STILL_VELOCITY_SIGMA] if still else 1.0
    for i in range(3):
        sigma = plan[YAW_SIGMA] if i == 2 else plan[TILT_SIGMA]
        P[i, i] = sigma * sigma
        P[E_VELOCITY + i, E_VELOCITY + i] = speed * speed
        P[E_POSITION + i, E_POSITION + i] = plan[START_SIGMA] * plan[START_SIGMA]
        P[E_GYRO + i, E_GYRO + i] = plan[GYRO_BIAS_SIGMA] * plan[GYRO_BIAS_SIGMA]
        P[E_ACCELERATION + i, E_ACCELERATION + i] = plan[ACCELERATION_BIAS_SIGMA] * plan[ACCELERATION_BIAS_SIGMA]
        P[E_SLIP + i, E_SLIP + i] = plan[SLIP_SIGMA + i] * plan[SLIP_SIGMA + i]
        P[E_LASTING + i, E_LASTING + i] = plan[LASTING_SIGMA + i] * plan[LASTING_SIGMA + i]
    f[CORRECTION] = 1.0
    for i in range(1, 10):
        f[CORRECTION + i] = 0.0
    t[CLONES] = 0
    t[ANCHOR] = -1
    f[LAST_WHEELS] = time
    f[LAST_POSE] = time
    f[SPEED] = 0.0
    f[SPEED_TIME] = time
    f[WHEELS_STREAK] = math.nan
    f[POSE_STREAK] = math.nan
    f[CALM_SINCE] = math.nan
    f[LOST_UNTIL] = time
    f[BEGAN] = time
    if still:
        measure_rest(memory, mean, time - f[WINDOW_START])
    else:
        t[FAULTS + MOVING_START] += 1
    t[READY] = 1
    clear_window(memory, time)
    remember(memory)
