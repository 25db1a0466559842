"""Where wheels meet the ground: contact point, contact frame and height error, T (2.8), (2.9), Fig. 2.3.

The contact is the wheel point of smallest height error. A thin wheel is one circle. A wheel with a round tyre is a
torus, a family of circles: the one of lean v has the radius R + r cos v and lies r sin v along the axle (R, r: radii of
the tyre's centre line and of its tube). The circle that touches is the one whose tyre faces the ground there. A ball
is the torus of R = 0.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.lanes import where
from grouser._kernels.contact.search import rim_height_error, rim_point, search_rims
from grouser._kernels.rotation import add, column, cross, dot, put, scale, times, times_transposed
from grouser._kernels.vehicles.kinds import rolling_count

_LEAN_STEPS = 40


@inlined
def wheel_axes(vehicle, s, w):
    """The carrier's x and z of wheel w, world coordinates."""
    frame = vehicle.wheel[w]
    return times(s.R_world_body, column(s.R[frame], 0)), times(s.R_world_body, column(s.R[frame], 2))


@inlined
def put_rim(vehicle, s, w, x, z, sine, cosine):
    """World position of a wheel's centre, then its radii down and ahead, as rows of s.rims[w].

    Down is the rim point at a contact angle of this sine and cosine from the carrier's −z; x, z: `wheel_axes`.
    """
    radius = vehicle.radius[w]
    rim = s.rims[w]
    put(add(s.p_world_body, 1.0, times(s.R_world_body, s.p[vehicle.wheel[w]])), rim[0], 0)
    for i in range(3):
        rim[1, i] = -radius * (sine * x[i] + cosine * z[i])
        rim[2, i] = radius * (cosine * x[i] - sine * z[i])
    s.rolling_radius[w] = radius


@inlined
def set_level_rim(vehicle, s, w):
    """The rim of wheel w with down at its lowest point; of a wheel that lies flat, at its carrier's −z."""
    x, z = wheel_axes(vehicle, s, w)
    size = math.sqrt(x[2] * x[2] + z[2] * z[2])
    upright = size > 1e-9
    put_rim(vehicle, s, w, x, z, where(upright, x[2] / size, 0.0), where(upright, z[2] / size, 1.0))


@inlined
def set_rim_at(vehicle, s, w, angle):
    """The rim of wheel w with down at a contact angle [rad]."""
    x, z = wheel_axes(vehicle, s, w)
    put_rim(vehicle, s, w, x, z, math.sin(angle), math.cos(angle))


@inlined
def set_contact(vehicle, s, w, k, cosine, sine, normal):
    """Contact k, of wheel w: point and axes in body coordinates, z along the normal, x = wheel y × z, y = z × x.

    Of a wheel with rollers x is the direction that they hold and y the one that they free.
    """
    R = s.R_world_body
    frame = vehicle.wheel[w]
    p_world_contact = rim_point(s.rims[w], cosine, sine)
    put(times_transposed(R, add(p_world_contact, -1.0, s.p_world_body)), s.p_contact[k], 0)
    z = times_transposed(R, normal)
    x = cross(column(s.R[frame], 1), z)
    size = math.sqrt(dot(x, x))
    flat = size < 1e-9  # the wheel lies on its side: any direction in the ground plane is valid
    size = where(flat, 1.0, size)
    ahead = column(s.R[frame], 0)
    x = (
        where(flat, ahead[0], x[0]) / size,
        where(flat, ahead[1], x[1]) / size,
        where(flat, ahead[2], x[2]) / size,
    )
    if vehicle.held[w, 1] != 0.0:
        x = add(scale(vehicle.held[w, 0], x), vehicle.held[w, 1], cross(z, x))
    put(x, s.axes[k, 0], 0)
    put(cross(z, x), s.axes[k, 1], 0)
    put(z, s.axes[k, 2], 0)


@inlined
def set_ground_contact(vehicle, s, w, k, cosine, sine, dz, slope):
    """Contact k, of wheel w, at rim angle φ on a ground with a slope (∂h/∂x, ∂h/∂y)."""
    nz = 1.0 / math.sqrt(1.0 + slope[0] * slope[0] + slope[1] * slope[1])
    s.height_error[k] = dz
    set_contact(vehicle, s, w, k, cosine, sine, (-slope[0] * nz, -slope[1] * nz, nz))


@inlined
def set_found_contact(vehicle, s, w, k):
    """Contact k, of wheel w, as its search found it."""
    f = s.search[k]
    set_ground_contact(vehicle, s, w, k, f.cosine, f.sine, f.height_error, (f.slope_x, f.slope_y))


@inlined
def set_hub(vehicle, s, w):
    """The rim of wheel w as s.hub: its centre, unit vectors down, ahead and along the axle, world coordinates."""
    frame = vehicle.wheel[w]
    rim = s.rims[w]
    for i in range(3):
        s.hub[0, i] = rim[0, i]
        s.hub[1, i] = rim[1, i] / vehicle.radius[w]
        s.hub[2, i] = rim[2, i] / vehicle.radius[w]
    put(times(s.R_world_body, column(s.R[frame], 1)), s.hub[3], 0)


@inlined
def lean_rim(vehicle, s, w, lean):
    """s.rims[w] becomes the circle of the tyre with a lean."""
    rim = s.rims[w]
    tyre = vehicle.tyre[w]
    radius = vehicle.radius[w] - tyre + tyre * math.cos(lean)
    aside = tyre * math.sin(lean)
    for i in range(3):
        rim[0, i] = s.hub[0, i] + aside * s.hub[3, i]
        rim[1, i] = radius * s.hub[1, i]
        rim[2, i] = radius * s.hub[2, i]
    s.rolling_radius[w] = radius


