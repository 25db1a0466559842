"""Braking, stop override and faulty inputs of traction control: slip limits speeding up, not stopping."""

import itertools
import math

import numpy as np
import pytest

from grouser.errors import SimulationError
from grouser.traction import SlipEstimate, SlipFilter, TractionControl, TractionController, VelocityLimiter

ARM, DT = 0.5, 0.02
DIRECTIONS = {"forward": (1.0, 0.0, 0.0), "crab": (0.6, 0.8, 0.0), "turning": (1.0, 0.0, 0.4), "spot": (0.0, 0.0, 1.0)}


def slipping(direction, slip, *, samples=2000, **settings):
    """A controller that drives with its wheels slipping."""
    controller = TractionController(TractionControl(**settings), arm=ARM)
    odometry = 0.5 * np.array(direction)
    for _ in range(samples):
        controller.update(1.2 * odometry, odometry, -slip * odometry, (1.0 - slip) * odometry, DT)
    return controller, odometry, -slip * odometry


def until_still(controller, odometry, slip, desired=(0.0, 0.0, 0.0), **options):
    """Commands until it stands, the first being that before the stop."""
    commands = [controller._limiter.velocity]
    while commands[-1].any():
        state = controller.update(desired, odometry, slip, odometry + slip, DT, **options)
        commands.append(state.command)
        assert len(commands) < 1000
    return np.array(commands)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("slip", [0.0, 0.2, 0.45, 0.9])
def test_a_stop_is_obeyed_at_the_braking_limit_whatever_the_slip(direction, slip, sign):
    """The time is that of uniform deceleration of the wheel that is fastest; the curvature of the path stays."""
    commands = until_still(*slipping(sign * np.array(DIRECTIONS[direction]), slip, braking=0.9))
    first = commands[0]
    speed = math.hypot(first[0], first[1]) + ARM * abs(first[2])
    assert speed > 0.2
    assert len(commands) - 1 == math.ceil(speed / (0.9 * DT) - 1e-9)
    assert np.cross(commands, first) == pytest.approx(np.zeros_like(commands), abs=1e-12)


def test_the_braking_limit_is_that_of_the_motors_unless_it_is_given():
    commands = until_still(*slipping((1.0, 0.0, 0.0), 0.45))
    assert np.diff(commands[:-1, 0]) == pytest.approx(-0.63 * DT)
    assert TractionControl(braking=2.0).braking_limit == 2.0
    with pytest.raises(SimulationError, match="braking"):
        TractionControl(braking=-1.0)


def test_speeding_up_is_limited_by_slip_as_before():
    controller, odometry, slip = slipping((1.0, 0.0, 0.0), 0.45)
    until_still(controller, odometry, slip)
    state = controller.update((0.6, 0.0, 0.0), odometry, slip, odometry + slip, DT)
    assert state.command[0] == pytest.approx(DT * 0.8 * 0.63 * (1.0 - 1.7 * 0.45), rel=1e-6)


def test_reversing_brakes_to_a_stand_and_then_speeds_up_gently():
    limiter = VelocityLimiter(ARM)
    limiter.velocity = np.array([0.3, 0.0, 0.0])
    limit, braking = 0.1, 0.6
    speeds = [limiter.update((-0.3, 0.0, 0.0), limit, 0.1, braking=braking)[0] for _ in range(40)]
    assert speeds[:5] == pytest.approx([0.24, 0.18, 0.12, 0.06, 0.0], abs=1e-12)
    assert speeds[5:9] == pytest.approx([-0.01, -0.02, -0.03, -0.04], abs=1e-12)
    assert speeds[-1] == pytest.approx(-0.3)


def test_a_step_across_zero_shares_its_time():
    """0.03 m/s are braked in half of the step, and the other half speeds up."""
    limiter = VelocityLimiter(ARM)
    limiter.velocity = np.array([0.03, 0.0, 0.0])
    assert limiter.update((-0.3, 0.0, 0.0), 0.1, 0.1, braking=0.6)[0] == pytest.approx(-0.005)


