"""What happened at each recorded state: tilt, tip margin, and how fast the vehicle slides."""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.kinematics.tipping import force_in_world, tipping_of
from grouser._kernels.rotation import add, column, cross, dot, scale, times_transposed, vector
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.vehicles.frames import pose_frames

TILT, MARGIN, SLIDING = range(3)
"""Columns: tilt of the body's z axis [rad]; tip margin [rad]; speed over the ground while it slides, else 0 [m/s]."""
HAPPENED_COLUMNS = 3
SLOW = 0.05
"""A vehicle that is slower does not slide [m/s]."""


@inlined
def held_axes(vehicle, s, w, normal):
    """Axes of a contact along and across the wheel, body coordinates, as `set_contact` finds them."""
    frame = vehicle.wheel[w]
    x = cross(column(s.R[frame], 1), normal)
    size = math.sqrt(dot(x, x))
    if size < 1e-9:
        x = column(s.R[frame], 0)
        size = 1.0
    x = scale(1.0 / size, x)
    if vehicle.held[w, 1] != 0.0:
        x = add(scale(vehicle.held[w, 0], x), vehicle.held[w, 1], cross(normal, x))
    return x, cross(normal, x)


@kernel
def sliding_speed(vehicle, contacts, loads, s):
    """Speed over the ground of what the wheels that bear stand on, if more than half of it is slip; else 0 [m/s].

    Means over the wheels, as vectors: what skid steering slips ahead and behind cancels. A vehicle that lies on its
    hull slides with all of its speed.
    """
    slid = moved = (0.0, 0.0, 0.0)
    bearing = 0
    for w in range(vehicle.wheel.size):
        if loads.size > 0 and loads[w] <= 0.0:
            continue
        bearing += 1
        normal = times_transposed(s.R_world_body, vector(contacts[w], 3))
        x, y = held_axes(vehicle, s, w, normal)
        slid = add(add(slid, contacts[w, 6], x), contacts[w, 7], y)
        arm = times_transposed(s.R_world_body, add(contacts[w], -1.0, s.p_world_body))
        u = add(cross(s.v, arm), 1.0, vector(s.v, 3))
        moved = add(moved, 1.0, add(u, -dot(u, normal), normal))
    if bearing == 0:
        speed = math.sqrt(s.v[3] * s.v[3] + s.v[4] * s.v[4] + s.v[5] * s.v[5])
        return speed if loads[vehicle.wheel.size] > 0.0 and speed > SLOW else 0.0
    square = dot(moved, moved)
    speed = math.sqrt(square) / bearing
    return speed if speed > SLOW and dot(slid, moved) > 0.5 * square else 0.0


@entry
def happened_rows(vehicle, gravity, q, v, contacts, loads, out, s):
    """Rows of states (n, nq), velocities (n, nv) and contacts (n, nw, CONTACT_COLUMNS), into out (n, HAPPENED_COLUMNS).

    loads (n, nw + 1): normal forces on the wheels, then the number of points of the hull that carry; no columns where
    they are not known.
    """
    clear_scratch(vehicle, s)
    for k in range(q.shape[0]):
        pose_frames(vehicle, q[k], s)
        copy(v[k], s.v)
        centre, force = force_in_world(vehicle, gravity, s)
        out[k, TILT] = math.acos(min(max(s.R_world_body[2, 2], -1.0), 1.0))
        out[k, MARGIN] = tipping_of(contacts[k], centre, force)[0]
        out[k, SLIDING] = sliding_speed(vehicle, contacts[k], loads[k], s)
