"""Strapdown step of the fusion filter: the state moves with the IMU, its covariance with the error's dynamics.

The noise of the IMU is at least that of the settings, and more while the vehicle vibrates.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels import rotation
from grouser._kernels.fusion import memory as at
from grouser._kernels.fusion.delay import carry_correction
from grouser._kernels.fusion.memory import POSITION, ROTATION, VELOCITY
from grouser._kernels.fusion.update import core
from grouser._kernels.rotation import add, cross, dot, put, put_quaternion, scale, skew, times, vector

TURNS = 2.0  # How long a turn lasts [s]: through it an error of the gyro's scale is one error, not many
LEARNED = 1.0  # Time over which vibration is averaged [s]
SURELY = 2.0  # Vibration counts where its variance is more than this many times that of the settings
LOUDEST = 400.0  # The usual variance at rest counts as noise up to this many times that of the settings
USUAL = 0.1  # Share of a window in the usual variance
OUTLYING = 5.0  # Variance of a window over the usual one above which it is no standstill


@kernel
def predict(m, dt):
    """Move state and covariance by dt with the mean of the IMU's readings over it."""
    velocity = vector(m.state.velocity, 0)
    position = vector(m.state.position, 0)
    move_state(m, dt)
    carry_correction(m, dt)
    travelled = m.clock.rolling_speed * dt
    keep = math.exp(-travelled / m.settings.slip_length)
    last = math.exp(-travelled / m.settings.parameter_length)
    # The linearisation stands at the middle of the step.
    velocity = scale(0.5, add(velocity, 1.0, m.state.velocity))
    position = scale(0.5, add(position, 1.0, m.state.position))
    carry_covariance(m, dt, velocity, position, keep, last)
    add_noise(m, dt, velocity, position)
    P = m.covariance
    for i in range(3):
        P[at.GYRO_BIAS + i, at.GYRO_BIAS + i] += m.settings.gyro_walk * dt
        P[at.ACCELERATION_BIAS + i, at.ACCELERATION_BIAS + i] += m.settings.acceleration_walk * dt
        m.state.slip[i] *= keep
        P[at.SLIP + i, at.SLIP + i] += m.settings.slip[i] ** 2 * (1.0 - keep * keep)
    if last < 1.0:  # parameters return to their prior
        for i in range(m.parameters.size):
            m.parameters[i] *= last
            for j in range(m.parameters.size):
                P[at.PARAMETERS + i, at.PARAMETERS + j] += m.prior[i, j] * (1.0 - last * last)


@kernel
def move_state(m, dt):
    """Rotation, velocity and position after dt; leaves in m.R the rotation at the middle of the step."""
    x = m.state
    turn = scale(dt, add(vector(m.imu.average, 0), -1.0, x.gyro_bias))
    force = add(vector(m.imu.average, 3), -1.0, x.acceleration_bias)
    # ∫exp and ∬exp of the rotation within the step, applied to the specific force
    a, b, c = rotation.series(dot(turn, turn))
    once = cross(turn, force)
    twice = cross(turn, once)
    rotation.matrix(x.quaternion, m.R)
    speed = times(m.R, add(add(force, a, once), b, twice))
    way = times(m.R, add(add(scale(0.5, force), b, once), c, twice))
    put(add(add(x.position, dt, x.velocity), dt * dt, way), x.position, 0)
    put(add(x.velocity, dt, speed), x.velocity, 0)
    x.position[2] -= 0.5 * dt * dt * m.settings.gravity
    x.velocity[2] -= dt * m.settings.gravity
    half = rotation.exponential(scale(0.5, turn))
    put_quaternion(rotation.product(x.quaternion, half), x.quaternion)
    rotation.matrix(x.quaternion, m.R)
    put_quaternion(rotation.product(x.quaternion, half), x.quaternion)


@kernel
def carry_covariance(m, dt, velocity, position, keep, last):
    """P ← Φ P Φᵀ: rows for all columns, then the same once more on the transposed core. Clones do not move."""
    P = m.covariance
    size = core(m)
    n = size + at.CLONE * m.counts.clones
    carry_rows(m, n, dt, velocity, position, keep, last)
    for i in range(size):
        for k in range(i):
            P[i, k], P[k, i] = P[k, i], P[i, k]
    carry_rows(m, size, dt, velocity, position, keep, last)
    for k in range(size, n):
        for i in range(size):
            P[k, i] = P[i, k]


@inlined
def block(P, row, k):
    """Three entries of column k."""
    return P[row, k], P[row + 1, k], P[row + 2, k]


@inlined
def add_block(v, P, row, k):
    """Add to three entries of column k."""
    for i in range(3):
        P[row + i, k] += v[i]


