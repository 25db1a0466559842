"""One wheel that slips: by the other wheels, by its motor, by passive wheels. L §5.1, §5.2.1."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

import grouser as gr
from grouser.odometry.motor_slip import MotorSlipDetector, PassiveSchedule, PassiveWheelSlip
from grouser.odometry.wheel_slip import WheelSlipDetector

FLAT = gr.terrain.plane()
SKID = {"husky": {"sideslip": 0.5}, "warthog": {"sideslip": 0.5}}


@cache
def driving(name, forward=0.5, turn=0.2, left=0.0):
    """Vehicle, joint rates and angles of ideal rolling on level ground."""
    vehicle = gr.vehicle(name)
    state = gr.settle(vehicle, FLAT).state
    found = gr.actuate(gr.Kinematics(vehicle), state, FLAT, forward=forward, turn=turn, left=left)
    for joint, angle in found.steering.items():
        state[7 + vehicle.joint_index(joint)] = angle
    return vehicle, found.velocity[6:], state[7:]


@pytest.mark.parametrize("name", ["lru2", "zoe", "rocky7", "husky", "recbot_rigid"])
def test_wheels_that_roll_are_expected_to_turn_as_they_do(name):
    vehicle, rates, angles = driving(name)
    found = WheelSlipDetector(vehicle, **SKID.get(name, {})).check(rates, angles, gyro=(0.0, 0.0, 0.2))
    assert not found.slipping.any()
    own = rates[vehicle.arrays.wheel - 1]
    # Skid-steered wheels, and Rocky 7's middle ones, cannot all roll without slip in a turn.
    np.testing.assert_allclose(found.expected, own, rtol=0.0, atol=0.005 if name in ("husky", "rocky7") else 1e-6)
    assert found.testable.all()


@pytest.mark.parametrize("factor", [2.0, 0.2])
@pytest.mark.parametrize(("name", "left"), [("lru2", 0.0), ("lru2", 0.4), ("zoe", 0.0), ("rocky7", 0.0)])
def test_the_wheel_that_slips_is_found_with_its_slip(name, left, factor):
    vehicle, rates, angles = driving(name, left=left)
    detector = WheelSlipDetector(vehicle)
    for i, joint in enumerate(vehicle.arrays.wheel - 1):
        slipping = rates.copy()
        slipping[joint] *= factor
        found = detector.check(slipping, angles)
        assert found.slipping.tolist() == [k == i for k in range(vehicle.n_wheels)]
        assert not found.ambiguous
        assert found.expected[i] == pytest.approx(rates[joint], abs=0.01)
        excess = (factor - 1.0) * rates[joint] * vehicle.arrays.radius[i]
        assert found.slip_velocity[i] == pytest.approx(excess, abs=0.002)


@pytest.mark.parametrize("name", ["husky", "warthog"])
def test_of_two_wheels_on_one_side_only_a_gyro_tells_which(name):
    vehicle, rates, angles = driving(name)
    detector = WheelSlipDetector(vehicle, sideslip=0.5)
    for i, joint in enumerate(vehicle.arrays.wheel - 1):
        slipping = rates.copy()
        slipping[joint] *= 2.0
        side = vehicle.wheel_positions[:, 1] * vehicle.wheel_positions[i, 1] > 0.0
        without = detector.check(slipping, angles)
        assert without.ambiguous
        np.testing.assert_array_equal(without.slipping, side)
        found = detector.check(slipping, angles, gyro=(0.0, 0.0, 0.2))
        assert found.slipping.tolist() == [k == i for k in range(vehicle.n_wheels)]
        assert not found.ambiguous


def test_scores_of_rolling_wheels_are_chi_square():
    """Noise as the detector takes it, so that alarms come as often as it was told, within 3 sigma of 4000 tests."""
    vehicle, rates, angles = driving("lru2", turn=0.0)
    alarm = 0.02
    detector = WheelSlipDetector(vehicle, rate_noise=0.09, slip=1e-9, sideslip=1e-9, lift=1e-9, false_alarm=alarm)
    assert detector.threshold == pytest.approx(chi2.ppf(1.0 - alarm, 1))
    rng = np.random.default_rng(0)
    wheels = vehicle.arrays.wheel - 1
    scores = []
    for _ in range(1000):
        noisy = rates.copy()
        noisy[wheels] += 0.09 * rng.standard_normal(4)
        scores.append(detector.check(noisy, angles).score)
    scores = np.array(scores)
    assert scores.mean() == pytest.approx(1.0, abs=3.0 * math.sqrt(2.0 / 1000.0))  # wheels of one sample are dependent
    assert (scores > detector.threshold).mean() == pytest.approx(alarm, abs=3.0 * math.sqrt(alarm / 1000.0))


def test_a_wheel_that_is_not_measured_is_told_by_the_others_and_never_slips():
    vehicle, rates, angles = driving("lru2")
    missing = rates.copy()
    joint = vehicle.joint_index("FL")
    missing[joint] = np.nan
    found = WheelSlipDetector(vehicle).check(missing, angles)
    assert not found.slipping.any()
    i = vehicle.wheels.index("FL")
    assert not found.testable[i]
    assert found.testable.sum() == 3


def test_contact_angles_keep_a_wheel_on_a_ramp_from_looking_like_slip():
    """A wheel that climbs 40° turns 1/cos 40° faster than those on the level."""
    vehicle, rates, angles = driving("lru2", turn=0.0)
    climbing = rates.copy()
    i = vehicle.wheels.index("FL")
    psi = math.radians(40.0)
    climbing[vehicle.joint_index("FL")] /= math.cos(psi)
    delta = np.zeros(4)
    delta[i] = -psi
    detector = WheelSlipDetector(vehicle, rate_noise=0.02, lift=10.0)
    assert detector.check(climbing, angles).slipping[i]
    assert not detector.check(climbing, angles, contact_angles=delta).slipping.any()


# --- motors ------------------------------------------------------------------------------------------------------


def motor_samples(seconds=6.0, dt=0.01, seed=0):
    rng = np.random.default_rng(seed)
    t = dt * np.arange(round(seconds / dt))
    rates = 3.0 + 0.05 * rng.standard_normal((len(t), 4))
    power = 20.0 + 1.0 * rng.standard_normal((len(t), 4))
    return t, rates, power


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_rate_that_rises_at_constant_power_is_slip(sense):
    t, rates, power = motor_samples()
    rates[300:350, 1] *= 1.5
    detector = MotorSlipDetector(4)
    found = [detector.update(*row) for row in zip(t, sense * rates, power, strict=True)]
    spinning = np.array([f.spinning for f in found])
    assert spinning[300:350, 1].mean() > 0.9  # the power must stay within two sigmas above usual too
    assert not spinning[:300].any()
    assert not spinning[351:].any()
    assert not spinning[:, [0, 2, 3]].any()
    assert not found[40].ready.any()
    assert found[60].ready.all()


def test_climbing_takes_more_power_and_is_no_slip_and_letting_go_is_seen_at_constant_speed():
    t, rates, power = motor_samples(seed=1)
    rates[300:320, 0] *= 1.5
    power[300:320, 0] *= 2.0  # commanded faster: both rise
    power[400:420, 2] = 5.0  # the controller holds the speed of a wheel that lost its load
    detector = MotorSlipDetector(4)
    found = [detector.update(*row) for row in zip(t, rates, power, strict=True)]
    assert not any(f.spinning.any() for f in found)
    unloaded = np.array([f.unloaded for f in found])
    assert unloaded[400:420, 2].mean() > 0.8
    assert not unloaded[:, [0, 1, 3]].any()


def test_a_commanded_change_of_rate_is_no_slip_and_a_lasting_change_becomes_usual():
    t, rates, power = motor_samples(seed=2)
    commands = np.full_like(rates, 3.0)
    commands[300:], rates[300:] = 4.5, rates[300:] + 1.5
    told, untold = MotorSlipDetector(4), MotorSlipDetector(4, patience=1.0)
    blind = []
    for row in zip(t, rates, power, commands, strict=True):
        assert not told.update(*row).spinning.any()
        blind.append(untold.update(*row[:3]).spinning.any())
    assert blind[300]
    assert not any(blind[-50:])


def test_missing_motor_values_are_left_out():
    t, rates, power = motor_samples(2.0)
    rates[100:120, 1], power[50, 0] = np.nan, np.inf
    detector = MotorSlipDetector(4)
    for row in zip(t, rates, power, strict=True):
        found = detector.update(*row)
        assert not found.spinning.any()
        assert np.isfinite(found.rate_sigmas).all()


# --- passive wheels ----------------------------------------------------------------------------------------------


def test_every_wheel_is_off_once_a_round_for_a_tenth_of_a_second():
    schedule = PassiveSchedule(4, seed=3)
    times = 0.001 * np.arange(24_000)
    off = np.array([-1 if (w := schedule.wheel(t)) is None else w for t in times])
    assert (off >= 0).mean() == pytest.approx(0.1 / 0.6, abs=1e-3)
    for lap in range(10):
        part = off[2400 * lap : 2400 * (lap + 1)]
        assert [int((part == w).sum()) for w in range(4)] == pytest.approx([100] * 4, abs=1)
    orders = {
        tuple(dict.fromkeys(off[2400 * k : 2400 * (k + 1)][off[2400 * k : 2400 * (k + 1)] >= 0])) for k in range(10)
    }
    assert len(orders) > 3  # at random, so that nothing in the ground can keep step with it
    assert schedule.wheel(-1.0) is None


def slipping_drive(slip, seconds=12.0, dt=0.005, speed=0.5, sense=1.0):
    """A rover whose driven wheels slip; a free wheel swings for 40 ms, then turns with the ground."""
    schedule = PassiveSchedule(4)
    measure = PassiveWheelSlip(np.full(4, 0.125))
    found = []
    since, before = 0.0, None
    for k in range(round(seconds / dt)):
        t = k * dt
        off = schedule.wheel(t)
        since = t if off != before else since
        before = off
        driven = sense * speed / 0.125
        rates = np.full(4, driven)
        if off is not None:
            swing = 2.0 * math.cos(60.0 * (t - since)) if t - since < 0.04 else 0.0
            rates[off] = driven * (1.0 - slip(t)) + swing
        if measure.update(t, rates, off) is not None:
            found.append((t, measure.slip))
    return measure, np.array(found)


@pytest.mark.parametrize("sense", [1.0, -1.0])
@pytest.mark.parametrize("true", [0.0, 0.15, -0.1])
def test_a_passive_wheel_measures_the_slip(true, sense):
    _, found = slipping_drive(lambda t: true, sense=sense)
    assert len(found) == pytest.approx(20, abs=1)  # one every 0.6 s
    np.testing.assert_allclose(found[:, 1], true, rtol=0.0, atol=1e-9)


def test_between_measurements_slip_is_interpolated():
    measure, found = slipping_drive(lambda t: 0.02 * t)
    (t1, s1), (t2, s2) = measure._two
    assert measure.at(0.5 * (t1 + t2)) == pytest.approx(0.5 * (s1 + s2))
    assert measure.at(t2 + 5.0) == s2
    times = found[:, 0] - 0.025  # the middle of what is averaged: the second half of a pause
    np.testing.assert_allclose(
        np.interp([3.3, 7.7], times, found[:, 1]), 0.02 * np.array([3.3, 7.7]), rtol=0.0, atol=1e-4
    )
    assert t2 == pytest.approx(times[-1], abs=0.005)


def test_standing_still_measures_nothing():
    measure, found = slipping_drive(lambda t: 0.2, speed=0.0)
    assert len(found) == 0
    assert measure.at(1.0) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: WheelSlipDetector(gr.vehicle("husky"), false_alarm=0.9),
        lambda: WheelSlipDetector("husky"),
        lambda: WheelSlipDetector(gr.vehicle("husky")).check(np.zeros(3)),
        lambda: WheelSlipDetector(gr.vehicle("husky")).check({"nose": 1.0}),
        lambda: WheelSlipDetector(gr.vehicle("husky")).check(np.zeros(4), gyro=(1.0,)),
        lambda: MotorSlipDetector(4, steady=9.0),
        lambda: MotorSlipDetector(4).update(0.0, np.zeros(3), np.zeros(4)),
        lambda: PassiveSchedule(0),
        lambda: PassiveWheelSlip([0.1, -0.1]),
        lambda: PassiveWheelSlip([0.1] * 4).update(0.0, np.zeros(4), 7),
    ],
)
def test_bad_values_are_refused(wrong):
    with pytest.raises(gr.GrouserError):
        wrong()
