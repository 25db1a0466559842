"""The points of circles that are lowest above the ground: of smallest height error, T (2.8), Fig. 2.3.

Each is found on coarse samples of its circle's lower half and refined to where circle and ground are tangent, by
secant; where that fails, as on an edge of the ground, by bracketing. All circles are searched together: a ground that
answers many points at once is asked once for all samples, and once for each secant step.
"""

import math

import numpy as np

from grouser._compile.jit import inlined, kernel
from grouser._kernels.law import call_law

SAMPLES = 45
FINEST = math.pi / SAMPLES
TANGENT = 1e-8
"""Tangent offset [rad] below which one correction is left, which needs no look at the ground."""
MOST_STEPS = 8
_GOLDEN = 0.3819660112501051
_APART = 2e-3
_ANGLES = (np.arange(SAMPLES) - SAMPLES // 2) * FINEST
_COSINES = np.cos(_ANGLES)
_SINES = np.sin(_ANGLES)

# Columns of `search`, a row for each circle
COSINE, SINE, SLOPE_X, SLOPE_Y, HEIGHT_ERROR = range(5)
OFFSET, STEP, TRAVELLED, HEIGHT_LIMIT, START, START_OFFSET, STATE = range(5, 12)
COLUMNS = 12
SEARCHING, FOUND, LOST = 0.0, 1.0, 2.0


@inlined
def look_up(ground, g_in, g_out, unused, rim, cosine, sine):
    """Height of the rim point φ above the ground, along the vertical; the ground there stays in g_out.

    The rim point is centre + down cos φ + ahead sin φ; rim holds these three as rows, the last two a radius long.
    """
    g_in[0] = rim[0, 0] + cosine * rim[1, 0] + sine * rim[2, 0]
    g_in[1] = rim[0, 1] + cosine * rim[1, 1] + sine * rim[2, 1]
    call_law(ground.address, ground.par, g_in, g_out, unused)
    return rim[0, 2] + cosine * rim[1, 2] + sine * rim[2, 2] - g_out[0]


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
def rim_height_error(ground, g_in, g_out, unused, rim, cosine, sine):
    """Δz of the rim point φ, T (2.8); the ground there stays in g_out."""
    gap = look_up(ground, g_in, g_out, unused, rim, cosine, sine)
    return gap / math.sqrt(1.0 + g_out[1] * g_out[1] + g_out[2] * g_out[2])


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
def section_search(ground, g_in, g_out, unused, rim, middle):
    """φ of the smallest Δz within a sample spacing of the middle, by golden section."""
    low = middle - ground.stride * FINEST
    high = middle + ground.stride * FINEST
    a = low + _GOLDEN * (high - low)
    b = high - _GOLDEN * (high - low)
    da = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(a), math.sin(a))
    db = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(b), math.sin(b))
    for _ in range(34):
        if da < db:
            high = b
            b = a
            db = da
            a = low + _GOLDEN * (high - low)
            da = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(a), math.sin(a))
        else:
            low = a
            a = b
            da = db
            b = high - _GOLDEN * (high - low)
            db = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(b), math.sin(b))
    phi = a if da < db else b
    lowest = min(da, db)
    # A smooth minimum is flat: sections would know its place to 1e-8 only, a parabola through three points does better.
    left = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(phi - _APART), math.sin(phi - _APART))
    right = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(phi + _APART), math.sin(phi + _APART))
    bend = left - 2.0 * lowest + right
    if bend > abs(left - right):
        vertex = phi + 0.5 * _APART * (left - right) / bend
        dz = rim_height_error(ground, g_in, g_out, unused, rim, math.cos(vertex), math.sin(vertex))
        if dz <= lowest + 1e-12:
            phi = vertex
    return phi


@inlined
def offset_at(ground, g_in, g_out, unused, rim, phi):
    """Tangent offset at the rim point φ."""
    cosine = math.cos(phi)
    sine = math.sin(phi)
    look_up(ground, g_in, g_out, unused, rim, cosine, sine)
    return tangent_offset(rim, cosine, sine, g_out[1], g_out[2])


