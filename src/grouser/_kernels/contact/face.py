"""The face a wheel ran into, where a height field has none: walls, and edges of steep ground.

A rim point behind a wall is as far below its top as the wall is high, and T (2.8) would push the wheel up there. Where
a wheel is deeper than its motion explains, the ground it entered is a plane through where its rim crosses the surface,
and it is pushed out of that plane, the way it came, until it is out or the height field says less. Balls that slide
have none: often they are smaller than they sink in.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.geometry import set_contact
from grouser._kernels.contact.search import look_up, rim_height_error, rim_point
from grouser._kernels.rotation import add, column, cross, dot, put, scale, times, vector
from grouser._kernels.vehicles.kinds import rolling_count

HELD, NORMAL, OFFSET, FORESEEN, LACK, BURIED = 0, 1, 4, 5, 6, 7
"""Columns of a face: 1 if a wheel is held by it; its unit normal and its offset along that [m], world; Δz that the
wheel's motion explains at the end of the last step, and the part of Δz that no motion explained by then [m]; time for
which all of the wheel was in the ground [s]."""
COLUMNS = 8
LONGEST_BURIED = 0.5
"""Time after which a wheel wholly in the ground ends a rollout [s]; a crash into soft tyres takes less."""
DEEP = 0.25
"""Penetration up to which nothing is asked, as a share of the radius."""
JUMP = 0.25
"""Penetration that the wheel's motion does not explain, as a share of the radius."""
TOUCH = 1e-6
"""Penetration with which a face is first touched, as a share of the radius."""
BEHIND = 0.5
"""Depth above which a point before a face is behind another, and a rim can be buried, as a share of the radius."""
GENTLE = 0.5
"""Rise of the ground under a wheel below which it has no face, as a share of the radius."""
_AROUND = 8
_QUARTER = 24
_STEPS = 64
_BISECTIONS = 16
_ASIDE = 0.25
"""Distance along the axle of the circle that gives the face its second direction, as a share of the radius."""


@inlined
def is_unexplained(vehicle, w, dz, foreseen):
    """Whether a wheel is deep in the ground, and deeper than it was foreseen to be [m]."""
    R = vehicle.radius[w]
    return dz < -DEEP * R and dz < foreseen - JUMP * R


@kernel
def crossing(ground, s, rim, start, step):
    """Rim angle, from a start in the ground in the direction of a step, where the rim leaves it; NaN if it does not."""
    inside = start
    outside = start
    for _ in range(_STEPS):
        outside += step
        if not look_up(ground, s, rim, math.cos(outside), math.sin(outside)) < 0.0:
            for _ in range(_BISECTIONS):
                middle = 0.5 * (inside + outside)
                if look_up(ground, s, rim, math.cos(middle), math.sin(middle)) < 0.0:
                    inside = middle
                else:
                    outside = middle
            return outside
        inside = outside
    return math.nan


@inlined
def chord(ground, s, rim, start):
    """Rim angles between which a circle is in the ground, around a start that is; NaN where it is wholly in it."""
    step = 2.0 * math.pi / _STEPS
    return crossing(ground, s, rim, start, -step), crossing(ground, s, rim, start, step)


