"""Sliding with locked wheels: poses or GPS positions that contradict a standstill in sequence, though none alone.

A slide of 2 cm/s moves the vehicle by one sigma of a pose of 0.1 s: no gate refuses it. While the vehicle stands the
motions of all poses, and the innovations of all GPS positions, are summed over spans of 1, 2, 4 … 64 s; each sum is
normal with the sum of their covariances if the vehicle stands. A span in which it is not ends the standstill. Of each
length there are two, shifted by half of it.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels import rotation
from grouser._kernels.arrays import fill
from grouser._kernels.fusion import memory as at
from grouser._kernels.fusion.delay import remember
from grouser._kernels.fusion.memory import ACCELERATION_BIAS, LENGTHS, POSITION, SPANS, VELOCITY, WATCHED
from grouser._kernels.fusion.update import commit_state, drop_clone, innovate, set_noise
from grouser._kernels.rotation import add, cross, dot, put, rotate, scale, vector

OUTLIERS = 0.25  # Share of the wheel measurements that may show motion while the vehicle stands
DOUBT = 4.0  # Variance of a measurement beyond the gate, in that which it shows
FEWEST = 5  # Measurements of a span
NEAR = 9.0  # Square of a sum below that of the best by which it shows the slide nearly as well
UNSEEN = 0.1  # Speed [m/s] that no slide reaches while the IMU is quiet and shows no acceleration: the poses are wrong
SHORTEST = 1.0  # Duration of the first span [s]
CLEARLY = 3.0  # Sigmas by which the velocity must be below that of the slide for its end
SLOWER = 0.5  # Share of the speed of the slide below which it has ended
POSE_ROWS = (0, 1, 2, POSITION, POSITION + 1, POSITION + 2)  # of the error of rotation and position


@kernel
def rolling(m):
    """Whether the wheels turned within the window of the standstill test."""
    return m.window.rolling > OUTLIERS * m.window.wheels


@kernel
def at_rest(m, time):
    """Whether the wheels stand since a time, after a standstill began."""
    return not m.counts.sliding and m.clock.rested <= time + at.SAME_TIME and not rolling(m)


@kernel
def clear_spans(m):
    """Begin all spans."""
    for k in range(SPANS):
        half = 0.5 * duration(k) if k >= LENGTHS else 0.0
        clear_span(m.pose_spans[k], half)
        clear_span(m.gps_spans[k], half)


@inlined
def duration(k):
    """Time after which a span begins again [s]."""
    return SHORTEST * 2.0 ** (k % LENGTHS)


@kernel
def clear_span(span, age):
    """Begin a span; an age [s] other than zero shortens it."""
    span.age = age
    span.seconds = span.square = 0.0
    span.samples = 0
    fill(span.total, 0.0)
    fill(span.spread, 0.0)


@kernel
def add_to_spans(m, spans, rows, seconds, limit):
    """Add m.residual with its covariance in m.noise to all spans; the one that shows a slide, −1 if none does.

    A measurement beyond the gate counts with more noise than it shows: a few outliers are no slide. The sums of a span
    that has lasted its time begin again. Of those that show the slide nearly as well as the best, the longest holds
    most of its way.
    """
    for k in range(SPANS):
        if spans[k].age >= duration(k):
            clear_span(spans[k], 0.0)
        for i in range(rows):
            spans[k].total[i] += m.residual[i]
    square = innovate(m, rows, 0)
    shown = DOUBT * square / m.settings.gate[rows] if square > m.settings.gate[rows] else 1.0
    best = limit
    for k in range(SPANS):
        span = spans[k]
        span.age += seconds
        span.seconds += seconds
        span.samples += 1
        for i in range(rows):
            for j in range(i + 1):
                span.spread[i, j] += shown * m.noise[i, j]
    for k in range(SPANS):
        span = spans[k]
        if span.samples < FEWEST:
            continue
        for i in range(rows):
            m.residual[i] = span.total[i]
            for j in range(i + 1):
                m.noise[i, j] = span.spread[i, j]
        span.square = innovate(m, rows, 0)
        best = max(best, span.square)
    found, longest = -1, 0.0
    for k in range(SPANS):
        if spans[k].square > max(limit, best - NEAR) and spans[k].seconds > longest:
            found, longest = k, spans[k].seconds
    return found


@kernel
def watch_pose(m, event):
    """Whether a relative pose within a standstill, with those before, shows a slide; which then begins."""
    if not m.counts.sliding and not at_rest(m, event.start):
        return False
    put(rotation.logarithm(event.quaternion), m.residual, 0)
    put(event.position, m.residual, 3)
    set_noise(m, event.covariance, 6, 1.0)
    found = add_to_spans(m, m.pose_spans, 6, event.time - event.start, m.settings.slide_gate[6])
    if m.counts.sliding:
        if slower(m):
            end_slide(m)
        return False
    if found < 0:
        return False
    span = m.pose_spans[found]
    way = vector(span.total, 3)
    if m.counts.anchor >= 0 and dot(way, way) > (UNSEEN * span.seconds) ** 2:
        return False
    begin_slide(m, span, max(m.clock.now - event.time, 0.0))
    return True


@kernel
def slower(m):
    """Whether the poses of a span show that a slide has ended: its way is clearly below that of the slide."""
    for k in range(SPANS):
        span = m.pose_spans[k]
        way = vector(span.total, 3)
        sigma = math.sqrt(span.spread[3, 3] + span.spread[4, 4] + span.spread[5, 5])
        most = SLOWER * m.clock.slide_speed * span.seconds
        if span.samples >= FEWEST and math.sqrt(dot(way, way)) + CLEARLY * sigma < most:
            return True
    return False


@kernel
def end_slide(m):
    """The vehicle stands, or rolls on wheels that are trusted again."""
    m.counts.sliding = 0
    m.counts.distrusted = 0
    m.wheels.since = math.nan
    clear_spans(m)


@kernel
def begin_slide(m, span, delay):
    """Move the state by the motion of a span, with its covariance; open the velocity by its mean velocity.

    T_true = T Exp(d) of the body at the end of the last pose, so ξ = (R d_θ, R d_p + p × R d_θ); since then it moved
    with that velocity. The past is forgotten: it was pinned to a standstill that was none.
    """
    x, P, change = m.state, m.covariance, m.change
    seconds = max(span.seconds, 1e-3)
    body = add(x.position, 1.0, rotate(x.quaternion, m.settings.lever_body))
    turn = rotate(x.quaternion, vector(span.total, 0))
    way = rotate(x.quaternion, vector(span.total, 3))
    velocity = scale(1.0 / seconds, way)
    spread = 0.0
    swing = 0.0
    for i in range(3):
        swing += span.spread[i, i]
        spread += span.spread[3 + i, 3 + i]
    fill(change, 0.0)
    put(turn, change, at.ROTATION)
    put(velocity, change, VELOCITY)
    put(add(add(way, delay, velocity), 1.0, cross(body, turn)), change, POSITION)
    open_slide(m, dot(velocity, velocity) + spread / seconds**2, delay)
    add_spread(m, span, body)
    for i in range(3):
        P[ACCELERATION_BIAS + i, ACCELERATION_BIAS + i] += dot(velocity, velocity) / seconds**2
        P[at.GYRO_BIAS + i, at.GYRO_BIAS + i] += (dot(turn, turn) + swing) / seconds**2
    commit_state(m)
    m.clock.slide_speed = math.sqrt(dot(velocity, velocity))
    forget_past(m)


@kernel
def open_slide(m, variance, delay):
    """Add a variance of the velocity [m²/s²] that has lasted for a delay, and say that the vehicle slides."""
    P = m.covariance
    for i in range(3):
        P[VELOCITY + i, VELOCITY + i] += variance
        P[POSITION + i, POSITION + i] += variance * delay * delay
        P[POSITION + i, VELOCITY + i] += variance * delay
        P[VELOCITY + i, POSITION + i] += variance * delay
    m.faults.sliding += 1
    m.counts.sliding = 1
    m.counts.distrusted = WATCHED
    m.clock.calm = math.nan


@kernel
def add_spread(m, span, body):
    """P of (θ, ξ_p) += A V Aᵀ with the covariance V of the motion of a span and A = Ad of the body's pose."""
    P, A = m.covariance, m.J
    rotation.matrix(m.state.quaternion, m.R)
    for j in range(3):
        axis = rotation.column(m.R, j)
        arm = cross(body, axis)
        for i in range(3):
            A[i, j] = axis[i]
            A[i, 3 + j] = 0.0
            A[3 + i, j] = arm[i]
            A[3 + i, 3 + j] = axis[i]
    for i in range(6):
        for j in range(6):
            total = 0.0
            for k in range(6):
                for c in range(6):
                    total += A[i, k] * span.spread[max(k, c), min(k, c)] * A[j, c]  # the lower triangle was summed
            P[POSE_ROWS[i], POSE_ROWS[j]] += total


