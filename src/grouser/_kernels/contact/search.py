"""The points of circles that are lowest above the ground: of smallest height error, T (2.8), Fig. 2.3.

Each is found on coarse samples of its circle's lower half and refined to where circle and ground are tangent, by
secant; where that fails, as on an edge of the ground, by bracketing. All circles are searched together: a ground that
answers many points at once is asked once for all samples, and once for each secant step.
"""

import math

import numpy as np

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import record_type
from grouser._kernels.law import call_law
from grouser._kernels.rotation import add

SAMPLES = 45
FINEST = math.pi / SAMPLES
TANGENT = 1e-8
"""Tangent offset [rad] below which one correction is left, which needs no look at the ground."""
MOST_STEPS = 8
NEAR = 0.15
"""Height above the ground, in radii, below which a second minimum of Δz is searched: what may touch within a step."""
NEAR_SAMPLE = 0.3
"""The same for the vertical gap of a sample, which may be on steep ground."""
_GOLDEN = 0.3819660112501051
_APART = 2e-3
_ANGLES = (np.arange(SAMPLES) - SAMPLES // 2) * FINEST
_COSINES = np.cos(_ANGLES)
_SINES = np.sin(_ANGLES)

SEARCH = record_type(
    cosine=(),  # of the rim angle φ
    sine=(),
    slope_x=(),  # of the ground there
    slope_y=(),
    height_error=(),  # Δz there [m]
    offset=(),  # tangent offset there
    step=(),  # in φ, the next one [rad]
    travelled=(),  # from the start [rad]
    height_limit=(),  # Δz above which a point is a crest, not the contact [m]
    start=(),  # φ of the lowest sample
    start_offset=(),
    place=int,  # of the sample it starts at, among the finest
    prominence=(),  # of a second contact: how far Δz rises between it and the first [m], from the samples
    state=int,
)
"""The search of one contact of a circle."""
SEARCHING, FOUND, LOST, NONE = range(4)


@inlined
def rim_point(rim, cosine, sine):
    """Point of the rim at φ: centre + down cos φ + ahead sin φ; rim holds these as rows, the last two a radius long."""
    return add(add(rim[0], cosine, rim[1]), sine, rim[2])


@inlined
def look_up(ground, s, rim, cosine, sine):
    """Height of the rim point φ above the ground, along the vertical; the ground there stays in s.ground_out."""
    s.ground_in[0], s.ground_in[1], z = rim_point(rim, cosine, sine)
    call_law(ground.address, ground.par, s.ground_in, s.ground_out, s.unused)
    return z - s.ground_out[0]


@inlined
def look_up_many(ground, n, s):
    """The ground at n points: s.points holds all x, then all y; heights, slopes along x, then y, go to s.grounds."""
    if ground.many != 0:
        s.unused[0] = n
        call_law(ground.many, ground.par, s.points, s.grounds, s.unused)
        return
    for k in range(n):
        s.ground_in[0] = s.points[k]
        s.ground_in[1] = s.points[n + k]
        call_law(ground.address, ground.par, s.ground_in, s.ground_out, s.unused)
        s.grounds[k] = s.ground_out[0]
        s.grounds[n + k] = s.ground_out[1]
        s.grounds[2 * n + k] = s.ground_out[2]


@inlined
def rim_height_error(ground, s, rim, cosine, sine):
    """Δz of the rim point φ, T (2.8); the ground there stays in s.ground_out."""
    gap = look_up(ground, s, rim, cosine, sine)
    return gap / math.sqrt(1.0 + s.ground_out[1] * s.ground_out[1] + s.ground_out[2] * s.ground_out[2])


@inlined
def height_error_at(ground, s, rim, phi):
    """Δz of the rim point at the angle φ."""
    return rim_height_error(ground, s, rim, math.cos(phi), math.sin(phi))


@inlined
def tangent_offset(rim, cosine, sine, gx, gy):
    """Tangent of the angle from the rim point φ to the rim point that is parallel to a ground of slopes gx, gy."""
    down = gx * rim[1, 0] + gy * rim[1, 1] - rim[1, 2]
    ahead = gx * rim[2, 0] + gy * rim[2, 1] - rim[2, 2]
    along = down * cosine + ahead * sine
    return (ahead * cosine - down * sine) / max(along, 1e-3 * abs(down) + 1e-12)


@inlined
def rotated(cosine, sine, step):
    """cos and sin of φ + step by their series, exact to 1e-12 within a spacing."""
    t = step * step
    c = 1.0 - t * (1.0 / 2.0 - t * (1.0 / 24.0 - t * (1.0 / 720.0 - t / 40320.0)))
    d = step * (1.0 - t * (1.0 / 6.0 - t * (1.0 / 120.0 - t * (1.0 / 5040.0 - t / 362880.0))))
    return cosine * c - sine * d, sine * c + cosine * d


@kernel
def section_search(ground, s, rim, middle):
    """φ of the smallest Δz within a sample spacing of the middle, by golden section."""
    low = middle - ground.stride * FINEST
    high = middle + ground.stride * FINEST
    a = low + _GOLDEN * (high - low)
    b = high - _GOLDEN * (high - low)
    da = height_error_at(ground, s, rim, a)
    db = height_error_at(ground, s, rim, b)
    for _ in range(34):
        if da < db:
            high = b
            b = a
            db = da
            a = low + _GOLDEN * (high - low)
            da = height_error_at(ground, s, rim, a)
        else:
            low = a
            a = b
            da = db
            b = high - _GOLDEN * (high - low)
            db = height_error_at(ground, s, rim, b)
    phi = a if da < db else b
    lowest = min(da, db)
    # A smooth minimum is flat: sections would know its place to 1e-8 only, a parabola through three points does better.
    left = height_error_at(ground, s, rim, phi - _APART)
    right = height_error_at(ground, s, rim, phi + _APART)
    bend = left - 2.0 * lowest + right
    if bend > abs(left - right):
        vertex = phi + 0.5 * _APART * (left - right) / bend
        dz = height_error_at(ground, s, rim, vertex)
        if dz <= lowest + 1e-12:
            phi = vertex
    return phi


@inlined
def offset_at(ground, s, rim, phi):
    """Tangent offset at the rim point φ."""
    cosine = math.cos(phi)
    sine = math.sin(phi)
    look_up(ground, s, rim, cosine, sine)
    return tangent_offset(rim, cosine, sine, s.ground_out[1], s.ground_out[2])


@kernel
def bracketed_tangent(ground, s, rim, a, b):
    """φ between a and b where the tangent offset changes sign; NaN if it does not.

    Illinois steps with a bisection every third, so that a jump of the offset, at an edge of the ground, is found too.
    """
    fa = offset_at(ground, s, rim, a)
    fb = offset_at(ground, s, rim, b)
    if not fa * fb <= 0.0:
        return math.nan
    for k in range(90):
        c = 0.5 * (a + b) if k % 3 == 2 else b - fb * (b - a) / (fb - fa)
        fc = offset_at(ground, s, rim, c)
        if fc * fb < 0.0:
            a = b
            fa = fb
        else:
            fa *= 0.5
        b = c
        fb = fc
        if abs(fb) < 1e-13 or abs(b - a) < 1e-13:
            break
    return b


@inlined
def start_search(ground, rim, row, place, slope_x, slope_y):
    """A search begins at a sample, where the ground has these slopes."""
    spacing = ground.stride * FINEST
    row.cosine = _COSINES[place]
    row.sine = _SINES[place]
    row.slope_x = slope_x
    row.slope_y = slope_y
    row.offset = tangent_offset(rim, row.cosine, row.sine, slope_x, slope_y)
    row.step = min(max(row.offset, -spacing), spacing)
    row.travelled = 0.0
    row.start = (place - SAMPLES // 2) * FINEST
    row.place = place
    row.start_offset = row.offset
    row.state = SEARCHING


@inlined
def sample_rims(ground, first, last, s):
    """The lowest of the coarse samples of each circle as the start of its search; False if the ground ends at one."""
    samples = (SAMPLES - 1 - ground.stride // 2) // ground.stride + 1
    n = (last - first) * samples
    for w in range(first, last):
        rim = s.rims[w]
        at = (w - first) * samples
        for k in range(samples):
            cosine = _COSINES[ground.stride // 2 + k * ground.stride]
            sine = _SINES[ground.stride // 2 + k * ground.stride]
            s.points[at + k], s.points[n + at + k], s.heights[at + k] = rim_point(rim, cosine, sine)
    look_up_many(ground, n, s)
    outside = False
    for w in range(first, last):
        at = (w - first) * samples
        best = 0
        best_gap = math.inf
        best_signed = math.inf
        best_scale = 1.0
        for k in range(samples):
            gap = s.heights[at + k] - s.grounds[at + k]
            gx = s.grounds[n + at + k]
            gy = s.grounds[2 * n + at + k]
            # Δz = gap/√scale; squared with its sign and multiplied out, so that nothing is divided
            scale = 1.0 + gx * gx + gy * gy
            signed = gap * abs(gap)
            outside |= math.isnan(gap)
            if signed * best_scale < best_signed * scale:
                best = k
                best_gap = gap
                best_signed = signed
                best_scale = scale
        row = s.search[w]
        place = ground.stride // 2 + best * ground.stride
        start_search(ground, s.rims[w], row, place, s.grounds[n + at + best], s.grounds[2 * n + at + best])
        row.height_limit = best_gap / math.sqrt(best_scale) + 1e-3 * s.rolling_radius[w]
    return not outside


@kernel
def start_seconds(ground, first, last, s):
    """Second searches of circles that have another sample than their lowest which is a minimum near the ground."""
    half = ground.stride // 2
    samples = (SAMPLES - 1 - half) // ground.stride + 1
    heights = s.heights
    grounds = s.grounds
    for w in range(first, last):
        s.search[s.rims.shape[0] + w].state = NONE
        at = (w - first) * samples
        near = NEAR_SAMPLE * s.rolling_radius[w]
        minima = 0
        lowest = 0
        before = heights[at] - grounds[at]
        here = heights[at + 1] - grounds[at + 1]
        for k in range(1, samples - 1):
            after = heights[at + k + 1] - grounds[at + k + 1]
            if here < before and here <= after and here < near:
                minima += 1
                lowest = k
            before = here
            here = after
        if minima > 1 or (minima == 1 and half + lowest * ground.stride != s.search[w].place):
            start_second(ground, w, (last - first) * samples, at, s)


@kernel
def start_second(ground, w, n, at, s):
    """A second search of circle w begins at the sample that is a minimum and stands out most, if one does.

    It stands out by how far the vertical gap rises between it and the sample of least Δz, and no more than it is
    close to the ground. n: points looked up; at: the first of this circle.
    """
    samples = (SAMPLES - 1 - ground.stride // 2) // ground.stride + 1
    best = (s.search[w].place - ground.stride // 2) // ground.stride
    gaps = s.heights[at : at + samples]
    for k in range(samples):
        gaps[k] -= s.grounds[at + k]
    near = NEAR * s.rolling_radius[w]
    row = s.search[s.rims.shape[0] + w]
    chosen = -1
    most = 0.0
    for way in range(-1, 2, 2):
        crest = gaps[best]
        k = best + way
        while k > 0 and k < samples - 1:
            crest = max(crest, gaps[k])
            if gaps[k] < gaps[k - way] and gaps[k] <= gaps[k + way]:
                gx = s.grounds[n + at + k]
                gy = s.grounds[2 * n + at + k]
                upright = 1.0 / math.sqrt(1.0 + gx * gx + gy * gy)
                stands_out = min((crest - gaps[k]) * upright, near - gaps[k] * upright)
                if stands_out > most:
                    most = stands_out
                    chosen = k
                    row.prominence = (crest - gaps[k]) * upright
                    row.height_limit = gaps[k] * upright + 1e-3 * s.rolling_radius[w]
            k += way
    if chosen >= 0:
        place = ground.stride // 2 + chosen * ground.stride
        start_search(ground, s.rims[w], row, place, s.grounds[n + at + chosen], s.grounds[2 * n + at + chosen])


@inlined
def secant_step(ground, rim, row, gap, gx, gy):
    """Judge the point that the last step led to, `gap` above a ground of slopes gx, gy, and choose the next step."""
    cosine = row.cosine
    sine = row.sine
    spacing = ground.stride * FINEST
    step = row.step
    row.travelled += step
    offset = tangent_offset(rim, cosine, sine, gx, gy)
    change = offset - row.offset
    if abs(offset) < TANGENT:
        if abs(change) > abs(offset):
            # The last correction needs no look at the ground: its slopes are carried on along the secant.
            ratio = -offset / change
            cosine, sine = rotated(cosine, sine, ratio * step)
            gx += ratio * (gx - row.slope_x)
            gy += ratio * (gy - row.slope_y)
        row.height_error = gap / math.sqrt(1.0 + gx * gx + gy * gy)
        # else it is a crest of Δz, not the contact
        row.state = FOUND if row.height_error <= row.height_limit else LOST
    elif abs(row.travelled) > 2.0 * spacing:
        row.state = LOST
    # a secant as flat as this has no root nearby: take the fixed-point step
    step = -offset * step / change if change * step < -0.1 * step * step else offset
    row.step = min(max(step, -spacing), spacing)
    row.cosine = cosine
    row.sine = sine
    row.offset = offset
    row.slope_x = gx
    row.slope_y = gy


@kernel
def search_by_brackets(ground, rim, row, s):
    """The contact of one circle where secants do not find it."""
    start = row.start
    spacing = ground.stride * FINEST
    end = start + math.copysign(spacing, row.start_offset)
    phi = bracketed_tangent(ground, s, rim, start, end)
    row.cosine = math.cos(phi)
    row.sine = math.sin(phi)
    dz = rim_height_error(ground, s, rim, row.cosine, row.sine)
    if not dz <= row.height_limit:
        phi = section_search(ground, s, rim, start)
        row.cosine = math.cos(phi)
        row.sine = math.sin(phi)
        dz = rim_height_error(ground, s, rim, row.cosine, row.sine)
    row.height_error = dz
    row.slope_x = s.ground_out[1]
    row.slope_y = s.ground_out[2]


@kernel
def search_second(ground, w, s):
    """The second contact of circle w from where its search starts; dropped where it leads to the first."""
    rim = s.rims[w]
    row = s.search[s.rims.shape[0] + w]
    for _ in range(MOST_STEPS):
        if row.state == SEARCHING:
            row.cosine, row.sine = rotated(row.cosine, row.sine, row.step)
            gap = look_up(ground, s, rim, row.cosine, row.sine)
            secant_step(ground, rim, row, gap, s.ground_out[1], s.ground_out[2])
    if row.state != FOUND:
        search_by_brackets(ground, rim, row, s)
    together = row.cosine * s.search[w].cosine + row.sine * s.search[w].sine
    apart = together < math.cos(0.5 * ground.stride * FINEST)
    row.state = FOUND if apart and not math.isnan(row.height_error) else NONE


@inlined
def refine_rims(ground, first, last, s):
    """Searches of circles first to last from where they start; False if the ground ends at one of them."""
    for _ in range(MOST_STEPS):
        n = 0
        for w in range(first, last):
            n += s.search[w].state == SEARCHING
        if n == 0:
            break
        k = 0
        for w in range(first, last):
            row = s.search[w]
            if row.state == SEARCHING:
                rim = s.rims[w]
                cosine, sine = rotated(row.cosine, row.sine, row.step)
                row.cosine = cosine
                row.sine = sine
                s.points[k], s.points[n + k], s.heights[k] = rim_point(rim, cosine, sine)
                k += 1
        look_up_many(ground, n, s)
        k = 0
        for w in range(first, last):
            row = s.search[w]
            if row.state == SEARCHING:
                gap = s.heights[k] - s.grounds[k]
                secant_step(ground, s.rims[w], row, gap, s.grounds[n + k], s.grounds[2 * n + k])
                k += 1
    for w in range(first, last):
        row = s.search[w]
        if row.state != FOUND:
            search_by_brackets(ground, s.rims[w], row, s)
            if math.isnan(row.height_error):
                return False
    return True


@kernel
def search_rims(ground, first, last, s):
    """cos φ, sin φ, Δz and the ground's slopes at the contact of circles first to last into their rows of s.search.

    False if the ground ends at one of them.
    """
    return sample_rims(ground, first, last, s) and refine_rims(ground, first, last, s)


@kernel
def search_rims_twice(ground, first, last, s):
    """As `search_rims`, and second contacts into the rows of s.search after those of all circles."""
    if not sample_rims(ground, first, last, s):
        return False
    start_seconds(ground, first, last, s)
    if not refine_rims(ground, first, last, s):
        return False
    for w in range(first, last):
        if s.search[s.rims.shape[0] + w].state == SEARCHING:
            search_second(ground, w, s)
    return True
