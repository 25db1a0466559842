"""The point of a circle that is lowest above the ground: of smallest height error, T (2.8), Fig. 2.3.

It is found on coarse samples of the circle's lower half and refined to where circle and ground are tangent, by secant;
where that fails, as on an edge of the ground, by bracketing.
"""

import math

import numpy as np

from grouser._kernels.jit import inlined, kernel
from grouser._kernels.law import call_law

SAMPLES = 45
FINEST = math.pi / SAMPLES
_GOLDEN = 0.3819660112501051
_APART = 2e-3
_ANGLES = (np.arange(SAMPLES) - SAMPLES // 2) * FINEST
_COSINES = np.cos(_ANGLES)
_SINES = np.sin(_ANGLES)


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
def lowest_rim_point(ground, g_in, g_out, unused, rim, radius):
    """(cos φ, sin φ, Δz) of the contact on a circle wheel; g_out holds the ground there. Δz is NaN off the map."""
    best = 0
    best_gap = math.inf
    best_signed = math.inf
    best_scale = 1.0
    gx_before = 0.0
    gy_before = 0.0
    outside = False
    for k in range(ground.stride // 2, SAMPLES, ground.stride):
        gap = look_up(ground, g_in, g_out, unused, rim, _COSINES[k], _SINES[k])
        gx = g_out[1]
        gy = g_out[2]
        # Δz = gap/√scale; squared with its sign and multiplied out, so that nothing is divided
        scale = 1.0 + gx * gx + gy * gy
        signed = gap * abs(gap)
        outside |= math.isnan(gap)
        if signed * best_scale < best_signed * scale:
            best = k
            best_gap = gap
            best_signed = signed
            best_scale = scale
            gx_before = gx
            gy_before = gy
    cosine = _COSINES[best]
    sine = _SINES[best]
    if outside:
        return cosine, sine, math.nan

    # Secant on the tangent offset: plain fixed-point steps converge only as fast as the ground is flat.
    offset_before = tangent_offset(rim, cosine, sine, gx_before, gy_before)
    start_offset = offset_before
    spacing = ground.stride * FINEST
    step = min(max(offset_before, -spacing), spacing)
    travelled = 0.0
    for _ in range(8):
        cosine, sine = rotated(cosine, sine, step)
        travelled += step
        gap = look_up(ground, g_in, g_out, unused, rim, cosine, sine)
        gx = g_out[1]
        gy = g_out[2]
        offset = tangent_offset(rim, cosine, sine, gx, gy)
        change = offset - offset_before
        if abs(offset) < 1e-8:
            if abs(change) > abs(offset):
                # The last correction needs no look at the ground: its slopes are carried on along the secant.
                ratio = -offset / change
                cosine, sine = rotated(cosine, sine, ratio * step)
                gx += ratio * (gx - gx_before)
                gy += ratio * (gy - gy_before)
                g_out[1] = gx
                g_out[2] = gy
            dz = gap / math.sqrt(1.0 + gx * gx + gy * gy)
            if dz <= best_gap / math.sqrt(best_scale) + 1e-3 * radius:  # else it is a crest of Δz, not the contact
                return cosine, sine, dz
            break
        if abs(travelled) > 2.0 * spacing:
            break
        # a secant as flat as this has no root nearby: take the fixed-point step
        step = -offset * step / change if change * step < -0.1 * step * step else offset
        step = min(max(step, -spacing), spacing)
        offset_before = offset
        gx_before = gx
        gy_before = gy

    start = (best - SAMPLES // 2) * FINEST
    dz_limit = best_gap / math.sqrt(best_scale) + 1e-3 * radius
    phi = bracketed_tangent(ground, g_in, g_out, unused, rim, start, start + math.copysign(spacing, start_offset))
    cosine = math.cos(phi)
    sine = math.sin(phi)
    dz = rim_height_error(ground, g_in, g_out, unused, rim, cosine, sine)
    if not dz <= dz_limit:
        phi = section_search(ground, g_in, g_out, unused, rim, start)
        cosine = math.cos(phi)
        sine = math.sin(phi)
        dz = rim_height_error(ground, g_in, g_out, unused, rim, cosine, sine)
    return cosine, sine, dz
