"""The fusion filter's loop over the events of its sensors, in the order in which they arrive.

Single IMU stamps that do not follow the one before are left out; a clock that jumped is followed.
"""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy_rows
from grouser._kernels.fusion.delay import clone, find_clone, remember
from grouser._kernels.fusion.estimate import write_estimate
from grouser._kernels.fusion.gps import measure_gps
from grouser._kernels.fusion.memory import GPS, HEADING, IMU, POSE, SAME_TIME, SELDOM, WHEELS
from grouser._kernels.fusion.pose import measure_pose
from grouser._kernels.fusion.predict import predict, watch_vibration
from grouser._kernels.fusion.start import align, start
from grouser._kernels.fusion.still import end_standstill, watch_sample, watch_wheels
from grouser._kernels.fusion.wheels import measure_wheels
from grouser._kernels.fusion.yaw import measure_heading

AHEAD = 1.0  # A measurement further ahead of the IMU [s] has a wrong time
STALE = 0.5  # Age [s] after which the rolling speed of the wheels is no longer used
DEGRADED = 1.0  # Time [s] for which a fault of the IMU counts
JUMP = 5.0  # A longer step forward [s] is a jump of the clock, unless other sensors have gone on in between
CONFIRMED = 4  # Stray samples in a row, in order among each other, that show a jump


@entry
def feed(m, drive):
    """Take the events of a drive; returns the number of estimates written."""
    rows = since = wheels = 0
    for i in range(drive.events.size):
        if drive.events[i].kind == WHEELS and wheels < drive.slopes.shape[0]:
            copy_rows(drive.slopes[wheels], m.slopes)
            wheels += 1
        take(m, drive.events[i])
        if drive.events[i].kind == IMU and drive.every > 0:
            since += 1
            if since >= drive.every and rows < drive.estimates.size and m.counts.ready:
                since = 0
                write_estimate(m, drive.estimates[rows])
                rows += 1
    return rows


@entry
def estimate(m, drive):
    """Write the present estimate to the first row of a drive."""
    write_estimate(m, drive.estimates[0])


@kernel
def take(m, event):
    """One event. Every measurement is queued; the queue is processed up to the newest sample of the IMU.

    The slopes of a wheel measurement by the parameters are in m.slopes.
    """
    if event.kind == IMU:
        if not admit_sample(m, event):
            return
    elif m.counts.started:
        queue(m, event)
    if not m.counts.started:
        return
    process_queue(m)
    if event.kind == IMU:
        remember(m)
        if m.counts.ready:
            watch_sample(m, event.imu)
        else:
            align(m, event.imu)


@kernel
def measure(m, event):
    """A measurement at the present time or before."""
    if event.kind == WHEELS:
        watch_wheels(m, event.twist)
        measure_wheels(m, event)
    elif event.kind == POSE:
        measure_pose(m, event)
    elif event.kind == GPS:
        measure_gps(m, event)
    elif event.kind == HEADING:
        measure_heading(m, event)
    elif find_clone(m, event.time) < 0 and clone(m, event.time) < 0:
        m.faults.keyframe_late += 1


@kernel
def queue(m, event):
    """Keep a measurement until the IMU has reached its time."""
    if not event.time <= m.clock.now + AHEAD or m.counts.waiting == m.waiting.size:
        m.faults.too_early += 1
        return
    m.waiting[m.counts.waiting] = event
    if event.kind == WHEELS:
        copy_rows(m.slopes, m.waiting_slopes[m.counts.waiting])
    m.counts.waiting += 1


@kernel
def admit_sample(m, event):
    """Whether an IMU sample can be used; if so it is the newest, and the end of the present step."""
    clock = m.clock
    finite = abs(event.time) < math.inf  # compared: the compiler may fold math.isfinite away
    for reading in event.imu:
        finite = finite and abs(reading) < math.inf
    if not finite:
        m.faults.imu_not_finite += 1
        clock.imu_lost = clock.now + DEGRADED
        return False
    if not m.counts.started:
        start(m, event)
        return False
    if not follows(m, event.time):
        m.faults.imu_time += 1
        clock.imu_lost = clock.now + DEGRADED
        return False
    step = event.time - clock.newest
    if step > m.settings.gap:
        m.faults.imu_gap += 1
        end_standstill(m)
    read_sample(m, event, step > m.settings.gap)
    clock.step = step
    clock.newest = event.time
    if clock.now - clock.rolling_time > STALE:
        clock.rolling_speed = 0.0
    # Every time without wheels or poses counts when it begins.
    limit = m.settings.missing_after
    if clock.now <= clock.wheels + limit < event.time:
        m.faults.wheels_missing += 1
    if clock.now <= clock.poses + limit < event.time:
        m.faults.poses_missing += 1
    if clock.now <= clock.gps + SELDOM * limit < event.time:
        m.faults.gps_missing += 1
    return True


