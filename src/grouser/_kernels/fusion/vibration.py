"""Noise of the IMU as it is seen: vibration of a vehicle that drives is more than the noise of the sensor."""

from grouser._compile.jit import inlined, kernel

LEARNED = 1.0  # Time over which vibration is averaged [s]
SURELY = 2.0  # Vibration counts where its variance is more than this many times that of the settings
LOUDEST = 400.0  # The usual variance at rest counts as noise up to this many times that of the settings
USUAL = 0.1  # Share of a window in the usual variance
OUTLYING = 5.0  # Times the usual variance that is none of standing still


@kernel
def watch_vibration(m, reading, step):
    """Variance of each axis from sample to sample into imu.vibration, before the reading is taken over.

    By second differences, in which steady acceleration has no part: their variance is six times that of the noise.
    """
    imu = m.imu
    share = min(step / LEARNED, 1.0)
    for i in range(6):
        bend = reading[i] - 2.0 * imu.newest[i] + imu.before[i]
        imu.vibration[i] += share * (bend * bend / 6.0 - imu.vibration[i])
        imu.before[i] = imu.newest[i]


@inlined
def density(m, first, setting):
    """Spectral density of three axes from `first` on: that of the settings, or more if more is seen."""
    v = m.imu.vibration
    seen = (v[first] + v[first + 1] + v[first + 2]) / 3.0 * m.clock.step
    return seen if seen > SURELY * setting else setting


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
    """Whether the variance of an axis within a window is one of standing still.

    While wheels stand its mean is that of this sensor and of engines that run, within bounds.
    """
    limit = m.settings.quiet[axis]
    if m.window.wheels > 0:
        rest = m.imu.rest
        if rest[axis] == 0.0:
            rest[axis] = variance
        rest[axis] += USUAL * (min(variance, OUTLYING * rest[axis]) - rest[axis])
        limit = max(limit, min(OUTLYING * rest[axis], LOUDEST * limit))
    return variance <= limit
