"""The contact chains of a rolling vehicle: their closure C, how it changes, and what it leaves of each wheel's contact.

A wheel closes its chain with five equations, Ċ + σC = 0 (16.14): the gap between its two contact points along ∂c/∂x,
∂c/∂y and the ground's normal n, and the wheel's normal along ∂c/∂x and ∂c/∂y. All but the gap along n give the rates of
its contact coordinates (u, v, x, y). What they leave of the gap along n is a row on the velocity V of the vehicle.
Nothing is dropped where the closure is violated, so that C falls as exp(−σt) exactly; where it is not, the rates are
Montana's (16.3), those of `rolling_contact.py`.
"""

import math

import numpy as np

from grouser._compile.jit import allocating, kernel
from grouser._kernels.kinematics.jacobian import point_jacobian
from grouser._kernels.law import call_law
from grouser._kernels.null_space import invert
from grouser._kernels.rolling.contact import OFF_TERRAIN, OK, TOO_SHARP, contact_axes, contact_matrix


@allocating
def make_touch(nw, nv):
    """What is known of the contacts of nw wheels.

    0, frame (nw, 7, 3), body axes: ∂c/∂x, ∂c/∂y, n, e_u, e_v, the wheel's normal, the gap.
    1, row (nw, 5, nv): what V adds to Ċ, in the order gap along ∂c/∂x, ∂c/∂y, two normals, gap along n.
    2, violation (nw, 5): C in that order.
    3, inverse (nw, 4, 4): (u, v, x, y) per unit of the first four of Ċ.
    4, rate (nw, 4): of (u, v, x, y).
    """
    return (
        np.zeros((nw, 7, 3)),
        np.zeros((nw, 5, nv)),
        np.zeros((nw, 5)),
        np.zeros((nw, 4, 4)),
        np.zeros((nw, 4)),
    )


@allocating
def make_room(nv):
    """Work space of `meet_ground`: 4 × 4, Jacobian, two vectors, place, ground, wheel and its axes, contact matrix."""
    return (
        np.zeros((4, 4)),
        np.zeros((3, nv)),
        np.zeros((2, 3)),
        np.zeros(2),
        np.zeros(6),
        np.zeros((2, 3, 3)),
        np.zeros((4, 6)),
    )


@kernel
def into_body(R_world_body, x, y, z, out):
    """out ← R_body_world (x, y, z)."""
    for i in range(3):
        out[i] = R_world_body[0, i] * x + R_world_body[1, i] * y + R_world_body[2, i] * z


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def turning_row(vehicle, s, wheel_frame, axis, out):
    """Angular velocity of a wheel along an axis (body axes) per joint-space velocity."""
    for i in range(3):
        out[i] = axis[i]
    f = wheel_frame
    while f > 0:
        a = vehicle.joint[f]
        if a < 3:
            out[5 + f] = axis[0] * s.R[f, 0, a] + axis[1] * s.R[f, 1, a] + axis[2] * s.R[f, 2, a]
        f = vehicle.parent[f]


