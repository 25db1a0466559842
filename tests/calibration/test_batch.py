"""The batch: steps of L (5.21), weights of L (5.20), robust losses, damping, covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grouser.calibration.batch import gauss_newton
from grouser.calibration.calibrate import calibrate
from grouser.calibration.loss import LOSSES, loss_of, weight_of
from grouser.errors import CalibrationError
from grouser.motion.noise import Noise
from grouser.motion.parameters import resolve
from grouser.motion.predict import LogProblem
from tests.motion import planted_logs as drives

NOISE = Noise(density=np.diag([2e-3, 1e-3, 1e-3]))
PLAIN = {"loss": "none", "prior": False}


@pytest.fixture(scope="module")
def drive():
    truth, start = drives.slipping(noise=NOISE), drives.slipping(np.zeros(6), noise=NOISE)
    return drives.problem_of(drives.winding_log(truth, seed=1, seconds=60.0), start), start


def test_a_rate_below_one_comes_nearer_by_the_same_share_each_step():
    # L (5.21): where the problem is linear the distance to the optimum shrinks by 1 − rate.
    start = drives.slipping(np.zeros(6), noise=NOISE)
    log = drives.repeated(drives.slipping([0.0, -0.1, 0, 0, 0, 0]), 3, seed=0, left=4.0, right=4.0)
    problem = drives.problem_of(log, start, interval=None)
    result = gauss_newton(problem, start, resolve(start, ["slip.p2"]), **PLAIN, rate=0.3, iterations=12)
    best = gauss_newton(problem, start, resolve(start, ["slip.p2"]), **PLAIN).values[0]
    apart = result.history[:, 0] - best
    np.testing.assert_allclose(apart[1:] / apart[:-1], 0.7, rtol=1e-3)


def test_a_weight_of_three_counts_as_three_intervals(drive):
    problem, start = drive
    parameters = resolve(start, ["slip"])
    n = len(problem.intervals)
    weights = np.ones(n)
    weights[:5] = 3.0
    weighted = gauss_newton(problem, start, parameters, **PLAIN, weights=weights)
    again = np.concatenate([np.arange(n), np.repeat(np.arange(5), 2)])
    repeated = LogProblem(problem.log, start, problem.intervals.only(again))
    other = gauss_newton(repeated, start, parameters, **PLAIN)
    np.testing.assert_allclose(weighted.values, other.values, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(weighted.information, other.information, rtol=1e-6, atol=1e-6)


def test_robust_losses_resist_gross_outliers(drive):
    problem, start = drive
    parameters = resolve(start, ["slip"])
    good = gauss_newton(problem, start, parameters, **PLAIN)
    sigma = np.sqrt(np.diag(good.covariance))
    measured = problem.intervals.measured.copy()
    measured[::10, 0] += 2.0
    measured[::10, 5] += 1.0
    bad = LogProblem(problem.log, start, replace(problem.intervals, measured=measured))
    off = {}
    for loss in ("none", "huber", "cauchy", "mixture"):
        found = gauss_newton(bad, start, parameters, loss=loss, prior=False)
        off[loss] = np.max(np.abs(found.values - good.values) / sigma)
        if loss != "none":
            assert found.weights[::10].max() < 0.5
    assert off["none"] > 4.0
    assert off["huber"] < 0.5 * off["none"]
    assert off["cauchy"] < 1.5
    assert off["mixture"] < 0.8


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_the_slope_of_theloss_of(loss):
    d2 = np.array([0.1, 3.0, 9.9, 30.0, 1000.0])
    h = 1e-5
    slope = (loss_of(d2 + h, loss, 3) - loss_of(d2 - h, loss, 3)) / (2.0 * h)
    np.testing.assert_allclose(weight_of(d2, loss, 3), slope, rtol=1e-6)


def test_damping_recovers_from_a_bad_start():
    truth = drives.slipping(noise=NOISE)
    start = drives.slipping([1.0, 0.4, 1.0, 0.6, 0.3, 0.5], noise=NOISE)
    log = drives.winding_log(truth)
    problem = drives.problem_of(log, start)
    found = gauss_newton(problem, start, resolve(start, ["slip"]), **PLAIN, iterations=100)
    assert found.converged
    np.testing.assert_allclose(found.values, drives.SLIP, rtol=0.0, atol=1e-5)


def test_the_prior_counts_as_one_measurement(drive):
    problem, start = drive
    one = replace(resolve(start, ["slip.p2"])[0], value=0.0, sigma=0.05)
    free = gauss_newton(problem, start, [one], **PLAIN)
    held = gauss_newton(problem, start, [one], loss="none")
    assert 1.0 / held.covariance[0, 0] == pytest.approx(held.information[0, 0] + 400.0, rel=1e-9)
    expected = free.values[0] * held.information[0, 0] / (held.information[0, 0] + 400.0)
    # R_μ follows the estimate a little, so that the information of the two differs.
    assert held.values[0] == pytest.approx(expected, abs=0.05 * np.sqrt(held.covariance[0, 0]))


def test_bounds_are_kept(drive):
    problem, start = drive
    held = replace(resolve(start, ["slip.p6"])[0], lower=-0.2)
    assert gauss_newton(problem, start, [held], **PLAIN).values[0] == -0.2


def test_calibrate_finds_slip_sensor_and_noise_together():
    sensor = replace(drives.PRECISE, x=0.2, lag=0.1)
    truth = drives.slipping(sensor=sensor, noise=NOISE)
    log = drives.winding_log(truth, seed=6, seconds=200.0, dt=0.1)
    start = drives.slipping(np.zeros(6), noise=Noise())
    fit = calibrate(start, log, ["slip", "sensor.x", "sensor.lag", "noise"], loss="none")
    planted = dict(zip((f"slip.p{i}" for i in range(1, 7)), drives.SLIP, strict=True))
    planted |= {"sensor.x": 0.2, "sensor.lag": 0.1, "noise.vx": 2e-3, "noise.vy": 1e-3, "noise.wz": 1e-3}
    for name, value in planted.items():
        assert abs(fit.values[name] - value) < 3.0 * fit.sigma[name], name
    assert fit.undetermined == ()


def test_an_unknown_loss_is_refused(drive):
    problem, start = drive
    with pytest.raises(CalibrationError, match="huber"):
        gauss_newton(problem, start, resolve(start, ["slip"]), loss="square")
