"""Body velocity from the wheels as a measurement of the fusion filter, and whether the wheels are trusted."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.fusion import memory as at
from grouser._kernels.fusion.delay import recall
from grouser._kernels.fusion.memory import GYRO_BIAS, LOOSE, VELOCITY, WATCHED
from grouser._kernels.fusion.predict import acceleration_density, gyro_density
from grouser._kernels.fusion.update import accept, age, commit, core, innovate, refuse_at_start
from grouser._kernels.rotation import add, column, cross, dot, matrix, put, rotate_back, scale, skew

UNKNOWN_SPEED = 0.5  # Sigma of the velocity [m/s] above which the rolling speed is that of the wheels
VIBRATES = 1e-4  # Density of the accelerometer's noise [m²/s³] above which it matters in the rolling speed
STEADY = 0.5  # Time over which the rolling speed is averaged [s]
CALM = 2.0  # Distrusted wheels are trusted again after they have agreed with the other sensors for this time [s] …
LOOSE_CALM = 20.0  # … or this, where there are neither poses nor GPS [s] …
SET_BACK = 0.2  # … to which each refusal adds this [s]


@kernel
def measure_wheels(m, event):
    """Correct the state by the twist (ω, v) of the wheels: the entries they observe, with their covariance."""
    if event.time < m.clock.began:
        return
    if not recall(m, event.time):
        m.faults.wheels_late += 1
        return
    delay = age(m, event.time)
    speed = predict_wheels(m, event.twist)
    since = m.clock.now - m.clock.rolling_time
    m.clock.rolling_speed = speed
    m.clock.rolling_time = m.clock.now
    rows, square = compare_wheels(m, event, delay, speed, 0.0)
    if rows == 0:
        return
    agrees = 0.0 <= square <= m.settings.gate[rows]
    if m.counts.distrusted:
        review_distrust(m, agrees)
        if m.counts.distrusted == WATCHED:
            m.wheels.refused += 1
            return
    loose = m.counts.distrusted == LOOSE
    if not agrees and not loose:
        m.wheels.refused += 1
        m.faults.wheels_refused += 1
        refuse_wheels(m)
        refuse_at_start(m, m.wheels)
        if not alone(m) or not square > 0.0:
            return
        # Nothing else holds the velocity: they count with the noise they show.
        wheel_rows(m, delay, speed)
        select_observed(m, event, acceleration_density(m) * delay, 0.0)
        for i in range(rows):
            for j in range(i + 1):
                m.noise[i, j] *= square / m.settings.gate[rows]
        if innovate(m, rows, core(m)) >= 0.0:
            commit(m, rows)
            m.clock.wheels = m.clock.now
        return
    if loose:
        without_slip(m, speed)
        rows, square = compare_wheels(m, event, delay, 0.0, loosen(m, event.twist, speed, since))
        if not 0.0 <= square <= m.settings.gate[rows]:
            refuse_wheels(m)
            return
    if agrees:
        m.wheels.since = math.nan
    accept(m.wheels, square, rows)
    commit(m, rows)
    m.clock.wheels = m.clock.now


@kernel
def without_slip(m, speed):
    """Take slip and parameters out of the prediction: wheels that are loose measure the velocity with large noise."""
    subtract_slip(m, -1.0, speed)
    fill(m.slopes, 0.0)
    fill(m.direction, 0.0)


@kernel
def compare_wheels(m, event, delay, speed, loose):
    """Number of rows of a measurement, and its squared innovation; leaves what `commit` needs."""
    wheel_rows(m, delay, speed)
    rows = select_observed(m, event, acceleration_density(m) * delay, loose)
    return rows, innovate(m, rows, core(m)) if rows > 0 else 0.0


@kernel
def predict_wheels(m, twist):
    """Twist that the wheels should show at m.then into m.predicted; returns the rolling speed u.

    v_wheels = v − u s − D δ at the point they measure, with the slip s (forward, left, yaw), a fraction of the speed
    that changes with the ground, not white noise, and the changes δ of the parameters, D in m.slopes. The rolling speed
    is the filter's own, not the wheels': their noise in H would bias the slip. But where it is not known yet the filter
    would take the first velocity for one without slip.
    """
    x, hat = m.state, m.predicted
    rate = add(m.then.gyro, -1.0, x.gyro_bias)
    v_body = rotate_back(m.then.quaternion, m.then.velocity)
    put(rate, hat, 0)
    put(add(v_body, 1.0, cross(rate, m.settings.lever_wheels)), hat, 3)
    speed = rolling_speed(m, hat)
    matrix(m.then.quaternion, m.R)
    for j in range(3):  # the slopes of u by gyro bias and delay are left out
        m.direction[j] = (hat[3] * m.R[j, 0] + hat[4] * m.R[j, 1]) / max(speed, 1e-6)
    P = m.covariance
    unknown = P[VELOCITY, VELOCITY] + P[VELOCITY + 1, VELOCITY + 1]
    if unknown > UNKNOWN_SPEED**2:
        measured = rolling_speed(m, twist)
        if measured < 4.0 * math.sqrt(unknown):  # also finite
            speed = measured
            fill(m.direction, 0.0)
    elif acceleration_density(m) > VIBRATES:
        # Vibration: noise of the velocity in H would be taken for slip. The mean of a while has little of it.
        since = m.clock.now - m.clock.rolling_time
        if m.clock.rolling_speed > 0.0 and since < STEADY:
            speed = m.clock.rolling_speed + since / (since + STEADY) * (speed - m.clock.rolling_speed)
            fill(m.direction, 0.0)
    if not m.settings.given:
        fill(m.slopes, 0.0)
        for i in range(3):
            m.slopes[twist_row(i), i] = speed
    subtract_slip(m, 1.0, speed)
    return speed


@inlined
def subtract_slip(m, sign, speed):
    """m.predicted −= sign (u s + D δ)."""
    for i in range(3):
        m.predicted[twist_row(i)] -= sign * speed * m.state.slip[i]
    for i in range(6):
        m.predicted[i] -= sign * inner(m.slopes[i], m.parameters)


@inlined
def rolling_speed(m, twist):
    """Speed of wheels that show a twist (ω, v): √(v_x² + v_y² + (arm ω_z)²) [m/s]."""
    arm = m.settings.slip_arm * twist[2]
    return math.sqrt(twist[3] * twist[3] + twist[4] * twist[4] + arm * arm)


@kernel
def loosen(m, twist, speed, since):
    """Variance of white noise of distrusted wheels, to be multiplied by that of their slip, [m²/s²].

    Their error u s is as large as the speed, correlated along slip_length L. As a state it would make (v, s) a pair of
    which only a nonlinear mixture is observed, and each linearisation would add information that is none. White noise
    of the same spectral density, 2 u² L/u over the time between two measurements, does not.
    """
    measured = rolling_speed(m, twist)
    fastest = max(speed, measured) if measured < math.inf else speed
    return 2.0 * max(fastest, m.settings.still_speed) * m.settings.slip_length / min(max(since, 1e-3), 1.0)


@inlined
def twist_row(i):
    """Row of the twist of a slip: forward, left, yaw."""
    return 2 if i == 2 else 3 + i


@kernel
def wheel_rows(m, delay, speed):
    """m.H (6, core) ← ∂(predicted twist)/∂(error now), and m.G (6, 3) ← −∂(ω̂, v̂)/∂(gyro bias) of the present."""
    H, R, G, g = m.H, m.R, m.G, m.settings.gravity
    fill(G, 0.0)
    fill(H, 0.0)
    skew(scale(-1.0, m.settings.lever_wheels), G[3:6])  # ω × lever = −lever × ω
    for c in range(core(m)):
        m.columns[c] = c
    for i in range(3):
        G[i, i] = 1.0
        axis = column(R, i)
        for j in range(3):
            H[i, GYRO_BIAS + j] = -G[i, j]
            H[3 + i, GYRO_BIAS + j] = -G[3 + i, j]
            H[3 + i, VELOCITY + j] = R[j, i]
        if delay > 0.0:  # ξ_v,then = ξ_v − Δ (g × θ − v × R δb_g − R δb_a)
            H[3 + i, at.ROTATION] = delay * g * R[1, i]
            H[3 + i, at.ROTATION + 1] = -delay * g * R[0, i]
            H[3 + i, at.ACCELERATION_BIAS + i] = delay
            for j in range(3):
                swing = cross(m.then.velocity, column(R, j))
                H[3 + i, GYRO_BIAS + j] += delay * dot(axis, swing)
        row = H[twist_row(i)]
        row[at.SLIP + i] = -speed
        slip = m.state.slip[i] + (0.0 if m.settings.given else m.parameters[i])
        for j in range(3):
            row[VELOCITY + j] -= slip * m.direction[j]
    for i in range(6):
        for k in range(m.parameters.size):
            H[i, at.PARAMETERS + k] = -m.slopes[i, k]


@kernel
def select_observed(m, event, drift, loose):
    """Residual, rows of H and noise of the entries that the wheels observe, moved to the front; how many.

    Noise of the gyro enters as G Gᵀ; `drift` is the variance of the velocity's change over the delay, `loose` that of
    `loosen`. A gyro that is lost leaves only the velocities, with large noise.
    """
    lost = m.imu.gyro_lost != 0
    gyro = 1.0 if lost else gyro_density(m) / max(m.clock.step, 1e-3)
    G = m.G
    rows = 0
    for i in range(6):
        if event.observed[i] == 0.0 or (lost and i < 3):
            continue
        copy(m.H[i], m.H[rows])
        m.residual[rows] = event.twist[i] - m.predicted[i]
        k = 0
        for j in range(i + 1):
            if event.observed[j] == 0.0 or (lost and j < 3):
                continue
            m.noise[rows, k] = 0.5 * (event.covariance[i, j] + event.covariance[j, i]) + gyro * dot(G[i], G[j])
            k += 1
        if i >= 3:
            m.noise[rows, rows] += drift
        if i >= 2 and loose > 0.0:
            m.noise[rows, rows] += loose * m.settings.distrusted_slip[2 if i == 2 else min(i - 3, 1)] ** 2
        rows += 1
    return rows


@inlined
def alone(m):
    """Whether wheels are the only source of velocity apart from the IMU."""
    latest = max(m.clock.poses, m.clock.gps)
    return not m.clock.now - latest <= at.SELDOM * m.settings.missing_after


@kernel
def refuse_wheels(m):
    """Wheels that contradict the other sensors for a while are distrusted: one is blocked, frozen or spinning."""
    clock = m.clock
    if math.isnan(m.wheels.since):
        m.wheels.since = clock.now
    elif clock.now - m.wheels.since >= m.settings.distrust_after:
        if not m.counts.distrusted:
            m.faults.wheels_distrusted += 1
            m.counts.distrusted = WATCHED
        clock.calm = math.nan
        m.wheels.since = clock.now


@kernel
def review_distrust(m, agrees):
    """Use of distrusted wheels, and the end of the distrust.

    While there are poses or GPS the wheels are only compared, until they have agreed for a while; a refusal delays
    that. Without they are the only source of velocity, and are used with the noise of a wide slip.
    """
    clock = m.clock
    limit = m.settings.missing_after
    loose = clock.now - clock.poses > limit and clock.now - clock.gps > at.SELDOM * limit
    m.counts.distrusted = LOOSE if loose else WATCHED
    if math.isnan(clock.calm):
        clock.calm = clock.now
    if not agrees:
        clock.calm = min(clock.calm + SET_BACK, clock.now)
    if m.counts.sliding:  # standing wheels agree with every slow slide
        clock.calm = clock.now
    # Loose wheels draw the velocity to theirs, so that they agree sooner than they should.
    wait = CALM if m.counts.distrusted == WATCHED else LOOSE_CALM
    if clock.now - clock.calm >= wait:
        m.counts.distrusted = 0
        m.wheels.since = math.nan
