"""Stamps of the IMU that do not follow: single ones are left out, a clock that jumped is followed."""

from grouser._compile.jit import kernel
from grouser._kernels.fusion.memory import SAME_TIME

JUMP = 5.0  # A longer step forward [s] is a jump of the clock, unless other sensors have gone on in between
CONFIRMED = 4  # Stray samples in a row, in order among each other, that show a jump


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
            for row in range(6):
                for k in range(m.parameters.size):
                    m.waiting_slopes[kept, row, k] = m.waiting_slopes[i, row, k]
            kept += 1
    m.counts.waiting = kept
