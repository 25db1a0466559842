"""Start of the fusion filter: it runs from the first sample on; a standstill at the start replaces its state.

The given position and yaw are those of the first sample of the IMU. Level is that of its specific force, which may hold
motion; the velocity is unknown and biases have their prior, until wheels, poses or GPS positions determine them.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import add_outer, copy, copy_rows, fill
from grouser._kernels.fusion.delay import remember
from grouser._kernels.fusion.memory import ACCELERATION_BIAS, GYRO_BIAS, PARAMETERS, ROTATION, VELOCITY
from grouser._kernels.fusion.still import add_sample, clear_window, quiet, zero_velocity
from grouser._kernels.fusion.update import commit, core, innovate
from grouser._kernels.rotation import column, matrix, put, put_quaternion, rotate, scale, set_attitude


@kernel
def start(m, event):
    """First sample."""
    clock = m.clock
    clock.now = clock.newest = event.time
    copy(event.imu, m.imu.now)
    copy(event.imu, m.imu.newest)
    clear_window(m, event.time)
    add_sample(m, event.imu)
    place(m, event.imu[3], event.imu[4], event.imu[5])
    velocity = m.covariance[VELOCITY : VELOCITY + 3, VELOCITY : VELOCITY + 3]
    fill(velocity, 0.0)
    matrix(m.state.quaternion, m.R)
    for k in range(3):
        axis = column(m.R, k)
        add_outer(m.settings.start_velocity[k] ** 2, axis, axis, velocity)
    m.counts.started = 1
    remember(m)


@kernel
def place(m, x, y, z):
    """State and covariance of a filter at the start, level by a specific force (x, y, z), and without a past."""
    s, clock = m.state, m.clock
    pitch = math.atan2(-x, math.hypot(y, z))
    set_attitude(s.quaternion, math.atan2(y, z), pitch, m.settings.yaw)
    # The body's origin, not the IMU, is at the origin of the world; there ξ_p is the plain error of its position.
    put(rotate(s.quaternion, scale(-1.0, m.settings.lever_body)), s.position, 0)
    for values in (s.velocity, s.gyro_bias, s.acceleration_bias, s.slip, m.correction.velocity, m.correction.position):
        fill(values, 0.0)
    fill(m.parameters, 0.0)
    put_quaternion((1.0, 0.0, 0.0, 0.0), m.correction.quaternion)
    fill(m.covariance, 0.0)
    for i in range(PARAMETERS):
        m.covariance[i, i] = m.settings.start[i] ** 2
    copy_rows(m.prior, m.covariance[PARAMETERS : core(m), PARAMETERS : core(m)])
    counts = m.counts
    counts.clones = counts.held = counts.past = counts.next_past = counts.distrusted = counts.sliding = 0
    counts.anchor = -1
    clock.began = clock.wheels = clock.poses = clock.rolling_time = clock.imu_lost = clock.now
    clock.gps = clock.headings = -math.inf
    clock.rested = math.inf
    clock.rolling_speed = clock.spacing = 0.0
    clock.calm = math.nan
    for source in (m.wheels, m.poses, m.gps, m.headings):
        source.since = math.nan


@kernel
def align(m, imu):
    """Collect samples; at the end of the alignment begin at rest, or with the state that has moved since the start."""
    add_sample(m, imu)
    if m.clock.now - m.window.start < m.settings.align or m.window.samples < 3:
        return
    rest = False
    if quiet(m):
        square = zero_velocity(m)  # poses, GPS positions and wheels may contradict a quiet IMU
        rest = 0.0 <= square <= m.settings.gate[3]
    if rest:
        begin_at_rest(m)
    else:
        m.faults.moving_start += 1
    m.counts.ready = 1
    clear_window(m, m.clock.now)


@kernel
def begin_at_rest(m):
    """State of a vehicle that stood since the first sample: level and biases by the mean reading."""
    mean = m.imu.average
    for i in range(6):
        mean[i] = m.window.total[i] / m.window.samples
    place(m, mean[3], mean[4], mean[5])
    for source in (m.wheels, m.poses, m.standstill, m.gps, m.headings):
        source.used = source.refused = source.run = source.rows = 0
        source.squares = 0.0
    measure_rest(m, m.clock.now - m.window.start)
    remember(m)


@inlined
def spread_of_mean(m, axis):
    """Variance of the mean of an axis over the alignment, by the scatter of its samples; 0 for one sample."""
    n = m.window.samples
    mean = m.window.total[axis] / max(n, 1)
    return max(m.window.squares[axis] / max(n, 1) - mean * mean, 0.0) / max(n - 1, 1) if n > 1 else 0.0


@kernel
def measure_rest(m, seconds):
    """Alignment at rest, by the mean reading: the accelerometer shows gravity and its bias, the gyro its bias.

    f̂ = Rᵀ (0, 0, g) + b_a, and with R_true = Exp(θ) R its error is Rᵀ (e_z × θ) g + δb_a.
    """
    x, H, R, g = m.state, m.H, m.R, m.settings.gravity
    matrix(x.quaternion, R)
    fill(H, 0.0)
    fill(m.noise, 0.0)
    for i in range(core(m)):
        m.columns[i] = i
    for i in range(3):
        H[i, GYRO_BIAS + i] = 1.0
        m.residual[i] = m.imu.average[i] - x.gyro_bias[i]
        m.noise[i, i] = max(m.settings.gyro_noise / seconds, spread_of_mean(m, i))
        H[3 + i, ROTATION] = R[1, i] * g
        H[3 + i, ROTATION + 1] = -R[0, i] * g
        H[3 + i, ACCELERATION_BIAS + i] = 1.0
        m.residual[3 + i] = m.imu.average[3 + i] - R[2, i] * g - x.acceleration_bias[i]
        m.noise[3 + i, 3 + i] = max(m.settings.acceleration_noise / seconds, spread_of_mean(m, 3 + i))
    if innovate(m, 6, core(m)) >= 0.0:
        commit(m, 6)