def test_turning_more_or_to_the_side_is_limited_by_slip_and_does_not_delay_the_brakes():
    for target in ((0.1, 0.0, 0.5), (0.1, 0.4, 0.0)):
        limiter = VelocityLimiter(ARM)
        limiter.velocity = np.array([0.5, 0.0, 0.0])
        commands = np.array([limiter.update(target, 0.1, 0.1, braking=0.5) for _ in range(60)])
        assert commands[:8, 0] == pytest.approx(0.5 - 0.05 * np.arange(1, 9), abs=1e-12)
        assert commands[:8, 1:] == pytest.approx(np.zeros((8, 2)), abs=1e-12)
        change = np.diff(commands[7:], axis=0)
        assert (np.hypot(change[:, 0], change[:, 1]) + ARM * np.abs(change[:, 2])).max() == pytest.approx(0.01)
        assert commands[-1] == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("mirror", [(-1.0, 1.0, -1.0), (1.0, -1.0, -1.0), (-1.0, -1.0, 1.0)])
def test_a_mirrored_drive_gives_mirrored_commands(mirror):
    """Backwards, left for right, and half a turn: (forward, left, turn) change their signs, and nothing else."""
    random = np.random.default_rng(3)
    control = TractionControl(turn_slip=-0.06, braking=1.1)
    one, other = (TractionController(control, arm=ARM) for _ in range(2))
    sign, desired = np.array(mirror), np.zeros(3)
    for k in range(400):
        if k % 40 == 0:
            desired = random.uniform(-0.6, 0.6, 3)
        odometry, slip, noise = random.uniform(-0.5, 0.5, (3, 3)) * [[1.0], [0.3], [0.2]]
        inputs = (desired, odometry, slip, odometry + noise)
        a, b = one.update(*inputs, DT), other.update(*(sign * value for value in inputs), DT)
        assert b.command == pytest.approx(sign * a.command, abs=1e-14)
        assert b.slip_velocity == pytest.approx(sign * a.slip_velocity, abs=1e-14)
        assert b.slip == pytest.approx(a.slip, abs=1e-14)
        assert b.acceleration_limit == pytest.approx(a.acceleration_limit, abs=1e-14)


def test_no_wheel_ever_changes_faster_than_its_limits():
    random = np.random.default_rng(4)
    limiter = VelocityLimiter(ARM)
    for _ in range(2000):
        before, target = limiter.velocity, random.uniform(-0.6, 0.6, 3)
        limit, braking = random.uniform(0.05, 1.0, 2)
        change = limiter.update(target, limit, DT, braking=braking) - before
        assert math.hypot(change[0], change[1]) + ARM * abs(change[2]) <= max(limit, braking) * DT * (1.0 + 1e-9)
        away, was = limiter.velocity - target, before - target
        assert away @ away <= was @ was + 1e-12


def test_the_override_stops_whatever_is_desired():
    commands = until_still(*slipping((1.0, 0.0, 0.4), 0.45), desired=(0.6, 0.0, 0.2), stop=True)
    assert np.linalg.norm(commands[-1]) == 0.0
    controller, odometry, slip = slipping((1.0, 0.0, 0.0), 0.1)
    assert controller.update((0.6, 0.0, 0.0), odometry, slip, None, DT, stop=True).stop
    assert not controller.update((0.6, 0.0, 0.0), odometry, slip, None, DT).stop
    with pytest.raises(SimulationError, match="stop"):
        controller.update((0.6, 0.0, 0.0), odometry, slip, None, DT, stop="now")


BAD = {"nan": [math.nan, 0.0, 0.0], "infinite": [0.0, math.inf, 0.0], "short": [0.1, 0.2], "matrix": np.zeros((3, 3))}


@pytest.mark.parametrize(("name", "bad"), list(itertools.product(("odometry", "model_slip", "fused", "desired"), BAD)))
def test_a_faulty_input_is_said_and_does_not_raise(name, bad):
    controller, odometry, slip = slipping((1.0, 0.0, 0.0), 0.3)
    inputs = {"desired": 1.2 * odometry, "odometry": odometry, "model_slip": slip, "fused": odometry + slip}
    last = controller.update(*inputs.values(), DT)
    assert last.faults == ()
    state = controller.update(*{**inputs, name: BAD[bad]}.values(), DT)
    assert state.faults == (name,)
    assert controller.faults == {name: 1}
    assert np.isfinite(state.command).all()
    assert state.stop == (name == "desired")
    if name == "desired":
        assert state.command[0] < last.command[0]
    else:
        assert state.command == pytest.approx(last.command, rel=0.02)
    assert controller.update(*inputs.values(), DT).faults == ()


