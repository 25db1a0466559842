"""One step of dead reckoning with measured roll and pitch: an arc, and how errors move along it.

Between samples velocity and attitude are linear in time. A step uses their means and turns on an arc, which is exact
where they are constant. Position and yaw integrate; errors are of (x, y, z, yaw), axes as for the position. Yaw errors
turn what follows, and that is all that couples them: the transition of a step is closed, P (7), whatever the model.
"""

import math

from grouser._compile.jit import inlined
from grouser._compile.struct import Struct, array

LEAST_COSINE = 1e-6
"""Of the pitch: at ±90° yaw has no meaning."""
STEEPEST = 0.1
"""Smallest cosine of roll at which the pitch rate gives ω_y."""


class Arc(Struct):
    """One step: the means it is made of, then what `lean`, `turn_by_rates` and `move_along` find."""

    twist = array(6)  # mean body velocity (ω, v) [rad/s, m/s]
    attitude = array(2)  # mean roll, pitch [rad]
    R_level_body = array(3, 3)  # R_y(pitch) R_x(roll): body axes in the heading frame
    to_yaw = array(3)  # yaw rate per ω, third row of Ω of T (A.9)
    way = array(3, 3)  # displacement per h v: R_z of the mean yaw times R_level_body, x and y rows shortened to chords
    step = array(4)  # displacement [m] and turn [rad]


@inlined
def level_axes(roll, pitch, R):
    """R = R_y(pitch) R_x(roll): body axes in the heading frame."""
    sr, cr = math.sin(roll), math.cos(roll)
    sp, cp = math.sin(pitch), math.cos(pitch)
    R[0, 0], R[0, 1], R[0, 2] = cp, sp * sr, sp * cr
    R[1, 0], R[1, 1], R[1, 2] = 0.0, cr, -sr
    R[2, 0], R[2, 1], R[2, 2] = -sp, cp * sr, cp * cr


@inlined
def yaw_slopes(roll, pitch, out):
    """Yaw rate per turn rate (ω_x, ω_y, ω_z) of the body into out (3,)."""
    cp = math.cos(pitch)
    if abs(cp) < LEAST_COSINE:
        cp = LEAST_COSINE
    out[0], out[1], out[2] = 0.0, math.sin(roll) / cp, math.cos(roll) / cp


@inlined
def lean(arc):
    """Axes and yaw slopes of the mean attitude."""
    level_axes(arc.attitude[0], arc.attitude[1], arc.R_level_body)
    yaw_slopes(arc.attitude[0], arc.attitude[1], arc.to_yaw)


@inlined
def turn_by_rates(arc, h):
    """The turn of a step of h [s] by the mean turn rate [rad], after `lean`."""
    return h * (arc.to_yaw[1] * arc.twist[1] + arc.to_yaw[2] * arc.twist[2])


@inlined
def turn_by_pitch(arc, h, pitched):
    """As `turn_by_rates`, with ω_y from the measured change of pitch [rad]; changes `to_yaw` accordingly.

    pitch rate = cos roll ω_y − sin roll ω_z, put into yaw rate = (sin roll ω_y + cos roll ω_z)/cos pitch.
    """
    cr = math.cos(arc.attitude[0])
    if abs(cr) <= STEEPEST:
        return turn_by_rates(arc, h)
    cp = math.cos(arc.attitude[1])
    if abs(cp) < LEAST_COSINE:
        cp = LEAST_COSINE
    arc.to_yaw[1], arc.to_yaw[2] = 0.0, 1.0 / (cr * cp)
    return arc.to_yaw[2] * (h * arc.twist[2] + math.sin(arc.attitude[0]) * pitched)


@inlined
def move_along(arc, h, yaw, turned):
    """The step of h [s] from a yaw [rad] with a turn [rad]: `way` and `step`, after `lean`."""
    half = 0.5 * turned
    chord = 1.0 - half * half / 6.0
    if abs(half) > 1e-4:
        chord = math.sin(half) / half
    c, s = chord * math.cos(yaw + half), chord * math.sin(yaw + half)
    R, way = arc.R_level_body, arc.way
    dx = dy = dz = 0.0
    for i in range(3):
        v = h * arc.twist[3 + i]
        way[0, i] = c * R[0, i] - s * R[1, i]
        way[1, i] = s * R[0, i] + c * R[1, i]
        way[2, i] = R[2, i]
        dx += way[0, i] * v
        dy += way[1, i] * v
        dz += way[2, i] * v
    arc.step[0], arc.step[1], arc.step[2], arc.step[3] = dx, dy, dz, turned


@inlined
def velocity_gain(arc, i, out):
    """Γ of P (5), (8): ∂(x, y, z, yaw)/∂velocity i of (ω, v), per second of the step, into out (4,).

    A yaw error that grows over the step acts on half of the displacement; the change of the chord is left out.
    """
    if i >= 3:
        out[0], out[1], out[2], out[3] = arc.way[0, i - 3], arc.way[1, i - 3], arc.way[2, i - 3], 0.0
    else:
        rate = arc.to_yaw[i]
        out[0], out[1], out[2], out[3] = -0.5 * arc.step[1] * rate, 0.5 * arc.step[0] * rate, 0.0, rate


@inlined
def attitude_gain(arc, h, by_roll, by_pitch):
    """∂(x, y, z, yaw)/∂roll and ∂/∂pitch of the step, (4,) each, for velocities that do not change with them.

    To first order in h: the turn's share of the displacement is left out.
    """
    vx, vy, vz = h * arc.twist[3], h * arc.twist[4], h * arc.twist[5]
    wy, wz = h * arc.twist[1], h * arc.twist[2]
    sr, cr = math.sin(arc.attitude[0]), math.cos(arc.attitude[0])
    cp = math.cos(arc.attitude[1])
    if abs(cp) < LEAST_COSINE:
        cp = LEAST_COSINE
    tp = math.sin(arc.attitude[1]) / cp
    way = arc.way
    # Roll turns about the body's x, pitch about the y axis before roll, (0, cr, −sr) in the body: axis × v.
    for i in range(3):
        by_roll[i] = way[i, 2] * vy - way[i, 1] * vz
        by_pitch[i] = way[i, 0] * (cr * vz + sr * vy) - (way[i, 1] * sr + way[i, 2] * cr) * vx
    by_roll[3] = (cr * wy - sr * wz) / cp
    by_pitch[3] = (sr * wy + cr * wz) / cp * tp


@inlined
def carry(matrix, columns, dx, dy):
    """matrix (4, columns) ← Φ matrix with the closed transition of P (7): yaw errors turn a displacement."""
    for j in range(columns):
        matrix[0, j] -= dy * matrix[3, j]
        matrix[1, j] += dx * matrix[3, j]


@inlined
def carry_both(P, dx, dy):
    """P (4, 4) ← Φ P Φᵀ."""
    carry(P, 4, dx, dy)
    for i in range(4):
        P[i, 0] -= dy * P[i, 3]
        P[i, 1] += dx * P[i, 3]


@inlined
def add_outer(P, q, a, b):
    """P (4, 4) ← P + q a bᵀ."""
    for i in range(4):
        for j in range(4):
            P[i, j] += q * a[i] * b[j]
