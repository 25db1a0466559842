"""Evaluation: numbers that can be counted by hand, and no look at poses inside an interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.calibrate import calibrate
from grouser.calibration.evaluate import Errors, evaluate
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.plain import plain_odometry
from tests.motion import planted_logs as drives

NOISE = Noise(density=np.diag([2e-3, 1e-3, 1e-3]))


def test_summary_is_what_one_counts_by_hand():
    error = np.array([[0.3, 0.4, 0.1], [0.0, 1.0, -0.2], [0.0, 0.0, 0.0]])
    found = Errors(error=error, covariance=np.tile(np.diag([0.25, 0.25, 0.04]), (3, 1, 1)), times=np.zeros((3, 2)))
    s = found.summary()
    assert s["n"] == 3
    assert s["position_rms"] == pytest.approx(np.sqrt((0.25 + 1.0) / 3.0))
    assert s["position_median"] == pytest.approx(0.5)
    assert s["yaw_median_deg"] == pytest.approx(np.degrees(0.1))
    assert s["nees"] == pytest.approx(((0.25 / 0.25 + 0.25) + (4.0 + 1.0) + 0.0) / 9.0)
    assert s["inside_95"] == 1.0


def test_poses_inside_an_interval_change_no_number():
    truth = drives.slipping(noise=NOISE)
    log = drives.winding_log(truth, seed=1)
    cut = cut_log(log, truth, interval=2.0)
    used = np.isin(log.poses.time, cut.times)
    assert 0 < used.sum() < len(used) / 2
    random = np.random.default_rng(0)
    p = log.poses
    scrambled = replace(
        p,
        position=np.where(used[:, None], p.position, random.uniform(-50.0, 50.0, p.position.shape)),
        attitude=np.where(used[:, None], p.attitude, random.uniform(-3.0, 3.0, p.attitude.shape)),
    )
    assert evaluate(truth, replace(log, poses=scrambled)).summary() == evaluate(truth, log).summary()
    at_an_end = replace(p, position=p.position + np.where(p.time == cut.times[3, 0], 1.0, 0.0)[:, None])
    assert evaluate(truth, replace(log, poses=at_an_end)).summary() != evaluate(truth, log).summary()


def test_the_true_model_is_consistent_and_beats_plain_odometry():
    truth = drives.slipping(noise=NOISE)
    found = evaluate(truth, drives.winding_log(truth, seed=2, seconds=200.0, dt=0.1)).summary()
    low, high = found["nees_band"]
    assert low < 1.0 < high
    assert low < found["nees"] < high
    assert 0.88 < found["inside_95"] <= 1.0
    assert found["position_rms"] < 0.5 * found["baseline"]["position_rms"]
    assert "nees" not in found["baseline"]


def test_the_lag_of_a_log_is_found_from_its_other_half():
    sensor = replace(drives.PRECISE, lag=0.2)
    log = drives.winding_log(
        drives.slipping(sensor=sensor, noise=Noise(density=1e-5 * np.eye(3))), seed=3, seconds=60.0
    )
    found = evaluate(drives.slipping(noise=Noise(density=1e-5 * np.eye(3))), log, own_lag=True)
    assert found.lags == pytest.approx((0.2, 0.2), abs=0.02)
    assert found.relagged.summary()["position_rms"] < 0.3 * found.errors.summary()["position_rms"]


def test_a_fit_knows_the_log_it_was_made_from():
    truth = drives.slipping(noise=NOISE)
    log = drives.winding_log(truth, seed=4)
    fit = calibrate(drives.slipping(np.zeros(6), noise=NOISE), log, ["slip"])
    assert evaluate(fit, log).trained_on_this
    assert not evaluate(fit, replace(log, name="another")).trained_on_this


def test_a_vehicle_that_is_not_shipped_has_plain_odometry_too():
    motion = MotionModel(model=gr.Kinematics(drives.tricycle()), sensor=drives.PRECISE)
    log = drives.tricycle_log(motion)
    assert plain_odometry(motion, log).vehicle is motion.vehicle
    assert evaluate(motion, log).summary()["position_rms"] < 1e-9
