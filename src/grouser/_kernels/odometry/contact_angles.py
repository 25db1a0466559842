"""Contact angles and body velocity together: wheels roll along the ground their contacts touch.

A filter whose update is solved by Gauss–Newton. ψ is the climb of each wheel in its carrier, −δ of T (2.9); v the
joint-space velocity. Rows are residuals over their sigmas: velocities of the contact points, what is known of the
body's turning, and rigid couplings.
"""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices, record, record_type, struct
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.kinematics.jacobian import point_jacobian
from grouser._kernels.least_squares import cholesky_solve, normal_equations, solve_again
from grouser._kernels.rotation import column, dot, put
from grouser._kernels.scratch import Scratch
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser._kernels.vehicles.frames import pose_frames
from grouser._kernels.vehicles.kinds import rolling_count

ITERATIONS = 8
LARGEST_STEP = 0.5  # rad, of an angle in one iteration
CONVERGED = 1e-6  # rad and m/s
SLOWEST = 0.01  # m/s of the rim, below which a wheel counts as standing
SURPRISE = 4.0  # mean square of the residuals in sigmas, beyond which the ground changed at once or some wheel slips
STEEPEST = 0.5 * math.pi  # rad

CONTACT_NOISE = record_type(
    rate=(),  # one sigma of wheel rates [rad/s]
    slip=(),  # along a wheel, part of its speed
    sideslip=(),  # across
    spread=(),  # of angles on the ground to come [rad]
    valid=(),  # largest of an angle that counts as valid [rad]
    even=(),  # of the mean of all angles, where the ground is even [rad]
)
SAMPLE = record_type(
    dt=(),  # since the last one [s]
    turns=int,  # number of rows that are known of ω
    turn_rows=(3, 3),  # these rows, in sigmas
    turn=3,  # their values, in sigmas
    unknown=int,  # number of unknown velocities
    surprise=(),  # mean square of the residuals
    span=(),  # distance between the first and the last axle [m]
)


class ContactFilter(Struct):
    """Vehicle, memory and work space of the filter; nx = nv + nw, nr = 3 nw + 3 + nc rows."""

    vehicle = struct(VehicleArrays)
    s = struct(Scratch)
    noise = record(CONTACT_NOISE)
    sample = record(SAMPLE)
    coupling = array("nc", "nj")  # rigid couplings, in sigmas
    looseness = array("nv")  # one over the square of how large each velocity may be
    length = array("nw")  # way after which the ground's slope is forgotten [m]
    rest = array("nj")
    rates = array("nj")  # of the sample, NaN where not measured
    angles = array("nj")
    psi = array("nw")  # memory: angles, their covariance, velocity, turning of the carriers
    P = array("nw", "nw")
    v = array("nv")
    carrier_rate = array("nw")
    valid = indices("nw")
    rim = array("nw")  # work space from here
    weight = array("nw", 3)
    q = array("nq")
    unknown = indices("nv")
    mean = array("nw")
    prior = array("nw", "nw")  # inverse of the covariance of `mean`
    hub = array("nw", 6, "nv")  # velocity of a wheel's centre and turning of the wheel, carrier axes, per velocity
    hub_twist = array(6)
    rolling = array(2, 3, 6)  # velocity of the contact point per `hub_twist`, and its derivative by ψ
    M = array("nx", "nx")
    g = array("nx")
    B = array("nx", "nr")  # one row for each unknown: sums run along memory
    b = array("nr")
    found_psi = array("nw")
    found_v = array("nv")


