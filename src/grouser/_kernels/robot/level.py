"""IMU of the monitor: gravity in body axes, speed gained within a block, vibration.

Gravity turns with the gyro and is corrected slowly by the accelerometer less the acceleration of the wheels; its
estimate contains the accelerometer's bias.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import copy, fill
from grouser._kernels.constants import GRAVITY
from grouser._kernels.robot.monitor_memory import VIBRATION
from grouser._kernels.rotation import add, cross, put, scale

LONGEST = 0.1  # A longer step between two samples of the IMU is a gap [s]
ARM = 3.0  # Vibration of 1 rad/s of the gyro, in m/s² of the accelerometer
STANDING_BIAS = 0.01  # Share of the gyro's mean that a standing block adds to its bias
SETTLING = 0.01  # A standing robot whose rate is farther from the bias turns slowly, after the first blocks [rad/s]
LARGEST_BIAS = 0.05  # rad/s


@kernel
def take_imu(m, sample):
    """One sample of the IMU."""
    state = m.state
    for k in range(3):
        if not (abs(sample.gyro[k]) < 1e3 and abs(sample.acceleration[k]) < 1e4):
            return
    step = sample.time - state.imu_time
    if state.imu_started == 1 and step <= 0.0:
        state.late += 1
        return
    if state.imu_started == 1 and step <= LONGEST:
        _integrate(m.settings, state, sample, step)
    elif state.imu_started == 0:
        copy(sample.acceleration, state.gravity)
    else:
        state.imu_count = -10000  # the block has a gap: its change of speed is not known
    state.imu_started = 1
    state.imu_time = sample.time
    copy(sample.gyro, state.gyro)
    copy(sample.acceleration, state.force)


@kernel
def _integrate(settings, state, sample, step):
    """From the sample before to this one."""
    g = state.gravity
    gyro = scale(0.5, add(state.gyro, 1.0, sample.gyro))
    force = scale(0.5, add(state.force, 1.0, sample.acceleration))
    omega = add(gyro, -1.0, state.gyro_bias)
    before = g[0]
    put(add(g, -step, cross(omega, g)), g, 0)  # a vector at rest in the world: g' = −ω × g in body axes
    gained = step * (force[0] - 0.5 * (before + g[0]) + omega[2] ** 2 * settings.lever[0])
    state.gained_time += step * (state.gained + 0.5 * gained)
    state.gained += gained
    state.imu_span += step
    state.imu_count += 1
    put(add(state.gyro_sum, step, gyro), state.gyro_sum, 0)
    put(add(state.force_sum, step, force), state.force_sum, 0)
    for k in range(3):
        state.shake[k] += (sample.acceleration[k] - state.force[k]) ** 2
        if k < 2:
            state.shake[3 + k] += (ARM * (sample.gyro[k] - state.gyro[k])) ** 2


@kernel
def end_block(m):
    """Change of the forward speed since the last block, yaw rate and vibration of this one; nothing without an IMU."""
    settings, state, now = m.settings, m.state, m.now
    now.change_sigma = 0.0
    now.value[VIBRATION] = math.nan
    now.turn_known = 0
    if state.imu_count < 1:
        state.tail = math.nan
        state.gyro_last = math.nan
        return
    span = state.imu_span
    mean = state.gained_time / span
    now.gyro = state.gyro_sum[2] / span - state.gyro_bias[2]
    now.change = state.tail + mean + settings.lever[1] * (now.gyro - state.gyro_last)
    state.tail = state.gained - mean
    state.gyro_last = now.gyro
    if abs(now.change) < 1e6:  # NaN after a gap
        now.change_sigma = math.sqrt(state.noise[state.moving])
    total = 0.0
    for shaken in state.shake:
        total += shaken
    now.value[VIBRATION] = 0.5 * math.log(total / state.imu_count + 1e-6)
    now.gyro_sigma = settings.gyro_noise + 0.05 * abs(now.speed)
    now.turn_known = 1 if abs(now.turn) > settings.least_turn else 0


@kernel
def correct(m, still, share_moved):
    """Correct gravity and the gyro's bias by a block: the acceleration is that of the wheels, times what they move."""
    settings, state, now = m.settings, m.state, m.now
    span = state.imu_span
    if state.imu_count < 1:
        return
    state.levelled += 1
    gain = max(span / settings.level_time, 1.0 / (state.levelled + 1.0))
    speed = share_moved * (1.0 - now.slip) * now.speed
    g, r = state.gravity, m.now.features
    ahead = share_moved * (1.0 - now.slip) * (now.speed - now.speed_before) / span - now.gyro**2 * settings.lever[0]
    r[0] = state.force_sum[0] / span - ahead - g[0]
    r[1] = state.force_sum[1] / span - speed * now.gyro - g[1]
    r[2] = state.force_sum[2] / span - g[2]
    # A bias b too large by δ leaves g × r = −|g|² T δ, for δ across g.
    slow = 0.25 * span / (settings.level_time * GRAVITY) ** 2
    turn = cross(g, r)
    if not still and state.levelled > 50:
        state.gyro_bias[0] += slow * turn[0]
        state.gyro_bias[1] += slow * turn[1]
    for k in range(3):
        g[k] += gain * r[k]
        rate = state.gyro_sum[k] / span
        settled = state.levelled < 30 or abs(rate - state.gyro_bias[k]) < SETTLING
        if still and settled and abs(rate) < LARGEST_BIAS:
            state.gyro_bias[k] += max(STANDING_BIAS, 1.0 / (state.levelled + 1.0)) * (rate - state.gyro_bias[k])
        state.gyro_bias[k] = min(max(state.gyro_bias[k], -LARGEST_BIAS), LARGEST_BIAS)


@kernel
def clear(state):
    """Begin the sums of a block."""
    state.gained = state.gained_time = state.imu_span = 0.0
    state.imu_count = 0
    fill(state.gyro_sum, 0.0)
    fill(state.force_sum, 0.0)
    fill(state.shake, 0.0)