def test_the_last_good_slip_decays_while_a_sensor_fails():
    """The fused velocity told of slip 0.4, which the model does not know: forgotten with the stated time constant."""
    controller = TractionController(TractionControl(), arm=ARM, slip_filter=SlipFilter(fault_time=1.5))
    odometry = np.array([0.5, 0.0, 0.0])
    for _ in range(400):
        before = controller.update(odometry, odometry, np.zeros(3), 0.6 * odometry, DT).slip_velocity
    states = [controller.update(odometry, odometry, np.zeros(3), [math.nan] * 3, DT) for _ in range(150)]
    assert states[74].slip_velocity[0] == pytest.approx(before[0] * math.exp(-1.0))
    assert all(state.faults == ("fused",) for state in states)
    # All lost at once: the scale is still that of the last good slip, which decays; a stop is obeyed.
    lost = [math.nan] * 3
    state = controller.update(odometry, lost, lost, lost, DT)
    assert state.faults == ("odometry", "model_slip", "fused")
    assert state.slip_velocity[0] == pytest.approx(states[-1].slip_velocity[0] * math.exp(-DT / 1.5))
    assert len(until_still(controller, np.array(lost), np.array(lost))) > 10


def test_a_fault_at_standstill_does_not_lift_the_limit():
    controller = TractionController(TractionControl(), arm=ARM)
    state = controller.update((0.5, 0.0, 0.0), [math.nan] * 3, np.zeros(3), None, DT)
    assert state.acceleration_limit == pytest.approx(0.8 * 0.63)


@pytest.mark.parametrize("bad", ["fast", None, [1j, 0.0, 0.0], [[0.0], [0.0, 1.0]]])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_velocity_at_all_raises(bad, place):
    given = [np.zeros(3), np.zeros(3), np.zeros(3)]
    given[place] = bad
    with pytest.raises(SimulationError, match=("desired", "odometry", "model_slip")[place]):
        TractionController(TractionControl(), arm=ARM).update(*given, None, DT)


def settled(rate, settings=None, *, fused=True):
    """Time until a constant slip is known within 5 % [s], and the slip that a doubtful model and the truth make."""
    v, slip = np.array([0.5, 0.0, 0.0]), np.array([-0.1, 0.0, 0.0])
    estimate, n = SlipEstimate(settings), 0
    while abs(estimate.slip[0] - slip[0]) > 0.05 * 0.1:
        estimate.update(slip, v, v + slip if fused else None, 1.0 / rate)
        n += 1
    for _ in range(5 * int(rate)):
        estimate.update(np.zeros(3), v, v + slip, 1.0 / rate)
    return n / rate, estimate.slip[0], estimate.covariance


@pytest.mark.parametrize("fused", [True, False])
def test_the_filter_settles_in_the_same_time_at_every_rate(fused):
    times, ends, covariances = zip(*(settled(rate, fused=fused) for rate in (10, 50, 100, 1000)), strict=True)
    stays = 0.2 * (1.0 - SlipFilter().steady_gain if fused else 1.0)
    expected = 0.1 * math.log(0.05) / math.log(stays)
    for rate, time in zip((10, 50, 100, 1000), times, strict=True):
        assert expected - 0.003 <= time <= expected + 1.0 / rate
    assert ends == pytest.approx([ends[0]] * 4, rel=1e-9)
    assert covariances == pytest.approx([covariances[0]] * 4, rel=1e-9)


def test_one_period_is_one_step_of_the_thesis_and_two_halves_are_nearly_one():
    """Written again from L's (3.49a)–(3.50c); halves differ only while the gain has not settled, by 1 % of slip."""
    random = np.random.default_rng(5)
    f, g, q, r = 0.6, 0.3, 0.4, 2.0
    settings = SlipFilter(memory=f, trust=g, process=q, measurement=r, period=0.05)
    whole, halves = SlipEstimate(settings), SlipEstimate(settings)
    x, p = np.zeros(3), 0.0
    for k in range(30):
        u, v, y = random.normal(size=(3, 3))
        x, p = f * x + g * u, f * f * p + q
        if k % 5:
            gain = p / (p + r)
            x, p = x + gain * (y - x), (1.0 - gain) * p
        fused = v + y if k % 5 else None
        whole.update(u, v, fused, 0.05)
        for _ in range(2):
            halves.update(u, v, fused, 0.025)
        assert whole.slip == pytest.approx(x, abs=1e-12)
        assert whole.covariance == pytest.approx(p, abs=1e-12)
        assert halves.covariance == pytest.approx(p, abs=1e-12)
        assert halves.slip == pytest.approx(x, abs=0.02)