@kernel
def forget_past(m):
    """Forget clones, ring and spans; measurements from before are left out."""
    while m.counts.clones > 0:
        drop_clone(m, m.counts.clones - 1)
    m.counts.held = 0
    m.counts.past = m.counts.next_past = 0
    m.clock.began = m.clock.now
    m.poses.since = math.nan
    m.clock.rested = math.inf
    clear_spans(m)
    remember(m)


@kernel
def review_slide(m, consistent):
    """End a slide: wheels roll, or the velocity is clearly below that of the slide.

    Without poses and GPS nothing shows a slide at constant speed: it ends as soon as a standstill is `consistent`.
    """
    clock, P = m.clock, m.covariance
    speed = math.sqrt(dot(m.state.velocity, m.state.velocity))
    sigma = math.sqrt(P[VELOCITY, VELOCITY] + P[VELOCITY + 1, VELOCITY + 1] + P[VELOCITY + 2, VELOCITY + 2])
    if speed > CLEARLY * sigma:
        clock.slide_speed = max(clock.slide_speed, speed)
    seen = clock.now - max(clock.poses, clock.gps) <= m.settings.missing_after
    if rolling(m):  # wheels stay distrusted until they agree
        m.counts.sliding = 0
        clear_spans(m)
    elif consistent and (not seen or speed + CLEARLY * sigma < SLOWER * clock.slide_speed):
        end_slide(m)
