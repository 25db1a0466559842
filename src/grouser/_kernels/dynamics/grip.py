"""What is known of each contact before the force balance is solved: whether it is at rest, and its wheel's axle.

A contact at rest holds: slip since it came to rest stretches a bristle, and the contact law feels v + x/T in place of
the slip velocity v, where x is the stretch. A parked vehicle then stops where the law carries its weight at x/T, in
place of creeping there at that velocity, and no force leaves the law's friction limit. Rolling wheels have no bristle.
"""

import math

from grouser._compile.jit import inlined
from grouser._kernels.rotation import column, dot, put, scale

HOLD_TIME = 0.02
"""T [s]: a law that carries a load at the slip velocity v_c holds it after v_c T of slip."""
HOLD_RIM = 0.01
"""Rim speed above which a wheel rolls and has no bristle [m/s]."""
HOLD_SPEED = 0.25
"""Slip speed above which a contact slides and has no bristle, and the largest x/T [m/s]."""


@inlined
def hold_contacts(model, v, s, d):
    """1/T of each contact at rest into d.hold, 0 of the others; bristles of those are let go."""
    for k in range(s.live[0]):
        d.hold[k] = 0.0
        at = model.grip_memory + 2 * k
        d.memory_next[at] = 0.0
        d.memory_next[at + 1] = 0.0
        if not s.height_error[k] < 0.0 or model.rolling[k] == 0.0:
            continue
        spin = 5 + model.axle[k]
        if s.rolling_radius[k] * max(abs(v[spin]), abs(d.u[spin])) > HOLD_RIM:
            continue
        ahead = 0.0
        aside = 0.0
        row = model.row[k]
        for i in range(v.size):
            ahead += s.A[row, i] * v[i]
            aside += s.A[row + 1, i] * v[i]
        if ahead * ahead + aside * aside < HOLD_SPEED * HOLD_SPEED:
            d.hold[k] = 1.0 / HOLD_TIME


@inlined
def drop_idle_contacts(model, s, d):
    """Contacts that are none now have no force and no bristle."""
    for k in range(s.live[0], model.link.size):
        if d.f[k, 2] != 0.0:
            put((0.0, 0.0, 0.0), d.f[k], 0)
            if model.grip_memory >= 0:
                d.memory_next[model.grip_memory + 2 * k] = 0.0
                d.memory_next[model.grip_memory + 2 * k + 1] = 0.0


@inlined
def axle_rows(vehicle, model, s, d):
    """Turn rate of a wheel about its axle per unit joint-space velocity, of contacts whose law has a couple.

    A law sees the share `rolling` of that rate, so the same share of its couple acts: their power is one.
    """
    for k in range(s.live[0]):
        if model.couple[k] == 0.0 or s.height_error[k] == math.inf:
            continue
        f = model.link[k]
        axle = scale(model.rolling[k], column(s.R[f], 1))
        put(axle, d.axle[k], 0)
        while f > 0:
            if vehicle.joint[f] < 3:
                turned = model.axle[k] if f == model.link[k] else f
                d.axle[k, 5 + turned] = dot(axle, column(s.R[f], vehicle.joint[f]))
            f = vehicle.parent[f]
