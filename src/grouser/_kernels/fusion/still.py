"""Standstill of the vehicle: its test and its measurements.

Wheels and IMU that are quiet make a standstill likely, no more: a slide at constant speed looks the same to both. It is
a hypothesis that poses and GPS positions end, see `slide.py`.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import fill
from grouser._kernels.fusion.delay import clone
from grouser._kernels.fusion.memory import SAME_TIME, VELOCITY
from grouser._kernels.fusion.pose import pose_rows
from grouser._kernels.fusion.predict import at_rest
from grouser._kernels.fusion.slide import clear_spans, review_slide, rolling
from grouser._kernels.fusion.update import accept, commit, drop_clone, innovate
from grouser._kernels.fusion.wheels import rolling_speed


@kernel
def zero_velocity(m):
    """Squared innovation of a velocity of zero."""
    fill(m.H, 0.0)
    fill(m.noise, 0.0)
    for i in range(3):
        m.columns[i] = VELOCITY + i
        m.H[i, i] = 1.0  # ξ_v = δv + v × θ: with v near zero the row is ξ_v alone
        m.noise[i, i] = m.settings.still_velocity**2
        m.residual[i] = -m.state.velocity[i]
    return innovate(m, 3, 3)


@kernel
def stand_still(m):
    """Zero velocity, and the pose of when the vehicle came to rest: both hold while it stands.

    The anchored pose replaces a zero-rate update of the gyro's bias and does not use the same noise twice.
    """
    now = m.clock.now
    if m.counts.anchor < 0:
        m.counts.anchor = clone(m, now)
        m.clock.rested = min(m.clock.rested, now)
    square = zero_velocity(m)
    if not 0.0 <= square <= m.settings.gate[3]:
        refuse_standstill(m)
        return
    accept(m.standstill, square, 3)
    commit(m, 3)
    if now - m.clones[m.counts.anchor].time < SAME_TIME:
        return
    last = clone(m, now)
    pose_rows(m, m.counts.anchor, last, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(3):
        m.noise[i, i] = m.settings.still_rotation**2
        m.noise[3 + i, 3 + i] = m.settings.still_position**2
    square = innovate(m, 6, 12)
    agrees = 0.0 <= square <= m.settings.gate[6]
    if agrees:
        accept(m.standstill, square, 6)
        commit(m, 6)
    drop_clone(m, last)
    if not agrees:
        refuse_standstill(m)


@kernel
def refuse_standstill(m):
    """The state contradicts the standstill: forget the anchor."""
    m.standstill.refused += 1
    m.faults.standstill_refused += 1
    drop_clone(m, m.counts.anchor)


@kernel
def end_standstill(m):
    """The vehicle moves again, or shakes while its wheels stand."""
    if m.counts.anchor >= 0:
        drop_clone(m, m.counts.anchor)
    if m.clock.rested < math.inf and (rolling(m) or m.window.wheels == 0):
        m.clock.rested = math.inf
        clear_spans(m)


@kernel
def clear_window(m, time):
    """Begin the next window of the standstill test."""
    w = m.window
    fill(w.total, 0.0)
    fill(w.squares, 0.0)
    w.start = time
    w.samples = w.wheels = w.rolling = 0


@kernel
def watch_wheels(m, twist):
    """Wheel motion within the window."""
    m.window.wheels += 1
    if not rolling_speed(m, twist) <= m.settings.still_speed:
        m.window.rolling += 1


@kernel
def add_sample(m, imu):
    """Sums of the window."""
    m.window.samples += 1
    for i in range(6):
        m.window.total[i] += imu[i]
        m.window.squares[i] += imu[i] * imu[i]


@kernel
def quiet(m):
    """Whether wheels, gyro and accelerometer did not move within the window beyond their noise."""
    w = m.window
    n = w.samples
    if n < 3 or rolling(m):
        return False
    still = True
    for i in range(6):
        mean = w.total[i] / n
        variance = (w.squares[i] / n - mean * mean) * n / (n - 1.0)
        still = at_rest(m, i, variance) and still
    return still


@kernel
def watch_sample(m, imu):
    """Test for a standstill, or for the end of a slide, at the end of each window."""
    add_sample(m, imu)
    if m.clock.now - m.window.start < m.settings.window - SAME_TIME:
        return
    still = m.window.wheels > 0 and quiet(m)
    if m.counts.sliding:
        square = zero_velocity(m)
        review_slide(m, still and 0.0 <= square <= m.settings.gate[3])
    elif still:
        stand_still(m)
    else:
        end_standstill(m)
    clear_window(m, m.clock.now)
