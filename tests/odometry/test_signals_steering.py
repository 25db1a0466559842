"""Potentiometers and elastic steering, L §4.4.1, §4.4.3."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.odometry.steering import LRU1, LRU2, Potentiometer, SteeringElasticity, calibrate

TABLE = {
    # L Table 4.2: change in degrees, offset before, offset after; wheels 1 to 4.
    "LRU-1": ((0.74, 6500, 6370), (0.23, 2860, 2900), (0.06, 6160, 6170), (0.00, 5270, 5270)),
    "LRU-2": ((-0.17, 4560, 4590), (0.37, 4010, 4075), (0.32, 5610, 5665), (-0.12, 4940, 4920)),
}


@pytest.mark.parametrize("rover", TABLE)
def test_table_4_2_prints_its_degrees_too_small_by_two_pi_and_wheel_1_the_other_way(rover):
    """With 10 000 values a turn 130 values are 4.68°; the table says .74° = 4.68°/2π, and so for every entry."""
    for wheel, (printed, before, after) in enumerate(TABLE[rover], start=1):
        change = math.degrees(Potentiometer(before).change(after))
        assert change == pytest.approx((before - after) * 0.036, abs=1e-12)
        sense = 1.0 if wheel == 1 else -1.0
        # The table has two decimals, and once rounds .1146 up.
        assert sense * change / (2.0 * math.pi) == pytest.approx(printed, abs=0.0055)
    assert math.degrees(Potentiometer(6500).change(6370)) == pytest.approx(4.68)


def test_angle_is_gain_times_value_less_offset_and_wraps_at_half_a_turn():
    pot = Potentiometer(6370.0)
    assert pot.angle(6370.0) == 0.0
    assert pot.angle(7370.0) == pytest.approx(math.radians(36.0))
    assert pot.angle(2000.0) == pytest.approx(math.radians(-157.32))
    assert pot.angle(500.0) == pytest.approx(math.radians(-211.32 + 360.0))
    reversed_one = Potentiometer(6370.0, gain=-pot.gain)
    assert reversed_one.angle(7370.0) == pytest.approx(math.radians(-36.0))
    values = np.arange(0.0, 10_000.0, 7.0)
    np.testing.assert_allclose(pot.value(pot.angle(values)), values, rtol=0.0, atol=1e-9)


def test_values_outside_the_range_give_no_angle():
    angles = Potentiometer(5000.0).angle([-1.0, 10_001.0, np.nan, 5000.0])
    assert np.isnan(angles[:3]).all()
    assert angles[3] == 0.0
    assert Potentiometer(5000.0, range=None).angle(10_500.0) != 0.0


@pytest.mark.parametrize("gain", [2.0 * math.pi / 10_000.0, -6.0e-4])
@pytest.mark.parametrize("offset", [5000.0, 9800.0, 100.0])
def test_offset_and_gain_come_back_from_pairs_across_the_wrap(gain, offset):
    truth = Potentiometer(offset, gain, abs(2.0 * math.pi / gain))
    angles = np.radians([-40.0, 10.0, 0.0, 35.0, -15.0])
    found = calibrate(truth.value(angles), angles, range=truth.range)
    assert found.potentiometer.gain == pytest.approx(gain, rel=1e-9)
    assert found.potentiometer.offset == pytest.approx(offset, abs=1e-6)
    np.testing.assert_allclose(found.residual, 0.0, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found.potentiometer.angle(truth.value(angles)), angles, rtol=0.0, atol=1e-9)


def test_one_aligned_wheel_gives_the_offset_of_a_known_gain():
    found = calibrate([6370.0], [0.0], gain=2.0 * math.pi / 10_000.0)
    assert found.potentiometer.offset == 6370.0
    with pytest.raises(gr.GrouserError, match="gain"):
        calibrate([6370.0], [0.0])


def test_sigmas_of_a_noisy_calibration_are_those_of_its_scatter():
    truth, rng = Potentiometer(5000.0), np.random.default_rng(5)
    angles = np.radians(np.linspace(-60.0, 60.0, 13))
    trials = [calibrate(truth.value(angles + rng.normal(0.0, 0.002, 13)), angles) for _ in range(400)]
    offsets = np.array([t.potentiometer.offset for t in trials])
    gains = np.array([t.potentiometer.gain for t in trials])
    # 400 trials tell a standard deviation to 3.5 %; each one's own sigma has 11 degrees of freedom.
    assert np.std(offsets) == pytest.approx(np.sqrt(np.mean([t.sigma_offset**2 for t in trials])), rel=0.15)
    assert np.std(gains) == pytest.approx(np.sqrt(np.mean([t.sigma_gain**2 for t in trials])), rel=0.15)


def test_a_wheel_lags_behind_a_motor_that_steers_against_the_ground():
    """2°/N m, 5° at most: steering left with 1 N m the wheel stands 2° to the right of its motor."""
    assert math.degrees(float(LRU1.offset(1.0))) == pytest.approx(2.0)
    assert math.degrees(float(LRU1.offset(2.5))) == pytest.approx(5.0)
    assert math.degrees(float(LRU1.offset(-40.0))) == pytest.approx(-5.0)
    assert math.degrees(float(LRU1.true_angle(math.radians(10.0), 1.0))) == pytest.approx(8.0)
    assert math.degrees(float(LRU1.true_angle(math.radians(-10.0), -1.0))) == pytest.approx(-8.0)
    torques = np.linspace(-2.4, 2.4, 9)
    np.testing.assert_allclose(LRU1.torque(LRU1.offset(torques)), torques, rtol=0.0, atol=1e-12)
    assert np.isnan(LRU1.torque(LRU1.offset(3.0)))


def test_the_smooth_form_has_the_same_slope_and_limit():
    smooth = SteeringElasticity(smooth=True)
    assert smooth.offset(1e-6) == pytest.approx(float(LRU1.offset(1e-6)), rel=1e-9)
    assert smooth.offset(100.0) == pytest.approx(math.radians(5.0))
    torques = np.linspace(-5.0, 5.0, 101)
    assert (np.abs(smooth.offset(torques)) <= np.abs(LRU1.offset(torques)) + 1e-15).all()
    np.testing.assert_allclose(smooth.torque(smooth.offset(torques)), torques, rtol=1e-9)


def test_lru_2_is_rigid_and_a_missing_torque_bends_nothing():
    assert LRU2.true_angle(0.3, 50.0) == 0.3
    assert LRU1.true_angle(0.3, math.nan) == 0.3
    assert np.isnan(LRU2.torque(0.0))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SteeringElasticity(compliance=-1.0),
        lambda: SteeringElasticity(limit=math.nan),
        lambda: Potentiometer(5000.0, gain=0.0),
        lambda: Potentiometer(math.inf),
        lambda: calibrate([1.0, 2.0], [0.1]),
        lambda: calibrate([], []),
        lambda: calibrate([5.0, 5.0], [0.1, 0.2]),
    ],
)
def test_bad_values_are_refused(wrong):
    with pytest.raises(gr.GrouserError):
        wrong()
