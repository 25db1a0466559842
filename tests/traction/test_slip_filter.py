"""The slip filter of L (6.2)–(6.4): its gain, what it converges to, and its sign."""

import math

import numpy as np
import pytest

from grouser.errors import SimulationError
from grouser.traction import SlipEstimate, SlipFilter, slip_vector


def test_the_gain_settles_at_the_riccati_solution():
    f, q, r = 0.2, 1.0, 5.0
    # P = f² P R/(P + R) + Q, solved by hand: P² + 3.8 P − 5 = 0.
    p = 0.5 * (-3.8 + math.sqrt(3.8**2 + 20.0))
    assert f * f * p * r / (p + r) + q == pytest.approx(p, rel=1e-12)
    assert SlipFilter().steady_covariance == pytest.approx(p, rel=1e-12)
    estimate = SlipEstimate()
    for _ in range(40):
        estimate.update(np.zeros(3), np.zeros(3), np.zeros(3))
    assert estimate.covariance == pytest.approx(p * r / (p + r), rel=1e-12)
    assert SlipFilter().steady_gain == pytest.approx(p / (p + r), rel=1e-12)


def test_model_and_measurement_are_weighed_as_the_gain_says():
    estimate = SlipEstimate()
    model, seen = np.array([-0.1, 0.02, 0.01]), np.array([-0.2, 0.0, -0.05])
    odometry = np.array([0.5, 0.0, 0.1])
    for _ in range(60):
        estimate.update(model, odometry, odometry + seen)
    k = SlipFilter().steady_gain
    # x = (1 − K)(F x + G u) + K y
    fixed = ((1.0 - k) * 0.8 * model + k * seen) / (1.0 - (1.0 - k) * 0.2)
    assert estimate.slip == pytest.approx(fixed, rel=1e-12)


def test_slip_points_against_a_climbing_vehicle():
    """Wheels say 0.5 m/s, the body goes 0.4: v_true = v_odometry + v_slip, so slip is negative; L has it positive."""
    estimate = SlipEstimate()
    for _ in range(60):
        estimate.update([-0.1, 0.0, 0.0], [0.5, 0.0, 0.0], [0.4, 0.0, 0.0])
    assert estimate.slip == pytest.approx([-0.1, 0.0, 0.0], abs=1e-9)
    assert slip_vector(estimate.slip, [0.5, 0.0, 0.0]) == pytest.approx([0.2, 0.0, 0.0], abs=1e-8)


def test_without_fused_velocity_the_model_leads():
    estimate = SlipEstimate()
    for _ in range(60):
        estimate.update([-0.1, 0.0, 0.02], [0.5, 0.0, 0.1], None)
    assert estimate.slip == pytest.approx([-0.1, 0.0, 0.02])
    assert estimate.covariance == pytest.approx(1.0 / (1.0 - 0.04))


def test_slip_of_components_that_stand_still_is_none():
    assert slip_vector([-0.3, -0.3, -0.3], [0.02, -0.3, 0.04]) == pytest.approx([0.0, -1.0, 0.0])
    # In reverse slip is positive too when the vehicle falls behind its wheels.
    assert slip_vector([0.1, 0.0, 0.0], [-0.5, 0.0, 0.0]) == pytest.approx([0.2, 0.0, 0.0])


@pytest.mark.parametrize(
    "change", [{"memory": 1.0}, {"memory": -0.1}, {"trust": -1.0}, {"process": 0.0}, {"measurement": 0}]
)
def test_bad_settings_are_refused(change):
    with pytest.raises(SimulationError, match=next(iter(change))):
        SlipFilter(**change)


def test_bad_samples_are_refused():
    with pytest.raises(SimulationError, match="fused"):
        SlipEstimate().update(np.zeros(3), np.zeros(3), [0.0, math.nan, 0.0])
    with pytest.raises(SimulationError, match="model_slip"):
        SlipEstimate().update(np.zeros(2), np.zeros(3), None)