@kernel
def hub_jacobians(f):
    """Velocity of each wheel's centre and turning of each wheel per joint-space velocity, carrier axes, into f.hub."""
    vehicle, s = f.vehicle, f.s
    for w in range(vehicle.wheel.size):
        frame, axes, hub = vehicle.wheel[w], s.axes[w], f.hub[w]
        for r in range(3):
            put(column(s.R[frame], r), axes[r], 0)
            put(axes[r], hub[3 + r], 0)
        point_jacobian(vehicle, s, frame, s.p[frame], axes, hub)
        at = frame
        while at > 0:
            if vehicle.joint[at] < 3:
                turned = vehicle.leader[w] if at == frame else at
                for r in range(3):
                    hub[3 + r, 5 + turned] = dot(axes[r], column(s.R[at], vehicle.joint[at]))
            at = vehicle.parent[at]


@inlined
def set_rolling(rolling, psi, radius):
    """Velocity of the contact point per hub twist (v, ω) in the carrier, and its derivative by ψ.

    Along t = (cψ, 0, sψ), across, and along the normal n = (−sψ, 0, cψ); the contact is −R n from the centre.
    """
    c = math.cos(psi)
    s = math.sin(psi)
    rows, slopes = rolling[0], rolling[1]
    put((c, 0.0, s), rows[0], 0)
    put((0.0, -radius, 0.0), rows[0], 3)
    put((0.0, 1.0, 0.0), rows[1], 0)
    put((radius * c, 0.0, radius * s), rows[1], 3)
    put((-s, 0.0, c), rows[2], 0)
    put((-s, 0.0, c), slopes[0], 0)
    put((0.0, 0.0, 0.0), slopes[0], 3)
    put((-radius * s, 0.0, radius * c), slopes[1], 3)
    put((-c, 0.0, -s), slopes[2], 0)


@kernel
def hold_one_direction(rolling, held):
    """The rows of a wheel with rollers: along the direction that they hold, none across it."""
    for n in range(2):
        for i in range(6):
            rolling[n, 0, i] = held[0] * rolling[n, 0, i] + held[1] * rolling[n, 1, i]
            rolling[n, 1, i] = 0.0


@kernel
def contact_rows(f, w, first):
    """Rows of the velocity of wheel w's contact point, and what removes them, from column `first` of f.B and f.b."""
    n, hub, twist, rolling = f.sample.unknown, f.hub[w], f.hub_twist, f.rolling
    set_rolling(rolling, f.found_psi[w], f.vehicle.radius[w])
    if f.vehicle.rollers[w]:
        hold_one_direction(rolling, f.vehicle.held[w])
    if w >= rolling_count(f.vehicle):  # a ball that slides
        fill(rolling[0, :2], 0.0)
        fill(rolling[1, :2], 0.0)
    for i in range(6):
        twist[i] = inner(hub[i], f.found_v)
    for r in range(3):
        weight = f.weight[w, r]
        f.b[first + r] = 0.0
        for i in range(6):
            f.b[first + r] -= weight * rolling[0, r, i] * twist[i]
            f.B[n + w, first + r] += weight * rolling[1, r, i] * twist[i]
            for k in range(n):
                f.B[k, first + r] += weight * rolling[0, r, i] * hub[i, f.unknown[k]]


@kernel
def fill_rows(f):
    """All rows over their sigmas: f.B (nx, rows) their slopes, f.b what removes them; returns their number."""
    n, nw, v = f.sample.unknown, f.psi.size, f.found_v
    fill(f.B, 0.0)
    for w in range(nw):
        contact_rows(f, w, 3 * w)
    at = 3 * nw
    for t in range(f.sample.turns):
        f.b[at] = f.sample.turn[t] - dot(f.sample.turn_rows[t], v)
        for i in range(3):
            f.B[i, at] = f.sample.turn_rows[t, i]
        at += 1
    for c in range(f.coupling.shape[0]):
        f.b[at] = -inner(f.coupling[c], v[6:])
        for i in range(6, n):
            f.B[i, at] = f.coupling[c, f.unknown[i] - 6]
        at += 1
    return at


