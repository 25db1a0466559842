"""Contact angles and body velocity together, by Gauss–Newton: wheels roll along the ground their contacts touch.

ψ is the climb of each wheel in its carrier, −δ of T (2.9); v the joint-space velocity. Rows are residuals over their
sigmas: velocities of the contact points, what is known of the body's turning, and rigid couplings.
"""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices, record, record_type, struct
from grouser._kernels.kinematics.jacobian import point_jacobian
from grouser._kernels.least_squares import cholesky_solve
from grouser._kernels.odometry.factor import solve_again
from grouser._kernels.scratch import Scratch
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser._kernels.vehicles.frames import pose_frames

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
)
SAMPLE = record_type(
    dt=(),  # since the last one [s]
    turns=int,  # number of rows that are known of ω
    turn_rows=(3, 3),  # these rows, in sigmas
    turn=3,  # their values, in sigmas
    unknown=int,  # number of unknown velocities
    surprise=(),  # mean square of the residuals
)


class ContactFilter(Struct):
    """Vehicle, memory and work space of the filter; nx = nv + nw."""

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
    linear = array("nw", 3, "nv")
    angular = array("nw", 3, "nv")
    M = array("nx", "nx")
    g = array("nx")
    row = array("nx")
    found_psi = array("nw")
    found_v = array("nv")
    hub = array(2, 3)  # velocity and turning of one wheel in its carrier


@kernel
def carrier_jacobians(f):
    """Velocity of each wheel's centre and turning of each wheel per joint-space velocity, (nw, 3, nv), carrier axes."""
    vehicle = f.vehicle
    s = f.s
    for w in range(vehicle.wheel.size):
        frame = vehicle.wheel[w]
        axes = s.axes[w]
        for r in range(3):
            for i in range(3):
                axes[r, i] = s.R[frame, i, r]
                f.angular[w, r, i] = axes[r, i]
        point_jacobian(vehicle, s, frame, s.p[frame], axes, f.linear[w])
        at = frame
        while at > 0:
            axis = vehicle.joint[at]
            if axis < 3:
                for r in range(3):
                    total = 0.0
                    for i in range(3):
                        total += axes[r, i] * s.R[at, i, axis]
                    f.angular[w, r, 5 + at] = total
            at = vehicle.parent[at]


@inlined
def add_row(f, size, residual):
    """Add f.row to the normal equations M x = g, upper half, of the step x that removes its residual."""
    row = f.row
    for i in range(size):
        if row[i] != 0.0:
            f.g[i] -= row[i] * residual
            for k in range(i, size):
                f.M[i, k] += row[i] * row[k]
    return residual * residual


@inlined
def clear_row(f, size):
    for i in range(size):
        f.row[i] = 0.0


@kernel
def add_contact(f, w):
    """Add the three rows of wheel w's contact velocity; returns the sum of their squares.

    Along t = (cψ, 0, sψ) in the carrier, across, and along the normal (−sψ, 0, cψ).
    """
    n = f.sample.unknown
    size = n + f.psi.size
    v = f.found_v
    linear = f.linear[w]
    angular = f.angular[w]
    radius = f.vehicle.radius[w]
    c = math.cos(f.found_psi[w])
    s = math.sin(f.found_psi[w])
    hub = f.hub
    for i in range(3):
        hub[0, i] = 0.0
        hub[1, i] = 0.0
        for k in range(v.size):
            hub[0, i] += linear[i, k] * v[k]
            hub[1, i] += angular[i, k] * v[k]
    ahead = c * hub[0, 0] + s * hub[0, 2]
    up = c * hub[0, 2] - s * hub[0, 0]
    squares = 0.0
    clear_row(f, size)
    for r in range(3):
        weight = f.weight[w, r]
        if r == 0:
            residual = ahead - radius * hub[1, 1]
            slope = up
        elif r == 1:
            residual = hub[0, 1] + radius * (c * hub[1, 0] + s * hub[1, 2])
            slope = radius * (c * hub[1, 2] - s * hub[1, 0])
        else:
            residual = up
            slope = -ahead
        for i in range(n):
            k = f.unknown[i]
            if r == 0:
                value = c * linear[0, k] + s * linear[2, k] - radius * angular[1, k]
            elif r == 1:
                value = linear[1, k] + radius * (c * angular[0, k] + s * angular[2, k])
            else:
                value = c * linear[2, k] - s * linear[0, k]
            f.row[i] = weight * value
        f.row[n + w] = weight * slope
        squares += add_row(f, size, weight * residual)
    return squares