@inlined
def facing_lean(s, cosine, sine, gx, gy):
    """Lean at which the tyre at rim angle φ faces a ground of slopes gx, gy: their normals are opposite."""
    down = (gx, gy, -1.0)
    return math.atan2(dot(down, s.hub[3]), cosine * dot(down, s.hub[1]) + sine * dot(down, s.hub[2]))


@kernel
def search_tyre(vehicle, ground, s, w):
    """The contact of a round tyre into s.search[w], s.rims[w] being the circle that touches; False off the map.

    The lean solves facing_lean(v) = v: by secant, which a plane needs once, and between two leans of which one is too
    small and one too large, as on an edge of the ground, by halving.
    """
    set_hub(vehicle, s, w)
    lean = facing_lean(s, 1.0, 0.0, 0.0, 0.0)
    low = -math.inf
    high = math.inf
    lean_before = 0.0
    miss_before = 0.0
    found = s.search[w]
    for k in range(_LEAN_STEPS):
        lean_rim(vehicle, s, w, lean)
        if not search_rims(ground, w, w + 1, s):
            return False
        miss = facing_lean(s, found.cosine, found.sine, found.slope_x, found.slope_y) - lean
        if abs(miss) < 1e-12 or high - low < 1e-12:
            break
        if miss > 0.0:
            low = max(low, lean)
        else:
            high = min(high, lean)
        step = miss
        if k > 0 and (miss - miss_before) * (lean - lean_before) < 0.0:
            step = -miss * (lean - lean_before) / (miss - miss_before)
        lean_before = lean
        miss_before = miss
        lean += step
        if not (lean > low and lean < high) or (k > 8 and high - low < math.inf):
            lean = 0.5 * (low + high)
    return True


@kernel
def search_balls(vehicle, ground, s):
    """Search the contacts of all that slides; False if the ground ends there."""
    inside = True
    for w in range(rolling_count(vehicle), vehicle.wheel.size):
        inside = inside and search_tyre(vehicle, ground, s, w)
    return inside


@inlined
def has_round_tyre(vehicle):
    """Whether a wheel that rolls has one."""
    found = False
    for w in range(rolling_count(vehicle)):
        found |= vehicle.tyre[w] > 0.0
    return found


@inlined
def set_rims(vehicle, s):
    """The rims of all wheels, from their lowest points on."""
    for w in range(vehicle.wheel.size):
        set_level_rim(vehicle, s, w)


@inlined
def search_wheels(vehicle, ground, s):
    """Search the first contact of every wheel, one by one if any has a round tyre; False if the ground ends there."""
    if not has_round_tyre(vehicle):
        inside = search_rims(ground, 0, rolling_count(vehicle), s)
        return inside and (vehicle.friction.size == 0 or search_balls(vehicle, ground, s))
    for w in range(vehicle.wheel.size):
        if vehicle.tyre[w] > 0.0:
            inside = search_tyre(vehicle, ground, s, w)
        else:
            inside = search_rims(ground, w, w + 1, s)
        if not inside:
            return False
    return True


@inlined
def find_contacts(vehicle, ground, s):
    """The first contact of every wheel with the ground; False if the ground ends under a wheel."""
    set_rims(vehicle, s)
    if not search_wheels(vehicle, ground, s):
        return False
    for w in range(vehicle.wheel.size):
        set_found_contact(vehicle, s, w, w)
    return True


@kernel
def contacts_on_ground_at(vehicle, ground, angle, s):
    """Contacts at given contact angles, normals and height errors from the ground; False where it ends."""
    inside = True
    for w in range(vehicle.wheel.size):
        set_rim_at(vehicle, s, w, angle[w])
        dz = rim_height_error(ground, s, s.rims[w], 1.0, 0.0)
        if vehicle.tyre[w] > 0.0:
            set_hub(vehicle, s, w)
            for _ in range(_LEAN_STEPS):
                lean_rim(vehicle, s, w, facing_lean(s, 1.0, 0.0, s.ground_out[1], s.ground_out[2]))
                dz = rim_height_error(ground, s, s.rims[w], 1.0, 0.0)
        set_ground_contact(vehicle, s, w, w, 1.0, 0.0, dz, (s.ground_out[1], s.ground_out[2]))
        inside &= not math.isnan(dz)
    return inside


@kernel
def contacts_at(vehicle, angle, s):
    """Contacts at given contact angles on unknown ground: the normal points to the wheel's centre, Δz is zero."""
    for w in range(vehicle.wheel.size):
        set_rim_at(vehicle, s, w, angle[w])
        r = vehicle.radius[w]
        down = s.rims[w, 1]
        s.height_error[w] = 0.0
        set_contact(vehicle, s, w, w, 1.0, 0.0, (-down[0] / r, -down[1] / r, -down[2] / r))


@kernel
def contact_angle(vehicle, s, w):
    """Contact angle δ of T (2.9) about the axle, from the carrier's −z; a contact ahead is negative.

    The carrier does not spin: δ here is T's δ + θ_wheel.
    """
    frame = vehicle.wheel[w]
    arm = add(s.p_contact[w], -1.0, s.p[frame])
    return math.atan2(-dot(column(s.R[frame], 0), arm), -dot(column(s.R[frame], 2), arm))
