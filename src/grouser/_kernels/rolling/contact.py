"""How the contact point of a torus wheel moves over smooth ground, R (16.3), without the angle ψ.

World axes throughout. A wheel has R_world_wheel, the contact (u, v) on the wheel and (x, y) on the ground; rim is
the radius of the circle in the middle of the tyre and tyre that of its cross-section, so that
w(u, v) = ((rim + tyre cos v) sin u, tyre sin v, (rim + tyre cos v) cos u) in wheel axes, lowest at u = π.
`ground` is what a law of `terrain_curvature.py` gives at (x, y).
"""

import math

import numpy as np

from grouser._compile.jit import entry, kernel
from grouser._kernels.law import call_law

# Numbered as in `step.py`, with one of its own.
OK = 0
OFF_TERRAIN = 1
DIVERGED = 3
TOO_SHARP = 5
"""The ground bends towards the wheel more sharply than the tyre: it cannot touch at one point."""

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
    E = 1.0 + gx * gx
    root = math.sqrt(E)
    W = math.sqrt(E + gy * gy)
    e1x = 1.0 / root
    e1z = gx / root
    e2x = -gx * gy / (W * root)
    e2y = root / W
    e2z = gy / (W * root)
    a1 = e1x * axes[0, 0] + e1z * axes[0, 2]
    a2 = e2x * axes[0, 0] + e2y * axes[0, 1] + e2z * axes[0, 2]
    b1 = e1x * axes[1, 0] + e1z * axes[1, 2]
    b2 = e2x * axes[1, 0] + e2y * axes[1, 1] + e2z * axes[1, 2]
    cv = math.cos(v)
    reach = rim + tyre * cv
    k_u = cv / reach
    k_v = 1.0 / tyre
    w11 = k_u * a1 * a1 + k_v * b1 * b1
    w12 = k_u * a1 * a2 + k_v * b1 * b2
    w22 = k_u * a2 * a2 + k_v * b2 * b2
    s11 = w11 - ground[3] * e1x * e1x / W
    s12 = w12 - e1x * (ground[3] * e2x + ground[4] * e2y) / W
    s22 = w22 - (ground[3] * e2x * e2x + 2.0 * ground[4] * e2x * e2y + ground[5] * e2y * e2y) / W
    trace = s11 + s22
    det = s11 * s22 - s12 * s12
    if not (trace > 0.0 and det > FLATTEST * trace * trace):
        return TOO_SHARP
    for k in range(6):
        # Along e₁ and e₂: the right-hand side, with e₁ · (ω × n) = e₂ · ω, and the sliding velocity.
        slide1 = 0.0
        slide2 = 0.0
        p1 = e1x if k % 3 == 0 else (0.0 if k % 3 == 1 else e1z)
        p2 = e2x if k % 3 == 0 else (e2y if k % 3 == 1 else e2z)
        if k < 3:
            r1 = p2
            r2 = -p1
        else:
            slide1 = p1
            slide2 = p2
            r1 = w11 * p1 + w12 * p2
            r2 = w12 * p1 + w22 * p2
        xi1 = (s22 * r1 - s12 * r2) / det
        xi2 = (s11 * r2 - s12 * r1) / det
        L[2, k] = xi1 * e1x + xi2 * e2x
        L[3, k] = xi2 * e2y
        xi1 -= slide1
        xi2 -= slide2
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
        nx = -ground[1] / W
        ny = -ground[2] / W
        nz = 1.0 / W
        tx = axes[2, 1] * nz - axes[2, 2] * ny
        ty = axes[2, 2] * nx - axes[2, 0] * nz
        tz = axes[2, 0] * ny - axes[2, 1] * nx
        for i in range(4):
            contact[i] += L[i, 0] * tx + L[i, 1] * ty + L[i, 2] * tz
    return status


@kernel
def world_twist(R, axes, given, twist, out):
    """ω and sliding velocity in world axes; given says in which axes `twist` (6,) has them."""
    for half in range(0, 6, 3):
        for i in range(3):
            out[half + i] = twist[half + i]
            if given == WHEEL:
                out[half + i] = R[i, 0] * twist[half] + R[i, 1] * twist[half + 1] + R[i, 2] * twist[half + 2]
            elif given == CONTACT:
                out[half + i] = axes[0, i] * twist[half] + axes[1, i] * twist[half + 1] + axes[2, i] * twist[half + 2]