@kernel
def step_equations(f):
    """M x = g of the step x from found_v, found_psi, upper half; returns the sum of squares there."""
    n, nw = f.sample.unknown, f.psi.size
    rows = fill_rows(f)
    normal_equations(f.B, f.b, rows, n + nw, f.M, f.g)
    squares = inner(f.b[:rows], f.b)
    for i in range(n):
        loose = f.looseness[f.unknown[i]]
        f.M[i, i] += loose
        f.g[i] -= loose * f.found_v[f.unknown[i]]
    for a in range(nw):
        for b in range(nw):
            pull = f.prior[a, b] * (f.found_psi[b] - f.mean[b])
            f.g[n + a] -= pull
            squares += pull * (f.found_psi[a] - f.mean[a])
            if b >= a:
                f.M[n + a, n + b] += f.prior[a, b]
    hold_mean(f)
    return squares


@inlined
def hold_mean(f):
    """Equations of the mean of all angles, which is zero where the body follows the ground.

    Where the ground's slope changes by Δ between the axles, each wheel is off by Δ/2 and the mean by up to as much,
    evenly: its variance is a third of that over the wheels. It is one error over the vehicle's length.
    """
    n, nw = f.sample.unknown, f.psi.size
    if not f.sample.dt > 0.0:
        return
    mean = 0.0
    squares = 0.0
    speed = 0.0
    for a in range(nw):
        mean += f.found_psi[a] / nw
        squares += f.found_psi[a] ** 2 / nw
        speed += f.rim[a] / nw
    variance = f.noise.even**2 + (squares - mean * mean) / 3.0
    variance *= max(f.sample.span / (speed * f.sample.dt), 1.0)
    for a in range(nw):
        f.g[n + a] -= mean / (nw * variance)
        for b in range(a, nw):
            f.M[n + a, n + b] += 1.0 / (nw * nw * variance)


@kernel
def solve_contact_angles(f):
    """found_psi and found_v of least squares, from found_v and f.mean; M keeps the factor of the last step.

    Returns the sum of squares, and whether it was solved.
    """
    n, nw = f.sample.unknown, f.psi.size
    squares = 0.0
    copy(f.mean, f.found_psi)
    for _ in range(ITERATIONS):
        squares = step_equations(f)
        if not cholesky_solve(f.M, n + nw, 0.0, 0.0, f.g):
            return squares, False
        largest = 0.0
        for i in range(n):
            f.found_v[f.unknown[i]] += f.g[i]
            largest = max(largest, abs(f.g[i]))
        for w in range(nw):
            largest = max(largest, abs(f.g[n + w]))
            f.found_psi[w] += min(max(f.g[n + w], -LARGEST_STEP), LARGEST_STEP)
        if not largest < math.inf:
            return squares, False
        if largest < CONVERGED:
            break
    return squares, True


@inlined
def rim_speeds(vehicle, rates, rim):
    """Rim speed of each wheel, without sign [m/s], into rim; that of the others' mean where it is not measured."""
    total = 0.0
    count = 0
    for w in range(rim.size):
        rolls = w < rolling_count(vehicle)
        rim[w] = abs(rates[vehicle.leader[w] - 1]) * vehicle.radius[w] if rolls else math.nan
        if not math.isnan(rim[w]):
            total += rim[w]
            count += 1
    for w in range(rim.size):
        if math.isnan(rim[w]):
            rim[w] = total / max(count, 1)


@kernel
def fade(f):
    """The angles after dt: the ground keeps its slope, the carriers turn over it, the memory fades with the way."""
    dt = f.sample.dt
    for w in range(f.rim.size):
        keep = math.exp(-f.rim[w] * dt / f.length[w])
        f.psi[w] = keep * (f.psi[w] + f.carrier_rate[w] * dt)
        for k in range(f.rim.size):
            f.P[w, k] *= keep
            f.P[k, w] *= keep
        f.P[w, w] += f.noise.spread**2 * (1.0 - keep * keep)


