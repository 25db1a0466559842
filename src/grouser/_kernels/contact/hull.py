"""Where the hull meets the ground: balls, which may be points, fixed to frames of the vehicle.

The contact of a ball is its point that faces the ground: it lies along the ground's normal there. Δz is the distance of
that point from the ground's tangent plane, as of a wheel.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.search import look_up_many
from grouser._kernels.law import call_law
from grouser._kernels.rotation import add, column, cross, dot, put, scale, times, times_transposed, vector

_FACING_STEPS = 12
MARGIN = 0.01
"""Height above the ground [m] below which a point of the hull may touch within a step, besides what its speed adds."""


@inlined
def unit(v):
    """v at length one."""
    return scale(1.0 / math.sqrt(dot(v, v)), v)


@inlined
def normal_of(gx, gy):
    """Upward normal of a ground with slopes gx, gy."""
    return unit((-gx, -gy, 1.0))


@kernel
def facing_point(ground, p, radius, gx, gy, s):
    """Δz of the point of a ball that faces the ground, and the normal there, from the slopes below its centre.

    Fixed-point steps, shorter and shorter where they do not converge, as on an edge of the ground; the lowest counts.
    """
    normal = normal_of(gx, gy)
    lowest = math.nan
    best = normal
    share = 1.0
    last = math.inf
    for _ in range(_FACING_STEPS):
        point = add(p, -radius, normal)
        s.ground_in[0] = point[0]
        s.ground_in[1] = point[1]
        call_law(ground.address, ground.par, s.ground_in, s.ground_out, s.unused)
        found = normal_of(s.ground_out[1], s.ground_out[2])
        dz = (point[2] - s.ground_out[0]) * found[2]
        if not dz >= lowest:
            lowest = dz
            best = normal
        change = add(found, -1.0, normal)
        miss = dot(change, change)
        if math.isnan(dz) or miss < 1e-24:
            break
        if miss > 0.25 * last:
            share *= 0.5
        last = miss
        normal = unit(add(normal, share, change))
    return lowest, best


@inlined
def set_hull_contact(s, frame, k, p_body, radius, normal):
    """Point and axes of contact k in body coordinates: z along the normal, x along the frame's x as far as it can."""
    z = times_transposed(s.R_world_body, normal)
    x = column(s.R[frame], 0)
    if abs(dot(x, z)) > 0.9:
        x = column(s.R[frame], 1)
    x = unit(add(x, -dot(x, z), z))
    put(add(p_body, -radius, z), s.p_contact[k], 0)
    put(x, s.axes[k, 0], 0)
    put(cross(z, x), s.axes[k, 1], 0)
    put(z, s.axes[k, 2], 0)


@kernel
def find_hull_contacts(vehicle, ground, dt, s):
    """Contacts of the hull that may touch within dt; the others get an infinite Δz, as do those beyond the map."""
    nh = vehicle.hull_frame.size
    first = 2 * vehicle.wheel.size
    for h in range(nh):
        frame = vehicle.hull_frame[h]
        p_body = add(s.p[frame], 1.0, times(s.R[frame], vehicle.hull_point[h]))
        put(p_body, s.p_contact[first + h], 0)
        s.points[h], s.points[nh + h], s.heights[h] = add(s.p_world_body, 1.0, times(s.R_world_body, p_body))
    look_up_many(ground, nh, s)
    speed = math.sqrt(s.v[3] * s.v[3] + s.v[4] * s.v[4] + s.v[5] * s.v[5])
    turn = math.sqrt(s.v[0] * s.v[0] + s.v[1] * s.v[1] + s.v[2] * s.v[2])
    for f in range(1, vehicle.parent.size):
        if vehicle.joint[f] >= 3:
            speed += abs(s.v[5 + f])
        elif vehicle.wheel_of_frame[f] < 0:
            turn += abs(s.v[5 + f])
    for h in range(nh):
        k = first + h
        s.height_error[k] = math.inf
        gx = s.grounds[nh + h]
        gy = s.grounds[2 * nh + h]
        radius = vehicle.hull_radius[h]
        p_body = vector(s.p_contact[k], 0)
        reach = MARGIN + 2.0 * dt * (speed + turn * math.sqrt(dot(p_body, p_body)))
        dz = (s.heights[h] - s.grounds[h]) / math.sqrt(1.0 + gx * gx + gy * gy)
        if radius == 0.0:
            if dz < reach:
                s.height_error[k] = dz
                set_hull_contact(s, vehicle.hull_frame[h], k, p_body, 0.0, normal_of(gx, gy))
        elif dz < reach + 2.0 * radius:
            p = (s.points[h], s.points[nh + h], s.heights[h])
            dz, normal = facing_point(ground, p, radius, gx, gy, s)
            if dz < reach:
                s.height_error[k] = dz
                set_hull_contact(s, vehicle.hull_frame[h], k, p_body, radius, normal)