@kernel
def meet_ground(vehicle, address, par, q, contact, s, touch, room):
    """Both surfaces at every wheel's contact coordinates, C and its derivatives; returns a status and ‖C‖²."""
    frame, row, violation, inverse, _ = touch
    K, axes, vectors, xy, h, wheel, L = room
    total = 0.0
    for w in range(vehicle.wheel.size):
        f = vehicle.wheel[w]
        g = frame[w]
        xy[0] = contact[w, 2]
        xy[1] = contact[w, 3]
        call_law(address, par, xy, h, h)
        if not abs(h[0]) < 1e300:
            return OFF_TERRAIN, total
        W = math.sqrt(1.0 + h[1] * h[1] + h[2] * h[2])
        into_body(s.R_world_body, 1.0, 0.0, h[1], g[0])
        into_body(s.R_world_body, 0.0, 1.0, h[2], g[1])
        into_body(s.R_world_body, -h[1] / W, -h[2] / W, 1.0 / W, g[2])
        # The wheel's frame is left unspun: there the contact stands at u + its displacement.
        u = contact[w, 0] + q[6 + f]
        v = contact[w, 1]
        su = math.sin(u)
        cu = math.cos(u)
        cv = math.cos(v)
        tyre = vehicle.tyre[w]
        around = vehicle.radius[w] - tyre + tyre * cv
        R = s.R[f]
        for i in range(3):
            for j in range(3):
                wheel[0, i, j] = 0.0
                for k in range(3):
                    wheel[0, i, j] += s.R_world_body[i, k] * R[k, j]
        contact_axes(wheel[0], u, v, wheel[1])
        status = contact_matrix(wheel[1], v, vehicle.radius[w] - tyre, tyre, h, L)
        if status != OK:
            return status, total
        point = vectors[0]
        contact_axes(R, u, v, g[3:6])
        for i in range(3):
            # From the centre to the middle of the tyre, and from there along the normal.
            radial = R[i, 0] * su + R[i, 2] * cu
            point[i] = s.p[f, i] + (vehicle.radius[w] - tyre) * radial + tyre * g[5, i]
        into_body(s.R_world_body, xy[0] - s.p_world_body[0], xy[1] - s.p_world_body[1], h[0] - s.p_world_body[2], g[6])
        for i in range(3):
            g[6, i] = point[i] - g[6, i]
        upright = wheel[1, 2, 2]
        for i in range(2):
            K[i, 0] = around * dot(g[i], g[3])
            K[i, 1] = tyre * dot(g[i], g[4])
            K[i, 2] = -dot(g[i], g[0])
            K[i, 3] = -dot(g[i], g[1])
            K[2 + i, 0] = cv * dot(g[i], g[3])
            K[2 + i, 1] = dot(g[i], g[4])
            K[2 + i, 2] = upright * h[3 + i]
            K[2 + i, 3] = upright * h[4 + i]
        if not invert(K, 4, inverse[w]):
            return TOO_SHARP, total
        violation[w, 0] = dot(g[0], g[6])
        violation[w, 1] = dot(g[1], g[6])
        violation[w, 2] = dot(g[0], g[5])
        violation[w, 3] = dot(g[1], g[5])
        violation[w, 4] = dot(g[2], g[6])
        total += dot(g[6], g[6]) + violation[w, 2] * violation[w, 2] + violation[w, 3] * violation[w, 3]
        T = row[w]
        axes[:, 6:] = 0.0  # other wheels' joints
        point_jacobian(vehicle, s, f, point, g[:3], axes)
        for j in range(axes.shape[1]):
            T[0, j] = axes[0, j]
            T[1, j] = axes[1, j]
            T[4, j] = axes[2, j]
        axis = vectors[1]
        for i in range(2):
            # c · (ω × n) = ω · (n × c)
            for k in range(3):
                k1 = k + 1 if k < 2 else 0
                k2 = k - 1 if k > 0 else 2
                axis[k] = g[5, k1] * g[i, k2] - g[5, k2] * g[i, k1]
            turning_row(vehicle, s, f, axis, T[2 + i])
        # What the motion of the contact along the tyre adds to the gap along n is moved into the row of V.
        a = around * dot(g[2], g[3])
        b = tyre * dot(g[2], g[4])
        for k in range(4):
            y_k = -(a * inverse[w, 0, k] + b * inverse[w, 1, k])
            for j in range(T.shape[1]):
                T[4, j] += y_k * T[k, j]
            violation[w, 4] += y_k * violation[w, k]
    for c in range(vehicle.coupling_value.size):
        miss = -vehicle.coupling_value[c]
        for j in range(vehicle.coupling.shape[1]):
            miss += vehicle.coupling[c, j] * q[7 + j]
        total += miss * miss
    return OK, total


@kernel
def align_contacts(vehicle, address, par, q, contact, s, touch, room):
    """Newton steps that move the contacts to where the wheels stand, for a posed vehicle; no wheel moves."""
    for _ in range(2):
        status, _ = meet_ground(vehicle, address, par, q, contact, s, touch, room)
        if status != OK:
            return
        for w in range(vehicle.wheel.size):
            for i in range(4):
                for k in range(4):
                    contact[w, i] -= touch[3][w, i, k] * touch[2][w, k]


@kernel
def tangent_axes(c_x, c_y):
    """(a, b, c): a c_x and c (c_y − b c_x) are orthonormal axes of the tangent plane."""
    squared = dot(c_x, c_x)
    along = dot(c_x, c_y) / squared
    return 1.0 / math.sqrt(squared), along, 1.0 / math.sqrt(dot(c_y, c_y) - along * along * squared)


@kernel
def slip_velocity(w, s, touch, out):
    """Velocity of wheel w's material contact point along the two axes of the tangent plane, into out (2,)."""
    a, b, c = tangent_axes(touch[0][w, 0], touch[0][w, 1])
    first = 0.0
    second = 0.0
    for j in range(s.v.size):
        first += touch[1][w, 0, j] * s.v[j]
        second += touch[1][w, 1, j] * s.v[j]
    out[0] = a * first
    out[1] = c * (second - b * first)


@kernel
def contact_rates(sigma, s, touch):
    """Rates of every wheel's (u, v, x, y) at the velocity s.v."""
    _, row, violation, inverse, rate = touch
    for w in range(rate.shape[0]):
        for i in range(4):
            rate[w, i] = 0.0
        for k in range(4):
            value = -sigma * violation[w, k]
            for j in range(s.v.size):
                value -= row[w, k, j] * s.v[j]
            for i in range(4):
                rate[w, i] += inverse[w, i, k] * value