@kernel
def bracketed_tangent(ground, g_in, g_out, unused, rim, a, b):
    """φ between a and b where the tangent offset changes sign; NaN if it does not.

    Illinois steps with a bisection every third, so that a jump of the offset, at an edge of the ground, is found too.
    """
    fa = offset_at(ground, g_in, g_out, unused, rim, a)
    fb = offset_at(ground, g_in, g_out, unused, rim, b)
    if not fa * fb <= 0.0:
        return math.nan
    for k in range(90):
        c = 0.5 * (a + b) if k % 3 == 2 else b - fb * (b - a) / (fb - fa)
        fc = offset_at(ground, g_in, g_out, unused, rim, c)
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
            s.points[at + k] = rim[0, 0] + cosine * rim[1, 0] + sine * rim[2, 0]
            s.points[n + at + k] = rim[0, 1] + cosine * rim[1, 1] + sine * rim[2, 1]
            s.heights[at + k] = rim[0, 2] + cosine * rim[1, 2] + sine * rim[2, 2]
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
        spacing = ground.stride * FINEST
        place = ground.stride // 2 + best * ground.stride
        row[COSINE] = _COSINES[place]
        row[SINE] = _SINES[place]
        row[SLOPE_X] = s.grounds[n + at + best]
        row[SLOPE_Y] = s.grounds[2 * n + at + best]
        row[OFFSET] = tangent_offset(s.rims[w], row[COSINE], row[SINE], row[SLOPE_X], row[SLOPE_Y])
        row[STEP] = min(max(row[OFFSET], -spacing), spacing)
        row[TRAVELLED] = 0.0
        row[HEIGHT_LIMIT] = best_gap / math.sqrt(best_scale) + 1e-3 * s.rolling_radius[w]
        row[START] = (place - SAMPLES // 2) * FINEST
        row[START_OFFSET] = row[OFFSET]
        row[STATE] = SEARCHING
    return not outside


@inlined
def secant_step(ground, rim, row, cosine, sine, gap, gx, gy):
    """Judge the point that the last step led to, and choose the next step."""
    spacing = ground.stride * FINEST
    step = row[STEP]
    row[TRAVELLED] += step
    offset = tangent_offset(rim, cosine, sine, gx, gy)
    change = offset - row[OFFSET]
    if abs(offset) < TANGENT:
        if abs(change) > abs(offset):
            # The last correction needs no look at the ground: its slopes are carried on along the secant.
            ratio = -offset / change
            cosine, sine = rotated(cosine, sine, ratio * step)
            gx += ratio * (gx - row[SLOPE_X])
            gy += ratio * (gy - row[SLOPE_Y])
        row[HEIGHT_ERROR] = gap / math.sqrt(1.0 + gx * gx + gy * gy)
        # else it is a crest of Δz, not the contact
        row[STATE] = FOUND if row[HEIGHT_ERROR] <= row[HEIGHT_LIMIT] else LOST
    elif abs(row[TRAVELLED]) > 2.0 * spacing:
        row[STATE] = LOST
    # a secant as flat as this has no root nearby: take the fixed-point step
    step = -offset * step / change if change * step < -0.1 * step * step else offset
    row[STEP] = min(max(step, -spacing), spacing)
    row[COSINE] = cosine
    row[SINE] = sine
    row[OFFSET] = offset
    row[SLOPE_X] = gx
    row[SLOPE_Y] = gy


@kernel
def search_by_brackets(ground, rim, row, s):
    """The contact of one circle where secants do not find it."""
    start = row[START]
    spacing = ground.stride * FINEST
    end = start + math.copysign(spacing, row[START_OFFSET])
    phi = bracketed_tangent(ground, s.ground_in, s.ground_out, s.unused, rim, start, end)
    row[COSINE] = math.cos(phi)
    row[SINE] = math.sin(phi)
    dz = rim_height_error(ground, s.ground_in, s.ground_out, s.unused, rim, row[COSINE], row[SINE])
    if not dz <= row[HEIGHT_LIMIT]:
        phi = section_search(ground, s.ground_in, s.ground_out, s.unused, rim, start)
        row[COSINE] = math.cos(phi)
        row[SINE] = math.sin(phi)
        dz = rim_height_error(ground, s.ground_in, s.ground_out, s.unused, rim, row[COSINE], row[SINE])
    row[HEIGHT_ERROR] = dz
    row[SLOPE_X] = s.ground_out[1]
    row[SLOPE_Y] = s.ground_out[2]


@kernel
def search_rims(ground, first, last, s):
    """cos φ, sin φ, Δz and the ground's slopes at the contact of circles first to last into their rows of s.search.

    False if the ground ends at one of them.
    """
    if not sample_rims(ground, first, last, s):
        return False
    for _ in range(MOST_STEPS):
        n = 0
        for w in range(first, last):
            n += s.search[w, STATE] == SEARCHING
        if n == 0:
            break
        k = 0
        for w in range(first, last):
            row = s.search[w]
            if row[STATE] == SEARCHING:
                rim = s.rims[w]
                cosine, sine = rotated(row[COSINE], row[SINE], row[STEP])
                row[COSINE] = cosine
                row[SINE] = sine
                s.points[k] = rim[0, 0] + cosine * rim[1, 0] + sine * rim[2, 0]
                s.points[n + k] = rim[0, 1] + cosine * rim[1, 1] + sine * rim[2, 1]
                s.heights[k] = rim[0, 2] + cosine * rim[1, 2] + sine * rim[2, 2]
                k += 1
        look_up_many(ground, n, s)
        k = 0
        for w in range(first, last):
            row = s.search[w]
            if row[STATE] == SEARCHING:
                gap = s.heights[k] - s.grounds[k]
                secant_step(ground, s.rims[w], row, row[COSINE], row[SINE], gap, s.grounds[n + k], s.grounds[2 * n + k])
                k += 1
    for w in range(first, last):
        row = s.search[w]
        if row[STATE] != FOUND:
            search_by_brackets(ground, s.rims[w], row, s)
            if math.isnan(row[HEIGHT_ERROR]):
                return False
    return True