@kernel
def find_face(vehicle, ground, w, s, face):
    """The plane that wheel w entered by into `face`.

    It passes through the two points where the rim crosses the surface, and those of a circle next to it. A wheel
    that is wholly in the ground is pushed back against its velocity.
    """
    rim = s.rims[w]
    R = s.rolling_radius[w]
    start = math.atan2(s.search[w].sine, s.search[w].cosine)
    low, high = chord(ground, s, rim, start)
    face[HELD] = 1.0
    if math.isnan(low) or math.isnan(high) or high - low >= 2.0 * math.pi:
        frame = vehicle.wheel[w]
        v = times(s.R_world_body, add((s.v[3], s.v[4], s.v[5]), 1.0, cross(s.v, s.p[frame])))
        speed = math.sqrt(dot(v, v))
        normal = (0.0, 0.0, 1.0)
        if speed > 1e-6:
            normal = scale(-1.0 / speed, v)
        put(normal, face, NORMAL)
        face[OFFSET] = dot(normal, deepest(rim, normal)) + R
        return
    middle = 0.5 * (low + high)
    inward = scale(-1.0 / R, add(rim_point(rim, math.cos(middle), math.sin(middle)), -1.0, rim[0]))
    a = rim_point(rim, math.cos(low), math.sin(low))
    b = rim_point(rim, math.cos(high), math.sin(high))
    along = add(b, -1.0, a)
    normal = inward
    axle = times(s.R_world_body, column(s.R[vehicle.wheel[w]], 1))
    for side in (1.0, -1.0):
        put(add(rim[0], side * _ASIDE * R, axle), rim[0], 0)
        within = look_up(ground, s, rim, math.cos(middle), math.sin(middle)) < 0.0
        low, high = chord(ground, s, rim, middle)
        c = add(
            scale(0.5, rim_point(rim, math.cos(low), math.sin(low))),
            0.5,
            rim_point(rim, math.cos(high), math.sin(high)),
        )
        put(add(rim[0], -side * _ASIDE * R, axle), rim[0], 0)
        found = cross(along, add(c, -0.5, add(a, 1.0, b)))
        size = math.sqrt(dot(found, found))
        if within and size > 1e-9 * R * R:
            found = scale(math.copysign(1.0 / size, dot(found, inward)), found)
            # one that leans far from the rim is that of an edge next to it
            if dot(found, inward) > 0.5:
                normal = found
                break
    put(normal, face, NORMAL)
    face[OFFSET] = 0.5 * (dot(normal, a) + dot(normal, b))


@inlined
def facing(rim, normal):
    """cos and sin of the rim angle that is lowest along a normal."""
    down = -dot(normal, rim[1])
    ahead = -dot(normal, rim[2])
    size = math.sqrt(down * down + ahead * ahead)
    if size < 1e-12:
        return 1.0, 0.0
    return down / size, ahead / size


@inlined
def deepest(rim, normal):
    """The rim point that is lowest along a normal."""
    cosine, sine = facing(rim, normal)
    return rim_point(rim, cosine, sine)


@kernel
def floor_before(ground, s, rim, radius, face, floor):
    """Normal and offset of the ground before a face, as of the floor before a wall, into `floor`; False if none is.

    It is the tangent plane under the lowest rim point that is before the face. Points deeper than `BEHIND` radii are
    behind another one.
    """
    lowest = 0.0
    normal = vector(face, NORMAL)
    for k in range(-_QUARTER, _QUARTER + 1):
        phi = 0.5 * math.pi * k / _QUARTER
        cosine = math.cos(phi)
        sine = math.sin(phi)
        dz = rim_height_error(ground, s, rim, cosine, sine)
        p = rim_point(rim, cosine, sine)
        if dz < lowest and dz > -BEHIND * radius and dot(normal, p) > face[OFFSET]:
            lowest = dz
            gx = s.ground_out[1]
            gy = s.ground_out[2]
            nz = 1.0 / math.sqrt(1.0 + gx * gx + gy * gy)
            put((-gx * nz, -gy * nz, nz), floor, 0)
            floor[3] = dot(floor, p) - dz
    return lowest < 0.0


@inlined
def depth_behind(rim, normal, offset):
    """Height of the rim's lowest point along a normal above a plane [m]; negative is behind it."""
    return dot(normal, deepest(rim, normal)) - offset


