"""Levels of a block (current, vibration, slip): what they say about a stuck robot and about a change of ground.

The usual value of a level is a regression on speed, turn, slope and acceleration: a Kalman filter whose coefficients
walk at random. A coefficient that was not observed for long is as uncertain as at the beginning, never more. The
residual is normalised by its predicted variance, which is large for a level seen in few blocks, or for the first time
in a turn.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import add_outer, fill, inner
from grouser._kernels.constants import GRAVITY
from grouser._kernels.robot import ground
from grouser._kernels.robot.monitor_memory import CURRENT, FEATURES, GROUND, LEVELS, SLIP, VIBRATION

FADE = 0.95  # Share of a level's log-ratio that a block leaves
LIKE_USUAL = 0.3  # Chance that a stuck robot has the usual level all the time
BROAD = 1.0 / 12.0  # Density of its level otherwise, per sigma
SIZE_KNOWN = 20.0  # Blocks after which the size of the current is known
SMALLEST = 0.05  # Speed [m/s] below which vibration and slip are not compared
LARGEST_ECHO = 0.9
CHANGED = 0.01  # Share of their first variance that other coefficients gain by a change of ground
AGAIN = 30.0  # Blocks in which a level is learned again after it
FARTHEST = 8.0  # Normalised residuals are cut here
TREND = 2.0  # A coefficient may change by this many sigmas of the level within the learning time


@kernel
def describe(m, level):
    """Regressors of a level: 1, speed, turn, slope, acceleration. A motor gains little downhill: also |slope|."""
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
def misfit(state, level):
    """One sigma of the error of the regression: a fifth of the current, 0.25 of the logarithm, 4 % slip."""
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
            z, variance = residual(state, level, now.features, value, misfit(state, level))
            if state.known[level] >= settings.learned:
                part = counts(state, level)
                if level != SLIP:
                    weight += part * other_level(level, z)
                if learning and _steady(settings, state, now, level):
                    _weigh_ground(m, level, part, z * math.sqrt(variance))
            if learning:
                learn(state, level, now.features, z, variance, settings.block / settings.learn_time)
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
    now.band[level] = settings.band[level] + 2.0 * math.sqrt(uncertainty(state, level, now.features)) / unit
    now.evidence[level] = part / max(state.variance[level] / unit**2, least * least)


@kernel
def test_ground(m):
    """Take a block; one without evidence changes nothing."""
    settings, state, now = m.settings, m.state, m.now
    if max(now.evidence[0], now.evidence[1], now.evidence[2]) > 0.0:
        state.ratio[GROUND] = ground.advance(
            state.ground, settings.shifts, now.off, now.band, now.evidence, settings.ground_bound, settings.fade
        )


@kernel
def forget_ground(state, learned):
    """Learn all levels again, but not their regression coefficients; no evidence of a change."""
    for level in range(LEVELS):
        renew(state, level, learned)
    fill(state.ground, 0.0)
    state.ratio[GROUND] = 0.0


@kernel
def renew(state, level, learned):
    """Learn the constant of a level again: it is that of the ground, other coefficients are mostly of the robot."""
    state.last[level] = 0.0
    if state.known[level] < 1.0:
        return
    P, prior = state.spread[level], state.prior[level]
    for i in range(FEATURES):
        P[0, i] = P[i, 0] = 0.0
        P[i, i] = min(P[i, i] + CHANGED * prior[i], prior[i])
    P[0, 0] = prior[0]
    state.known[level] = min(state.known[level], max(learned - AGAIN, 1.0))


@kernel
def begin(state, level, value):
    """First value of a level. A turn on the spot may take several times the current of driving straight."""
    # One sigma of the coefficients, and of a block
    scale = 5.0 * state.amount if level == CURRENT else 1.0 if level == VIBRATION else 0.2
    sigma = (0.1 if level == CURRENT else 0.5) * scale
    fill(state.usual[level], 0.0)
    fill(state.prior[level], scale * scale)
    fill(state.spread[level], 0.0)
    for i in range(FEATURES):
        state.spread[level, i, i] = scale * scale
    state.usual[level, 0] = value
    state.variance[level] = sigma * sigma
    state.echo[level] = 0.5
    state.known[level] = 1.0


@kernel
def uncertainty(state, level, features):
    """Variance of the usual value by that of the coefficients."""
    variance = 0.0
    for i in range(FEATURES):
        variance += features[i] * inner(state.spread[level, i], features)
    return max(variance, 0.0)


@kernel
def residual(state, level, features, value, least):
    """Normalised residual of a value, cut, and its predicted variance; `least`: one sigma of the regression's error."""
    variance = state.variance[level] + least * least + uncertainty(state, level, features)
    z = (value - inner(state.usual[level], features)) / math.sqrt(variance)
    return min(max(z, -FARTHEST), FARTHEST), variance


@kernel
def learn(state, level, features, z, variance, share):
    """Learn from a block with normalised residual z; `share`: duration of the block by the learning time."""
    noise = state.variance[level]
    size = min(max(z, -3.0), 3.0)  # an outlier moves the mean no more than three sigmas do
    step = size / math.sqrt(variance)
    # Gain K = P φ / S; the products are kept in `features` after its FEATURES entries.
    P, gain = state.spread[level], features[FEATURES:]
    for i in range(FEATURES):
        gain[i] = inner(P[i], features)
    add_outer(-1.0 / variance, gain, gain, P)
    for i in range(FEATURES):
        state.usual[level, i] += gain[i] * step
        P[i, i] = min(P[i, i] + TREND * TREND * noise * share * share, state.prior[level, i])
    known = state.known[level] + 1.0
    part = max(share, 1.0 / (known + 10.0))
    state.variance[level] = max(noise + part * (size * size - 1.0) * noise * noise / variance, 1e-12)
    product = min(max(z * state.last[level], -4.0), 4.0)
    state.echo[level] = min(max(state.echo[level] + part * (product - state.echo[level]), 0.0), LARGEST_ECHO)
    state.last[level] = z
    state.known[level] = known


@kernel
def counts(state, level):
    """Share of an independent sample that one block of a level is, (1 − ρ)/(1 + ρ)."""
    return (1.0 - state.echo[level]) / (1.0 + state.echo[level])
