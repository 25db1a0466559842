"""Covariance of a sample's velocity by propagation of the noise of its inputs, and which velocities are observable."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import add_outer, fill, inner
from grouser._kernels.odometry import velocity
from grouser._kernels.odometry.pose import LEAST_LENGTH, SMOOTHING
from grouser._kernels.odometry.state import CONTACTS_ON_GROUND, ESTIMATED, FAULT_UNOBSERVED, LARGEST
from grouser._kernels.rotation import matrix as rotation_of_quaternion
from grouser._kernels.rotation import set_attitude

STEP = 1e-4  # Of the differences that propagate noise of angles [rad]
RATE_STEP = 1e-3  # Of those for rates, which enter linearly apart from slip [rad/s]
LOWEST_SHARE = 1e-3
"""Share of a component that may lie outside of what the wheels determine, for it to count as observed."""
UNKNOWN_SPEED = 1.0  # One sigma of a velocity that nothing determines [m/s, rad/s]
MISSING_LASTS = 1.0  # How long the error lasts, one way, that a missing wheel makes [s]; chosen, not measured
UNSURE_CLIMB = 0.045  # One sigma of the mean of estimated contact angles, part of their rms; by simulation of ramps
CONTRADICTION = 4.0  # Mean square of the wheels' residuals over that by noise, from which on they contradict each other
ALL_ROWS, MEASURED_ROWS, ROLLING_ROWS = 3, 2, 1  # of each wheel: along, across, along the normal


@kernel
def outside_share(store, normal_rows, level):
    """Share of each of the six velocities that the wheels do not determine, without a gyro, into work.share."""
    share_outside(store, ALL_ROWS if normal_rows else MEASURED_ROWS, level, False, store.work.share)


@kernel
def share_outside(store, rows, level, gyro, share):
    """Share of each of the six velocities that the constraint rows do not determine, into share (6,).

    The limit of ε (N + ε)⁻¹ is the projector on the null space of the rows. Without the normal rows only what wheels
    measure counts, not the contact angles that were assumed; without those across, only how they roll. `level` takes
    the turn rates about x, y as given, `gyro` those that the gyro gives. The
    factor is one of a matrix that may be singular: pivots have a floor. s.normal keeps the factor of the solution.
    """
    model, s, N = store.model, store.s, store.shares
    n = 0
    for body in range(2):  # joints first: they follow the body, and eliminating them loses no digits
        for i in range(model.counts[1]):
            c = model.unknown[i]
            known = (level and c < 2) or (gyro and c < 3 and store.work.by_gyro[c] == 1.0)
            if (c < 6) == (body == 1) and not known:
                s.pivot[n] = c
                n += 1
    nw = s.height_error.size
    largest = 0.0
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for r in range(s.rhs.size):
                if r < 3 * nw and r % 3 >= rows:
                    continue
                total += s.A[r, s.pivot[i]] * s.A[r, s.pivot[j]]
            N[i, j] = total
        largest = max(largest, N[i, i])
    small = 1e-9 * largest + 1e-30
    for i in range(n):
        N[i, i] += small if s.pivot[i] < 6 else 1e-5 * small
        for j in range(i):
            N[i, j] = (N[i, j] - inner(N[i, :j], N[j])) / N[j, j]
        N[i, i] = math.sqrt(max(N[i, i] - inner(N[i, :i], N[i]), 1e-6 * small))
    fill(share, 0.0)
    y = s.x
    for c in range(n):
        if s.pivot[c] >= 6:
            continue
        for i in range(c, n):
            y[i] = ((1.0 if i == c else 0.0) - inner(N[i, c:i], y[c:])) / N[i, i]
        share[s.pivot[c]] = min(small * inner(y[c:n], y[c:]), 1.0)


@kernel
def observe(store, inside, rank, out):
    """Velocities that the wheels determine, and into work.share the undetermined share with assumed contacts."""
    settings, share = store.settings, store.work.share
    known = settings.contacts_known % 2 == 1 and inside
    if settings.linear == 1:
        fill(share, 0.0)
        for i in range(6):
            out.observed[i] = 1.0 if 2 <= i <= 4 else 0.0
        return
    outside_share(store, known, not known)
    for i in range(6):
        seen = share[i] < LOWEST_SHARE and (known or i >= 2) and not (settings.planar == 1 and i == 5)
        out.observed[i] = 1.0 if seen else 0.0
    if out.wheels == 0 and not known:
        return  # no wheel is measured: contacts that were only assumed must not decide how fast it goes
    if rank < store.model.counts[1]:
        share_outside(store, ALL_ROWS, False, True, share)
    else:
        fill(share, 0.0)


@kernel
def determine_nothing(work, out):
    """Velocity of a sample with too few measured wheels."""
    fill(work.odometry, 0.0)
    fill(work.twist, 0.0)
    fill(work.share, 1.0)
    fill(out.observed, 0.0)
    fill(work.lean, 0.0)
    fill(work.covariance, 0.0)
    fill(work.lasting, 0.0)


@inlined
def add_square(work, covariance, before, variance, step):
    """covariance += variance · d dᵀ with d the change from a twist per unit of an input that moved by `step`."""
    for i in range(6):
        a = variance * (work.moved[i] - before[i]) / (step * step)
        for k in range(6):
            covariance[i, k] += a * (work.moved[k] - before[k])


@kernel
def sample_covariance(store, factorised):
    """Covariance of work.twist by propagation of the noise of its inputs, (4.47), scaled with slip, (4.48).

    Each noisy input is changed a little and the velocity solved again, slip included. s holds the contacts, and their
    factor if they are `factorised`.
    """
    model, settings, work, given = store.model, store.settings, store.work, store.given
    fill(work.covariance, 0.0)
    fill(work.lasting, 0.0)
    for k in range(model.counts[0]):
        column = model.known[k]
        if column >= 6 and store.joints[column - 6].rate_variance > 0.0:
            given[column] += RATE_STEP
            velocity.moved_twist(store, factorised)
            given[column] -= RATE_STEP
            add_square(work, work.covariance, work.twist, store.joints[column - 6].rate_variance, RATE_STEP)
    if settings.linear == 0:
        for j in range(given.size - 6):
            joint = store.joints[j]
            variance = joint.angle_sigma**2 + joint.fault_sigma**2
            held = settings.planar == 1 and joint.held == 1
            if variance > 0.0 and store.vehicle.wheel_of_frame[j + 1] < 0 and not held:
                move_angle(store, store.q, 7 + j, variance, work.covariance)
        if settings.contact_sigma > 0.0 and settings.contacts != CONTACTS_ON_GROUND:
            for w in range(store.contact.size):
                move_angle(store, store.contact, w, settings.contact_sigma**2, work.lasting)
    if settings.contacts_known >= ESTIMATED:
        work.lasting[5, 5] += (UNSURE_CLIMB * store.memory.climb * work.speed) ** 2
    for i in range(36):
        work.covariance.flat[i] *= work.factor


@kernel
def move_angle(store, angles, i, variance, covariance):
    """The part of one angle, which moves contacts and frames, in a covariance."""
    angles[i] += STEP
    velocity.find_contact_frames(store)
    velocity.moved_twist(store, velocity.factorise(store.model, store.s, store.model.unknown, store.model.counts[1]))
    angles[i] -= STEP
    add_square(store.work, covariance, store.work.twist, variance, STEP)


@kernel
def missing_rates(store, rates, out):
    """Covariance by wheels whose rates are missing.

    Where the others determine the motion, a missing wheel turns as they ask, within what they contradict each other by
    beyond their noise: where a skid-steered vehicle turns, the velocity of those that are left is not that of all with
    less averaging, it is another one. Elsewhere it may turn as fast as the others, either way. It does so for a while.
    What the velocity was with all is found by giving each missing wheel the rate that the others ask of it, and then
    another. The model's lists of known velocities are overwritten.
    """
    vehicle, model, work = store.vehicle, store.model, store.work
    first = model.counts[0]
    nk = first
    for w in range(vehicle.wheel.size):
        j = vehicle.wheel[w] - 1
        if store.joints[j].rate_wanted == 1 and not (abs(rates[j]) < LARGEST):
            model.known[nk] = 6 + j
            nk += 1
    if nk == first:
        return
    speed = max(work.speed, velocity.SLOWEST) if out.wheels > 0 else UNKNOWN_SPEED
    if others_suffice(store, out):
        velocity.constraint_twist(store, False, work.moved_odometry, work.moved)
        speed = contradiction(store, out.wheels)
    else:
        work.stands = 0
        velocity.constraint_twist(store, False, work.moved_odometry, work.moved)
    if speed == 0.0:
        return
    nu = 0
    for i in range(model.counts[1]):
        column = model.unknown[i]
        lost = False
        for k in range(first, nk):
            lost = lost or model.known[k] == column
        if lost:
            store.given[column] = store.s.v[column]
        else:
            model.unknown[nu] = column
            nu += 1
    model.counts[0] = nk
    model.counts[1] = nu
    velocity.turn_responses(store)
    velocity.constraint_twist(store, False, work.moved_odometry, work.asked)
    velocity.impose(store, work.asked)
    speed *= math.sqrt(1.0 + 2.0 * MISSING_LASTS / work.period)
    for k in range(first, nk):
        column = model.known[k]
        store.given[column] += RATE_STEP
        velocity.moved_twist(store, False)
        store.given[column] -= RATE_STEP
        radius = vehicle.radius[vehicle.wheel_of_frame[column - 5]]
        add_square(work, work.covariance, work.asked, (speed / radius) ** 2, RATE_STEP)


@inlined
def others_suffice(store, out):
    """Whether wheels with rates determine speed and turn rate; those that skid only by how they roll."""
    left = store.work.left
    share_outside(store, ROLLING_ROWS if store.settings.skids == 1 else MEASURED_ROWS, True, True, left)
    return out.wheels > 0 and left[2] < LOWEST_SHARE and left[3] < LOWEST_SHARE


@kernel
def contradiction(store, wheels):
    """Velocity by which the wheels contradict each other beyond their noise, rms over the wheels [m/s].

    By the residuals of the solution in s.v, along and across.
    """
    s, work = store.s, store.work
    squares = 0.0
    expected = 0.0
    for w in range(store.vehicle.wheel.size):
        for r in range(3 * w, 3 * w + 2):
            residual = inner(s.A[r], s.v) - s.rhs[r]
            for i in range(3):
                if work.by_gyro[i] == 1.0:
                    residual += inner(s.A[r], store.response[i]) * (work.gyro[i] - s.v[i])
            squares += residual * residual
        expected += store.vehicle.radius[w] ** 2 * store.joints[store.vehicle.wheel[w] - 1].rate_variance
    return math.sqrt(max(squares - CONTRADICTION * expected, 0.0) / max(wheels, 1))


@kernel
def lean_slopes(store, factorised):
    """∂twist/∂roll and ∂twist/∂pitch into work.lean: attitude turns gravity, and slip follows it.

    Contacts are fixed to the body.
    """
    work, R_world_body = store.work, store.s.R_world_body
    fill(work.lean, 0.0)
    if store.settings.linear == 0 and store.model.slip_mode == 0:
        return
    for k in range(2):
        work.attitude[k] += STEP
        set_attitude(work.quaternion, work.attitude[0], work.attitude[1], 0.0)
        rotation_of_quaternion(work.quaternion, R_world_body)
        velocity.moved_twist(store, factorised)
        work.attitude[k] -= STEP
        for i in range(6):
            work.lean[k, i] = (work.moved[i] - work.twist[i]) / STEP
    rotation_of_quaternion(store.q, R_world_body)


@kernel
def open_velocities(work):
    """Leave in work.share what nothing determines; returns a fault bit if that is motion in the plane."""
    fault = 0
    for i in range(6):
        if work.share[i] <= LOWEST_SHARE:
            work.share[i] = 0.0
        elif 2 <= i <= 4:
            fault = FAULT_UNOBSERVED
            work.stands = 0
    return fault


@kernel
def complete(store):
    """The whole covariance of the twist into work.whole, and in work.covariance what of it moves the pose.

    Wheels that stand exactly still in two samples make no noise: their encoders have not passed a count. The noise of
    one sample stays.
    """
    work, memory = store.work, store.memory
    velocity.gyro_noise(store)
    moves = 0.0 if work.stands == 1 and memory.stood == 1 else 1.0
    for i in range(6):
        for k in range(6):
            work.whole[i, k] = work.covariance[i, k] + work.turning[i, k] + work.lasting[i, k]
            work.covariance[i, k] = moves * work.covariance[i, k] + work.turning[i, k]
        unknown = work.share[i] * UNKNOWN_SPEED**2
        work.whole[i, i] += unknown
        if i >= 2 or work.lever == 0:  # else attitude gives them
            work.covariance[i, i] += unknown
    memory.stood = work.stands
    for i in range(2):  # the body turns over its wheels as attitude shows, and the velocity of the sample is without it
        if work.lever == 1 and work.by_gyro[i] == 0.0:
            noise = (memory.attitude_sigma / max(SMOOTHING * store.settings.span, LEAST_LENGTH)) ** 2
            q = max(memory.bend[i] ** 2 - noise, 0.0) * work.speed**2
            add_outer(q, store.response[i], store.response[i], work.whole)
