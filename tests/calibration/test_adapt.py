"""A fit carried on: information of two drives adds, bounds are no obstacle, intervals are judged, then used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.adapt import NOISE_KNOWN, adapt, start_of
from grouser.calibration.calibrate import calibrate
from grouser.calibration.evaluate import evaluate
from grouser.calibration.memory import Memory
from grouser.calibration.stream import StreamingCalibrator
from grouser.errors import CalibrationError
from grouser.motion.intervals import cut_log
from grouser.motion.noise import Noise
from grouser.motion.parameters import resolve
from tests.motion import planted_logs as drives

QUIET = Noise(density=np.diag([2e-3, 1e-3, 1e-9]))
"""No yaw noise, which would bend the path: straight ahead the motion then is linear in slip.p2."""
NOISE = Noise(density=np.diag([2e-3, 1e-3, 1e-3]))


def straight(seed: int, copies: int):
    truth = drives.slipping([0.0, -0.08, 0.0, 0.0, 0.0, 0.0], noise=QUIET)
    return drives.repeated(truth, copies, seed=seed, left=4.0, right=4.0)


def straight_fit(log, start=None, **options):
    model = drives.slipping(np.zeros(6), noise=QUIET) if start is None else start
    return calibrate(model, log, ["slip.p2"], interval=None, **options)


def same_ground(fit):
    """The prior of the next drive is the fit alone, not another ground."""
    return replace(fit, spread=np.zeros_like(fit.covariance))


@pytest.fixture(scope="module")
def logs():
    return straight(1, 12), straight(2, 30)


@pytest.mark.parametrize("online", [False, True])
def test_of_two_drives_the_information_adds(online, logs):
    """Linear and Gaussian: λ = λ₁ + λ₂ − λ₀ and λ p = λ₁ p₁ + λ₂ p₂ − λ₀ p₀, the prior being in both fits once."""
    how = {"online": True, "adapt": False, "gate": np.inf} if online else {"loss": "none"}
    alone = [straight_fit(log, **how) for log in logs]
    both = straight_fit(logs[1], same_ground(alone[0]), **how)
    prior = alone[0].parameters[0]
    weight, sums = -1.0 / prior.sigma**2, -prior.value / prior.sigma**2
    for fit in alone:
        weight += 1.0 / fit.covariance[0, 0]
        sums += fit.vector[0] / fit.covariance[0, 0]
    # Linear but for the tilt of the straight drive's end, some 1e-3 of a sigma.
    assert both.covariance[0, 0] == pytest.approx(1.0 / weight, rel=1e-3)
    assert abs(both.vector[0] - sums / weight) < 1e-2 * np.sqrt(both.covariance[0, 0])
    assert abs(both.vector[0] - alone[1].vector[0]) > 5e-2 * np.sqrt(both.covariance[0, 0])  # the first counts


def test_on_another_ground_a_fit_is_the_less_certain_the_more_grounds_differ(logs):
    fit = straight_fit(logs[0], loss="none")
    found = {}
    for spread in (0.0, 1e-3, 1.0):
        carried = straight_fit(logs[1], replace(fit, spread=np.array([[spread**2]])), loss="none")
        found[spread] = float(carried.vector[0]), float(carried.covariance[0, 0])
    alone = straight_fit(logs[1], loss="none")
    assert found[0.0][1] < found[1e-3][1] < found[1.0][1]
    assert found[1.0][0] == pytest.approx(alone.vector[0], abs=1e-2 * np.sqrt(alone.covariance[0, 0]))


@pytest.fixture(scope="module")
def fit():
    truth = drives.slipping(noise=NOISE)
    return calibrate(drives.slipping(np.zeros(6), noise=NOISE), drives.winding_log(truth, seed=1), ["slip", "noise"])


def test_it_starts_at_the_fit_with_its_covariance_and_keeps_the_spread_between_grounds(fit):
    """The spread is a share of the priors before any driving: of those of the fit it would be a tenth of it."""
    motion, parameters, covariance = start_of(fit, lag_spread=0.3)
    assert motion is fit.model
    assert [p.value for p in parameters] == fit.vector.tolist()
    np.testing.assert_array_equal(covariance, fit.covariance)  # no sensor.lag among them
    again = calibrate(fit, drives.winding_log(drives.slipping(noise=NOISE), seed=2), online=True)
    first = Memory.of(fit.model, resolve(drives.slipping(np.zeros(6)), ["slip"])).spread
    for one in (parameters, again.systematic):
        np.testing.assert_array_equal(Memory.of(motion, one).spread, first)
    assert again.sigma["slip.p6"] < fit.sigma["slip.p6"]
    for p in parameters[6:]:
        assert p.sigma >= NOISE_KNOWN * p.value  # noise of another drive may be another


def test_the_lag_of_another_day_is_as_uncertain_as_lags_differ():
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=1)
    fit = calibrate(drives.slipping(np.zeros(6), noise=NOISE), log, ["slip", "sensor.lag"])
    _, _, covariance = start_of(fit, lag_spread=0.3)
    expected = fit.covariance.copy()
    expected[6, 6] += 0.3**2
    np.testing.assert_array_equal(covariance, expected)


@pytest.mark.parametrize("beyond", [0.0, 1e-12])
def test_a_fit_at_a_bound_is_a_prior(beyond, fit):
    bound = fit.vector[5]
    at = replace(fit.parameters[5], lower=bound + beyond, value=bound + 0.1)
    stuck = replace(fit, parameters=(*fit.parameters[:5], at, *fit.parameters[6:]))
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=2)
    for online in (False, True):
        carried = calibrate(stuck, log, online=online)
        assert carried.values["slip.p6"] >= bound
    assert start_of(stuck)[1][5].lower == bound


def test_a_fit_of_noise_alone_has_nothing_to_carry_on(fit):
    with pytest.raises(CalibrationError, match="no systematic parameter; fit slip first"):
        start_of(replace(fit, covariance=np.zeros((0, 0)), noise_covariance=np.eye(9)))


def test_a_stream_carries_a_fit_on_like_a_log(fit):
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=3, poses_every=2)
    stream = StreamingCalibrator(fit)
    np.testing.assert_array_equal(stream.filter.p, fit.vector[:6])
    np.testing.assert_array_equal(stream.filter.P, fit.covariance)
    updates = []
    at = 0
    for k in range(len(log)):
        rates = {joint: column[k] for joint, column in log.rates.items()}
        updates += stream.sample(log.time[k], rates, attitude=log.attitude[k])
        while at < len(log.poses) and log.poses.time[at] <= log.time[k]:
            updates += stream.pose(log.poses.time[at], log.poses.position[at], log.poses.attitude[at])
            at += 1
    found = adapt(fit, log, cut_log(log, fit.model, interval=2.0)).updates
    assert len(updates) > 10
    for one, other in zip(updates, found, strict=False):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-6, atol=1e-9)


def test_an_interval_is_judged_before_it_is_learned_from(fit):
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=4, seconds=60.0)
    cut = cut_log(log, fit.model, interval=2.0)
    last = np.isclose(log.poses.time, cut.times[-1, 1])
    assert last.sum() == 1
    moved = replace(log, poses=replace(log.poses, position=log.poses.position + np.where(last, 0.02, 0.0)[:, None]))
    before, after = (evaluate(fit, one, adapt=True) for one in (log, moved))
    np.testing.assert_array_equal(after.errors.error[:-1], before.errors.error[:-1])
    np.testing.assert_array_equal(after.errors.covariance, before.errors.covariance)
    change = after.errors.error[-1] - before.errors.error[-1]
    assert np.hypot(*change[:2]) == pytest.approx(0.02 * np.sqrt(2.0), rel=1e-6)
    assert change[2] == 0.0
    # Earlier, it changes errors after it, and none before.
    early = np.isclose(log.poses.time, cut.times[9, 1])
    moved = replace(log, poses=replace(log.poses, position=log.poses.position + np.where(early, 0.02, 0.0)[:, None]))
    third = evaluate(fit, moved, adapt=True)
    np.testing.assert_array_equal(third.errors.error[:9], before.errors.error[:9])
    assert np.all(third.errors.error[11:] != before.errors.error[11:])


def test_the_first_interval_is_predicted_as_by_the_fit_and_both_curves_are_there(fit):
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=5)
    found, plain = evaluate(fit, log, adapt=True), evaluate(fit, log)
    np.testing.assert_allclose(found.errors.error[0], plain.errors.error[0], rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(found.fixed.error, plain.errors.error)
    summary = found.summary()
    assert summary["fixed"]["position_rms"] == plain.summary()["position_rms"]
    assert summary["position_rms"] != summary["fixed"]["position_rms"]
    assert plain.fixed is None
    assert "fixed" not in plain.summary()


def test_a_memory_grows_by_a_calibration(fit):
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=6)
    memory = Memory.of(fit.model, fit.systematic)
    carried = calibrate(fit, log, online=True, memory=memory)
    (ground,) = memory.grounds
    np.testing.assert_array_equal(ground.mean, carried.vector[:6])
    np.testing.assert_array_equal(ground.covariance, carried.covariance)
    assert ground.seconds == pytest.approx(2.0 * carried.training.intervals)
    assert ground.feel["slope"].mean > 0.05


def test_a_model_without_a_fit_cannot_adapt(fit):
    log = drives.winding_log(drives.slipping(noise=NOISE), seed=6)
    with pytest.raises(CalibrationError, match="no covariance to adapt from; calibrate it first"):
        evaluate(fit.model, log, adapt=True)


def test_steady_ground_is_never_another():
    truth = [drives.slipping([0.0, p2, 0.0, 0.0, 0.0, -0.3], noise=NOISE) for p2 in (-0.05, -0.4)]
    logs = [drives.winding_log(one, seed=k, seconds=60.0) for k, one in enumerate(truth)]
    first = calibrate(drives.slipping(np.zeros(6), noise=NOISE), logs[0], ["slip", "noise"])
    changed = calibrate(first, logs[1], online=True)
    steady = calibrate(first, logs[1], online=True, adapt=False)
    far = abs(steady.values["slip.p2"] + 0.4) / steady.sigma["slip.p2"]
    assert abs(changed.values["slip.p2"] + 0.4) < 4.0 * changed.sigma["slip.p2"]
    assert far > 4.0
    assert gr.calibration.OnlineFilter(*start_of(first)[:2], adapt=False).tests is None
