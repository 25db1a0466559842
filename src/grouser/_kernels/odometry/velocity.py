"""Body velocity of a sample from its wheels, with slip."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.constants import GRAVITY
from grouser._kernels.contact.geometry import contacts_at, find_contacts
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import SLIP_ON_BODY, body_slip, solve_velocity
from grouser._kernels.least_squares import cholesky_solve, normal_equations, solve_again
from grouser._kernels.odometry.pose import advance
from grouser._kernels.odometry.state import CONTACTS_ON_GROUND
from grouser._kernels.odometry.turning import SAFE_PIVOT, SAFE_SHARE, impose, turn_responses, uneven_ground
from grouser._kernels.rotation import add, dot, set_attitude, vector
from grouser._kernels.vehicles.frames import pose_frames

SLOWEST = 0.05  # Speed below which slip is not put in relation to it [m/s]


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
def factorise(model, s):
    """Cholesky factor of the normal matrix of the contacts in s, for `solve_factorised`; False if rank is nearly lost.

    The whole least squares is then solved for every right side.
    """
    n, nr = model.counts[1], s.rhs.size
    for i in range(n):
        column = model.unknown[i]
        for r in range(nr):
            s.B[i, r] = s.A[r, column] * model.weight[r]
    largest = normal_equations(s.B, s.row, nr, n, s.normal, s.x)
    return cholesky_solve(s.normal, n, SAFE_PIVOT, SAFE_SHARE * largest, s.x)


@inlined
def solve_factorised(model, s, given):
    """As `solve_velocity`, with the factor that `factorise` left in s.normal and the columns in s.B.

    given (nv,) is zero where nothing is known: whole rows are faster than picked entries.
    """
    n = model.counts[1]
    for r in range(s.rhs.size):
        s.row[r] = (s.rhs[r] - inner(s.A[r], given)) * model.weight[r]
    for i in range(n):
        s.x[i] = inner(s.B[i], s.row)
    solve_again(s.normal, n, s.x)
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
            for i in range(3):
                q[4 + i] = store.memory.position[i] + store.arc.step[i]
        inside = find_contact_frames(store)
        factorised = factorise(store.model, store.s)
        rank = constraint_twist(store, factorised, work.odometry, work.twist)
        work.factor = slip_factor(store.settings.slip_scale, work)
        impose(store, work.twist)
    uneven_ground(store)
    return inside, rank, factorised
