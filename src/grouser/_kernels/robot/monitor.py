"""The monitor: sums samples into blocks and runs the tests for `stuck`, `sliding` and `ground_changed` on each."""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy, fill
from grouser._kernels.robot import hidden_motion, level, levels
from grouser._kernels.robot.monitor_memory import CURRENT, FIX, GROUND, IMU, LEVELS, SLIDING, SLIP, STUCK, WHEELS
from grouser._kernels.rotation import put

LARGEST = 1e6  # Speeds, currents and positions are smaller; NaN and infinity are not
QUIET = 100.0  # A ratio below is no evidence
STRAIGHT = 0.1  # Currents are compared below this yaw rate of the wheels [rad/s]: skidding takes many times more
CURVE_TIME = 0.5  # Time constant with which the yaw rate is smoothed [s]
LONGEST_DIG = 2.5  # Time in which a robot that digs in loses its speed, at most [s]
MOST_SLIP = 0.6  # Expected slip is taken up to this


@entry
def feed(m, drive):
    """Take events one after the other; the trace gets a row for each block while there is room. Returns the rows."""
    rows = 0
    for i in range(drive.events.size):
        event = drive.events[i]
        if event.kind == IMU:
            level.take_imu(m, event)
        elif event.kind == FIX:
            take_fix(m, event)
        elif event.kind == WHEELS and watch(m, event) == 1 and rows < drive.trace.size:
            row = drive.trace[rows]
            row.time = m.state.time
            row.share = m.state.share
            row.slide = m.state.slide
            copy(m.state.ratio, row.ratio)
            copy(m.state.alarmed, row.alarmed)
            rows += 1
    return rows


@kernel
def take_fix(m, sample):
    """A position fix: its distance from the last one and the way of the wheels between belong to the next block."""
    state = m.state
    if not (abs(sample.position[0]) < 1e9 and abs(sample.position[1]) < 1e9 and 0.0 < sample.position_sigma < LARGEST):
        return
    step = sample.time - state.fix_time
    if state.has_fix == 1 and step <= 0.0:
        state.late += 1
        return
    if state.has_fix == 1 and step < 10.0:
        state.moved = math.hypot(sample.position[0] - state.fix[0], sample.position[1] - state.fix[1])
        state.moved_sigma = math.hypot(sample.position_sigma, state.fix[2])
        state.moved_rolled = state.rolled
        state.moved_time = step
    put((sample.position[0], sample.position[1], sample.position_sigma), state.fix, 0)
    state.fix_time = sample.time
    state.rolled = 0.0
    state.has_fix = 1


@kernel
def watch(m, sample):
    """One sample of the wheels; returns 1 if it ended a block."""
    settings, state = m.settings, m.state
    if not (abs(sample.speed) < LARGEST and abs(sample.turn) < LARGEST):
        return 0
    step = sample.time - state.wheel_time
    if state.started == 1 and step <= 0.0:
        state.late += 1
        return 0
    if state.started == 0 or step > settings.gap:
        restart(m, sample.time)
        return 0
    state.wheel_time = state.time = sample.time
    state.rolled += step * abs(sample.speed)
    state.count += 1
    state.speed_sum += sample.speed
    state.turn_sum += sample.turn
    if abs(sample.slip) < LARGEST:
        state.slip_sum += min(max(sample.slip, -MOST_SLIP), MOST_SLIP)
    if abs(sample.current) < LARGEST:
        state.current_sum += sample.current
        state.current_count += 1
    if abs(sample.velocity) < LARGEST and 0.0 < sample.velocity_sigma < LARGEST:
        state.seen_sum += sample.velocity / sample.velocity_sigma**2
        state.seen_weight += 1.0 / sample.velocity_sigma**2
    if sample.time - state.begun < settings.block - 0.5 * step:
        return 0
    end_block(m)
    return 1


@kernel
def restart(m, time):
    """First sample, or the first after a gap: the block begins again, what was learned stays."""
    state = m.state
    state.started = 1
    state.wheel_time = state.time = time
    state.moving = state.has_fix = 0
    state.tail = math.nan
    clear(state)
    for test in (STUCK, SLIDING):
        state.ratio[test] = 0.0
        hidden_motion.begin(m.settings, state, test)


@kernel
def clear(state):
    """Begin the sums of a block."""
    state.begun = state.time
    state.count = state.current_count = 0
    state.speed_sum = state.turn_sum = state.slip_sum = state.current_sum = 0.0
    state.seen_sum = state.seen_weight = 0.0
    state.moved = math.nan
    level.clear(state)


@kernel
def average(m):
    """Means of the block."""
    settings, state, now = m.settings, m.state, m.now
    now.speed_before, now.slip_before, now.step_before = state.speed, state.slip, state.step
    now.speed = state.speed_sum / state.count
    now.turn = state.turn_sum / state.count
    now.slip = state.slip_sum / state.count
    now.velocity_sigma = 0.0
    now.value[SLIP] = now.value[CURRENT] = math.nan
    if state.current_count > 0 and abs(now.turn) < STRAIGHT and abs(now.speed) > levels.SMALLEST:
        now.value[CURRENT] = state.current_sum / state.current_count
    if state.seen_weight > 0.0:
        now.velocity = state.seen_sum / state.seen_weight
        now.velocity_sigma = 1.0 / math.sqrt(state.seen_weight)
        # A velocity too noisy for the speed says nothing about slip.
        if abs(now.speed) > max(3.0 * now.velocity_sigma, levels.SMALLEST):
            now.value[SLIP] = now.velocity / now.speed - (1.0 - now.slip)
    now.moved = -1.0
    if not math.isnan(state.moved):
        now.moved = state.moved
        now.moved_sigma = state.moved_sigma
        now.moved_rolled = state.moved_rolled
        now.moved_time = state.moved_time
    state.curve += min(settings.block / CURVE_TIME, 1.0) * (now.turn - state.curve)
    turning = abs(now.speed) >= settings.least_speed or abs(now.turn) >= settings.least_turn
    starts = turning and state.moving == 0
    state.moving = 1 if turning else 0
    return starts


