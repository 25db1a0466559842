"""Where wheels meet the ground: contact point, contact frame and height error, T (2.8), (2.9), Fig. 2.3.

The contact is the wheel point of smallest height error. A thin wheel is one circle. A wheel with a round tyre is a
torus, a family of circles: the one of lean v has the radius R + r cos v and lies r sin v along the axle (R, r: radii of
the tyre's centre line and of its tube). The circle that touches is the one whose tyre faces the ground there.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.search import (
    COSINE,
    HEIGHT_ERROR,
    SINE,
    SLOPE_X,
    SLOPE_Y,
    rim_height_error,
    search_rims,
)

_LEAN_STEPS = 40


@inlined
def set_rim(vehicle, s, w, angle, level):
    """World position of a wheel's centre, then its radii down and ahead, as rows of s.rims[w].

    Down is the lowest point of the rim if `level`, else the point at the given contact angle.
    """
    frame = vehicle.wheel[w]
    radius = vehicle.radius[w]
    rim = s.rims[w]
    R = s.R_world_body
    xz = R[2, 0] * s.R[frame, 0, 0] + R[2, 1] * s.R[frame, 1, 0] + R[2, 2] * s.R[frame, 2, 0]
    zz = R[2, 0] * s.R[frame, 0, 2] + R[2, 1] * s.R[frame, 1, 2] + R[2, 2] * s.R[frame, 2, 2]
    size = math.sqrt(xz * xz + zz * zz)
    if level and size > 1e-9:
        sine = xz / size
        cosine = zz / size
    else:
        sine = math.sin(angle)
        cosine = math.cos(angle)
    for i in range(3):
        x = R[i, 0] * s.R[frame, 0, 0] + R[i, 1] * s.R[frame, 1, 0] + R[i, 2] * s.R[frame, 2, 0]
        z = R[i, 0] * s.R[frame, 0, 2] + R[i, 1] * s.R[frame, 1, 2] + R[i, 2] * s.R[frame, 2, 2]
        centre = R[i, 0] * s.p[frame, 0] + R[i, 1] * s.p[frame, 1] + R[i, 2] * s.p[frame, 2]
        rim[0, i] = s.p_world_body[i] + centre
        rim[1, i] = -radius * (sine * x + cosine * z)
        rim[2, i] = radius * (cosine * x - sine * z)
    s.rolling_radius[w] = radius


@inlined
def set_contact(vehicle, s, w, cosine, sine, nx, ny, nz):
    """Contact point and axes of wheel w in body coordinates: z along the normal, x = wheel y × z, y = z × x."""
    R = s.R_world_body
    axes = s.axes
    rim = s.rims[w]
    frame = vehicle.wheel[w]
    px = rim[0, 0] - s.p_world_body[0] + cosine * rim[1, 0] + sine * rim[2, 0]
    py = rim[0, 1] - s.p_world_body[1] + cosine * rim[1, 1] + sine * rim[2, 1]
    pz = rim[0, 2] - s.p_world_body[2] + cosine * rim[1, 2] + sine * rim[2, 2]
    for i in range(3):
        s.p_contact[w, i] = R[0, i] * px + R[1, i] * py + R[2, i] * pz
        axes[w, 2, i] = R[0, i] * nx + R[1, i] * ny + R[2, i] * nz
    yx = s.R[frame, 0, 1]
    yy = s.R[frame, 1, 1]
    yz = s.R[frame, 2, 1]
    zx = axes[w, 2, 0]
    zy = axes[w, 2, 1]
    zz = axes[w, 2, 2]
    ax = yy * zz - yz * zy
    ay = yz * zx - yx * zz
    az = yx * zy - yy * zx
    size = math.sqrt(ax * ax + ay * ay + az * az)
    if size < 1e-9:  # the wheel lies flat on its side: any direction in the ground plane will do
        ax = s.R[frame, 0, 0]
        ay = s.R[frame, 1, 0]
        az = s.R[frame, 2, 0]
        size = 1.0
    ax /= size
    ay /= size
    az /= size
    axes[w, 0, 0] = ax
    axes[w, 0, 1] = ay
    axes[w, 0, 2] = az
    axes[w, 1, 0] = zy * az - zz * ay
    axes[w, 1, 1] = zz * ax - zx * az
    axes[w, 1, 2] = zx * ay - zy * ax


@inlined
def set_ground_contact(vehicle, s, w, cosine, sine, dz, gx, gy):
    """Contact of wheel w at rim angle φ on a ground of slopes gx, gy."""
    nz = 1.0 / math.sqrt(1.0 + gx * gx + gy * gy)
    s.height_error[w] = dz
    set_contact(vehicle, s, w, cosine, sine, -gx * nz, -gy * nz, nz)


@inlined
def set_hub(vehicle, s, w):
    """The rim of wheel w as s.hub: its centre, unit vectors down, ahead and along the axle, world coordinates."""
    frame = vehicle.wheel[w]
    rim = s.rims[w]
    R = s.R_world_body
    for i in range(3):
        s.hub[0, i] = rim[0, i]
        s.hub[1, i] = rim[1, i] / vehicle.radius[w]
        s.hub[2, i] = rim[2, i] / vehicle.radius[w]
        s.hub[3, i] = R[i, 0] * s.R[frame, 0, 1] + R[i, 1] * s.R[frame, 1, 1] + R[i, 2] * s.R[frame, 2, 1]


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
    across = 0.0
    along = 0.0
    for i in range(3):
        n = -gx if i == 0 else (-gy if i == 1 else 1.0)
        across -= n * s.hub[3, i]
        along -= n * (cosine * s.hub[1, i] + sine * s.hub[2, i])
    return math.atan2(across, along)


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
        miss = facing_lean(s, found[COSINE], found[SINE], found[SLOPE_X], found[SLOPE_Y]) - lean
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


@inlined
def find_contacts(vehicle, ground, s):
    """Contact of every wheel with the ground; False if the ground ends under a wheel."""
    nw = vehicle.wheel.size
    round_tyres = False
    for w in range(nw):
        set_rim(vehicle, s, w, 0.0, True)
        round_tyres |= vehicle.tyre[w] > 0.0
    # Wheels without a tyre are searched together, those with one each for itself.
    if not round_tyres:
        if not search_rims(ground, 0, nw, s):
            return False
    else:
        for w in range(nw):
            if vehicle.tyre[w] > 0.0:
                inside = search_tyre(vehicle, ground, s, w)
            else:
                inside = search_rims(ground, w, w + 1, s)
            if not inside:
                return False
    for w in range(nw):
        f = s.search[w]
        set_ground_contact(vehicle, s, w, f[COSINE], f[SINE], f[HEIGHT_ERROR], f[SLOPE_X], f[SLOPE_Y])
    return True


@kernel
def contacts_on_ground_at(vehicle, ground, angle, s):
    """Contacts at given contact angles, normals and height errors from the ground; False where it ends."""
    inside = True
    for w in range(vehicle.wheel.size):
        set_rim(vehicle, s, w, angle[w], False)
        dz = rim_height_error(ground, s.ground_in, s.ground_out, s.unused, s.rims[w], 1.0, 0.0)
        if vehicle.tyre[w] > 0.0:
            set_hub(vehicle, s, w)
            for _ in range(_LEAN_STEPS):
                lean_rim(vehicle, s, w, facing_lean(s, 1.0, 0.0, s.ground_out[1], s.ground_out[2]))
                dz = rim_height_error(ground, s.ground_in, s.ground_out, s.unused, s.rims[w], 1.0, 0.0)
        set_ground_contact(vehicle, s, w, 1.0, 0.0, dz, s.ground_out[1], s.ground_out[2])
        inside &= not math.isnan(dz)
    return inside


@kernel
def contacts_at(vehicle, angle, s):
    """Contacts at given contact angles on unknown ground: the normal points to the wheel's centre, Δz is zero."""
    for w in range(vehicle.wheel.size):
        set_rim(vehicle, s, w, angle[w], False)
        r = vehicle.radius[w]
        rim = s.rims[w]
        s.height_error[w] = 0.0
        set_contact(vehicle, s, w, 1.0, 0.0, -rim[1, 0] / r, -rim[1, 1] / r, -rim[1, 2] / r)


@kernel
def contact_angle(vehicle, s, w):
    """Contact angle δ of T (2.9) about the axle, from the carrier's −z; a contact ahead is negative.

    The carrier does not spin: δ here is T's δ + θ_wheel.
    """
    frame = vehicle.wheel[w]
    x = 0.0
    z = 0.0
    for i in range(3):
        arm = s.p_contact[w, i] - s.p[frame, i]
        x += s.R[frame, i, 0] * arm
        z += s.R[frame, i, 2] * arm
    return math.atan2(-x, -z)
