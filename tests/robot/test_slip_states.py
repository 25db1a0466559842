"""Slip parameters as states of the chain: their slopes by differences, and a GPS robot that learns them."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.motion.correction import Corrected
from grouser.motion.fit import Fit, Training
from grouser.robot import Robot

G = 9.81


def fit_of(model, values, sigma):
    """A fit of slip with given values; sigma: of each parameter."""
    motion = gr.MotionModel(model=model)
    parameters = tuple(gr.motion.resolve(motion, ["slip"]))
    training = Training(
        log="planted", samples=1, intervals=1, interval=2.0, distance=None, overlapping=False, rejected=0,
        position_rms=0.0, yaw_rms=0.0, method="batch",
    )  # fmt: skip
    n = len(parameters)
    return Fit(
        model=motion, parameters=parameters, vector=np.array(values), covariance=sigma**2 * np.eye(n),
        noise_covariance=np.zeros((0, 0)), training=training,
    )  # fmt: skip


def made(kind, values):
    husky = gr.vehicle("husky")
    if kind == "law":
        return gr.Kinematics(husky, slip=gr.slip.BodySlip(values))
    reach = (0.8, 0.5, 0.3, 0.3)
    own = {"terms": (1, 2, 4, 8, 12), "widths": (0.1, 0.2, 0.3, 0.1, 0.2), "reach": reach}
    return Corrected(vehicle=husky, slip=values[:13], correction=values[13:], **own)


def driven(robot, pitch=0.1, seconds=3.0, period=0.01):
    """A drive whose speed and turn rate grow, on a slope; the last sample is beyond the reach of the correction."""
    force = [-G * math.sin(pitch), 0.0, G * math.cos(pitch)]  # nose down for pitch > 0: gravity has a part ahead
    for k in range(round(seconds / period) + 1):
        t = period * k
        robot.imu(t, [0.0, 0.0, 0.0], force)
        grown = max(t - 1.5, 0.0)
        left, right = 4.0 * grown, 6.0 * grown
        robot.joints(t, {"FL": left, "BL": left, "FR": right, "BR": right})
    return robot


@pytest.mark.parametrize(("kind", "n"), [("law", 6), ("surface", 13 + 5 + 3)])
def test_slopes_are_those_of_the_twist_by_each_parameter(kind, n):
    """A wrong sign, a column of another parameter or a missing factor of the speed shows in one column."""
    values = 0.02 * np.random.default_rng(4).normal(size=n)
    robot = driven(Robot(fit_of(made(kind, values), values, 0.01)))
    assert len(robot.slip_parameters) == n
    slopes = robot._chain.fusion.slopes
    step = 1e-3
    for k in range(n):
        moved = values.copy()
        moved[k] += step
        other = driven(Robot(fit_of(made(kind, moved), moved, 0.01)))
        # Odometry's own velocity: its pose does not enter, and both have the same fused attitude to rounding and slip.
        difference = (other._chain.present.twist - robot._chain.present.twist) / step
        np.testing.assert_allclose(slopes[2:5, k], difference[2:5], rtol=0.0, atol=3e-3, err_msg=f"parameter {k}")
    assert np.abs(slopes[2:5]).max() > 0.3


@pytest.mark.parametrize("period", [0.01, 0.03, 0.07])
def test_of_a_steady_ramp_the_change_in_a_second_is_its_slope_at_every_rate(period):
    """The correction looks a second back, which lies between two samples unless their period divides it."""
    values = 0.02 * np.random.default_rng(4).normal(size=21)
    robot = driven(Robot(fit_of(made("surface", values), values, 0.01)), period=period)
    inputs = robot._chain.inputs
    ramped = robot.estimate.time - 1.5
    assert ramped > 1.0
    assert np.abs(inputs[:2]).min() > 0.1
    np.testing.assert_allclose(inputs[2:4], inputs[:2] / ramped, rtol=1e-9)


def test_a_gps_robot_learns_its_slip_while_it_drives():
    """The fit says that wheels do not slip; the vehicle loses a tenth of its speed and turns a fifth less."""
    rng = np.random.default_rng(5)
    robot = Robot(fit_of(made("law", np.zeros(6)), np.zeros(6), 0.15))
    radius, arm = 0.165, 0.2854
    x = y = yaw = 0.0
    for k in range(12001):
        t = 0.01 * k
        v = min(max(t - 2.0, 0.0), 1.0)
        w = 0.4 * math.sin(0.15 * t) * v
        robot.imu(t, [0.0, 0.0, 0.8 * w] + 3e-3 * rng.normal(size=3),
                  [0.9 * (1.0 if 2.0 <= t < 3.0 else 0.0), 0.72 * v * w, G] + 1e-2 * rng.normal(size=3))  # fmt: skip
        if k % 2 == 0:
            left, right = (v - arm * w) / radius, (v + arm * w) / radius
            robot.joints(t, {"FL": left, "BL": left, "FR": right, "BR": right})
        if k % 20 == 0:
            robot.gps(t, [x, y, 0.0] + 0.02 * rng.normal(size=3), 4e-4 * np.eye(3))
        x += 0.01 * 0.9 * v * math.cos(yaw)
        y += 0.01 * 0.9 * v * math.sin(yaw)
        yaw += 0.01 * 0.8 * w
    value, sigma = robot.slip_parameters["slip.p2"]
    assert sigma < 0.03
    assert abs(value + 0.1) < 3.0 * sigma
    assert value < -0.05  # a wrong sign would be at +0.1
    estimate = robot.estimate
    assert np.linalg.norm(estimate.position[:2] - [x, y]) < 0.15