@kernel
def normal_equations(f):
    """M x = g of the step x from found_v, found_psi; returns the sum of squares there."""
    n = f.sample.unknown
    nw = f.psi.size
    size = n + nw
    v = f.found_v
    psi = f.found_psi
    for i in range(size):
        f.g[i] = 0.0
        for k in range(size):
            f.M[i, k] = 0.0
    squares = 0.0
    for w in range(nw):
        squares += add_contact(f, w)
    clear_row(f, size)
    for t in range(f.sample.turns):
        residual = -f.sample.turn[t]
        for i in range(3):
            f.row[i] = f.sample.turn_rows[t, i]
            residual += f.row[i] * v[i]
        squares += add_row(f, size, residual)
    for k in range(f.coupling.shape[0]):
        clear_row(f, size)
        residual = 0.0
        for j in range(v.size - 6):
            residual += f.coupling[k, j] * v[6 + j]
        for i in range(6, n):
            f.row[i] = f.coupling[k, f.unknown[i] - 6]
        squares += add_row(f, size, residual)
    for i in range(n):
        loose = f.looseness[f.unknown[i]]
        f.M[i, i] += loose
        f.g[i] -= loose * v[f.unknown[i]]
    for a in range(nw):
        for b in range(nw):
            pull = f.prior[a, b] * (psi[b] - f.mean[b])
            f.g[n + a] -= pull
            squares += pull * (psi[a] - f.mean[a])
            if b >= a:
                f.M[n + a, n + b] += f.prior[a, b]
    return squares


@kernel
def solve_contact_angles(f):
    """found_psi and found_v of least squares, from found_v and f.mean; M keeps the factor of the last step.

    Returns the sum of squares, and whether it was solved.
    """
    n = f.sample.unknown
    nw = f.psi.size
    squares = 0.0
    for w in range(nw):
        f.found_psi[w] = f.mean[w]
    for _ in range(ITERATIONS):
        squares = normal_equations(f)
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
        rim[w] = abs(rates[vehicle.wheel[w] - 1]) * vehicle.radius[w]
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
    dt = f.sample.dt
    noise = f.noise
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
    for a in range(nw):
        f.mean[a] = f.psi[a]
        for b in range(nw):
            f.M[a, b] = f.P[a, b]
            f.prior[a, b] = 1.0 if a == b else 0.0
    if not cholesky_solve(f.M, nw, 0.0, 0.0, f.prior[0]):
        return False
    for a in range(1, nw):
        solve_again(f.M, nw, f.prior[a])
    return True


@kernel
def forget(f):
    """Prior of a ground that is not known."""
    for a in range(f.psi.size):
        f.mean[a] = 0.0
        for b in range(f.psi.size):
            f.prior[a, b] = 1.0 / f.noise.spread**2 if a == b else 0.0


@kernel
def accept(f):
    """The solution becomes the memory."""
    n = f.sample.unknown
    nw = f.psi.size
    for a in range(nw):
        for i in range(n + nw):
            f.g[i] = 1.0 if i == n + a else 0.0
        solve_again(f.M, n + nw, f.g)
        for b in range(nw):
            f.prior[a, b] = f.g[n + b]
    for i in range(f.v.size):
        f.v[i] = f.found_v[i]
    for w in range(nw):
        f.psi[w] = f.found_psi[w]
        f.carrier_rate[w] = 0.0
        for k in range(f.v.size):
            if k != 5 + f.vehicle.wheel[w]:
                f.carrier_rate[w] += f.angular[w, 1, k] * f.v[k]
        for k in range(nw):
            f.P[w, k] = 0.5 * (f.prior[w, k] + f.prior[k, w])
        f.valid[w] = 1 if math.sqrt(f.P[w, w]) <= f.noise.valid and f.rim[w] >= SLOWEST else 0


@entry
def update_contact_angles(f):
    """One sample of the filter; sets valid. The surprise stays where nothing can be found: at standstill, ω unknown."""
    nw = f.psi.size
    rim_speeds(f.vehicle, f.rates, f.rim)
    fade(f)
    fastest = 0.0
    for w in range(nw):
        f.valid[w] = 0
        fastest = max(fastest, f.rim[w])
    if fastest < SLOWEST or f.sample.turns == 0:
        return
    contact_weights(f)
    n = 6
    for j in range(f.rest.size):
        f.q[7 + j] = f.rest[j] if math.isnan(f.angles[j]) else f.angles[j]
        if math.isnan(f.rates[j]):
            f.unknown[n] = 6 + j
            n += 1
    f.sample.unknown = n
    pose_frames(f.vehicle, f.q, f.s)
    carrier_jacobians(f)
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
