"""Residual of each wheel against the others: L §5.1, [14], as one weighted least squares.

Rows are the velocities of the contacts, along, across and off the ground, couplings, turn rates of the gyro and rates
of joints whose angles are measured, each over the sigma of its ordinary error. Leaving the longitudinal row of a wheel
out leaves its residual: the rim speed it has beyond what the other rows ask for.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import fill, inner
from grouser._kernels.least_squares import cholesky_solve, normal_equations, solve_again
from grouser._kernels.odometry.state import LARGEST
from grouser._kernels.rotation import dot, vector

SLOWEST = 0.05  # Speed below which slip is not put in relation to it [m/s]
FLOOR = 0.01  # m/s added to the speed that ordinary errors are parts of
SMOOTH = 0.1  # Time over which slopes of measured angles are smoothed [s]
ANGLE_RATE = 0.03  # One sigma of a rate from measured angles [rad/s], and of its own size the part
ANGLE_RATE_PART = 0.2
UNSEEN_RATE = 0.3  # One sigma of the rate of a joint whose angle is not measured [rad/s or m/s]
TURN = 0.01  # Error of the gyro that lasts [rad/s]
TURN_PART = 0.03  # Ordinary error of the turn rate by wheels that steer, part of it
TURN_LAG = 0.1  # Ordinary delay between gyro and wheels [s]
SKID_LOSS = 0.35  # How much less than its wheels say a skid-steered vehicle turns, without a model, and one sigma of it
SKID_LOSS_SIGMA = 0.12
AVERAGED = 1.0  # Time over which noise of samples is averaged where it is weighed against errors that last [s]
UNTESTABLE = 1e-6  # Share of a row's own noise in its residual, below which the others do not determine it
OPEN = 1e-4  # One over the square of how large an unknown velocity may be [s²/m², s²/rad²]


@inlined
def rim(vehicle, raw, w):
    """Rim speed of a wheel [m/s], with its sign; NaN if it is not measured."""
    rate = raw[vehicle.wheel[w] - 1]
    return rate * vehicle.radius[w] if abs(rate) < LARGEST else math.nan


@kernel
def median_speed(vehicle, raw):
    """Median of the rim speeds [m/s]: one wheel that spins does not move it, nor one that stands."""
    nw = vehicle.wheel.size
    count = 0
    for w in range(nw):
        count += 0 if math.isnan(rim(vehicle, raw, w)) else 1
    low = high = 0.0
    for w in range(nw):
        speed = abs(rim(vehicle, raw, w))
        below = equal = 0
        for k in range(nw):
            other = abs(rim(vehicle, raw, k))
            below += 1 if other < speed else 0
            equal += 1 if other == speed else 0
        if below <= (count - 1) // 2 < below + equal:
            low = speed
        if below <= count // 2 < below + equal:
            high = speed
    return 0.5 * (low + high)


@kernel
def turn_by_sides(vehicle, s, raw):
    """Turn rate that the rim speeds say, for wheels that do not steer [rad/s]: their slope across the vehicle."""
    count = sum_y = sum_v = sum_yv = sum_yy = 0.0
    for w in range(vehicle.wheel.size):
        speed, y = rim(vehicle, raw, w), s.p[vehicle.wheel[w], 1]
        if not math.isnan(speed):
            count += 1.0
            sum_y += y
            sum_v += speed
            sum_yv += y * speed
            sum_yy += y * y
    below = sum_yy - sum_y * sum_y / max(count, 1.0)
    return (sum_y * sum_v / count - sum_yv) / below if below > 1e-12 else 0.0


@inlined
def turn_slip(store):
    """Turn rate that the model's slip adds to that of the wheels [rad/s]; its slip is that of the last solution."""
    if store.settings.linear == 1:
        a, v, w = store.settings.surface, store.work.odometry[3], store.work.odometry[2]
        return a[8] * v + a[9] * w + a[10] * v * w + store.extra[2]
    return store.s.slip_out[2] if store.model.slip_mode != 0 else 0.0


@inlined
def scatter(store):
    """Factor on the sigma of slip: f(s) of (4.48), 1 + k s with s the model's slip over the speed."""
    slip = 0.0
    v = vector(store.work.odometry, 3)
    if store.settings.linear == 0 and store.model.slip_mode != 0:
        slipped = vector(store.s.slip_out, 3)
        slip = math.sqrt(dot(slipped, slipped))
    return 1.0 + store.settings.slip_scale * slip / max(math.sqrt(dot(v, v)), SLOWEST)