@kernel
def contact_weights(f):
    """One over sigma of each contact row into f.weight (nw, 3)."""
    dt, noise = f.sample.dt, f.noise
    for w in range(f.rim.size):
        # A slip that lasts over the length is one error, not one per sample.
        speed = f.rim[w] + SLOWEST
        slipped = 1e3 * speed
        if dt > 0.0:
            slipped = speed * math.sqrt(max(f.length[w] / (speed * dt), 1.0))
        f.weight[w, 0] = 1.0 / math.hypot(f.vehicle.radius[w] * noise.rate, noise.slip * slipped)
        f.weight[w, 1] = 1.0 / (noise.sideslip * slipped)
        f.weight[w, 2] = 1.0 / (noise.slip * slipped)


@kernel
def remember(f):
    """Prior from the memory: mean ψ and the inverse of P; False if P is not positive definite."""
    nw = f.psi.size
    copy(f.psi, f.mean)
    fill(f.prior, 0.0)
    for a in range(nw):
        f.prior[a, a] = 1.0
        copy(f.P[a], f.M[a, :nw])
    if not cholesky_solve(f.M, nw, 0.0, 0.0, f.prior[0]):
        return False
    for a in range(1, nw):
        solve_again(f.M, nw, f.prior[a])
    return True


@kernel
def forget(f):
    """Prior of a ground that is not known."""
    fill(f.mean, 0.0)
    fill(f.prior, 0.0)
    for a in range(f.psi.size):
        f.prior[a, a] = 1.0 / f.noise.spread**2


@kernel
def accept(f):
    """The solution becomes the memory."""
    n, nw = f.sample.unknown, f.psi.size
    for a in range(nw):
        fill(f.g, 0.0)
        f.g[n + a] = 1.0
        solve_again(f.M, n + nw, f.g)
        copy(f.g[n:], f.prior[a])
    copy(f.found_v, f.v)
    copy(f.found_psi, f.psi)
    for w in range(nw):
        spin = 5 + f.vehicle.leader[w]
        f.carrier_rate[w] = inner(f.hub[w, 4], f.v) - f.hub[w, 4, spin] * f.v[spin]
        for k in range(nw):
            f.P[w, k] = 0.5 * (f.prior[w, k] + f.prior[k, w])
        f.valid[w] = 1 if math.sqrt(f.P[w, w]) <= f.noise.valid and f.rim[w] >= SLOWEST else 0


@entry
def update_contact_angles(f):
    """One sample of the filter; sets valid. The surprise stays where nothing can be found: at standstill, ω unknown."""
    nw = f.psi.size
    rim_speeds(f.vehicle, f.rates, f.rim)
    fade(f)
    fill(f.valid, 0)
    fastest = 0.0
    for w in range(nw):
        fastest = max(fastest, f.rim[w])
    if fastest < SLOWEST or f.sample.turns == 0:
        return
    contact_weights(f)
    n = 6
    for j in range(f.rest.size):
        f.q[7 + j] = f.rest[j] if math.isnan(f.angles[j]) else f.angles[j]
        if f.vehicle.still[j]:
            f.rates[j] = 0.0
        elif math.isnan(f.rates[j]):
            f.unknown[n] = 6 + j
            n += 1
    f.sample.unknown = n
    pose_frames(f.vehicle, f.q, f.s)
    hub_jacobians(f)
    for memory in range(2):  # the ground may have changed at once, as at the foot of a ramp: try without the memory
        if memory == 1:
            forget(f)
        elif not remember(f):
            continue
        for i in range(f.v.size):
            f.found_v[i] = f.v[i] if i < 6 or math.isnan(f.rates[i - 6]) else f.rates[i - 6]
        squares, solved = solve_contact_angles(f)
        f.sample.surprise = squares / max(3 * nw + f.sample.turns - n, 1)
        solved = solved and f.sample.surprise <= SURPRISE
        for w in range(nw):
            solved = solved and abs(f.found_psi[w]) <= STEEPEST
        if solved:
            accept(f)
            return
