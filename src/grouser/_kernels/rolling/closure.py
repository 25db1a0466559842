"""The contact chains of a rolling vehicle: their closure C, its rate, and what it leaves of each wheel's contact.

A wheel closes its chain with five equations, Ċ + σC = 0 (16.14): the gap between its two contact points along ∂c/∂x,
∂c/∂y and the ground's normal n, and the wheel's normal along ∂c/∂x and ∂c/∂y. All but the gap along n give the rates of
its contact coordinates (u, v, x, y). What they leave of the gap along n is a row on the velocity V of the vehicle.
Nothing is dropped where the closure is violated, so that C falls as exp(−σt) exactly; where it is not, the rates are
Montana's (16.3), those of `contact.py`.
"""

import math

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, array, indices, integer, number, struct
from grouser._kernels.kinematics.jacobian import point_jacobian
from grouser._kernels.kinematics.suspension import Suspension
from grouser._kernels.law import call_law
from grouser._kernels.null_space import invert
from grouser._kernels.rolling.contact import contact_axes, contact_matrix
from grouser._kernels.rotation import column, cross, dot, put, times_transposed
from grouser._kernels.scratch import Scratch
from grouser._kernels.simulation.step import OFF_TERRAIN, OK, TOO_SHARP
from grouser._kernels.vehicles.arrays import VehicleArrays


class RollingWork(Struct):
    """Contacts of a rolling vehicle and work space of its solver, body axes.

    nw wheels, nv velocities of the vehicle, nr = nv + 4 nw rates of an extended state. Rows of C: the gap along ∂c/∂x
    and ∂c/∂y, the wheel's normal along both, the gap along n.
    """

    ground = array("nw", 3, 3)  # rows ∂c/∂x, ∂c/∂y, n
    tyre = array("nw", 3, 3)  # rows e_u, e_v, the wheel's normal
    point = array("nw", 3)  # contact point of the tyre [m]
    gap = array("nw", 3)  # from the contact point of the ground to that of the tyre [m]
    row = array("nw", 5, "nv")  # what V adds to Ċ
    violation = array("nw", 5)  # C
    inverse = array("nw", 4, 4)  # (u, v, x, y) per unit of the first four rows of Ċ
    height = array(6)  # of the ground and its derivatives, as its law gives them
    R_world_wheel = array(3, 3)  # without spin
    world_axes = array(3, 3)  # as `tyre`, world axes
    L = array(4, 6)
    K = array(4, 4)
    jacobian = array(3, "nv")
    axis = array(3)
    pull = array("nj")  # rates with which springs return joints to rest
    hard = array("hard", "nv")  # rows that hold exactly, and their right side
    hard_side = array("hard")
    Q = array("nv", "nv")  # its last columns span what they leave
    soft = array("nv", "soft")  # columns of what is made small, and its right side
    soft_side = array("soft")
    N = array("nv", "nv")
    wide = array(4, "widest")
    pivot = indices("nv")
    particular = array("nv")
    inner = array("nv")
    free = array("nv")
    velocity = array("nr")  # joint-space velocity, then rates of (u, v, x, y) of each wheel
    slopes = array(4, "nr")
    stage = array("nx")  # an extended state


class RollingJob(Struct):
    """A rolling vehicle, what it should do, and what is recorded.

    Its extended state is q followed by (u, v, x, y) of each wheel. Rates and path have values at every half step.
    """

    vehicle = struct(VehicleArrays)
    s = struct(Scratch)
    work = struct(RollingWork)
    suspension = struct(Suspension)
    rigid = indices("nk")  # couplings without a spring
    address = integer()  # of the ground law with second derivatives
    par = integer()
    sigma = number()  # [1/s]
    returning = number()  # rate at which sprung joints return to rest [1/s]; 0: they do not
    tolerance = number()  # of the rank
    realign = integer()  # whether steps end by moving the contacts to where the wheels stand
    dt = number()  # [s]
    steps = integer()
    every = integer()
    weights = array("nj")  # of the desired joint rates
    units = array("nv")  # make velocities of lengths
    desired = array("wanted", "nj")  # joint rates; one row if they are constant
    path = array("led", 5)  # x, y, heading, speed, curvature; no rows: none is followed
    steering = array("steered", 4)  # joint, x and y of its axis from the point that is led, gain
    rate_weight = number()  # of joint rates against slip [m], where a path is followed
    path_gain = number()  # [1/s]
    path_length = number()  # [m]
    state = array("nx")  # where it starts, and then where it ends
    states = array("rows", "nx")
    velocities = array("rows", "nr")
    contacts = array("rows", "nw", "contact_columns")
    closure = array("rows")
    rank = indices("rows")


@kernel
def turning_row(vehicle, s, wheel_frame, axis, out):
    """Angular velocity of a wheel along an axis (body axes) per joint-space velocity."""
    put(axis, out, 0)
    f = wheel_frame
    while f > 0:
        a = vehicle.joint[f]
        if a < 3:
            out[5 + f] = dot(axis, column(s.R[f], a))
        f = vehicle.parent[f]


