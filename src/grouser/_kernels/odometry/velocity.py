"""Body velocity of a sample from its wheels, with slip, and with turn rates that gyro and attitude give.

The wheels roll: a body that pitches about them at ω_y moves at −z ω_y, z its contacts' height. With some turn rates
known, least squares gives the other velocities. It is quadratic, so the solution moves linearly with the known rates.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import add_outer, copy, fill, inner
from grouser._kernels.constants import GRAVITY
from grouser._kernels.contact.geometry import contacts_at, find_contacts
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import SLIP_ON_BODY, body_slip, solve_velocity
from grouser._kernels.least_squares import cholesky_solve, least_squares, normal_equations, solve_again
from grouser._kernels.odometry.pose import advance
from grouser._kernels.odometry.state import CONTACTS_ON_GROUND, FAULT_GYRO, LARGEST
from grouser._kernels.rotation import add, dot, put, set_attitude, vector
from grouser._kernels.vehicles.frames import pose_frames

SLOWEST = 0.05  # Speed below which slip is not put in relation to it [m/s]
SAFE_PIVOT = 1e-8
"""Part of a column that is its own, squared, above which a Cholesky factor is good for many right sides."""
SAFE_SHARE = 1e-16  # The same part of the largest column. Both are stricter than those of `least_squares`


@kernel
def find_contact_frames(store):
    """Frames, contacts and Jacobians of store.q; False if the ground ends, and then contacts are at the angles."""
    s = store.s
    pose_frames(store.vehicle, store.q, s)
    inside = True
    if store.settings.contacts == CONTACTS_ON_GROUND:
        inside = find_contacts(store.vehicle, store.ground, s)
    if store.settings.contacts != CONTACTS_ON_GROUND or not inside:
        contacts_at(store.vehicle, store.contact, s)
    wheel_jacobians(store.vehicle, s)
    turn_responses(store)
    return inside


@inlined
def solve_factorised(model, s, given):
    """As `solve_velocity`, with the factor that `factorise` left in s.normal and the columns in s.B.

    given (nv,) is zero where nothing is known: whole rows are faster than picked entries.
    """
    n = model.counts[1]
    for r in range(s.rhs.size):
        s.row[r] = (s.rhs[r] - inner(s.A[r], given)) * model.weight[r]
    solve_row(s, n)
    for i in range(n):
        s.v[model.unknown[i]] = s.x[i]


@inlined
def solve_rows(store, factorised):
    """Unknown entries of s.v from the known ones and s.rhs; returns the rank."""
    if factorised:
        solve_factorised(store.model, store.s, store.given)
        return store.model.counts[1]
    return solve_velocity(store.model, store.s)


@kernel
def constraint_twist(store, factorised, odometry, twist):
    """Velocity from the wheels (4.35), T (2.37), and with slip, T (2.51), (2.52); returns the rank.

    Nothing is stabilised here: angles are measured, they need no pull towards the couplings.
    """
    s, model = store.s, store.model
    copy(store.given, s.v)
    fill(s.rhs, 0.0)
    rank = solve_rows(store, factorised)
    copy(s.v, odometry)
    copy(s.v, twist)
    if model.slip_mode != 0:
        body_slip(store.vehicle, model, s)
        if model.slip_mode == SLIP_ON_BODY:
            for i in range(6):
                twist[i] += s.slip_out[i]
        else:
            for w in range(store.vehicle.wheel.size):
                for r in range(3 * w, 3 * w + 2):
                    s.rhs[r] += inner(s.slip_out, s.A[r])
            solve_rows(store, factorised)
            copy(s.v, twist)
    return rank


@kernel
def linear_twist(store, odometry, twist):
    """Velocity of the simple odometries, linear in the rates, with the slip surface P (12), (13) and its correction."""
    for i in range(6):
        odometry[i] = inner(store.linear[i], store.given[6:])
    copy(odometry, twist)
    a = store.settings.surface
    roll, pitch = store.work.attitude[0], store.work.attitude[1]
    v, w = odometry[3], odometry[2]
    g = GRAVITY * (store.work.speed if store.settings.gravity_by_distance == 1 else 1.0)
    gx = g * math.sin(pitch)
    gy = -g * math.cos(pitch) * math.sin(roll)
    twist[3] += a[0] * v + a[1] * abs(w) + a[2] * v * abs(w) + a[3] * gx
    twist[4] += a[4] * v + a[5] * w + a[6] * v * w + a[7] * gy
    twist[2] += a[8] * v + a[9] * w + a[10] * v * w + a[11] * gx + a[12] * gy
    for i in range(6):
        twist[i] += store.extra[i]


@inlined
def moved_twist(store, factorised):
    """Velocity into work.moved for inputs of which one was changed."""
    work = store.work
    if store.settings.linear == 1:
        linear_twist(store, work.moved_odometry, work.moved)
    else:
        constraint_twist(store, factorised, work.moved_odometry, work.moved)
    impose(store, work.moved)


@inlined
def slip_factor(scale, work):
    """f(s) of (4.48): (1 + k s)² with s the slip speed over the speed.

    L leaves f open. With the default k = 10 a slip of a tenth doubles one sigma; this is a choice, not a measurement.
    """
    v = vector(work.odometry, 3)
    slip = add(vector(work.twist, 3), -1.0, v)
    return (1.0 + scale * math.sqrt(dot(slip, slip)) / max(math.sqrt(dot(v, v)), SLOWEST)) ** 2


@kernel
def sample_twist(store, h):
    """Velocity of a sample, h [s] after the last, into work.odometry (wheels) and work.twist (with slip).

    Returns whether there is ground, the rank, and whether the contacts left in s are factorised.
    """
    work, q = store.work, store.q
    copy(store.memory.twist, work.twist)
    set_attitude(q, work.attitude[0], work.attitude[1], 0.0)
    if store.settings.linear == 1:
        turn_responses(store)
        linear_twist(store, work.odometry, work.twist)
        work.factor = slip_factor(store.settings.slip_scale, work)
        impose(store, work.twist)
        return True, store.model.counts[1], False
    # On a known ground the contacts depend on where the vehicle is: once for a guess of that, once more there.
    on_ground = store.settings.contacts == CONTACTS_ON_GROUND
    for _ in range(2 if on_ground else 1):
        if on_ground:
            advance(store, h)
            set_attitude(q, work.attitude[0], work.attitude[1], store.memory.yaw + store.arc.step[3])
            put(add(store.memory.position, 1.0, store.arc.step), q, 4)
        inside = find_contact_frames(store)
        factorised = factorise(store.model, store.s, store.model.unknown, store.model.counts[1])
        rank = constraint_twist(store, factorised, work.odometry, work.twist)
        work.factor = slip_factor(store.settings.slip_scale, work)
        impose(store, work.twist)
    uneven_ground(store)
    return inside, rank, factorised


@kernel
def check_gyro(sense, work):
    """Turn rates of the gyro and which of them are known into work; NaN is not measured. Returns a fault bit."""
    fill(work.by_gyro, 0.0)
    if sense.gyro_given == 0:
        return 0
    fault = 0
    silent = 0
    for i in range(3):
        work.gyro[i] = sense.gyro[i]
        if math.isnan(sense.gyro[i]):
            silent += 1
        elif abs(sense.gyro[i]) < LARGEST:
            work.by_gyro[i] = 1.0
        else:
            fault = FAULT_GYRO
    return FAULT_GYRO if silent == 3 else fault


@inlined
def fill_columns(model, s, columns, n):
    """Weighted columns of n unknown velocities into s.B."""
    for i in range(n):
        for r in range(s.rhs.size):
            s.B[i, r] = s.A[r, columns[i]] * model.weight[r]


@inlined
def factorise(model, s, columns, n):
    """Cholesky factor of the normal matrix of n unknown velocities, for `solve_row`; False if rank is nearly lost.

    The whole least squares is then solved for every right side.
    """
    fill_columns(model, s, columns, n)
    largest = normal_equations(s.B, s.row, s.rhs.size, n, s.normal, s.x)
    return cholesky_solve(s.normal, n, SAFE_PIVOT, SAFE_SHARE * largest, s.x)


@inlined
def solve_row(s, n):
    """s.x of least squares for the weighted right side s.row, with the factor and columns that `factorise` left."""
    for i in range(n):
        s.x[i] = inner(s.B[i], s.row)
    solve_again(s.normal, n, s.x)


@kernel
def turn_responses(store):
    """Joint-space velocity per turn rate about x, y, z that is known, into store.response (3, nv).

    Others that are known stay as they are; those of the wheels and v follow, T (2.37). Attitude gives those about x and
    y where contact angles are not known. Overwrites s.normal, s.B, s.row and s.x.
    """
    model, s, settings, response = store.model, store.s, store.settings, store.response
    by_gyro = store.work.by_gyro
    fill(response, 0.0)
    for i in range(3):
        response[i, i] = 1.0
    lever = store.work.lever == 1
    if not lever and by_gyro[0] + by_gyro[1] + by_gyro[2] == 0.0:
        return
    if settings.linear == 1:
        response[0, 4] = settings.contact_height
        response[1, 3] = -settings.contact_height
        return
    n = 0
    body = 0
    for k in range(model.counts[1]):
        i = model.unknown[k]
        if i < 3 and (by_gyro[i] == 1.0 or (lever and i < 2)):
            body += 1 << i
        else:
            store.free[n] = i
            n += 1
    factorised = body != 0 and factorise(model, s, store.free, n)
    for i in range(3):
        if (body >> i) & 1 == 0:
            continue
        for r in range(s.rhs.size):
            s.row[r] = -s.A[r, i] * model.weight[r]
        if factorised:
            solve_row(s, n)
        else:
            fill_columns(model, s, store.free, n)
            least_squares(s.B, s.row, s.rhs.size, n, s.normal, s.x, s.work, s.pivot)
        for k in range(n):
            response[i, store.free[k]] = s.x[k]


@inlined
def impose(store, twist):
    """Turn rates of the gyro into a twist, with the velocity they imply."""
    work = store.work
    for i in range(3):
        work.change[i] = work.gyro[i] - twist[i] if work.by_gyro[i] == 1.0 else 0.0
    for i in range(3):
        if work.change[i] != 0.0:
            for k in range(6):
                twist[k] += store.response[i, k] * work.change[i]
            twist[i] = work.gyro[i]


@kernel
def gyro_noise(store):
    """Noise of the gyro, and of the velocity that its turn rates imply, into work.turning (6, 6)."""
    work = store.work
    fill(work.turning, 0.0)
    for i in range(3):
        if work.by_gyro[i] == 1.0:
            add_outer(store.settings.gyro_variance, store.response[i], store.response[i], work.turning)


@kernel
def uneven_ground(store):
    """How far wheels stand from an axis about which the body turns, squared, mean over the wheels, into work.uneven.

    Entries (2,) [m²] are of turning about x and y. With contact angles that are assumed, turning at ω asks wheel w to
    climb at ψ = n·ω/v, n the velocity along its normal per turn rate: v is off by ψ²/2 of itself.
    """
    s, work = store.s, store.work
    nw = s.height_error.size
    fill(work.uneven, 0.0)
    if work.lever == 0:
        return
    for w in range(nw):
        for i in range(2):
            work.uneven[i] += inner(s.A[3 * w + 2], store.response[i]) ** 2 / nw
