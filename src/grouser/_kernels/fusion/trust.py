"""Whether the fusion filter believes the wheels."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.memory import (
    CALM_SINCE,
    DISTRUST_AFTER,
    DISTRUST_SIGMA,
    DISTRUSTED,
    E_SLIP,
    FAULTS,
    FIGURES_ROW,
    LAST_POSE,
    LOOSE,
    MISSING_AFTER,
    NOW,
    PLAN_ROW,
    WATCHED,
    WHEELS_DISTRUSTED,
    WHEELS_STREAK,
)

CALM = 2.0
"""Distrusted wheels are trusted again after they have agreed with the rest for so long [s] …"""
SET_BACK = 0.2
"""… to which each refusal adds so much [s]."""


@kernel
def refused_wheels(memory):
    """Wheels that contradict the rest for a while are distrusted: one of them is blocked, frozen or spinning."""
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    if math.isnan(f[WHEELS_STREAK]):
        f[WHEELS_STREAK] = f[NOW]
    elif f[NOW] - f[WHEELS_STREAK] >= plan[DISTRUST_AFTER]:
        if not t[DISTRUSTED]:
            t[FAULTS + WHEELS_DISTRUSTED] += 1
            t[DISTRUSTED] = WATCHED
        elif t[DISTRUSTED] == LOOSE:
            open_slip(memory)
        f[CALM_SINCE] = math.nan
        f[WHEELS_STREAK] = f[NOW]


@kernel
def open_slip(memory):
    """Let the slip be anything."""
    plan = memory.desk[PLAN_ROW]
    for i in range(3):
        memory.spread[E_SLIP + i, E_SLIP + i] += plan[DISTRUST_SIGMA + i] * plan[DISTRUST_SIGMA + i]


@kernel
def trust_again(memory, agrees):
    """What to do with distrusted wheels, and when to end the distrust.

    While there are poses the wheels are only watched, until they have agreed for a while; a refusal now and then sets
    them back a little. Without poses they are all there is, and are used with slip opened wide.
    """
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    loose = f[NOW] - f[LAST_POSE] > memory.desk[PLAN_ROW, MISSING_AFTER]
    if loose and t[DISTRUSTED] == WATCHED:
        t[DISTRUSTED] = LOOSE
        open_slip(memory)
    elif not loose:
        t[DISTRUSTED] = WATCHED
    if math.isnan(f[CALM_SINCE]):
        f[CALM_SINCE] = f[NOW]
    if not agrees:
        f[CALM_SINCE] = min(f[CALM_SINCE] + SET_BACK, f[NOW])
    if t[DISTRUSTED] == WATCHED and f[NOW] - f[CALM_SINCE] >= CALM:
        t[DISTRUSTED] = 0
        f[WHEELS_STREAK] = math.nan
