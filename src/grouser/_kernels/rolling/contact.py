"""How the contact point of a torus wheel moves over smooth ground, R (16.3), without the angle ψ.

World axes throughout. A wheel has R_world_wheel, the contact (u, v) on the wheel and (x, y) on the ground; rim is
the radius of the circle in the middle of the tyre and tyre that of its cross-section, so that
w(u, v) = ((rim + tyre cos v) sin u, tyre sin v, (rim + tyre cos v) cos u) in wheel axes, lowest at u = π.
`ground` is what a law of `terrain/curvature.py` gives at (x, y).
"""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, integer, number
from grouser._kernels.group import correct_slope, move
from grouser._kernels.law import call_law
from grouser._kernels.rotation import cross, dot, put, times, times_transposed, vector
from grouser._kernels.rotation import matrix as rotation_of_quaternion
from grouser._kernels.simulation.step import DIVERGED, OFF_TERRAIN, OK, TOO_SHARP

WORLD = 0
WHEEL = 1
CONTACT = 2
"""Axes in which the twist of a rolling wheel is given: world, wheel, or the rows of `contact_axes`."""

FLATTEST = 1e-10
"""Smallest ratio of the two relative curvatures at which wheel and ground still touch at one point."""


@kernel
def contact_axes(R, u, v, axes):
    """Rows e_u, e_v and the wheel's outward normal at its contact, into axes (3, 3): frame contW of R Fig. 16.4."""
    su = math.sin(u)
    cu = math.cos(u)
    sv = math.sin(v)
    cv = math.cos(v)
    for i in range(3):
        radial = R[i, 0] * su + R[i, 2] * cu
        axes[0, i] = R[i, 0] * cu - R[i, 2] * su
        axes[1, i] = cv * R[i, 1] - sv * radial
        axes[2, i] = sv * R[i, 1] + cv * radial


@kernel
def contact_matrix(axes, v, rim, tyre, ground, L):
    """(u̇, v̇, ẋ, ẏ) per unit of (ω, sliding velocity), into L (4, 6); returns OK, OFF_TERRAIN or TOO_SHARP.

    axes: rows of `contact_axes`. ω is the wheel's relative to the ground; the sliding velocity is that of the wheel's
    own point at the contact, of which the part along the ground counts. L is not written unless OK.
    Both outward normals n turn by S ξ, S being a surface's curvature and ξ how the contact moves over it. They stay
    opposite: (S_w + S_g) ξ_g = ω × n + S_w slide, and ξ_w = ξ_g − slide; solved in the ground's tangent plane e₁, e₂.
    """
    gx = ground[1]
    gy = ground[2]
    if not (abs(ground[0]) + abs(gx) + abs(gy) <= 1e300):
        return OFF_TERRAIN
    root = math.sqrt(1.0 + gx * gx)
    W = math.sqrt(1.0 + gx * gx + gy * gy)
    e1 = (1.0 / root, 0.0, gx / root)
    e2 = (-gx * gy / (W * root), root / W, gy / (W * root))
    a1 = dot(e1, axes[0])
    a2 = dot(e2, axes[0])
    b1 = dot(e1, axes[1])
    b2 = dot(e2, axes[1])
    reach = rim + tyre * math.cos(v)
    k_u = math.cos(v) / reach
    k_v = 1.0 / tyre
    w11 = k_u * a1 * a1 + k_v * b1 * b1
    w12 = k_u * a1 * a2 + k_v * b1 * b2
    w22 = k_u * a2 * a2 + k_v * b2 * b2
    s11 = w11 - ground[3] * e1[0] * e1[0] / W
    s12 = w12 - e1[0] * (ground[3] * e2[0] + ground[4] * e2[1]) / W
    s22 = w22 - (ground[3] * e2[0] * e2[0] + 2.0 * ground[4] * e2[0] * e2[1] + ground[5] * e2[1] * e2[1]) / W
    trace = s11 + s22
    det = s11 * s22 - s12 * s12
    if not (trace > 0.0 and det > FLATTEST * trace * trace):
        return TOO_SHARP
    for k in range(6):
        # Along e₁ and e₂: the right-hand side, with e₁ · (ω × n) = e₂ · ω, and the sliding velocity.
        p1 = e1[k % 3]
        p2 = e2[k % 3]
        slides = k >= 3
        r1 = w11 * p1 + w12 * p2 if slides else p2
        r2 = w12 * p1 + w22 * p2 if slides else -p1
        xi1 = (s22 * r1 - s12 * r2) / det
        xi2 = (s11 * r2 - s12 * r1) / det
        L[2, k] = xi1 * e1[0] + xi2 * e2[0]
        L[3, k] = xi2 * e2[1]
        if slides:
            xi1 -= p1
            xi2 -= p2
        L[0, k] = (xi1 * a1 + xi2 * a2) / reach
        L[1, k] = (xi1 * b1 + xi2 * b2) / tyre
    return OK