@kernel
def smooth_angles(store, time, h):
    """Slopes of the measured angles into angle_rate; NaN for joints whose angle is not measured."""
    suspicion = store.suspicion
    for j in range(store.joints.size):
        angle = store.q[7 + j]
        if store.joints[j].angle_seen != time:
            suspicion.angle_rate[j] = math.nan
        elif h > 0.0:
            share = min(h / SMOOTH, 1.0)
            slope = (angle - suspicion.angle_before[j]) / h
            old = suspicion.angle_rate[j]
            suspicion.angle_rate[j] = slope if math.isnan(old) else old + share * (slope - old)
        suspicion.angle_before[j] = angle


@inlined
def smooth_turn(episode, turn, h):
    """Rate of change of the turn rate, smoothed over `SMOOTH`: a delay turns it into an error."""
    if abs(turn) < LARGEST:
        if h > 0.0:
            episode.swing += min(h / SMOOTH, 1.0) * (abs(turn - episode.turn) / max(h, SMOOTH) - episode.swing)
        episode.turn += min(h / SMOOTH, 1.0) * (turn - episode.turn)


@inlined
def choose_columns(store, raw):
    """Unknown velocities that move a contact into suspicion.columns; returns their number.

    A wheel whose rate is not known takes no part: its own rate is no unknown.
    """
    vehicle, s = store.vehicle, store.s
    planar = store.settings.planar == 1
    rows = 3 * vehicle.wheel.size
    n = 0
    for i in range(store.given.size):
        if i < 6:
            if planar and (i < 2 or i == 5):
                continue
        else:
            j = i - 6
            known = abs(raw[j]) < LARGEST or (planar and store.joints[j].held == 1)
            if known or vehicle.wheel_of_frame[j + 1] >= 0:
                continue
            largest = 0.0
            for r in range(rows):
                largest = max(largest, abs(s.A[r, i]))
            if largest < 1e-9:
                continue
        store.suspicion.columns[n] = i
        n += 1
    return n


@inlined
def set_row(suspicion, r, tolerance, white, averaging):
    """Ordinary error of a row, and noise of one sample, of which `averaging` is left in the mean."""
    suspicion.tolerance[r] = tolerance
    suspicion.white[r] = white
    suspicion.weight[r] = 1.0 / math.sqrt(tolerance * tolerance + averaging * white * white)


@kernel
def set_contact_rows(store, raw, averaging):
    """Weights of the rows of the contacts and couplings."""
    factor = scatter(store)
    vehicle, suspicion = store.vehicle, store.suspicion
    rules, v = suspicion.rules, suspicion.episode.scale
    nw = vehicle.wheel.size
    for w in range(nw):
        j = vehicle.wheel[w] - 1
        used = abs(raw[j]) < LARGEST and suspicion.trust[w].excluded == 0
        white = vehicle.radius[w] * math.sqrt(store.joints[j].rate_variance)
        set_row(suspicion, 3 * w, factor * rules.slip * v, white, averaging)
        if not used:
            suspicion.weight[3 * w] = 0.0
        set_row(suspicion, 3 * w + 1, rules.sideslip * v, 0.0, averaging)
        set_row(suspicion, 3 * w + 2, rules.lift * v, 0.0, averaging)
    for c in range(vehicle.coupling_value.size):
        set_row(suspicion, 3 * nw + c, suspicion.coupling_sigma[c], 0.0, averaging)


@kernel
def set_turn_rows(store, sense, first, averaging):
    """Weights and right sides of the rows of the gyro."""
    suspicion = store.suspicion
    rules = suspicion.rules
    white = math.sqrt(store.settings.gyro_variance)
    for i in range(3):
        r = first + i
        if sense.gyro_given == 0 or not (abs(sense.gyro[i]) < LARGEST):
            continue
        target = sense.gyro[i]
        if i < 2:
            error = TURN + TURN_PART * abs(target)
        elif rules.skid == 1:
            # The least squares holds back the turning of wheels that must slide: what counts is by how they roll.
            turn = turn_by_sides(store.vehicle, store.s, suspicion.believed)
            lost = SKID_LOSS * turn
            if store.model.slip_mode != 0 or store.settings.linear == 1:
                lost = turn - store.work.odometry[2] - turn_slip(store)
            target += lost
            error = TURN + SKID_LOSS_SIGMA * abs(turn)
        else:
            target -= turn_slip(store)  # the wheels' own turn rate has no slip in it
            error = TURN + TURN_PART * abs(store.work.odometry[2])
        if i == 2:
            error += TURN_LAG * suspicion.episode.swing
        set_row(suspicion, r, error, white, averaging)
        suspicion.b[r] = target * suspicion.weight[r]