@kernel
def read_sample(m, event, gap):
    """Take over the readings, and note which are lost: saturated, or after a gap."""
    imu = m.imu
    if not gap:
        watch_vibration(m, event.imu, m.clock.step)
    gyro = gap
    acceleration = gap
    for i in range(3):
        if not gyro and abs(event.imu[i]) >= m.settings.gyro_range:
            gyro = True
            m.faults.gyro_saturated += 1
        if not acceleration and abs(event.imu[3 + i]) >= m.settings.acceleration_range:
            acceleration = True
            m.faults.accelerometer_saturated += 1
    if gyro or acceleration:
        m.clock.imu_lost = event.time + DEGRADED
    for i in range(3):
        imu.newest[i] = event.imu[i]
        # A shock ends as suddenly as it begins: the last good reading is nearer to its mean than the end of the range.
        if gap or not acceleration:
            imu.newest[3 + i] = event.imu[3 + i]
    # A step lies between two samples.
    imu.step_without_gyro = 1 if gyro or imu.gyro_lost else 0
    imu.step_without_acceleration = 1 if acceleration or imu.acceleration_lost else 0
    imu.gyro_lost = 1 if gyro else 0
    imu.acceleration_lost = 1 if acceleration else 0


@kernel
def process_queue(m):
    """Move to the newest sample, stopping at each measurement on the way in the order of their times."""
    end = m.clock.newest
    while True:
        first = -1
        for i in range(m.counts.waiting):
            time = m.waiting[i].time
            if time <= end + SAME_TIME and (first < 0 or time < m.waiting[first].time):
                first = i
        advance(m, end if first < 0 else min(m.waiting[first].time, end))
        if first < 0:
            return
        copy_rows(m.waiting_slopes[first], m.slopes)
        measure(m, m.waiting[first])
        m.counts.waiting -= 1
        last = m.counts.waiting
        if first < last:
            m.waiting[first] = m.waiting[last]
            copy_rows(m.waiting_slopes[last], m.waiting_slopes[first])


@kernel
def advance(m, to):
    """Move to a time between the last two samples, which are joined by a line."""
    now, imu = m.clock.now, m.imu
    if to - now <= 1e-9:
        return
    part = (to - now) / max(m.clock.newest - now, 1e-9)
    for i in range(6):
        there = imu.now[i] + part * (imu.newest[i] - imu.now[i])
        imu.average[i] = 0.5 * (imu.now[i] + there)
        imu.now[i] = there
    predict(m, to - now)
    m.clock.now = to


@kernel
def follows(m, time):
    """Whether a stamp is after the newest one and near to it; a clock that has jumped is followed.

    Other sensors that wait for the IMU show a silence of the IMU, not a jump.
    """
    clock, counts = m.clock, m.counts
    step = time - clock.newest
    if step > 0.0 and (step <= JUMP or counts.waiting > 0):
        counts.stray = 0
        return True
    if counts.stray == 0 or not 0.0 < time - clock.stray <= JUMP:
        counts.stray = 0
        clock.stray_start = time
    counts.stray += 1
    clock.stray = time
    if counts.stray < CONFIRMED:
        return False
    m.faults.clock_jump += 1
    counts.stray = 0
    move_times(m, clock.stray_start - 1.0 / m.settings.rate - clock.newest)
    return True


@kernel
def move_times(m, by):
    """Add a time to all times of the memory. What waits has stamps of the old clock and is dropped."""
    clock = m.clock
    clock.now += by
    clock.began += by
    clock.newest += by
    clock.wheels += by
    clock.poses += by
    clock.gps += by
    clock.headings += by
    for source in (m.wheels, m.poses, m.gps, m.headings):
        source.since += by
    clock.calm += by
    clock.rested += by
    clock.imu_lost += by
    clock.rolling_time += by
    m.window.start += by
    for c in range(m.counts.clones):
        m.clones[c].time += by
    for i in range(m.past.size):
        m.past[i].time += by
    for i in range(m.counts.held):
        m.fixes[i].time += by
    kept = 0
    for i in range(m.counts.waiting):
        if -1.0 <= m.waiting[i].time - clock.now <= 1.0 + SAME_TIME:
            m.waiting[kept] = m.waiting[i]
            copy_rows(m.waiting_slopes[i], m.waiting_slopes[kept])
            kept += 1
    m.counts.waiting = kept
