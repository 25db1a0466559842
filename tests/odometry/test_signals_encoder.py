"""Wheel rates from encoder counts, L (4.42), (4.43): noise of counting, wrap-around, gaps, frozen encoders."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.odometry.encoder import Encoders, rate_variance
from tests.oracles.encoder_noise import steps_and_ripple, steps_for, variance_at_rate

LRU = (0.0076, 0.0077, 0.0095, 0.0097)
"""Variances of L (4.43) [rad²/s²], at 100 Hz."""


def counted(rates, period, steps_per_turn, seed=0):
    """Rates by difference of counts of wheels at constant rates, each at a random phase."""
    phase = np.random.default_rng(seed).uniform(0.0, 1.0, np.shape(rates))
    step = 2.0 * math.pi / steps_per_turn
    return np.floor(phase + rates * period / step) * step / period


def test_the_noise_of_the_lru_is_that_of_2600_to_2940_steps_per_turn():
    """Solved from the formula, then counted in a simulation: the variance of L comes out, to the scatter of 2·10⁵.

    Rates are spread over 18 whole steps a period, about .5 to 4.6 rad/s: no fraction of a step weighs more than others.
    """
    steps = [steps_for(variance, 0.01) for variance in LRU]
    assert steps == pytest.approx([2942, 2923, 2632, 2604], abs=1)
    for variance, n in zip(LRU, steps, strict=True):
        rates = np.random.default_rng(1).uniform(2.0, 20.0, 200_000) * 2.0 * math.pi / n / 0.01
        noise = counted(rates, 0.01, n) - rates
        assert np.var(noise) == pytest.approx(variance, rel=0.01)
        assert abs(noise.mean()) < 3.0 * math.sqrt(variance / len(rates))


@pytest.mark.parametrize("period", [0.001, 0.01, 0.1])
def test_the_variance_falls_with_the_square_of_the_period(period):
    rates = np.random.default_rng(2).uniform(0.0, 20.0, 200_000) * 2.0 * math.pi / 2762 / period
    noise = counted(rates, period, 2762) - rates
    assert np.var(noise) == pytest.approx(rate_variance(2762, period), rel=0.01)
    assert rate_variance(2762, period) == pytest.approx(rate_variance(2762, 0.01) * (0.01 / period) ** 2)


def test_at_one_rate_the_variance_depends_on_the_fraction_of_a_step():
    step, period = 2.0 * math.pi / 1000.0, 0.01
    whole, half = 3.0 * step / period, 3.5 * step / period
    assert variance_at_rate(whole, 1000.0, period) == pytest.approx(0.0, abs=1e-12)
    assert variance_at_rate(half, 1000.0, period) == pytest.approx(0.25 * (step / period) ** 2)
    for rate in (whole + 0.1 * step / period, half):
        noise = counted(np.full(100_000, rate), period, 1000.0) - rate
        assert np.var(noise) == pytest.approx(float(variance_at_rate(rate, 1000.0, period)), rel=0.02)


def test_ten_times_at_1_khz_needs_ripple_beside_counting():
    """L: about ten times at a tenth of the period. Counting alone says a hundred; with true ripple in the speed ten."""
    mean = float(np.mean(LRU))
    assert rate_variance(steps_for(mean, 0.01), 0.001) == pytest.approx(100.0 * mean)
    steps, ripple = steps_and_ripple((0.01, mean), (0.001, 10.0 * mean))
    assert ripple + rate_variance(steps, 0.01) == pytest.approx(mean)
    assert ripple + rate_variance(steps, 0.001) == pytest.approx(10.0 * mean)
    assert steps == pytest.approx(9160, abs=1)
    with pytest.raises(ValueError, match="ripple"):
        steps_and_ripple((0.01, mean), (0.001, 200.0 * mean))


def positions(rates, times):
    """Counts of 1000 steps per turn of wheels at constant rates."""
    return np.floor(np.outer(times, rates) * 1000.0 / (2.0 * math.pi))


def test_rates_follow_irregular_samples_within_one_step():
    rates = np.array([3.0, -2.0])
    times = np.cumsum(np.random.default_rng(3).uniform(0.005, 0.03, 200))
    encoders = Encoders(2, 1000)
    for k, (t, counts) in enumerate(zip(times, positions(rates, times), strict=True)):
        found = encoders.update(t, counts)
        if k == 0:
            assert np.isnan(found.rate).all()
            continue
        step = times[k] - times[k - 1]
        assert np.abs(found.rate - rates).max() <= encoders.step / step
        np.testing.assert_allclose(found.variance, encoders.step**2 / (6.0 * step**2))
        assert not found.frozen.any()


def test_a_counter_that_wraps_counts_on_in_both_directions():
    rates = np.array([9.0, -9.0])
    times = 0.01 * np.arange(400)
    plain, wrapped = Encoders(2, 1000), Encoders(2, 1000, wrap=256, span=5)
    reference = Encoders(2, 1000, span=5)
    for t, counts in zip(times, positions(rates, times), strict=True):
        plain.update(t, counts)
        a, b = wrapped.update(t, counts % 256), reference.update(t, counts)
        np.testing.assert_array_equal(a.rate, b.rate)
    assert np.isfinite(a.rate).all()
    assert np.abs(a.rate - rates).max() <= wrapped.step / 0.05


def test_missing_samples_lengthen_the_difference_and_lower_its_variance():
    encoders = Encoders(2, 1000)
    times = 0.01 * np.arange(20)
    for k, (t, counts) in enumerate(zip(times, positions([4.0, 4.0], times), strict=True)):
        counts = np.where([False, 10 <= k < 15], np.nan, counts)
        found = encoders.update(t, counts)
        if 10 <= k < 15:
            assert np.isnan(found.rate[1])
            assert np.isfinite(found.rate[0])
        if k == 15:
            assert found.period == pytest.approx([0.01, 0.06])
            assert found.variance[1] == pytest.approx(found.variance[0] / 36.0)
            assert found.rate[1] == pytest.approx(4.0, abs=encoders.step / 0.06)
        assert not found.frozen.any()


def test_a_gap_in_which_the_counter_could_wrap_gives_no_rate():
    encoders = Encoders(1, 1000, wrap=256, fastest=20.0)  # half a wrap is 0.8 rad: 40 ms at 20 rad/s
    assert np.isnan(encoders.update(0.0, [0.0]).rate[0])
    assert np.isfinite(encoders.update(0.03, [10.0]).rate[0])
    assert np.isnan(encoders.update(0.08, [20.0]).rate[0])
    assert encoders.update(0.09, [21.0]).rate[0] == pytest.approx(encoders.step / 0.01)


def test_a_counter_that_is_set_anew_gives_no_rate_and_goes_on():
    encoders = Encoders(1, 1000)
    encoders.update(0.0, [5000.0])
    assert np.isnan(encoders.update(0.01, [0.0]).rate[0])
    assert encoders.update(0.02, [3.0]).rate[0] == pytest.approx(3.0 * encoders.step / 0.01)


def test_time_that_does_not_advance_is_ignored():
    encoders = Encoders(1, 1000)
    encoders.update(0.0, [0.0])
    encoders.update(0.01, [4.0])
    for t in (0.01, 0.005):
        assert np.isnan(encoders.update(t, [100.0]).rate[0])
    assert encoders.update(0.02, [8.0]).rate[0] == pytest.approx(4.0 * encoders.step / 0.01)


@pytest.mark.parametrize("commanded", [True, False])
def test_a_frozen_encoder_is_found_and_forgiven_when_it_moves(commanded):
    encoders = Encoders(4, 1000)
    rates = np.full(4, 2.0)
    times = 0.01 * np.arange(600)
    counts = positions(rates, times)
    counts[100:400, 2] = counts[100, 2]
    found = [encoders.update(t, c, rates if commanded else None) for t, c in zip(times, counts, strict=True)]
    frozen = np.array([f.frozen for f in found])
    first = int(np.argmax(frozen[:, 2]))
    # By command after 0.1 rad, by the other wheels after 1 rad; both at 0.02 rad a sample.
    assert first == pytest.approx(100 + (5 if commanded else 50), abs=2)
    assert frozen[first:400, 2].all()
    assert not frozen[402:].any()
    assert not frozen[:, [0, 1, 3]].any()


def test_a_vehicle_that_stands_has_no_frozen_encoders():
    encoders = Encoders(4, 1000)
    for k in range(1000):
        assert not encoders.update(0.01 * k, np.zeros(4), np.zeros(4)).frozen.any()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Encoders(0, 1000),
        lambda: Encoders(4, -1),
        lambda: Encoders(4, 1000, wrap=1),
        lambda: Encoders(4, 1000).update(math.nan, np.zeros(4)),
        lambda: Encoders(4, 1000).update(0.0, np.zeros(3)),
        lambda: Encoders(4, 1000).update(0.0, "abcd"),
        lambda: rate_variance(0.0, 0.01),
    ],
)
def test_bad_values_are_refused(wrong):
    with pytest.raises(gr.GrouserError):
        wrong()
