"""The fusion filter's loop over the events of its sensors, in the order in which they arrive."""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.fusion.clock import follows
from grouser._kernels.fusion.delay import clone, find_clone, remember
from grouser._kernels.fusion.estimate import write_estimate
from grouser._kernels.fusion.gps import measure_gps
from grouser._kernels.fusion.heading import measure_heading
from grouser._kernels.fusion.memory import GPS, HEADING, IMU, POSE, SAME_TIME, WHEELS
from grouser._kernels.fusion.pose import measure_pose
from grouser._kernels.fusion.predict import predict
from grouser._kernels.fusion.start import align, start
from grouser._kernels.fusion.still import end_standstill, watch_sample, watch_wheels
from grouser._kernels.fusion.wheels import SELDOM, measure_wheels

AHEAD = 1.0  # A measurement further ahead of the IMU [s] has a wrong time
STALE = 0.5  # Age [s] after which the rolling speed of the wheels is no longer used
DEGRADED = 1.0  # Time [s] for which a fault of the IMU counts


@entry
def feed(m, drive):
    """Take the events of a drive; returns the number of estimates written."""
    rows = since = wheels = 0
    for i in range(drive.events.size):
        if drive.events[i].kind == WHEELS and wheels < drive.slopes.shape[0]:
            for row in range(6):
                copy(drive.slopes[wheels, row], m.slopes[row])
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
        for row in range(6):
            copy(m.slopes[row], m.waiting_slopes[m.counts.waiting, row])
    m.counts.waiting += 1


@kernel
def admit_sample(m, event):
    """Whether an IMU sample can be used; if so it is the newest, and the end of the present step."""
    clock = m.clock
    finite = abs(event.time) < math.inf  # compared: the compiler may fold math.isfinite away
    for i in range(6):
        finite = finite and abs(event.imu[i]) < math.inf
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
        for row in range(6):
            copy(m.waiting_slopes[first, row], m.slopes[row])
        measure(m, m.waiting[first])
        m.counts.waiting -= 1
        last = m.counts.waiting
        if first < last:
            m.waiting[first] = m.waiting[last]
            for row in range(6):
                copy(m.waiting_slopes[last, row], m.waiting_slopes[first, row])


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
