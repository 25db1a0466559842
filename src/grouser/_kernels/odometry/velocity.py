"""Body velocity of a sample from its wheels, with slip, its covariance, and what of it the wheels determine."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.constants import GRAVITY
from grouser._kernels.contact.geometry import contacts_at, find_contacts
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import SLIP_ON_BODY, body_slip, solve_velocity
from grouser._kernels.least_squares import back_substitute, cholesky_solve, normal_equations
from grouser._kernels.odometry import slots
from grouser._kernels.odometry.inputs import LARGEST
from grouser._kernels.vehicles.frames import pose_frames, rotation_of_quaternion, set_attitude

SLOWEST = 0.05
"""Speed below which slip is not put in relation to it [m/s]."""
STEP = 1e-4
"""Of the differences that propagate noise of angles [rad]."""
RATE_STEP = 1e-3
"""Of those for rates, which enter linearly apart from slip [rad/s]."""
SAFE_PIVOT = 1e-8
"""Part of a column that is its own, squared, above which a Cholesky factor is good for many right sides."""
SAFE_SHARE = 1e-16
"""The same part of the largest column. Both are stricter than those of `least_squares`."""


@kernel
def find_contact_frames(vehicle, ground, s, settings, contact, q):
    """Frames, contacts and Jacobians of state q; False if the ground ends, and then contacts are at the angles."""
    pose_frames(vehicle, q, s)
    inside = True
    if settings[slots.ON_GROUND] > 0.0:
        inside = find_contacts(vehicle, ground, s)
        if not inside:
            contacts_at(vehicle, contact, s)
    else:
        contacts_at(vehicle, contact, s)
    wheel_jacobians(vehicle, s)
    return inside


@inlined
def factorise(model, s):
    """Cholesky factor of the normal matrix of the contacts in s, for `solve_factorised`; False if rank is nearly lost.

    The whole least squares then decides, for every right side anew.
    """
    n = model.counts[1]
    nr = s.rhs.size
    N = s.normal
    for i in range(n):
        column = model.unknown[i]
        for r in range(nr):
            s.B[i, r] = s.A[r, column] * model.weight[r]
    largest = normal_equations(s.B, s.row, nr, n, N, s.x)
    return cholesky_solve(N, n, SAFE_PIVOT, SAFE_SHARE * largest, s.x)


@inlined
def solve_factorised(model, s, given):
    """As `solve_velocity`, with the factor that `factorise` left in s.normal and the columns in s.B.

    given (nv,) is zero where nothing is known: whole rows are faster than picked entries.
    """
    n = model.counts[1]
    nr = s.rhs.size
    N = s.normal
    x = s.x
    for r in range(nr):
        total = s.rhs[r]
        for k in range(given.size):
            total -= s.A[r, k] * given[k]
        s.row[r] = total * model.weight[r]
    for i in range(n):
        total = 0.0
        for r in range(nr):
            total += s.B[i, r] * s.row[r]
        x[i] = total
    for k in range(n):
        value = x[k] * N[k, k]  # the diagonal is kept inverted
        for i in range(k + 1, n):
            x[i] -= N[k, i] * value
    back_substitute(N, n, x)
    for i in range(n):
        s.v[model.unknown[i]] = x[i]


@inlined
def solve_rows(model, s, factorised, given):
    """Unknown entries of s.v from the known ones and s.rhs; returns the rank."""
    if factorised:
        solve_factorised(model, s, given)
        return model.counts[1]
    return solve_velocity(model, s)


@kernel
def constraint_twist(vehicle, model, s, factorised, given, odometry, twist):
    """Velocity from the wheels (4.35), T (2.37), and with slip, T (2.51), (2.52); returns the rank.

    Nothing is stabilised here: angles are measured, they need no pull towards the couplings.
    """
    for i in range(given.size):
        s.v[i] = given[i]
    for r in range(s.rhs.size):
        s.rhs[r] = 0.0
    rank = solve_rows(model, s, factorised, given)
    for i in range(6):
        odometry[i] = s.v[i]
        twist[i] = s.v[i]
    if model.slip_mode != 0:
        body_slip(vehicle, model, s)
        if model.slip_mode == SLIP_ON_BODY:
            for i in range(6):
                twist[i] += s.slip_out[i]
        else:
            for w in range(vehicle.wheel.size):
                for r in range(3 * w, 3 * w + 2):
                    for i in range(6):
                        s.rhs[r] += s.A[r, i] * s.slip_out[i]
            solve_rows(model, s, factorised, given)
            for i in range(6):
                twist[i] = s.v[i]
    return rank


@kernel
def linear_twist(settings, linear, given, attitude, odometry, twist):
    """Velocity of the simple odometries, linear in the rates, and the slip surface P (12), (13) on it."""
    for i in range(6):
        total = 0.0
        for j in range(given.size - 6):
            total += linear[i, j] * given[6 + j]
        odometry[i] = total
        twist[i] = total
    a = settings[slots.SURFACE : slots.SURFACE + 13]
    v = odometry[3]
    w = odometry[2]
    gx = GRAVITY * math.sin(attitude[1])
    gy = -GRAVITY * math.cos(attitude[1]) * math.sin(attitude[0])
    twist[3] += a[0] * v + a[1] * abs(w) + a[2] * v * abs(w) + a[3] * gx
    twist[4] += a[4] * v + a[5] * w + a[6] * v * w + a[7] * gy
    twist[2] += a[8] * v + a[9] * w + a[10] * v * w + a[11] * gx + a[12] * gy


@kernel
def sample_twist(vehicle, model, ground, s, settings, linear, contact, q, given, work):
    """Velocity of a sample into work[0] (wheels) and work[1] (with slip).

    Returns whether there is ground, the rank, and whether the contacts left in s are factorised.
    """
    if settings[slots.LINEAR] > 0.0:
        linear_twist(settings, linear, given, work[4], work[0], work[1])
        return True, model.counts[1], False
    inside = find_contact_frames(vehicle, ground, s, settings, contact, q)
    factorised = factorise(model, s)
    rank = constraint_twist(vehicle, model, s, factorised, given, work[0], work[1])
    return inside, rank, factorised


@kernel
def outside_share(model, s, N, normal_rows, level, share):
    """Share of each of the six velocities that lies outside of what the constraint rows determine, into share (6,).

    The limit of ε (N + ε)⁻¹ is the projector on the null space of the rows. Without the normal rows only what wheels
    measure counts, not the contact angles that were assumed; `level` takes the turn rates about x, y as given. N is
    work space: s.normal keeps the factor of the solution.
    """
    n = 0
    for body in range(2):  # joints first: they follow the body, and eliminating them loses no digits
        for i in range(model.counts[1]):
            c = model.unknown[i]
            if (c < 6) == (body == 1) and not (level and c < 2):
                s.pivot[n] = c
                n += 1
    nw = s.height_error.size
    largest = 0.0
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for r in range(s.rhs.size):
                if r < 3 * nw and r % 3 == 2 and not normal_rows:
                    continue
                total += s.A[r, s.pivot[i]] * s.A[r, s.pivot[j]]
            N[i, j] = total
        largest = max(largest, N[i, i])
    small = 1e-9 * largest + 1e-30
    for i in range(n):
        N[i, i] += small if s.pivot[i] < 6 else 1e-5 * small
        for j in range(i + 1):
            total = N[i, j]
            for k in range(j):
                total -= N[i, k] * N[j, k]
            if i == j:
                N[i, i] = math.sqrt(max(total, 1e-6 * small))
            else:
                N[i, j] = total / N[j, j]
    for i in range(6):
        share[i] = 0.0
    y = s.x
    for c in range(n):
        if s.pivot[c] >= 6:
            continue
        total = 0.0
        for i in range(n):
            y[i] = 1.0 if i == c else 0.0
            for k in range(i):
                y[i] -= N[i, k] * y[k]
            y[i] /= N[i, i]
            total += y[i] * y[i]
        share[s.pivot[c]] = min(small * total, 1.0)


@kernel
def add_square(C, variance, changed, base, step):
    """C (36,) += variance · d dᵀ with d the change of a twist per unit."""
    for i in range(6):
        a = variance * (changed[i] - base[i]) / (step * step)
        for k in range(6):
            C[6 * i + k] += a * (changed[k] - base[k])


@kernel
def sample_covariance(vehicle, model, ground, s, factorised, settings, joints, linear, contact, q, given, work, C):
    """Covariance of the twist in work[1] by propagation of the noise of its inputs, (4.47), into C (36,).

    Each noisy input is changed a little and the velocity solved again, slip included. s holds the contacts, and their
    factor if they are `factorised`.
    """
    base = work[1]
    attitude = work[4]
    for i in range(36):
        C[i] = 0.0
    nj = given.size - 6
    for k in range(model.counts[0]):
        j = model.known[k] - 6
        if j < 0 or joints[j, slots.RATE_VARIANCE] == 0.0:
            continue
        given[6 + j] += RATE_STEP
        if settings[slots.LINEAR] > 0.0:
            linear_twist(settings, linear, given, attitude, work[2], work[3])
        else:
            constraint_twist(vehicle, model, s, factorised, given, work[2], work[3])
        given[6 + j] -= RATE_STEP
        add_square(C, joints[j, slots.RATE_VARIANCE], work[3], base, RATE_STEP)
    if settings[slots.LINEAR] > 0.0:
        return
    for j in range(nj):
        variance = joints[j, slots.ANGLE_SIGMA] ** 2 + joints[j, slots.ANGLE_SIGMA + 1] ** 2
        if variance == 0.0 or vehicle.wheel_of_frame[j + 1] >= 0:
            continue
        if settings[slots.PLANAR] > 0.0 and joints[j, slots.HELD] > 0.0:
            continue
        q[7 + j] += STEP
        find_contact_frames(vehicle, ground, s, settings, contact, q)
        constraint_twist(vehicle, model, s, factorise(model, s), given, work[2], work[3])
        q[7 + j] -= STEP
        add_square(C, variance, work[3], base, STEP)
    if settings[slots.CONTACT_SIGMA] > 0.0 and settings[slots.ON_GROUND] == 0.0:
        for w in range(contact.size):
            contact[w] += STEP
            find_contact_frames(vehicle, ground, s, settings, contact, q)
            constraint_twist(vehicle, model, s, factorise(model, s), given, work[2], work[3])
            contact[w] -= STEP
            add_square(C, settings[slots.CONTACT_SIGMA] ** 2, work[3], base, STEP)


@kernel
def missing_rates(vehicle, model, s, joints, rates, speed, given, work, C):
    """Adds to C (36,) what wheels whose rates should have come leave open: each may turn `speed` [m/s] off, either way.

    Where a skid-steered vehicle turns, its wheels contradict each other, so the velocity of those that are left is not
    that of all with less averaging: it is another one. What it was with all is found by giving each missing wheel the
    rate that the others ask of it, which changes nothing, and then another. Returns whether there were any.
    Which velocities the model knows is overwritten.
    """
    known = model.known
    unknown = model.unknown
    nk = model.counts[0]
    for w in range(vehicle.wheel.size):
        j = vehicle.wheel[w] - 1
        if joints[j, slots.RATE_WANTED] > 0.0 and not (abs(rates[j]) < LARGEST):
            known[nk] = 6 + j
            nk += 1
    first = model.counts[0]
    if nk == first:
        return False
    constraint_twist(vehicle, model, s, False, given, work[2], work[3])
    nu = 0
    for i in range(model.counts[1]):
        column = unknown[i]
        lost = False
        for k in range(first, nk):
            lost = lost or known[k] == column
        if lost:
            given[column] = s.v[column]
        else:
            unknown[nu] = column
            nu += 1
    model.counts[0] = nk
    model.counts[1] = nu
    for k in range(first, nk):
        column = known[k]
        given[column] += RATE_STEP
        constraint_twist(vehicle, model, s, False, given, work[2], work[3])
        given[column] -= RATE_STEP
        radius = vehicle.radius[vehicle.wheel_of_frame[column - 5]]
        add_square(C, (speed / radius) ** 2, work[3], work[1], RATE_STEP)
    return True


@kernel
def lean_slopes(vehicle, model, s, factorised, settings, linear, given, work, lean):
    """∂twist/∂roll and ∂twist/∂pitch into lean (12,): attitude turns gravity, and slip follows it.

    Contacts are fixed to the body. work[5] is the state, whose attitude is put back.
    """
    attitude = work[4]
    for k in range(2):
        for i in range(6):
            lean[6 * k + i] = 0.0
        if settings[slots.LINEAR] == 0.0 and model.slip_mode == 0:
            continue
        attitude[k] += STEP
        if settings[slots.LINEAR] > 0.0:
            linear_twist(settings, linear, given, attitude, work[2], work[3])
        else:
            set_attitude(work[3], attitude[0], attitude[1], 0.0)
            rotation_of_quaternion(work[3], s.R_world_body)
            constraint_twist(vehicle, model, s, factorised, given, work[2], work[3])
        attitude[k] -= STEP
        for i in range(6):
            lean[6 * k + i] = (work[3, i] - work[1, i]) / STEP
    rotation_of_quaternion(work[5], s.R_world_body)


@inlined
def slip_factor(settings, odometry, twist):
    """f(s) of (4.48): (1 + k s)² with s the slip speed over the speed."""
    slip = 0.0
    speed = 0.0
    for i in range(3, 6):
        slip += (twist[i] - odometry[i]) ** 2
        speed += odometry[i] ** 2
    s = math.sqrt(slip) / max(math.sqrt(speed), SLOWEST)
    return (1.0 + settings[slots.SLIP_SCALE] * s) ** 2
