"""Normal equations of contact angles and body velocity: wheels roll along the ground their contacts touch.

ψ is the climb of each wheel in its carrier, −δ of T (2.9); v the joint-space velocity. Rows are residuals over their
sigmas: velocities of the contact points, what is known of the body's turning, and rigid couplings.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import Struct, array, indices, record, record_type, struct
from grouser._kernels.arrays import fill, inner
from grouser._kernels.kinematics.jacobian import point_jacobian
from grouser._kernels.least_squares import normal_equations
from grouser._kernels.rotation import column, dot, put
from grouser._kernels.scratch import Scratch
from grouser._kernels.vehicles.arrays import VehicleArrays

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
    vehicle = f.vehicle
    s = f.s
    for w in range(vehicle.wheel.size):
        frame = vehicle.wheel[w]
        axes = s.axes[w]
        hub = f.hub[w]
        for r in range(3):
            put(column(s.R[frame], r), axes[r], 0)
            put(axes[r], hub[3 + r], 0)
        point_jacobian(vehicle, s, frame, s.p[frame], axes, hub)
        at = frame
        while at > 0:
            if vehicle.joint[at] < 3:
                for r in range(3):
                    hub[3 + r, 5 + at] = dot(axes[r], column(s.R[at], vehicle.joint[at]))
            at = vehicle.parent[at]


@inlined
def set_rolling(rolling, psi, radius):
    """Velocity of the contact point per hub twist (v, ω) in the carrier, and its derivative by ψ.

    Along t = (cψ, 0, sψ), across, and along the normal n = (−sψ, 0, cψ); the contact is −R n from the centre.
    """
    c = math.cos(psi)
    s = math.sin(psi)
    rolling[0, 0, 0] = c
    rolling[0, 0, 2] = s
    rolling[0, 0, 4] = -radius
    rolling[0, 1, 1] = 1.0
    rolling[0, 1, 3] = radius * c
    rolling[0, 1, 5] = radius * s
    rolling[0, 2, 0] = -s
    rolling[0, 2, 2] = c
    rolling[1, 0, 0] = -s
    rolling[1, 0, 2] = c
    rolling[1, 1, 3] = -radius * s
    rolling[1, 1, 5] = radius * c
    rolling[1, 2, 0] = -c
    rolling[1, 2, 2] = -s


@kernel
def contact_rows(f, w, first):
    """Rows of the velocity of wheel w's contact point, and what removes them, from column `first` of f.B and f.b."""
    n = f.sample.unknown
    hub = f.hub[w]
    twist = f.hub_twist
    rolling = f.rolling
    set_rolling(rolling, f.found_psi[w], f.vehicle.radius[w])
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
    n = f.sample.unknown
    nw = f.psi.size
    v = f.found_v
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
    n = f.sample.unknown
    nw = f.psi.size
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
    return squares