@kernel
def align_contact(R, rim, tyre, ground, axes, L, contact):
    """Move the contact (u, v, x, y) to where the normals are opposite, by one Newton step; returns its status.

    The body stays where it is: the contact moves by the same ξ over both surfaces, (S_w + S_g) ξ = −(n_w + n), as if
    the wheel had turned by n_w × n. What integration left over of the tangency becomes its square. axes and L are
    written, for the contact before the step.
    """
    contact_axes(R, contact[0], contact[1], axes)
    status = contact_matrix(axes, contact[1], rim, tyre, ground, L)
    if status == OK:
        W = math.sqrt(1.0 + ground[1] * ground[1] + ground[2] * ground[2])
        turn = cross(axes[2], (-ground[1] / W, -ground[2] / W, 1.0 / W))
        for i in range(4):
            contact[i] += dot(L[i], turn)
    return status


@kernel
def world_twist(R, axes, given, twist, out):
    """ω and sliding velocity in world axes; given says in which axes `twist` (6,) has them."""
    for half in range(0, 6, 3):
        part = vector(twist, half)
        if given == WHEEL:
            part = times(R, part)
        elif given == CONTACT:
            part = times_transposed(axes, part)
        put(part, out, half)


class RollingWheel(Struct):
    """One wheel on a ground law, what drives it, its path, and work space.

    A state is (quaternion w x y z, three zeros, u, v, x, y), so that the group moves it as it moves a vehicle.
    """

    address = integer()  # of the ground law
    par = integer()
    rim = number()  # [m]
    tyre = number()  # [m]
    dt = number()  # [s]
    given = integer()  # axes of the twist
    twist = array("halves", 6)  # ω [rad/s] and sliding velocity [m/s] at 0, dt/2, dt, …
    states = array("rows", 11)  # the first is given
    ground = array(6)
    R = array(3, 3)
    axes = array(3, 3)
    L = array(4, 6)
    world = array(6)  # ω and sliding velocity, world axes
    velocity = array(10)
    slopes = array(4, 10)
    stage = array(11)
    work = array(2, 6)


@inlined
def find_ground(wheel, state):
    """Orientation of the wheel and the ground at its contact."""
    rotation_of_quaternion(state, wheel.R)
    call_law(wheel.address, wheel.par, state[9:11], wheel.ground, wheel.ground)


@kernel
def wheel_velocity(wheel, state, half):
    """Velocity of a state into wheel.velocity: ω in wheel axes, zeros, the rates of (u, v, x, y); returns a status."""
    find_ground(wheel, state)
    contact_axes(wheel.R, state[7], state[8], wheel.axes)
    status = contact_matrix(wheel.axes, state[8], wheel.rim, wheel.tyre, wheel.ground, wheel.L)
    if status != OK:
        return status
    world_twist(wheel.R, wheel.axes, wheel.given, wheel.twist[half], wheel.world)
    put(times_transposed(wheel.R, wheel.world), wheel.velocity, 0)
    for i in range(4):
        wheel.velocity[6 + i] = dot(wheel.L[i], wheel.world) + dot(wheel.L[i, 3:], wheel.world[3:])
    return OK


@entry
def roll_torus(wheel):
    """Roll a torus wheel by Runge–Kutta steps of the fourth order on the group, into wheel.states from its first row.

    Returns the status and how many rows were filled.
    """
    steps = wheel.states.shape[0] - 1
    k = wheel.slopes
    for step in range(steps + 1):
        state = wheel.states[step]
        status = wheel_velocity(wheel, state, 2 * step)
        if status != OK or step == steps:  # the last row only asks whether the wheel can stand there
            return status, step + (status == OK)
        for i in range(k.shape[1]):
            k[0, i] = wheel.velocity[i]
        for j in range(1, 4):
            h = wheel.dt if j == 3 else 0.5 * wheel.dt
            move(state, k[j - 1], h, wheel.stage)
            status = wheel_velocity(wheel, wheel.stage, 2 * step + (j + 1) // 2)
            if status != OK:
                return status, step + 1
            correct_slope(k[j - 1], h, wheel.velocity, k[j], wheel.work)
        for i in range(k.shape[1]):
            wheel.velocity[i] = (k[0, i] + 2.0 * (k[1, i] + k[2, i]) + k[3, i]) / 6.0
        end = wheel.states[step + 1]
        move(state, wheel.velocity, wheel.dt, end)
        if not (abs(end[7]) + abs(end[8]) + abs(end[9]) + abs(end[10]) <= 1e9):
            return DIVERGED, step + 1
        find_ground(wheel, end)
        status = align_contact(wheel.R, wheel.rim, wheel.tyre, wheel.ground, wheel.axes, wheel.L, end[7:])
        if status != OK:
            return status, step + 1
    return OK, steps + 1
