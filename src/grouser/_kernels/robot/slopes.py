"""Learned correction of a joint sample, and slopes of its twist by the slip parameters, which the filter learns."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.constants import GRAVITY
from grouser._kernels.fusion.memory import WHEELS
from grouser._kernels.motion.correction import SURFACE, correction_row, surface_row
from grouser._kernels.odometry.velocity import moved_twist

HISTORY = 1.0  # Time over which the changes of speed and turn rate are taken [s]: `motion/correction.py`
BREAK = 1.0  # A longer step between samples begins a new drive [s]
STEP = 1e-4  # of a slip parameter for its slope, in its unit


@kernel
def roll(chain, slot):
    """Speed and turn rate of the wheels of a sample, for models that are linear in the rates."""
    for i in range(2):
        row, total = 3 - i, 0.0
        for j in range(chain.rates.shape[1]):
            if not math.isnan(chain.rates[slot, j]):
                total += chain.linear[slot, row, j] * chain.rates[slot, j]
        chain.rolled[slot, i] = total


@kernel
def changes(chain, position, out):
    """V, ω and their changes within the last second, at a position in the order of time."""
    slot = chain.order[position]
    now = chain.time[slot]
    last, later = slot, now
    for at in range(position - 1, -1, -1):
        other = chain.order[at]
        if chain.events[other].kind != WHEELS or math.isnan(chain.rolled[other, 0]) or chain.time[other] >= later:
            continue
        earlier = chain.time[other]
        if later - earlier > BREAK or later <= now - HISTORY:
            break
        part = 0.0 if earlier >= now - HISTORY else (now - HISTORY - earlier) / (later - earlier)
        for i in range(2):
            out[2 + i] = (1.0 - part) * chain.rolled[other, i] + part * chain.rolled[last, i]
        last, later = other, earlier
    for i in range(2):
        out[i] = chain.rolled[slot, i]
        out[2 + i] = out[i] - (out[2 + i] if last != slot else out[i])


@kernel
def correct(chain, position):
    """Velocity that a learned correction adds to the sample at a position; slopes by its coefficients are kept."""
    slot, n = chain.order[position], chain.coefficients.size
    roll(chain, slot)
    fill(chain.odometry.extra, 0.0)
    if n == 0 or math.isnan(chain.rolled[slot, 0]):
        return
    changes(chain, position, chain.inputs)
    correction_row(chain.correction, chain.inputs, SURFACE, chain.slopes)
    for i in range(6):
        chain.odometry.extra[i] = inner(chain.slopes[i, SURFACE : SURFACE + n], chain.coefficients)


@kernel
def parameter_slopes(chain):
    """Slopes of the twist of the last sample by the slip parameters into those of the filter."""
    store, D = chain.odometry, chain.fusion.slopes
    if store.settings.linear == 1:
        work, out = store.work, chain.slopes
        g = GRAVITY * (work.speed if store.settings.gravity_by_distance == 1 else 1.0)
        roll_angle, pitch = work.attitude[0], work.attitude[1]
        gy = -g * math.cos(pitch) * math.sin(roll_angle)
        surface_row(work.odometry[3], work.odometry[2], g * math.sin(pitch), gy, out)
        for k in range(D.shape[1]):
            for i in range(6):
                D[i, k] = out[i, chain.learned[k]]
        return
    # Twists of the least squares with one parameter changed
    copy(store.work.twist, chain.twist)
    for k in range(D.shape[1]):
        at = chain.learned[k]
        chain.law_numbers[at] += STEP
        moved_twist(store, False)
        chain.law_numbers[at] -= STEP
        for i in range(6):
            D[i, k] = (store.work.moved[i] - chain.twist[i]) / STEP