@inlined
def keep_face(vehicle, ground, w, foreseen, s, face, floor):
    """Contact of wheel w on its face or the ground before it, whichever it is deeper in; that by no more than foreseen.

    False, and none is kept, if it is out or the height field says less.
    """
    normal = vector(face, NORMAL)
    rim = s.rims[w]
    dz = depth_behind(rim, normal, face[OFFSET])
    if dz >= 0.0 or s.height_error[w] >= dz:
        face[HELD] = 0.0
        return False
    if floor_before(ground, s, rim, vehicle.radius[w], face, floor):
        below = depth_behind(rim, vector(floor, 0), floor[3])
        if below < dz and below > foreseen - JUMP * vehicle.radius[w]:
            normal = vector(floor, 0)
            dz = below
    cosine, sine = facing(rim, normal)
    s.height_error[w] = dz
    set_contact(vehicle, s, w, w, cosine, sine, normal)
    return True


@inlined
def bound_face(w, foreseen, s, face):
    """Move a face that was just found so that the wheel is no deeper behind it than its motion explains.

    What it is deeper would be energy it was not given.
    """
    normal = vector(face, NORMAL)
    depth = dot(normal, deepest(s.rims[w], normal))
    face[OFFSET] = min(face[OFFSET], depth - min(foreseen, -TOUCH * s.rolling_radius[w]))


@kernel
def is_gentle(vehicle, ground, w, s):
    """Whether the ground under a rim rises by less than `GENTLE` radii: a wheel can swing into it, not behind it."""
    low = math.inf
    high = -math.inf
    for k in range(_AROUND):
        phi = 2.0 * math.pi * k / _AROUND
        look_up(ground, s, s.rims[w], math.cos(phi), math.sin(phi))
        low = min(low, s.ground_out[0])
        high = max(high, s.ground_out[0])
    return high - low < GENTLE * vehicle.radius[w]


@inlined
def any_deep(vehicle, s, d):
    """Whether a wheel is deep in the ground or held by a face, so that `keep_faces` has something to do."""
    found = False
    for w in range(rolling_count(vehicle)):
        found |= s.height_error[w] < -DEEP * vehicle.radius[w] or d.face[w, HELD] != 0.0
    return found


@kernel
def keep_faces(vehicle, ground, lead, s, d):
    """Contacts of wheels that are deeper than foreseen, on the faces they ran into.

    lead: time since the step for which Δz was foreseen ended [s].
    """
    for w in range(rolling_count(vehicle)):
        face = d.face[w]
        foreseen = face[FORESEEN] + lead * d.closing[w]
        if face[HELD] != 0.0 and keep_face(vehicle, ground, w, foreseen, s, face, d.floor):
            continue
        if d.begun[0] == 0.0 or not is_unexplained(vehicle, w, s.height_error[w], foreseen):
            continue
        if s.height_error[w] < -vehicle.radius[w] or not is_gentle(vehicle, ground, w, s):
            find_face(vehicle, ground, w, s, face)
            bound_face(w, foreseen - face[LACK], s, face)
            keep_face(vehicle, ground, w, foreseen, s, face, d.floor)


@inlined
def foresee(vehicle, dt, d):
    """Where the motion of a step leads: Δz of each wheel, and how much of it no motion explains while it is deep."""
    for w in range(vehicle.wheel.size):
        dz = d.depth[w] - dt * d.closing[w]
        lack = 0.0
        if dz < -DEEP * vehicle.radius[w] and d.begun[0] != 0.0:
            lack = max(0.0, d.face[w, FORESEEN] - dz)
        d.face[w, LACK] = lack
        d.face[w, FORESEEN] = d.depth[w] + lack


@kernel
def stays_buried(vehicle, ground, seconds, s, d):
    """Whether a whole rim has been in the ground for too long; `seconds` have passed since the last look."""
    found = False
    for w in range(rolling_count(vehicle)):
        face = d.face[w]
        below = True
        for k in range(_AROUND):
            phi = 2.0 * math.pi * k / _AROUND
            # a wheel that lies on its side is wholly in the ground, but not deep
            below &= look_up(ground, s, s.rims[w], math.cos(phi), math.sin(phi)) < -BEHIND * vehicle.radius[w]
        face[BURIED] = face[BURIED] + seconds if below else 0.0
        found |= face[BURIED] > LONGEST_BURIED
    return found