@kernel
def set_system(store, raw, sense, h):
    """Rows of the sample over their sigmas, and the factor of their normal matrix; returns the number of unknowns."""
    s, suspicion, vehicle = store.s, store.suspicion, store.vehicle
    averaging = min(h / AVERAGED, 1.0)
    contacts = 3 * vehicle.wheel.size
    coupled = contacts + vehicle.coupling_value.size
    turned = coupled + 3
    n = choose_columns(store, raw)
    fill(suspicion.B, 0.0)
    fill(suspicion.b, 0.0)
    fill(suspicion.weight, 0.0)
    set_contact_rows(store, raw, averaging)
    for r in range(coupled):
        weight = suspicion.weight[r]
        for j in range(raw.size):
            if abs(raw[j]) < LARGEST:
                suspicion.b[r] -= s.A[r, 6 + j] * raw[j] * weight
        for i in range(n):
            suspicion.B[i, r] = s.A[r, suspicion.columns[i]] * weight
    set_turn_rows(store, sense, coupled, averaging)
    for i in range(n):
        column = suspicion.columns[i]
        if column < 3:
            r = coupled + column
        elif column >= 6:
            r = turned + column - 6
            rate = suspicion.angle_rate[column - 6]
            seen = not math.isnan(rate)
            error = ANGLE_RATE + ANGLE_RATE_PART * abs(rate) if seen else UNSEEN_RATE
            set_row(suspicion, r, error, 0.0, averaging)
            suspicion.b[r] = (rate if seen else 0.0) * suspicion.weight[r]
        else:
            continue
        suspicion.B[i, r] = suspicion.weight[r]
    normal_equations(suspicion.B, suspicion.b, suspicion.b.size, n, suspicion.N, suspicion.x)
    for i in range(n):
        suspicion.N[i, i] += OPEN
    cholesky_solve(suspicion.N, n, 0.0, 0.0, suspicion.x)
    return n


@kernel
def leave_out(store, raw, k, n):
    """Residual of suspect k with its sigmas: what its longitudinal rows have in common beyond the other rows."""
    vehicle, s, suspicion = store.vehicle, store.s, store.suspicion
    suspect, B, c, y = suspicion.suspects[k], suspicion.B, suspicion.c, suspicion.y
    suspect.known = 0
    fill(y, 0.0)
    fill(c, 0.0)
    own = 0.0
    outside = -1
    for w in range(vehicle.wheel.size):
        if suspicion.member[k, w] == 0:
            continue
        weight = suspicion.weight[3 * w]
        if weight == 0.0:
            if k >= vehicle.wheel.size or math.isnan(rim(vehicle, raw, w)):
                return
            outside = w
            weight = 1.0 / math.hypot(suspicion.tolerance[3 * w], suspicion.white[3 * w])
            for i in range(n):
                y[i] = s.A[3 * w, suspicion.columns[i]] * weight
        else:
            for i in range(n):
                y[i] += B[i, 3 * w] * weight
            c[3 * w] = weight
        own += weight * weight
    if outside >= 0:
        value = rim(vehicle, raw, outside)
        for j in range(raw.size):  # joints that are measured move its contact, too
            if abs(raw[j]) < LARGEST and j != vehicle.wheel[outside] - 1:
                value -= s.A[3 * outside, 6 + j] * raw[j]
        for i in range(n):
            value -= s.A[3 * outside, suspicion.columns[i]] * suspicion.x[i]
        share = math.sqrt(own)
        persistent = suspicion.tolerance[3 * outside] ** 2
        white = suspicion.white[3 * outside] ** 2
    else:
        value = persistent = white = 0.0
        share = own
    solve_again(suspicion.N, n, y)
    for r in range(c.size):
        c[r] -= inner(y[:n], B[:, r])
    if outside < 0:
        share = 0.0
        for w in range(vehicle.wheel.size):
            if suspicion.member[k, w] == 1:
                share += c[3 * w] * suspicion.weight[3 * w]
        if share < UNTESTABLE * own:
            return
    for r in range(c.size):
        g = c[r] / share
        if outside < 0:
            value += g * suspicion.b[r]
        persistent += (g * suspicion.tolerance[r] * suspicion.weight[r]) ** 2
        white += (g * suspicion.white[r] * suspicion.weight[r]) ** 2
    suspect.known = 1
    suspect.residual = value
    suspect.persistent = math.sqrt(persistent)
    suspect.white = white


@kernel
def find_residuals(store, raw, sense, h):
    """Residuals of all suspects; s holds the contacts of the sample."""
    store.suspicion.episode.scale = median_speed(store.vehicle, raw) + FLOOR
    store.suspicion.episode.moving = 1 if store.suspicion.episode.scale > 2.0 * FLOOR else 0
    if sense.gyro_given == 1:
        smooth_turn(store.suspicion.episode, sense.gyro[2], h)
    n = set_system(store, raw, sense, h)
    for k in range(store.suspicion.suspects.size):
        leave_out(store, raw, k, n)
