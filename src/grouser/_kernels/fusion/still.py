"""Standstill of the vehicle: its test, its measurements, and the alignment before the first estimate."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import copy, fill
from grouser._kernels.fusion.delay import clone, remember
from grouser._kernels.fusion.memory import ACCELERATION_BIAS, CORE, GYRO_BIAS, ROTATION, SAME_TIME, VELOCITY
from grouser._kernels.fusion.pose import pose_rows
from grouser._kernels.fusion.update import commit, count_used, drop_clone, innovate
from grouser._kernels.rotation import matrix, put, put_quaternion, rotate, scale, set_attitude

OUTLIERS = 0.25  # Share of the wheel measurements that may show motion while the vehicle stands


@kernel
def stand_still(m):
    """Zero velocity, and the pose of when the vehicle came to rest: both hold while it stands.

    The anchored pose replaces a zero-rate update of the gyro's bias and does not use the same noise twice.
    """
    now = m.clock.now
    if m.counts.anchor < 0:
        m.counts.anchor = clone(m, now)
    fill(m.H, 0.0)
    fill(m.noise, 0.0)
    for i in range(3):
        m.columns[i] = VELOCITY + i
        m.H[i, i] = 1.0  # ξ_v = δv + v × θ: with v near zero the row is ξ_v alone
        m.noise[i, i] = m.settings.still_velocity**2
        m.residual[i] = -m.state.velocity[i]
    square = innovate(m, 3, 3)
    if not 0.0 <= square <= m.settings.gate[3]:
        refuse_standstill(m)
        return
    count_used(m.standstill, square, 3)
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
        count_used(m.standstill, square, 6)
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
    """The vehicle moves again."""
    if m.counts.anchor >= 0:
        drop_clone(m, m.counts.anchor)


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
    arm = m.settings.slip_arm * twist[2]
    if not arm**2 + twist[3] ** 2 + twist[4] ** 2 <= m.settings.still_speed**2:
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
    if n < 3 or w.rolling > OUTLIERS * w.wheels:
        return False
    for i in range(6):
        mean = w.total[i] / n
        variance = (w.squares[i] / n - mean * mean) * n / (n - 1.0)
        if not variance <= m.settings.quiet[i]:
            return False
    return True


@kernel
def watch_sample(m, imu):
    """Test for a standstill at the end of each window."""
    add_sample(m, imu)
    if m.clock.now - m.window.start < m.settings.window - SAME_TIME:
        return
    if m.window.wheels > 0 and quiet(m):
        stand_still(m)
    else:
        end_standstill(m)
    clear_window(m, m.clock.now)


@kernel
def align(m, event):
    """Collect samples at rest; then level the attitude to them and begin."""
    if m.window.samples == 0:
        clear_window(m, event.time)
    elif event.time <= m.clock.newest:
        m.faults.imu_time += 1
        return
    else:
        m.clock.step = event.time - m.clock.newest
    add_sample(m, event.imu)
    m.clock.newest = m.clock.now = event.time
    copy(event.imu, m.imu.now)
    copy(event.imu, m.imu.newest)
    if event.time - m.window.start >= m.settings.align and m.window.samples >= 3:
        begin(m)


@kernel
def begin(m):
    """First estimate: level, at the start, biases as seen at rest."""
    now, x, mean = m.clock.now, m.state, m.imu.average
    for i in range(6):
        mean[i] = m.window.total[i] / m.window.samples
    pitch = math.atan2(-mean[3], math.hypot(mean[4], mean[5]))
    set_attitude(x.quaternion, math.atan2(mean[4], mean[5]), pitch, m.settings.yaw)
    # The body's origin, not the IMU, is at the origin of the world; there ξ_p is the plain error of its position.
    put(rotate(x.quaternion, scale(-1.0, m.settings.lever_body)), x.position, 0)
    still = quiet(m)
    fill(m.covariance, 0.0)
    for i in range(CORE):
        m.covariance[i, i] = m.settings.start[i] ** 2
        if VELOCITY <= i < VELOCITY + 3 and not still:
            m.covariance[i, i] = 1.0
    put_quaternion((1.0, 0.0, 0.0, 0.0), m.correction.quaternion)
    clock = m.clock
    clock.began = clock.wheels = clock.poses = clock.rolling_time = clock.imu_lost = now
    clock.wheels_refused = clock.poses_refused = clock.calm = math.nan
    if still:
        measure_rest(m, now - m.window.start)
    else:
        m.faults.moving_start += 1
    m.counts.ready = 1
    clear_window(m, now)
    remember(m)


@kernel
def measure_rest(m, seconds):
    """Alignment at rest, by the mean reading: the accelerometer shows gravity and its bias, the gyro its bias.

    f̂ = Rᵀ (0, 0, g) + b_a, and with R_true = Exp(θ) R its error is Rᵀ (e_z × θ) g + δb_a.
    """
    x, H, R, g = m.state, m.H, m.R, m.settings.gravity
    matrix(x.quaternion, R)
    fill(H, 0.0)
    fill(m.noise, 0.0)
    for i in range(CORE):
        m.columns[i] = i
    for i in range(3):
        H[i, GYRO_BIAS + i] = 1.0
        m.residual[i] = m.imu.average[i] - x.gyro_bias[i]
        m.noise[i, i] = m.settings.gyro_noise / seconds
        H[3 + i, ROTATION] = R[1, i] * g
        H[3 + i, ROTATION + 1] = -R[0, i] * g
        H[3 + i, ACCELERATION_BIAS + i] = 1.0
        m.residual[3 + i] = m.imu.average[3 + i] - R[2, i] * g - x.acceleration_bias[i]
        m.noise[3 + i, 3 + i] = m.settings.acceleration_noise / seconds
    if innovate(m, 6, CORE) >= 0.0:
        commit(m, 6)
