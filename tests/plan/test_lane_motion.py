"""The motion of eight rollouts at once, by series, against that of one rollout, which is exact."""

from __future__ import annotations

import numpy as np
import pytest

from grouser._compile.jit import entry
from grouser._kernels.group import move
from grouser._kernels.plan.lane_velocity import MOST_TURN, move_lanes


@entry
def moved(q, v, dt, exact):
    move(q, v, dt, exact)
    return move_lanes(q, v, dt)


@pytest.mark.parametrize("turn", [0.0, 1e-6, 0.1, 0.5, MOST_TURN])
def test_a_step_by_series_is_the_exponential_of_its_twist(turn):
    random = np.random.default_rng(3)
    for _ in range(20):
        q = random.normal(size=9)
        q[:4] /= np.linalg.norm(q[:4])
        v, dt = random.normal(size=8), 0.1
        v[:3] *= turn / (dt * np.linalg.norm(v[:3]))
        exact = np.empty(9)
        assert moved(q, v, dt, exact) or turn == MOST_TURN  # to rounding of its length
        # The first term left out is θ¹²/13!, 2e-10 of b, which has a weight of θ³ dt v: 1e-11 at most.
        np.testing.assert_allclose(q, exact, rtol=0.0, atol=1e-12 if turn < MOST_TURN else 1e-11)


def test_a_step_that_turns_too_far_for_the_series_is_reported():
    q, v = np.array([1.0, 0, 0, 0, 0, 0, 0]), np.zeros(6)
    v[2] = 1.01 * MOST_TURN
    assert not moved(q, v, 1.0, np.empty(7))
