"""Has the robot begun, or ceased, to move as its wheels say? Shiryaev–Roberts test of a hidden motion on a grid.

`held` is the distribution of the motion if nothing changed. `left` is the sum, over all times at which it may have
changed, of the distribution if it did, times the ratio of both likelihoods: one recursion adds a block to all of them,

    held ← (held · stay) ∘ p / c,    left ← ((left + held) · leave) ∘ p / c,    c = Σ (held · stay) ∘ p,

with p the likelihood of the block; there is one `left` for each of a few rates of the change. Without a change the
ratio R = Σ left grows on average by one a block (R − n is a martingale), so that the mean number of blocks until R
exceeds A is at least A, whatever the sensors. A share of `left` is forgotten every block, which only makes false
alarms rarer: without any sensor R ends at a constant.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import fill
from grouser._kernels.robot.monitor_memory import CELLS, RATES, SLIDING, STUCK

EXPLAINED = 0.4, 1.15  # Motion by what the wheels say that is no sliding: slip up to 60 %, wheels 15 % larger
LEAST = 1e-9  # Smaller probabilities are neglected


@kernel
def as_stuck(now, drift):
    """Motion of a cell m: v = m (1 − s) w. drift: change of speed that an error of gravity may feign [m/s]."""
    now.scale = (1.0 - now.slip) * now.speed
    now.scale_before = (1.0 - now.slip_before) * now.speed_before
    now.low = now.high = now.blur = 0.0
    now.step_low, now.step_high = -drift, drift
    now.way_scale = (1.0 - now.slip) * now.moved_rolled
    now.way = 0.0
    now.way_blur = 0.1 * now.way_scale
    now.turns = now.turn_known


@kernel
def as_sliding(now, drift):
    """Motion of a cell x: v = x + what wheels explain."""
    now.scale = now.scale_before = 1.0
    # The body follows its wheels by a block or two: a hard stop is no slide.
    now.low, now.high = explained(now.speed, now.speed_before)
    low, high = explained(now.speed - now.speed_before, now.step_before)
    now.step_low, now.step_high = low - drift, high + drift
    now.blur = 0.1 * abs(now.speed)
    now.way_scale = now.moved_time
    now.way = (1.0 - now.slip) * now.moved_rolled
    now.way_blur = 0.3 * now.way
    now.turns = 0
    now.levels = 0.0


@inlined
def explained(a, b):
    """Least and largest value that two values of the wheels, this block's and the last one's, explain."""
    low, high = EXPLAINED[0], EXPLAINED[1]
    return min(min(low * a, high * a), min(low * b, high * b)), max(max(low * a, high * a), max(low * b, high * b))


@inlined
def outside(value, low, high):
    """Signed distance of a value from an interval."""
    return max(value - high, 0.0) + min(value - low, 0.0)


@kernel
def rice(moved, way, sigma, floor):
    """Likelihood of a distance between two fixes, noise sigma per axis, given the way; by that of the best way.

    Rice's density, exp(−(r² + d²)/2σ²) I₀(r d/σ²), without what does not depend on d. Both polynomials are those of
    Abramowitz and Stegun 9.8.1, 9.8.2 for I₀, to 2e-7.
    """
    x = moved * way / (sigma * sigma)
    if x < 3.75:
        t = (x / 3.75) ** 2
        scaled = 1.0 + t * (3.5156229 + t * (3.0899424 + t * (1.2067492 + t * (0.2659732 + t * 0.0360768))))
        scaled *= math.exp(-x)
    else:
        t = 3.75 / x
        high = -0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377))
        scaled = 0.39894228 + t * (0.01328592 + t * (0.00225319 + t * (-0.00157565 + t * (0.00916281 + t * high))))
        scaled /= math.sqrt(x)
    return scaled * math.exp(-0.5 * ((moved - way) / sigma) ** 2) + floor


@kernel
def at_cell(settings, state, now, test, cell):
    """Likelihood of the measurements of a block that depend on its motion alone: velocity, fix, yaw rate, levels."""
    x = settings.grid[test, cell]
    p = 1.0
    if now.velocity_sigma > 0.0:
        own = math.hypot(settings.speed_noise * now.speed, 0.3 * settings.width[test, cell] * now.scale)
        sigma = math.hypot(now.velocity_sigma, own)
        off = outside(now.velocity - now.scale * x, now.low, now.high)
        p *= math.exp(-0.5 * (off / sigma) ** 2) * (now.velocity_sigma / sigma) + settings.floor
    if now.moved >= 0.0:
        way = abs(now.way + now.way_scale * x)
        p *= rice(now.moved, way, math.hypot(now.moved_sigma, now.way_blur), settings.floor)
    if now.turns == 1:
        usual = state.turn_ratio * now.turn
        share = math.sqrt(settings.turn_sigma[cell] ** 2 + state.turn_ratio_variance / state.turn_ratio**2)
        sigma = math.hypot(now.gyro_sigma, share * usual)
        z = (now.gyro - settings.turn_share[cell] * usual) / sigma
        p *= (math.exp(-0.5 * z * z) + settings.floor) * now.gyro_sigma / sigma
    return p * math.exp(settings.stuckness[cell] * now.levels)


@kernel
def between(settings, now, test, begin, end):
    """Likelihood of the change of speed of a block, from one cell of the hidden motion to another."""
    x, y = settings.grid[test, begin], settings.grid[test, end]
    width = 0.2 * (settings.width[test, begin] + settings.width[test, end]) * now.scale
    off = outside(now.change - (now.scale * y - now.scale_before * x), now.step_low, now.step_high)
    variance = now.change_sigma**2 + width * width + now.blur**2
    return (math.exp(-0.5 * off * off / variance) + settings.change_floor) * now.change_sigma / math.sqrt(variance)


@kernel
def begin(settings, state, test):
    """The wheels begin to turn: the motion is that of a start; the ratio stays and grows by that of a start."""
    row = 2 * test + int(state.alarmed[test])
    ratio = state.ratio[test] + settings.start_weight
    for i in range(CELLS):
        state.held[test, i] = settings.stay_start[row, i]
        for r in range(RATES):
            state.left[test, r, i] = ratio / RATES * settings.leave_start[row, i]
    state.ratio[test] = ratio


@kernel
def advance(settings, state, now, test):
    """Take a block; the ratio is in state.ratio."""
    row = 2 * test + int(state.alarmed[test])
    stay, leave = settings.stay[row], settings.leave[row]
    held, left = state.held[test], state.left[test]
    fill(now.held, 0.0)
    fill(now.left, 0.0)
    for i in range(CELLS):
        for j in range(CELLS):
            most = stay[i, j]
            for r in range(RATES):
                most = max(most, leave[r, i, j])
            if most < LEAST:
                continue
            p = between(settings, now, test, i, j) if now.change_sigma > 0.0 else 1.0
            now.held[j] += held[i] * stay[i, j] * p
            for r in range(RATES):
                now.left[r, j] += (left[r, i] + held[i] / RATES) * leave[r, i, j] * p
    total = 0.0
    for j in range(CELLS):
        p = at_cell(settings, state, now, test, j)
        now.held[j] *= p
        for r in range(RATES):
            now.left[r, j] *= p
        total += now.held[j]
    scale = 1.0 / max(total, 1e-300)
    ratio = 0.0
    for j in range(CELLS):
        held[j] = now.held[j] * scale
        for r in range(RATES):
            left[r, j] = now.left[r, j] * scale * settings.fade
            ratio += left[r, j]
    state.ratio[test] = ratio


@kernel
def switch(state, test):
    """The change is accepted: the alternative becomes the null hypothesis."""
    fill(state.held[test], 0.0)
    for r in range(RATES):
        for i in range(CELLS):
            state.held[test, i] += state.left[test, r, i] / state.ratio[test]
    fill(state.left[test], 0.0)
    state.ratio[test] = 0.0
    state.alarmed[test] = 1.0 - state.alarmed[test]


@kernel
def mean(settings, state, test):
    """Mean of the hidden motion: of both hypotheses, by the ratio and the rate of changes 1/threshold."""
    weight = 1.0 / (settings.release[test] if state.alarmed[test] > 0.5 else settings.threshold[test])
    total = 0.0
    for i in range(CELLS):
        here = state.held[test, i]
        for r in range(RATES):
            here += weight * state.left[test, r, i]
        total += settings.grid[test, i] * here
    return total / (1.0 + weight * state.ratio[test])


@kernel
def calm(settings, state):
    """Whether gravity and usual levels may be learned: no alarm of motion, and little evidence of one."""
    for test in (STUCK, SLIDING):
        if state.alarmed[test] > 0.5 or state.ratio[test] > 0.01 * settings.threshold[test]:
            return False
    return True