@kernel
def turn_world(turn, R, out):
    """out ← exp([turn]×) R: R turned by a rotation vector in world axes."""
    x = turn[0]
    y = turn[1]
    z = turn[2]
    square = x * x + y * y + z * z
    # a = sin θ/θ, b = (1 − cos θ)/θ²
    if square < 1e-4:
        a = 1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0))
        b = 0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0 - square / 40320.0))
    else:
        angle = math.sqrt(square)
        a = math.sin(angle) / angle
        b = (1.0 - math.cos(angle)) / square
    for k in range(3):
        p = R[0, k]
        q = R[1, k]
        r = R[2, k]
        cx = y * r - z * q
        cy = z * p - x * r
        cz = x * q - y * p
        out[0, k] = p + a * cx + b * (y * cz - z * cy)
        out[1, k] = q + a * cy + b * (z * cx - x * cz)
        out[2, k] = r + a * cz + b * (x * cy - y * cx)


@kernel
def turn_rate(turn, omega, out):
    """Rate of the rotation vector `turn` of exp([turn]×) R when the world angular velocity is ω.

    Runge–Kutta–Munthe-Kaas: ω − ½ turn × ω + turn × (turn × ω)/12; what is left out is of the fifth order.
    """
    cx = turn[1] * omega[2] - turn[2] * omega[1]
    cy = turn[2] * omega[0] - turn[0] * omega[2]
    cz = turn[0] * omega[1] - turn[1] * omega[0]
    out[0] = omega[0] - 0.5 * cx + (turn[1] * cz - turn[2] * cy) / 12.0
    out[1] = omega[1] - 0.5 * cy + (turn[2] * cx - turn[0] * cz) / 12.0
    out[2] = omega[2] - 0.5 * cz + (turn[0] * cy - turn[1] * cx) / 12.0


@entry
def roll_torus(address, par, rim, tyre, twist, given, dt, R, contact, rotations, contacts):
    """Roll one torus wheel over the ground law at `address` by Runge–Kutta of the fourth order on the group.

    twist: ω and sliding velocity at the times 0, dt/2, dt, …, shape (2 steps + 1, 6), in axes `given`.
    R (3, 3), contact (4,) = (u, v, x, y): where it starts, and then where it ends. rotations (steps + 1, 3, 3) and
    contacts (steps + 1, 4): every step. Returns the status and how many rows were filled.
    """
    steps = rotations.shape[0] - 1
    stage_R = np.empty((3, 3))
    axes = np.empty((3, 3))
    L = np.empty((4, 6))
    world = np.empty(6)
    ground = np.empty(6)
    stage = np.zeros(7)  # the turn since the step began, then u, v, x, y
    rates = np.zeros((4, 7))
    status = OK
    for k in range(steps + 1):
        rotations[k] = R
        contacts[k] = contact
        for j in range(4):
            # The last row only asks whether the wheel can stand there.
            if k == steps and j > 0:
                break
            h = dt if j == 3 else 0.5 * dt
            for i in range(7):
                stage[i] = h * rates[j - 1, i] if j > 0 else 0.0
            for i in range(4):
                stage[3 + i] += contact[i]
            turn_world(stage, R, stage_R)
            call_law(address, par, stage[5:7], ground, ground)
            contact_axes(stage_R, stage[3], stage[4], axes)
            status = contact_matrix(axes, stage[4], rim, tyre, ground, L)
            if status != OK:
                return status, k + (j > 0)
            world_twist(stage_R, axes, given, twist[2 * k + (j + 1) // 2], world)
            turn_rate(stage, world, rates[j])
            for i in range(4):
                rates[j, 3 + i] = 0.0
                for c in range(6):
                    rates[j, 3 + i] += L[i, c] * world[c]
        if k < steps:
            for i in range(7):
                stage[i] = dt / 6.0 * (rates[0, i] + 2.0 * (rates[1, i] + rates[2, i]) + rates[3, i])
            turn_world(stage, R, R)
            total = 0.0
            for i in range(4):
                contact[i] += stage[3 + i]
                total += abs(contact[i])
            if not (total <= 1e9):
                return DIVERGED, k + 1
            call_law(address, par, contact[2:4], ground, ground)
            status = align_contact(R, rim, tyre, ground, axes, L, contact)
            if status != OK:
                return status, k + 1
    return OK, steps + 1