@kernel
def carry_rows(m, columns, dt, velocity, position, keep, last):
    """Rows of P ← Φ P of the right-invariant error.

    θ̇ = −R δb_g, ξ̇_v = g × θ − v × R δb_g − R δb_a, ξ̇_p = ξ_v − p × R δb_g; slip and parameters decay.
    """
    P, R, g = m.covariance, m.R, m.settings.gravity
    for k in range(columns):
        theta = block(P, ROTATION, k)
        xi_v = block(P, VELOCITY, k)
        turned = scale(-dt, times(R, block(P, at.GYRO_BIAS, k)))
        pushed = add((dt * g * theta[1], -dt * g * theta[0], 0.0), -dt, times(R, block(P, at.ACCELERATION_BIAS, k)))
        add_block(turned, P, ROTATION, k)
        add_block(add(pushed, 1.0, cross(velocity, turned)), P, VELOCITY, k)
        add_block(add(add(scale(dt, xi_v), 0.5 * dt, pushed), 1.0, cross(position, turned)), P, POSITION, k)
    for i in range(3):
        for k in range(columns):
            P[at.SLIP + i, k] *= keep
    if last < 1.0:
        for i in range(at.PARAMETERS, core(m)):
            for k in range(columns):
                P[i, k] *= last


@kernel
def add_noise(m, dt, velocity, position):
    """White noise of gyro and accelerometer over a step.

    The gyro's turns the whole error about the origin: G = (I, [v]×, [p]×) R, and R drops out of G Gᵀ.
    """
    P, s = m.covariance, m.settings
    gyro = dt * (s.gyro_lost if m.imu.step_without_gyro else gyro_density(m))
    acceleration = dt * (s.acceleration_lost if m.imu.step_without_acceleration else acceleration_density(m))
    turning = dot(vector(m.imu.average, 0), vector(m.imu.average, 0))
    gyro += dt * s.gyro_scale**2 * turning * 2.0 * TURNS
    # Two samples stand for the whole step; where some between them are missing, noise averages less.
    longer = m.clock.step * s.rate
    if longer > 1.5:
        gyro *= longer * longer
        acceleration *= longer * longer
    for i in range(3):
        P[i, i] += gyro
        P[VELOCITY + i, VELOCITY + i] += acceleration
        P[POSITION + i, POSITION + i] += acceleration * dt * dt / 3.0
        P[POSITION + i, VELOCITY + i] += 0.5 * dt * acceleration
    G = m.G
    skew(velocity, G[0:3])
    skew(position, G[3:6])
    # One triangle is copied to the other: rounding makes P asymmetric, and that part would grow exponentially.
    for i in range(3, 9):
        for j in range(3):
            P[i, j] += gyro * G[i - 3, j]
            P[j, i] = P[i, j]
        for j in range(3, i + 1):
            P[i, j] += gyro * dot(G[i - 3], G[j - 3])
            P[j, i] = P[i, j]


@kernel
def watch_vibration(m, reading, step):
    """Variance of each axis from sample to sample into imu.vibration, before the reading is stored.

    From second differences, which cancel steady acceleration: their variance is six times that of the noise.
    """
    imu = m.imu
    share = min(step / LEARNED, 1.0)
    for i in range(6):
        bend = reading[i] - 2.0 * imu.newest[i] + imu.before[i]
        imu.vibration[i] += share * (bend * bend / 6.0 - imu.vibration[i])
        imu.before[i] = imu.newest[i]


@inlined
def density(m, first, setting):
    """Spectral density of three axes from `first` on: that of the settings, or the measured one if it is larger."""
    v = m.imu.vibration
    measured = (v[first] + v[first + 1] + v[first + 2]) / 3.0 * m.clock.step
    return measured if measured > SURELY * setting else setting


@inlined
def gyro_density(m):
    """Of the gyro [rad²/s]."""
    return density(m, 0, m.settings.gyro_noise)


@inlined
def acceleration_density(m):
    """Of the accelerometer [m²/s³]."""
    return density(m, 3, m.settings.acceleration_noise)


@kernel
def at_rest(m, axis, variance):
    """Whether the variance of an axis within a window is that of a vehicle at rest.

    While the wheels stand its mean is learned: noise of this sensor and of running engines, within bounds.
    """
    limit = m.settings.quiet[axis]
    if m.window.wheels > 0:
        rest = m.imu.rest
        if rest[axis] == 0.0:
            rest[axis] = variance
        rest[axis] += USUAL * (min(variance, OUTLYING * rest[axis]) - rest[axis])
        limit = max(limit, min(OUTLYING * rest[axis], LOUDEST * limit))
    return variance <= limit
