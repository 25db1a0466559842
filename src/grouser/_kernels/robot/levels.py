"""Levels of a block (current, vibration, slip): what they say about a stuck robot and about a change of ground."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.constants import GRAVITY
from grouser._kernels.robot import usual
from grouser._kernels.robot.monitor_memory import CURRENT, GROUND, LEVELS, SHIFTS, SLIP, VIBRATION

FADE = 0.95  # Share of a level's log-ratio that a block leaves
LIKE_USUAL = 0.3  # Chance that a stuck robot has the usual level all the time
BROAD = 1.0 / 12.0  # Density of its level otherwise, per sigma
SMALLEST = 0.05  # Speed [m/s] below which vibration and slip are not compared


@kernel
def describe(m, level):
    """What a level may depend on: 1, speed, turn, slope, acceleration."""
    state, now = m.state, m.now
    f = now.features
    ahead = 1.0 if now.speed >= 0.0 else -1.0
    f[0] = 1.0
    f[1] = math.log(max(abs(now.speed), SMALLEST)) if level == VIBRATION else abs(now.speed)
    f[2] = abs(now.turn)
    f[3] = ahead * state.gravity[0] / GRAVITY if level != VIBRATION and state.levelled > 0 else 0.0
    f[4] = ahead * (now.speed - now.speed_before) / m.settings.block if level == CURRENT else 0.0
    if level == SLIP:
        f[1] = 0.0


@kernel
def begin(state, level, value):
    """First value of a level. A turn on the spot may take several times the current of driving straight."""
    if level == CURRENT:
        size = max(abs(value), 1e-6)
        usual.begin(state, level, value, 5.0 * size, 0.5 * size)
    elif level == VIBRATION:
        usual.begin(state, level, value, 1.0, 0.5)
    else:
        usual.begin(state, level, value, 0.2, 0.1)


@kernel
def misfit(level, value):
    """One sigma of what the regression does not describe: a fifth of the current, 0.25 of the logarithm, 4 % slip."""
    return 0.2 * abs(value) if level == CURRENT else 0.25 if level == VIBRATION else 0.04


@kernel
def other_level(level, z):
    """Log-ratio of a normalised residual: another level by the usual one. Vibration of a stuck robot mostly falls."""
    broad = BROAD
    if level == VIBRATION:
        broad *= 0.1 + 1.6 / (1.0 + math.exp(3.0 * (z + 0.7)))
    return math.log(broad) + min(0.5 * z * z, 7.0) + 0.919


@kernel
def of_stuck(ratio):
    """Log-ratio of stuck by usual, from that of another level by the usual one."""
    return math.log(LIKE_USUAL + (1.0 - LIKE_USUAL) * math.exp(ratio))


@kernel
def compare(m, level, learning):
    """Compare a level with its usual value, and learn it."""
    settings, state, now = m.settings, m.state, m.now
    value = now.value[level]
    before = state.weight[level]
    weight = FADE * before
    if not math.isnan(value) and state.moving == 1:
        describe(m, level)
        if state.known[level] < 1.0:
            if learning:
                begin(state, level, value)
        else:
            z, variance = usual.residual(state, level, now.features, value, misfit(level, value))
            if state.known[level] >= settings.learned:
                part = usual.counts(state, level)
                if level != SLIP:
                    weight += part * other_level(level, z)
                if learning:
                    _test_ground(settings, state, level, part, z)
            if learning:
                usual.learn(state, level, now.features, z, variance, settings.block / settings.learn_time)
    weight = min(max(weight, -settings.budget), settings.budget)
    state.weight[level] = weight
    if level != SLIP:
        now.levels += of_stuck(weight) - of_stuck(before)


@kernel
def _test_ground(settings, state, level, part, z):
    """Shiryaev–Roberts: has the level shifted, by any of some shifts?"""
    for k in range(SHIFTS):
        shift = settings.shifts[k]
        gained = min(part * shift * (z - 0.5 * shift), settings.largest)
        state.ground[level, k] = (state.ground[level, k] + 1.0) * math.exp(gained) * settings.fade


@kernel
def ground_ratio(m):
    """Mean of the ratios of the levels that are known."""
    total, count = 0.0, 0
    for level in range(LEVELS):
        if m.state.known[level] >= m.settings.learned:
            count += 1
            for k in range(SHIFTS):
                total += m.state.ground[level, k]
    m.state.ratio[GROUND] = total / (SHIFTS * count) if count > 0 else 0.0


@kernel
def forget_ground(state):
    """Learn all levels again; no evidence of a change."""
    for level in range(LEVELS):
        usual.forget(state, level)
        for k in range(SHIFTS):
            state.ground[level, k] = 0.0
