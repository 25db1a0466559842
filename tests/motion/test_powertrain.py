"""The powertrain: steps, delays and gains against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.errors import CalibrationError
from grouser.motion.powertrain import Powertrain


def step_response(train: Powertrain, dt: float, at: float = 0.5, seconds: float = 3.0):
    time = dt * np.arange(round(seconds / dt) + 1)
    command = np.where(time >= at - 1e-12, 2.0, 0.0)[:, None]
    return time, train.rates(time, command)[:, 0]


@pytest.mark.parametrize("dt", [0.05, 0.02])
def test_a_step_is_answered_late_slowly_and_with_the_gain_whatever_the_sample_period(dt):
    train = Powertrain(gain=0.8, delay=0.133, time_constant=0.3)
    time, rate = step_response(train, dt)
    since = np.maximum(time - 0.5 - 0.133, 0.0)
    np.testing.assert_allclose(rate, 1.6 * (1.0 - np.exp(-since / 0.3)), rtol=0.0, atol=1e-12)


def test_without_lag_and_delay_it_is_the_gain():
    command = np.random.default_rng(0).standard_normal((50, 2))
    found = Powertrain(gain=1.3, time_constant=0.0).rates(0.1 * np.arange(50), command)
    np.testing.assert_array_equal(found, 1.3 * command)


def test_a_delay_alone_shifts():
    time, rate = step_response(Powertrain(delay=0.2, time_constant=0.0), 0.05)
    np.testing.assert_allclose(rate, np.where(time > 0.7 + 1e-9, 2.0, 0.0), rtol=0.0, atol=1e-12)


def test_it_starts_at_the_rate_given():
    train = Powertrain(time_constant=0.5)
    rate = train.rates(0.1 * np.arange(11), np.zeros((11, 1)), np.array([3.0]))[:, 0]
    np.testing.assert_allclose(rate, 3.0 * np.exp(-0.1 * np.arange(11) / 0.5), rtol=1e-12)


@pytest.mark.parametrize("bad", [{"delay": -0.1}, {"time_constant": -1.0}, {"gain": np.nan}])
def test_bad_values_are_refused(bad):
    with pytest.raises(CalibrationError, match=next(iter(bad))):
        Powertrain(**bad)
