"""Where wheels meet the ground, of eight rollouts at once: as `contact/search.py`.

What is different: the search ends at a tangent offset of `TANGENT`, before the last correction, which leaves about
1e-7 m in the path of a rollout. A lane in which secants fail is searched alone, as any rollout is.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.lanes import LANES, bits, both, either, lane, lanes_of, only, put_lanes, where, with_lane
from grouser._kernels.contact.geometry import set_ground_contact, set_level_rim
from grouser._kernels.contact.search import (
    _COSINES,
    _SINES,
    FINEST,
    SAMPLES,
    look_up_many,
    rim_point,
    rotated,
    search_rims,
    tangent_offset,
)

TANGENT = 1e-5
"""Tangent offset [rad] below which one correction is left, which needs no look at the ground."""
MOST_STEPS = 8


@inlined
def look_up_lanes(ground, look, rim, cosine, sine):
    """Height of the rim point φ above the ground, and the ground's slopes there."""
    x, y, z = rim_point(rim, cosine, sine)
    put_lanes(x, look.points, 0)
    put_lanes(y, look.points, LANES)
    look_up_many(ground, LANES, look)
    return z - lanes_of(look.grounds, 0), lanes_of(look.grounds, LANES), lanes_of(look.grounds, 2 * LANES)


@inlined
def lowest_sample(ground, look, rim):
    """cos φ, sin φ, height above the ground and its slopes, of the coarse sample of least Δz; NaN off the map."""
    half = ground.stride // 2
    samples = (SAMPLES - 1 - half) // ground.stride + 1
    n = LANES * samples
    for k in range(samples):
        place = half + k * ground.stride
        x, y, z = rim_point(rim, _COSINES[place], _SINES[place])
        put_lanes(x, look.points, LANES * k)
        put_lanes(y, look.points, n + LANES * k)
        put_lanes(z, look.heights, LANES * k)
    look_up_many(ground, n, look)
    gap = lanes_of(look.heights, 0) - lanes_of(look.grounds, 0)
    gx = lanes_of(look.grounds, n)
    gy = lanes_of(look.grounds, 2 * n)
    size = 1.0 + gx * gx + gy * gy
    signed = gap * abs(gap)
    cosine = _COSINES[half] + 0.0 * gx
    sine = _SINES[half] + 0.0 * gx
    outside = gap
    for k in range(1, samples):
        place = half + k * ground.stride
        other = lanes_of(look.heights, LANES * k) - lanes_of(look.grounds, LANES * k)
        other_x = lanes_of(look.grounds, n + LANES * k)
        other_y = lanes_of(look.grounds, 2 * n + LANES * k)
        other_size = 1.0 + other_x * other_x + other_y * other_y
        other_signed = other * abs(other)
        better = other_signed * size < signed * other_size
        outside += other
        gap = where(better, other, gap)
        gx = where(better, other_x, gx)
        gy = where(better, other_y, gy)
        size = where(better, other_size, size)
        signed = where(better, other_signed, signed)
        cosine = where(better, _COSINES[place], cosine)
        sine = where(better, _SINES[place], sine)
    return cosine, sine, where(abs(outside) < math.inf, gap, math.nan), gx, gy


@inlined
def search_lanes(ground, look, s, w, radius):
    """The contact of wheel w into its entries of s; returns where it was found."""
    rim = s.rims[w]
    spacing = ground.stride * FINEST
    cosine, sine, gap, gx, gy = lowest_sample(ground, look, rim)
    limit = gap / math.sqrt(1.0 + gx * gx + gy * gy) + 1e-3 * radius
    offset = tangent_offset(rim, cosine, sine, gx, gy)
    bend = -1.0 + 0.0 * offset
    step = min(max(offset, -spacing), spacing)
    travelled = 0.0 * offset
    last_x = 0.0 * offset
    last_y = 0.0 * offset
    for _ in range(MOST_STEPS):
        active = abs(offset) >= TANGENT
        if bits(active) == 0:
            break
        step = where(active, step, 0.0)
        cosine, sine = rotated(cosine, sine, step)
        travelled += step
        gap, new_x, new_y = look_up_lanes(ground, look, rim, cosine, sine)
        new = tangent_offset(rim, cosine, sine, new_x, new_y)
        slope = where(active, (new - offset) / where(active, step, 1.0), bend)
        # a secant as flat as this has no root nearby: take the fixed-point step
        bend = where(slope < -0.1, slope, -1.0)
        last_x = where(active, (new_x - gx) / where(active, step, 1.0), last_x)
        last_y = where(active, (new_y - gy) / where(active, step, 1.0), last_y)
        offset = new
        gx = new_x
        gy = new_y
        step = min(max(-offset / bend, -spacing), spacing)
    # The last correction needs no look at the ground: its slopes are carried on along the secant.
    small = abs(offset) < TANGENT
    step = where(small, -offset / bend, 0.0)
    cosine, sine = rotated(cosine, sine, step)
    gx += step * last_x
    gy += step * last_y
    dz = gap / math.sqrt(1.0 + gx * gx + gy * gy)
    s.cosine[w] = cosine
    s.sine[w] = sine
    s.height_error[w] = dz
    s.slope_x[w] = gx
    s.slope_y[w] = gy
    return both(both(small, dz <= limit), abs(travelled) <= 2.0 * spacing)


@kernel
def search_alone(ground, vehicle, s, one, w, k):
    """The contact of wheel w in lane k by the search of a single rollout, whose work space is `one`; False: no map."""
    for i in range(3):
        for j in range(3):
            one.rims[w, i, j] = lane(s.rims[w, i, j], k)
    one.rolling_radius[w] = vehicle.radius[w]
    if not search_rims(ground, w, w + 1, one):
        return False
    found = one.search[w]
    s.cosine[w] = with_lane(s.cosine[w], k, found.cosine)
    s.sine[w] = with_lane(s.sine[w], k, found.sine)
    s.height_error[w] = with_lane(s.height_error[w], k, found.height_error)
    s.slope_x[w] = with_lane(s.slope_x[w], k, found.slope_x)
    s.slope_y[w] = with_lane(s.slope_y[w], k, found.slope_y)
    return True


@kernel
def find_lane_contacts(vehicle, ground, s, look, one, alive):
    """The contact of every wheel; returns in which lanes that are alive the ground ends under one."""
    outside = only(alive, alive)
    for w in range(vehicle.wheel.size):
        set_level_rim(vehicle, s, w)
        found = search_lanes(ground, look, s, w, vehicle.radius[w])
        lost = bits(only(alive, found))
        if lost != 0:
            for k in range(LANES):
                if (lost >> k) & 1 and not search_alone(ground, vehicle, s, one, w, k):
                    outside = either(outside, both(s.number[0] >= float(k), s.number[0] <= float(k)))
        slope = s.slope_x[w], s.slope_y[w]
        set_ground_contact(vehicle, s, w, w, s.cosine[w], s.sine[w], s.height_error[w], slope)
    return outside