@kernel
def end_block(m):
    """Run the tests on a block."""
    settings, state, now = m.settings, m.state, m.now
    starts = average(m)
    level.end_block(m)
    calm = hidden_motion.calm(settings, state)
    now.levels = 0.0
    if starts:
        fill(state.weight, 0.0)
        hidden_motion.begin(settings, state, STUCK)
    for k in range(LEVELS):
        levels.compare(m, k, calm)
    if state.moving == 1:
        hidden_motion.as_stuck(now, settings.drift)
        hidden_motion.advance(settings, state, now, STUCK)
        state.share = hidden_motion.mean(settings, state, STUCK)
    if state.moving == 1 and state.alarmed[STUCK] > 0.5:
        end_sliding(m)
    else:
        hidden_motion.as_sliding(now, settings.drift)
        hidden_motion.advance(settings, state, now, SLIDING)
    state.slide = hidden_motion.mean(settings, state, SLIDING)
    levels.test_ground(m)
    if calm:
        learn(m)
    elif state.alarmed[SLIDING] < 0.5 and state.time - state.quiet[STUCK] > LONGEST_DIG:
        level.correct(m, False, state.share)  # the speed changes with that of the wheels again
    decide(m)
    state.step = now.speed - state.speed
    state.speed, state.turn, state.slip = now.speed, now.turn, now.slip
    state.blocks += 1
    clear(state)


@kernel
def end_sliding(m):
    """Wheels turn and the robot is stuck: that explains its motion. An alarm of sliding would keep gravity wrong."""
    state = m.state
    if state.alarmed[SLIDING] > 0.5:
        end_alarm(m, SLIDING)
        state.alarmed[SLIDING] = 0.0
    state.ratio[SLIDING] = 0.0
    hidden_motion.begin(m.settings, state, SLIDING)


@kernel
def learn(m):
    """Noise of the change of speed, ratio of the yaw rates, gravity and biases, from a block without an alarm."""
    settings, state, now = m.settings, m.state, m.now
    moving = state.moving
    share = min(max(state.share, 0.0), 1.2) if moving == 1 else 0.0
    if now.change_sigma > 0.0:
        off = now.change - share * (1.0 - now.slip) * (now.speed - now.speed_before)
        variance = state.noise[moving]
        state.noise_count[moving] += 1.0
        gain = max(2.0 * settings.block / settings.learn_time, 1.0 / (state.noise_count[moving] + 5.0))
        least = settings.velocity_noise**2
        state.noise[moving] = max(variance + gain * (min(off * off, 9.0 * variance) - variance), least)
    if now.turn_known == 1 and abs(now.turn) > 3.0 * settings.least_turn:
        measured = now.gyro / now.turn
        noise = 0.04 + (now.gyro_sigma / now.turn) ** 2
        variance = state.turn_ratio_variance + 1e-5
        gain = variance / (variance + 4.0 * noise)  # neighbouring blocks are alike
        state.turn_ratio = min(max(state.turn_ratio + gain * (measured - state.turn_ratio), 0.2), 3.0)
        state.turn_ratio_variance = (1.0 - gain) * variance
    still = moving == 0 and abs(now.speed) < 0.2 * settings.least_speed
    level.correct(m, still, share)


@kernel
def decide(m):
    """Raise and end alarms."""
    settings, state = m.settings, m.state
    for kind in (STUCK, SLIDING, GROUND):
        if state.ratio[kind] < QUIET or state.blocks == 0:
            state.quiet[kind] = state.time
    for test in (STUCK, SLIDING):
        if state.alarmed[test] < 0.5:
            if state.ratio[test] > settings.threshold[test]:
                raise_alarm(m, test)
                hidden_motion.switch(state, test)
        elif state.ratio[test] > settings.release[test]:
            end_alarm(m, test)
            hidden_motion.switch(state, test)
    if state.alarmed[GROUND] > 0.5:
        if state.time - state.raised[GROUND] > settings.hold:
            end_alarm(m, GROUND)
            state.alarmed[GROUND] = 0.0
    elif state.ratio[GROUND] > settings.threshold[GROUND]:
        raise_alarm(m, GROUND)
        state.alarmed[GROUND] = 1.0
        levels.forget_ground(state, settings.learned)


@kernel
def raise_alarm(m, kind):
    """Remember an alarm; its evidence is the logarithm of the ratio."""
    state = m.state
    state.since[kind] = state.quiet[kind]
    state.raised[kind] = state.time
    row = m.history[state.alarms % m.history.size]
    row.kind, row.since, row.time, row.ended = kind, state.since[kind], state.time, math.nan
    row.evidence = math.log(state.ratio[kind])
    state.alarms += 1


@kernel
def end_alarm(m, kind):
    """Write the end of the last alarm of a kind."""
    size = m.history.size
    for back in range(min(m.state.alarms, size)):
        row = m.history[(m.state.alarms - 1 - back) % size]
        if row.kind == kind:
            row.ended = m.state.time
            return
