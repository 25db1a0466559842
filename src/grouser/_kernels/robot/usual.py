"""The usual value of a level (current, vibration, slip) as a regression on speed, turn, slope and acceleration.

A Kalman filter whose coefficients walk at random; a coefficient that was not observed for long is as uncertain as at
the beginning, never more. The residual is normalised by its predicted variance, so that a level seen in few blocks, or
for the first time in a turn, deviates by no more than it may.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.robot.monitor_memory import FEATURES

LARGEST_ECHO = 0.9
CHANGED = 0.01  # Share of their first variance that other coefficients gain by a change of ground
AGAIN = 30.0  # Blocks in which a level is learned again after it
FARTHEST = 8.0  # Normalised residuals are cut here
TREND = 2.0  # A coefficient may change by this many sigmas of the level within the learning time


@kernel
def renew(state, level, learned):
    """Learn the constant of a level again: it is that of the ground, other coefficients are mostly of the robot."""
    state.last[level] = 0.0
    if state.known[level] < 1.0:
        return
    for i in range(FEATURES):
        state.spread[level, 0, i] = 0.0
        state.spread[level, i, 0] = 0.0
        state.spread[level, i, i] = min(
            state.spread[level, i, i] + CHANGED * state.prior[level, i], state.prior[level, i]
        )
    state.spread[level, 0, 0] = state.prior[level, 0]
    state.known[level] = min(state.known[level], max(learned - AGAIN, 1.0))


@kernel
def begin(state, level, value, scale, sigma):
    """First value of a level; `scale` is one sigma of its coefficients, `sigma` that of a block."""
    for i in range(FEATURES):
        state.usual[level, i] = 0.0
        state.prior[level, i] = scale * scale
        for j in range(FEATURES):
            state.spread[level, i, j] = 0.0
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
        for j in range(FEATURES):
            variance += features[i] * state.spread[level, i, j] * features[j]
    return max(variance, 0.0)


@kernel
def residual(state, level, features, value, least):
    """Normalised residual of a value, cut, and its predicted variance; `least`: one sigma of the regression's error."""
    predicted = 0.0
    variance = state.variance[level] + least * least + uncertainty(state, level, features)
    for i in range(FEATURES):
        predicted += state.usual[level, i] * features[i]
    z = (value - predicted) / math.sqrt(variance)
    return min(max(z, -FARTHEST), FARTHEST), variance


@kernel
def learn(state, level, features, z, variance, share):
    """Learn from a block with normalised residual z; `share`: duration of the block by the learning time."""
    noise = state.variance[level]
    size = min(max(z, -3.0), 3.0)  # an outlier moves the mean no more than three sigmas do
    step = size / math.sqrt(variance)
    # Gain K = P φ / S; the products are kept in `features` after its FEATURES entries.
    for i in range(FEATURES):
        total = 0.0
        for j in range(FEATURES):
            total += state.spread[level, i, j] * features[j]
        features[FEATURES + i] = total
    for i in range(FEATURES):
        state.usual[level, i] += features[FEATURES + i] * step
        for j in range(FEATURES):
            state.spread[level, i, j] -= features[FEATURES + i] * features[FEATURES + j] / variance
    for i in range(FEATURES):
        grown = state.spread[level, i, i] + TREND * TREND * noise * share * share
        state.spread[level, i, i] = min(grown, state.prior[level, i])
    known = state.known[level] + 1.0
    gain = max(share, 1.0 / (known + 10.0))
    state.variance[level] = max(noise + gain * (size * size - 1.0) * noise * noise / variance, 1e-12)
    product = min(max(z * state.last[level], -4.0), 4.0)
    state.echo[level] = min(max(state.echo[level] + gain * (product - state.echo[level]), 0.0), LARGEST_ECHO)
    state.last[level] = z
    state.known[level] = known


@kernel
def counts(state, level):
    """Share of an independent sample that one block of a level is, (1 − ρ)/(1 + ρ)."""
    return (1.0 - state.echo[level]) / (1.0 + state.echo[level])