@kernel
def meet_wheel(job, q, contact, w):
    """Both surfaces at the contact coordinates (4,) of wheel w, C and its derivatives; returns a status."""
    vehicle, s, work = job.vehicle, job.s, job.work
    f = vehicle.wheel[w]
    h = work.height
    call_law(job.address, job.par, contact[2:4], h, h)
    if not abs(h[0]) < 1e300:
        return OFF_TERRAIN
    W = math.sqrt(1.0 + h[1] * h[1] + h[2] * h[2])
    ground = work.ground[w]
    put(times_transposed(s.R_world_body, (1.0, 0.0, h[1])), ground[0], 0)
    put(times_transposed(s.R_world_body, (0.0, 1.0, h[2])), ground[1], 0)
    put(times_transposed(s.R_world_body, (-h[1] / W, -h[2] / W, 1.0 / W)), ground[2], 0)
    # The wheel's frame is left unspun: there the contact stands at u + its displacement.
    u = contact[0] + q[6 + f]
    v = contact[1]
    su = math.sin(u)
    cu = math.cos(u)
    cv = math.cos(v)
    tube = vehicle.tyre[w]
    rim = vehicle.radius[w] - tube
    around = rim + tube * cv
    R = s.R[f]
    for i in range(3):
        put(times_transposed(R, s.R_world_body[i]), work.R_world_wheel[i], 0)
    contact_axes(work.R_world_wheel, u, v, work.world_axes)
    status = contact_matrix(work.world_axes, v, rim, tube, h, work.L)
    if status != OK:
        return status
    tyre = work.tyre[w]
    point = work.point[w]
    gap = work.gap[w]
    contact_axes(R, u, v, tyre)
    p = s.p_world_body
    put(times_transposed(s.R_world_body, (contact[2] - p[0], contact[3] - p[1], h[0] - p[2])), gap, 0)
    for i in range(3):
        # From the centre to the middle of the tyre, and from there along the normal.
        point[i] = s.p[f, i] + rim * (R[i, 0] * su + R[i, 2] * cu) + tube * tyre[2, i]
        gap[i] = point[i] - gap[i]
    upright = work.world_axes[2, 2]
    K = work.K
    violation = work.violation[w]
    for i in range(2):
        c = ground[i]
        K[i, 0] = around * dot(c, tyre[0])
        K[i, 1] = tube * dot(c, tyre[1])
        K[i, 2] = -dot(c, ground[0])
        K[i, 3] = -dot(c, ground[1])
        K[2 + i, 0] = cv * dot(c, tyre[0])
        K[2 + i, 1] = dot(c, tyre[1])
        K[2 + i, 2] = upright * h[3 + i]
        K[2 + i, 3] = upright * h[4 + i]
        violation[i] = dot(c, gap)
        violation[2 + i] = dot(c, tyre[2])
    violation[4] = dot(ground[2], gap)
    inverse = work.inverse[w]
    if not invert(K, 4, inverse):
        return TOO_SHARP
    row = work.row[w]
    work.jacobian[:, 6:] = 0.0  # other wheels' joints
    point_jacobian(vehicle, s, f, point, ground, work.jacobian)
    for j in range(row.shape[1]):
        row[0, j] = work.jacobian[0, j]
        row[1, j] = work.jacobian[1, j]
        row[4, j] = work.jacobian[2, j]
    for i in range(2):
        put(cross(tyre[2], ground[i]), work.axis, 0)  # c · (ω × n) = ω · (n × c)
        turning_row(vehicle, s, f, work.axis, row[2 + i])
    # What the motion of the contact along the tyre adds to the gap along n is moved into the row of V.
    a = around * dot(ground[2], tyre[0])
    b = tube * dot(ground[2], tyre[1])
    for k in range(4):
        y_k = -(a * inverse[0, k] + b * inverse[1, k])
        for j in range(row.shape[1]):
            row[4, j] += y_k * row[k, j]
        violation[4] += y_k * violation[k]
    return OK


@kernel
def meet_ground(job, q):
    """`meet_wheel` for every wheel of an extended state; returns a status and ‖C‖², rigid couplings included."""
    vehicle, work = job.vehicle, job.work
    total = 0.0
    contacts = q[job.s.v.size + 1 :]
    for w in range(vehicle.wheel.size):
        status = meet_wheel(job, q, contacts[4 * w : 4 * w + 4], w)
        if status != OK:
            return status, total
        lean_x = work.violation[w, 2]
        lean_y = work.violation[w, 3]
        total += dot(work.gap[w], work.gap[w]) + lean_x * lean_x + lean_y * lean_y
    for c in job.rigid:
        miss = coupling_error(vehicle, c, q)
        total += miss * miss
    return OK, total


@kernel
def coupling_error(vehicle, c, q):
    """Violation of coupling c [rad or m]."""
    miss = -vehicle.coupling_value[c]
    for j in range(vehicle.coupling.shape[1]):
        miss += vehicle.coupling[c, j] * q[7 + j]
    return miss


@kernel
def align_contacts(job, q):
    """Newton steps that move the contacts to where the wheels stand, for a posed vehicle; no wheel moves."""
    first = job.s.v.size + 1
    for _ in range(2):
        status, _ = meet_ground(job, q)
        if status != OK:
            return
        for w in range(job.vehicle.wheel.size):
            for i in range(4):
                for k in range(4):
                    q[first + 4 * w + i] -= job.work.inverse[w, i, k] * job.work.violation[w, k]


@kernel
def tangent_axes(c_x, c_y):
    """(a, b, c): a c_x and c (c_y − b c_x) are orthonormal axes of the tangent plane."""
    squared = dot(c_x, c_x)
    along = dot(c_x, c_y) / squared
    return 1.0 / math.sqrt(squared), along, 1.0 / math.sqrt(dot(c_y, c_y) - along * along * squared)


@kernel
def contact_rates(job):
    """Rates of every wheel's (u, v, x, y) at the velocity s.v; both into work.velocity."""
    work, v = job.work, job.s.v
    nv = v.size
    for j in range(nv):
        work.velocity[j] = v[j]
    for w in range(job.vehicle.wheel.size):
        first = nv + 4 * w
        work.velocity[first : first + 4] = 0.0
        for k in range(4):
            value = -job.sigma * work.violation[w, k]
            for j in range(nv):
                value -= work.row[w, k, j] * v[j]
            for i in range(4):
                work.velocity[first + i] += work.inverse[w, i, k] * value
