"""The compiled powertrain: exact where it can be written down, and stretches know nothing of each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from grouser.motion.powertrain import Powertrain


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.13, 5.0])
def test_stretches_are_followed_each_for_itself(delay: float) -> None:
    random = np.random.default_rng(4)
    time = np.concatenate([np.arange(40) * 0.05, 7.0 + np.cumsum(random.uniform(0.01, 0.1, 30)), [1.0]])
    command = random.normal(size=(71, 3))
    bounds = np.array([0, 40, 70, 71])
    train = Powertrain(gain=0.9, delay=delay, time_constant=0.2)
    together = train.stretches(time, command, bounds)
    for low, high in pairwise(bounds.tolist()):
        np.testing.assert_array_equal(together[low:high], train.rates(time[low:high], command[low:high]))
        np.testing.assert_allclose(together[low], 0.9 * command[low], rtol=1e-15)


def test_a_step_rises_as_an_exponential_after_its_delay() -> None:
    time = np.arange(60) * 0.05
    command = np.where(time >= 0.5, 2.0, 0.0)[:, None]
    found = Powertrain(gain=1.5, delay=0.12, time_constant=0.3).rates(time, command)[:, 0]
    since = np.maximum(time - 0.5 - 0.12, 0.0)  # the command is held from the sample at 0.5 s on
    np.testing.assert_allclose(found, 3.0 * (1.0 - np.exp(-since / 0.3)), rtol=0.0, atol=1e-12)
