"""Encoders that fall silent: the estimate goes on, and its covariance holds the error that makes."""

import numpy as np
import pytest

import grouser as gr

HUSKY = gr.vehicle("husky")
MODEL = gr.Kinematics(HUSKY, slip=gr.slip.BodySlip([0.0, 0.0, 0.0, 0.0, 0.0, -0.4]))
TURNING = {"FL": 2.0, "BL": 2.0, "FR": 4.0, "BR": 4.0}


def drive(lost):
    odometry = gr.Odometry(MODEL)
    for k in range(101):
        rates = {w: r for w, r in TURNING.items() if k == 0 or w not in lost}
        e = odometry.update(0.05 * k, rates, attitude=(0.0, 0.0))
    return e


@pytest.mark.parametrize("lost", [("FR",), ("FR", "BR"), ("FL", "BL"), tuple(TURNING)])
def test_a_skid_steered_vehicle_that_loses_encoders_in_a_turn_does_not_claim_to_know_its_heading(lost):
    whole, e = drive(()), drive(lost)
    assert e.degraded
    sigma = np.sqrt(e.pose_covariance[2, 2])
    assert sigma > 10.0 * np.sqrt(whole.pose_covariance[2, 2])
    assert abs(e.yaw - whole.yaw) < 3.0 * sigma
    assert e.twist_covariance[2, 2] > 10.0 * whole.twist_covariance[2, 2]


def test_driving_straight_a_missing_wheel_moves_nothing_but_the_covariance():
    odometry = gr.Odometry(MODEL)
    for k in range(21):
        e = odometry.update(0.05 * k, {"FL": 3.0, "BL": 3.0, "BR": 3.0}, attitude=(0.0, 0.0))
    assert e.yaw == pytest.approx(0.0, abs=1e-9)
    assert e.position[0] == pytest.approx(3.0 * HUSKY.arrays.radius[0], rel=1e-9)
