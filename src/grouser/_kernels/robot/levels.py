"""Levels of a block (current, vibration, slip): what they say about a stuck robot and about a change of ground."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.constants import GRAVITY
from grouser._kernels.robot import ground, usual
from grouser._kernels.robot.monitor_memory import CURRENT, GROUND, LEVELS, SHIFTS, SLIP, VIBRATION

FADE = 0.95  # Share of a level's log-ratio that a block leaves
LIKE_USUAL = 0.3  # Chance that a stuck robot has the usual level all the time
BROAD = 1.0 / 12.0  # Density of its level otherwise, per sigma
SIZE_KNOWN = 20.0  # Blocks after which the size of the current is known
SMALLEST = 0.05  # Speed [m/s] below which vibration and slip are not compared


@kernel
def describe(m, level):
    """What a level may depend on: 1, speed, turn, slope, acceleration. A motor gains little downhill: also |slope|."""
    state, now = m.state, m.now
    f = now.features
    ahead = 1.0 if now.speed >= 0.0 else -1.0
    f[0] = 1.0
    f[1] = math.log(max(abs(now.speed), SMALLEST)) if level == VIBRATION else abs(now.speed)
    f[2] = abs(now.turn)
    f[3] = ahead * state.gravity[0] / GRAVITY if level != VIBRATION and state.levelled > 0 else 0.0
    f[4] = ahead * (now.speed - now.speed_before) / m.settings.block if level == CURRENT else 0.0
    f[5] = abs(f[3]) if level == CURRENT else 0.0
    if level == SLIP:
        f[1] = 0.0


@kernel
def begin(state, level, value):
    """First value of a level. A turn on the spot may take several times the current of driving straight."""
    if level == CURRENT:
        usual.begin(state, level, value, 5.0 * state.amount, 0.5 * state.amount)
    elif level == VIBRATION:
        usual.begin(state, level, value, 1.0, 0.5)
    else:
        usual.begin(state, level, value, 0.2, 0.1)


@kernel
def misfit(state, level):
    """One sigma of what the regression does not describe: a fifth of the current, 0.25 of the logarithm, 4 % slip."""
    return 0.2 * state.amount if level == CURRENT else 0.25 if level == VIBRATION else 0.04


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
def weigh_current(m, learning):
    """Size of the current; returns whether it is known well enough to begin."""
    state, value = m.state, m.now.value[CURRENT]
    if learning and state.moving == 1 and not math.isnan(value):
        state.amount_count += 1.0
        gain = max(m.settings.block / (10.0 * m.settings.learn_time), 1.0 / state.amount_count)
        state.amount = max(state.amount + gain * (abs(value) - state.amount), 1e-9)
    return state.amount_count >= SIZE_KNOWN


@kernel
def compare(m, level, learning):
    """Compare a level with its usual value, and learn it."""
    settings, state, now = m.settings, m.state, m.now
    value = now.value[level]
    before = state.weight[level]
    weight = FADE * before
    now.evidence[level] = 0.0
    ready = weigh_current(m, learning) if level == CURRENT else True
    if not math.isnan(value) and state.moving == 1 and ready:
        describe(m, level)
        if state.known[level] < 1.0:
            if learning:
                begin(state, level, value)
        else:
            z, variance = usual.residual(state, level, now.features, value, misfit(state, level))
            if state.known[level] >= settings.learned:
                part = usual.counts(state, level)
                if level != SLIP:
                    weight += part * other_level(level, z)
                if learning and _steady(settings, state, now, level):
                    _weigh_ground(m, level, part, z * math.sqrt(variance))
            if learning:
                usual.learn(state, level, now.features, z, variance, settings.block / settings.learn_time)
    weight = min(max(weight, -settings.budget), settings.budget)
    state.weight[level] = weight
    if level != SLIP:
        now.levels += of_stuck(weight) - of_stuck(before)


@kernel
def _steady(settings, state, now, level):
    """Whether the robot drives in the way in which levels show the ground: without a start or stop; currents straight.

    Skid steering takes several times the current of a straight in a curve that its encoders hardly resolve.
    """
    if abs(now.speed) < SMALLEST or abs(now.speed - now.speed_before) > settings.steady * settings.block:
        return False
    return level != CURRENT or abs(state.curve) < settings.straight


@kernel
def _weigh_ground(m, level, part, off):
    """What a level says about a change of ground: where it is, its band, its weight. Currents by their size.

    The error of the regression and of its coefficients lasts for many blocks: it widens the band.
    """
    settings, state, now = m.settings, m.state, m.now
    unit = state.amount if level == CURRENT else 1.0
    least = settings.least_sigma[level]
    now.off[level] = off / unit
    now.band[level] = settings.band[level] + 2.0 * math.sqrt(usual.uncertainty(state, level, now.features)) / unit
    now.evidence[level] = part / max(state.variance[level] / unit**2, least * least)


@kernel
def test_ground(m):
    """Take a block; one without evidence changes nothing."""
    settings, state, now = m.settings, m.state, m.now
    total = 0.0
    for level in range(LEVELS):
        total += now.evidence[level]
    if total > 0.0:
        state.ratio[GROUND] = ground.advance(
            state.ground, settings.shifts, now.off, now.band, now.evidence, settings.ground_bound, settings.fade
        )


@kernel
def forget_ground(state, learned):
    """Learn all levels again, what they depend on excepted; no evidence of a change."""
    for level in range(LEVELS):
        usual.renew(state, level, learned)
    for k in range(SHIFTS):
        state.ground[k] = 0.0
    state.ratio[GROUND] = 0.0
