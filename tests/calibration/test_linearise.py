"""What the online filter adds to a residual, against closed forms of a straight drive."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.calibration.interval_filter import shortening
from grouser.calibration.noise_learning import NoiseLearner
from grouser.motion.noise import Noise
from tests.motion import planted_logs as drives

SPEED, SECONDS = 1.2, 2.0


def straight(noise: Noise):
    motion = drives.slipping(np.zeros(6), noise=noise)
    log = drives.repeated(motion, 1, seed=0, left=SPEED / 0.3, right=SPEED / 0.3, seconds=SECONDS)
    problem = drives.problem_of(log, motion, interval=None)
    return motion, problem, problem.errors(motion)


def test_yaw_noise_shortens_the_way_ahead_by_the_mean_of_its_cosine():
    """E[cos θ(t)] = e^{−q t/2} for a yaw that is a random walk of density q: the mean way is 2 v/q (1 − e^{−q T/2})."""
    q = 0.01
    motion, problem, predicted = straight(Noise(density=np.diag([1e-9, 1e-9, q]), grows="time"))
    T = float(problem.intervals.duration[0])
    lost = predicted.poses[0, 0] - 2.0 * SPEED / q * (1.0 - np.exp(-0.5 * q * T))
    found = shortening(problem, motion, predicted)
    assert lost > 0.0
    # The next term of the series is q T/6 of it.
    assert found[0] == pytest.approx(lost, rel=q * T / 3.0)
    np.testing.assert_allclose(found[1:], 0.0, rtol=0.0, atol=1e-9)


def test_noise_that_wanders_counts_as_its_long_run_when_learning():
    """The way x varies by 2 w l (x − l (1 − e^{−x/l})), in the long run by 2 w l x, of variance w and length l."""
    w, length = 4e-4, 5.0
    noise = Noise(density=1e-6 * np.eye(3), wander=np.array([w, 1e-9, 1e-9]), length=length)
    motion, problem, predicted = straight(noise)
    way = float(predicted.poses[0, 0])
    found = NoiseLearner(motion, []).lasting(problem, predicted)[0]
    # Sampled at 0.05 s: 6 cm of 5 m.
    assert found[0, 0] == pytest.approx(2.0 * w * length**2 * (1.0 - np.exp(-way / length)), rel=0.01)
    assert NoiseLearner(motion.replace(noise=Noise()), []).lasting(problem, predicted).max() == 0.0
