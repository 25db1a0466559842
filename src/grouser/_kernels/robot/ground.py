"""Has the ground changed? Shiryaev–Roberts tests of shifts of several levels at once.

A level x has a usual value m, which the model may miss by as much as its band b: within it nothing is evidence. For
each shift δ of a set, zero for the levels that it leaves, the log-likelihood ratio of a block is

    λ = Σ_i n_i |δ_i| (s_i (x_i − m_i) − b_i − |δ_i|/2)/S_i,   s = sign δ,   R ← (1 + R) e^λ,

a shift by b + |δ| against the usual value that is nearest to it, m + s b; S is the variance of a block, n ≤ 1 the share
of an independent sample that it is. While every level is within its band of m, e^λ is one on average at most, so that
the mean of R over the shifts grows by one a block at most and exceeds A after A blocks on average, or later. λ is
bounded from above, which only makes false alarms rarer: an outlier is no change.
"""

import math

from grouser._compile.jit import kernel


@kernel
def advance(ratios, shifts, off, band, weight, bound, fade):
    """Take a block. Shapes: ratios (h,), shifts (h, levels); off = x − m, band, weight n/S (levels,), 0: not measured.

    `fade`: share of the ratios that is kept. Returns their mean.
    """
    total = 0.0
    for h in range(ratios.size):
        gained = 0.0
        for i in range(off.size):
            shift = shifts[h, i]
            if shift > 0.0:
                gained += weight[i] * shift * (off[i] - band[i] - 0.5 * shift)
            elif shift < 0.0:
                gained += weight[i] * shift * (off[i] + band[i] - 0.5 * shift)
        ratios[h] = (1.0 + ratios[h]) * math.exp(min(gained, bound)) * fade
        total += ratios[h]
    return total / ratios.size
