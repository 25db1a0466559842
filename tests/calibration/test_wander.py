"""Slip that wanders: its covariance against Monte Carlo, found from several horizons; noise that cannot collapse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration import likelihood
from grouser.calibration.calibrate import calibrate
from grouser.calibration.evaluate import evaluate
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.motion.consistency import given_poses, pose_noise
from grouser.motion.intervals import cut_log
from grouser.motion.noise import Noise
from grouser.motion.predict import LogProblem
from tests.calibration.test_noise import whitened
from tests.motion import planted_logs as drives

CALM = np.diag([1e-5, 1e-5, 1e-6])
WANDER = np.array([9e-4, 4e-4, 1e-4])


@pytest.mark.parametrize(("grows", "length"), [("distance", 0.3), ("distance", 5.0), ("time", 1.0)])
def test_covariance_of_residuals_is_that_of_drives_whose_slip_wanders(grows, length):
    noise = Noise(density=CALM, wander=WANDER, length=length, grows=grows)
    motion = drives.slipping(np.zeros(6), Sensor(x=0.8, y=0.4, yaw=0.5, position_noise=1e-4, yaw_noise=1e-4), noise)
    log = drives.repeated(motion, 1500, seed=3, seconds=4.0, left=3.0, right=5.0, attitude=(0.15, -0.2))
    problem = drives.problem_of(log, motion, interval=None)
    # Standard error of a variance of 1500 samples is 3.7 %; steps are 0.06 m, a fifth of the shortest length.
    np.testing.assert_allclose(whitened(problem, motion), np.eye(3), rtol=0.0, atol=0.14)


def test_in_the_long_run_it_is_white_noise_of_the_density_that_is_said():
    noise = Noise(density=CALM, wander=WANDER, length=0.2)
    white = Noise(density=noise.long_run)
    R = []
    for one in (noise, white):
        motion = drives.slipping(np.zeros(6), Sensor(position_noise=0.0, yaw_noise=0.0), one)
        log = drives.repeated(motion, 2, seed=0, seconds=20.0, left=4.0, right=4.0)
        problem = drives.problem_of(log, motion, interval=None)
        R.append(problem.covariance(motion, problem.errors(motion))[0])
    # Of 24 m the first and the last 0.2 m are missing.
    np.testing.assert_allclose(R[0], R[1], rtol=0.02, atol=1e-9)


def test_several_horizons_tell_slip_that_wanders_from_white_noise():
    for density, wander in ((CALM, WANDER), (np.diag([2e-3, 2e-3, 1e-3]), np.full(3, 1e-9))):
        truth = drives.slipping(noise=Noise(density=density, wander=wander, length=5.0))
        log = drives.winding_log(truth, seed=2, seconds=400.0, dt=0.1)
        found = calibrate(drives.slipping(np.zeros(6)), log, ["slip", "noise"]).model.noise
        now, planted = (np.diag(one.long_run) for one in (found, truth.noise))
        # Horizons of 12 m are two lengths, so that a longer length with less variance is almost as likely.
        assert np.all(np.abs(np.log(now / planted)) < 0.9)
        slow = 2.0 * found.length * found.wander / now
        assert np.all(slow > 0.6) if density is CALM else np.all(slow < 0.4)


def test_errors_at_ten_seconds_are_predicted_though_slip_wanders():
    truth = drives.slipping(noise=Noise(density=CALM, wander=WANDER, length=6.0))
    logs = [drives.winding_log(truth, seed=seed, seconds=300.0, dt=0.1, phase=seed) for seed in (1, 2, 3, 4)]
    fits = [calibrate(drives.slipping(np.zeros(6)), log, ["slip", "noise"]) for log in logs]
    pairs = list(zip(fits, logs[1:] + logs[:1], strict=True))
    judged = [evaluate(fit, log, horizons=(1.0, 5.0, 10.0), same_drive=True).horizons for fit, log in pairs]
    for each in zip(*judged, strict=True):
        inside = np.concatenate([horizon.errors.inside for horizon in each])
        # Intervals of one drive are correlated: 4 drives of 30 to 300, sigma of the share is about 2 %.
        assert 0.90 <= inside.mean() <= 0.99, each[0].interval


def test_parameters_are_as_uncertain_as_slip_that_wanders_makes_them():
    truth = drives.slipping(noise=Noise(density=CALM, wander=WANDER, length=6.0))
    z = []
    for seed in range(12):
        log = drives.winding_log(truth, seed=seed, seconds=150.0, dt=0.1, phase=seed)
        fit = calibrate(drives.slipping(np.zeros(6)), log, ["slip", "noise"])
        z.append([(fit.values[f"slip.p{k}"] - drives.SLIP[k - 1]) / fit.sigma[f"slip.p{k}"] for k in range(1, 7)])
    # 72 z-scores; as if intervals were independent their rms would be 1.5.
    assert 0.75 < np.sqrt(np.mean(np.square(z))) < 1.25


def test_noise_of_a_log_without_any_stays_above_zero():
    quiet = drives.winding_log(drives.slipping(sensor=drives.PRECISE), seconds=20.0, poses_every=2)
    found = calibrate(drives.slipping(np.zeros(6)), quiet, ["slip", "noise"]).model.noise
    # It is not seen below the noise of the poses, 1 mm and 1 mrad after 2 s; what is expected holds it there.
    assert np.all(np.diag(found.density) > 1e-8)
    assert np.all(np.diag(found.density) < 1e-5)


def test_a_density_that_residuals_do_not_tell_stays_where_it_is_expected():
    sensor = Sensor(position_noise=0.001, yaw_noise=0.5)
    truth = drives.slipping(sensor=sensor, noise=Noise(density=np.diag([1e-3, 1e-3, 1e-6])))
    problem = drives.problem_of(drives.winding_log(truth, seed=1, seconds=60.0, dt=0.1), truth)
    found = likelihood.maximise(problem, truth, names=["noise.wz"]).motion.noise
    assert 0.1 < found.density[2, 2] / found.expected["noise.wz"] < 10.0


def test_each_horizon_counts_the_same_and_all_together_as_one():
    truth = drives.slipping(noise=Noise(density=np.diag([2e-3, 1e-3, 1e-3])))
    problem = drives.problem_of(drives.winding_log(truth, seed=1, seconds=120.0, dt=0.1), truth)
    once = likelihood.maximise(problem, truth)
    thrice = likelihood.maximise([likelihood.Horizon(problem)] * 3, truth)
    np.testing.assert_allclose(once.motion.noise.values, thrice.motion.noise.values, rtol=1e-4)
    np.testing.assert_allclose(once.covariance, thrice.covariance, rtol=1e-3)


def test_a_log_of_short_stretches_has_no_long_horizon_and_white_noise():
    truth = drives.slipping(noise=Noise(density=np.diag([2e-3, 1e-3, 1e-3])))
    log = drives.repeated(truth, 20, seed=1, seconds=2.0, left=3.0, right=5.0)
    fit = calibrate(drives.slipping(np.zeros(6)), log, ["slip.p2", "noise"])
    assert fit.model.noise.wander is None
    assert fit.names == ("slip.p2", "noise.vx", "noise.vy", "noise.wz")


def test_a_fit_file_keeps_wander_and_spread_and_older_files_are_read(tmp_path):
    truth = drives.slipping(noise=Noise(density=np.diag([2e-3, 1e-3, 1e-3])))
    log = drives.winding_log(truth, seed=1, seconds=120.0, dt=0.1)
    fit = calibrate(drives.slipping(np.zeros(6)), log, ["slip", "noise"])
    spread = np.diag(np.arange(1.0, 7.0)) * 1e-4
    replace(fit, spread=spread).save(tmp_path / "fit.toml")
    again = gr.Fit.load(tmp_path / "fit.toml")
    np.testing.assert_array_equal(again.spread, spread)
    np.testing.assert_array_equal(again.model.noise.wander, fit.model.noise.wander)
    assert again.model.noise.length == fit.model.noise.length
    text = (tmp_path / "fit.toml").read_text()
    rows = [line for line in text.splitlines() if not line.startswith(("wander", "length", "spread"))]
    (tmp_path / "old.toml").write_text("\n".join(rows).replace("noise.wander", "noise.gone"))
    old = gr.Fit.load(tmp_path / "old.toml")
    assert old.spread is None
    assert old.model.noise.wander is None
    wrong = "\n".join("spread = [[1.0]]" if line.startswith("spread") else line for line in text.splitlines())
    (tmp_path / "wrong.toml").write_text(wrong)
    with pytest.raises(CalibrationError, match="spread"):
        gr.Fit.load(tmp_path / "wrong.toml")


def test_a_learned_spread_between_grounds_widens_predictions_of_other_logs_only():
    truth = drives.slipping(noise=Noise(density=np.diag([2e-3, 1e-3, 1e-3])))
    log, other = (drives.winding_log(truth, seed=seed, seconds=60.0, dt=0.1, phase=seed) for seed in (1, 2))
    fit = calibrate(drives.slipping(np.zeros(6)), log, ["slip", "noise"])
    wide = replace(fit, spread=np.diag([0.0, 0.1, 0.0, 0.0, 0.0, 0.0]) ** 2)
    own = [one.predict(replace(log, name=one.training.log)).covariance for one in (fit, wide)]
    np.testing.assert_array_equal(own[0], own[1])
    narrow, broad = (
        one.predict(replace(other, name="other")) for one in (replace(fit, spread=0.0 * wide.spread), wide)
    )
    # 10 % of the speed, one sigma: that of the way driven.
    more = (broad.covariance - narrow.covariance)[:, :2, :2].trace(axis1=1, axis2=2)
    way = np.hypot(*broad.pose[:, :2].T)
    assert np.all(np.sqrt(more) > 0.08 * way)
    assert np.all(np.sqrt(more) < 0.14 * way + 0.02)


def test_poses_with_a_sigma_of_their_own_are_trusted_accordingly():
    truth = drives.slipping(sensor=Sensor(position_noise=0.01, yaw_noise=0.002))
    log = drives.winding_log(truth, seed=1, seconds=20.0, dt=0.1)
    cut = cut_log(log, truth)
    sigma = np.full((len(cut), 2, 3), (0.3, 0.1, 0.02))
    sigma[2] = np.nan
    plain, own = LogProblem(log, truth, cut), LogProblem(log, truth, replace(cut, sigma=sigma))
    predicted = own.errors(truth)
    R, expected = own.covariance(truth, predicted), plain.covariance(truth, plain.errors(truth))
    np.testing.assert_allclose(R[2], expected[2], rtol=1e-12)
    assert np.all(R[[0, 1], 2, 2] > expected[[0, 1], 2, 2] + 2.0 * 0.02**2 - 1e-5)
    slopes = own.covariance_slopes(truth, predicted, ["sensor.position_noise"])
    assert np.abs(slopes[0]).max() == 0.0
    assert slopes[2, 0, 0, 0] == pytest.approx(2 * 2 * 0.01)


def test_the_sigma_of_a_pose_turns_with_the_heading():
    yaw = np.array([0.0, 0.5 * np.pi, 0.3])
    C = given_poses(np.tile([0.3, 0.1, 0.02], (3, 2, 1)), yaw)
    np.testing.assert_allclose(np.diag(C[0, 0]), [0.09, 0.01, 0.05, 0.0004])
    np.testing.assert_allclose(np.diag(C[1, 1]), [0.01, 0.09, 0.05, 0.0004])
    turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    np.testing.assert_allclose(C[2, 0, :2, :2], turn @ np.diag([0.09, 0.01]) @ turn.T, rtol=0.0, atol=1e-15)
    still = np.zeros((3, 4))
    found = pose_noise(Sensor(), np.zeros((3, 6)), still, still, given=C)
    np.testing.assert_allclose(found, C.sum(axis=1))


@pytest.mark.parametrize(
    ("bad", "says"),
    [({"wander": np.ones(2)}, "wander"), ({"wander": -np.ones(3)}, "wander"), ({"length": 0.0}, "length")],
)
def test_wander_that_makes_no_sense_is_refused(bad, says):
    with pytest.raises(CalibrationError, match=says):
        Noise(**bad)
