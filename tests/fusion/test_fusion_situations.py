"""Situations of a robot: a start on the move, slides, jumps of the clock, copies; the truth shares no code with it."""

from __future__ import annotations

import numpy as np
import pytest
from fusion_motions import standing

from experiments.on_board_fusion import SCENARIOS, Run, _settings, nees
from experiments.on_board_truth import sense, slide
from grouser.errors import FusionError
from grouser.fusion import Fusion, FusionSettings
from grouser.motion.consistency import nees_band

STILL = (np.zeros(3), np.array([0.0, 0.0, 9.81]))
RUNS = 6


@pytest.mark.parametrize("name", SCENARIOS)
def test_nees_is_in_its_band(name):
    """Other seeds than those of the experiment."""
    scenario, degrees = SCENARIOS[name]
    runs = 4 if "slide" in name else RUNS
    mean = np.mean([scenario(seed) for seed in range(500, 500 + runs)])
    low, high = nees_band(runs, degrees)
    assert low < mean < high


@pytest.mark.parametrize("speed", [0.02, -0.05])
def test_a_slide_is_followed_and_named_and_ends_with_it(speed):
    random = np.random.default_rng(4)
    truth = slide(30.0, 8.0, speed, 0.05, 0.2 * np.sign(speed))
    fusion = Fusion(_settings())
    run = Run(truth, sense(truth, 30.0, random, np.array([0.1, 0.05, 0.1])), random, fusion, wheels=lambda _: 0.0)
    before, after = run.go([7.0, 29.0])
    assert (before.motion, after.motion) == ("standing", "sliding")
    assert "wheels" in after.degraded
    assert fusion.faults["sliding"] == 1
    assert np.linalg.norm(truth.position(29.0)) > 0.3
    assert nees(after, truth) < 3.0
    force = run.readings.acceleration[-200:].mean(axis=0)
    for k in range(3000):  # it has come to rest
        t = fusion.time + 0.01
        fusion.imu(t, after.gyro_bias, force)
        fusion.wheels(t, np.zeros(6), 1e-4 * np.eye(6))
        if k % 10 == 0 and k > 10:
            fusion.relative_pose(t - 0.1, t, np.zeros(3), (1, 0, 0, 0), np.diag([1e-6] * 3 + [4e-6] * 3))
    assert fusion.motion == "standing"


def test_a_slide_without_images_is_assumed_to_be_a_standstill_and_said_so():
    random = np.random.default_rng(4)
    truth = slide(20.0, 8.0, 0.02, 0.05, 0.2)
    fusion = Fusion(_settings())
    run = Run(truth, sense(truth, 20.0, random, np.zeros(3)), random, fusion, wheels=lambda _: 0.0)
    run.images = lambda _: False
    (last,) = run.go([19.0])
    assert last.motion == "standing"


def test_positions_show_a_slide():
    random = np.random.default_rng(2)
    fusion = standing(3.0)
    for k in range(4000):
        t = 3.01 + 0.01 * k
        fusion.imu(t, 3e-3 * random.standard_normal(3), STILL[1] + 0.01 * random.standard_normal(3))
        fusion.wheels(t, np.zeros(6), 1e-6 * np.eye(6))
        if k % 20 == 0:
            x = 0.03 * max(t - 10.0, 0.0)
            fusion.gps(t, [x, 0.0, 0.0] + 0.02 * random.standard_normal(3), 4e-4 * np.eye(3))
    e = fusion.estimate
    assert fusion.faults["sliding"] >= 1
    assert e.motion == "sliding"
    assert e.position[0] == pytest.approx(0.03 * (t - 10.0), abs=0.1)


def test_a_standstill_with_images_is_no_slide():
    """100 s of noise, with outliers."""
    random = np.random.default_rng(7)
    fusion = standing(2.0)
    for k in range(10000):
        t = 2.01 + 0.01 * k
        fusion.imu(t, 3e-3 * random.standard_normal(3), STILL[1] + 0.01 * random.standard_normal(3))
        if k % 5 == 0:
            fusion.wheels(t, np.zeros(6), 1e-6 * np.eye(6))
        if k % 20 == 10:
            size = 10.0 if random.uniform() < 0.05 else 1.0
            p = size * 2e-3 * random.standard_normal(3)
            fusion.relative_pose(t - 0.2, t, p, (1, 0, 0, 0), np.diag([1e-6] * 3 + [4e-6] * 3))
    assert "sliding" not in fusion.faults
    assert fusion.standing


@pytest.mark.parametrize("jump", [-100.0, 1e4])
def test_a_clock_that_jumps_is_reported_and_followed(jump):
    fusion = standing(3.0)
    before = fusion.estimate
    for k in range(300):
        t = 3.01 + jump + 0.01 * k
        fusion.imu(t, *STILL)
        fusion.wheels(t, np.zeros(6), 1e-6 * np.eye(6))
    e = fusion.estimate
    assert fusion.faults["clock_jump"] == 1
    assert fusion.time == pytest.approx(t)
    np.testing.assert_allclose(e.position, before.position, rtol=0.0, atol=2e-3)
    assert fusion.standing
    assert np.sqrt(e.pose_covariance.diagonal()).max() < 0.05
    assert e.degraded == ("poses",)


def test_one_stamp_from_far_ahead_is_left_out():
    fusion = standing(3.0)
    fusion.imu(5000.0, *STILL)
    fusion.imu(3.01, *STILL)
    assert fusion.faults["imu_time"] == 1
    assert fusion.time == pytest.approx(3.01)


def test_a_silence_of_the_imu_is_no_jump_of_the_clock():
    """The wheels went on: they wait for the IMU."""
    fusion = standing(3.0)
    for k in range(50):
        fusion.wheels(3.01 + 0.01 * k, np.zeros(6), 1e-6 * np.eye(6))
    fusion.imu(10.0, *STILL)
    assert fusion.faults["imu_gap"] == 1
    assert "clock_jump" not in fusion.faults


def test_an_outlier_at_the_start_does_not_set_the_velocity():
    fusion = Fusion(FusionSettings())
    for k in range(200):
        fusion.imu(0.01 * k, *STILL)
        fusion.wheels(0.01 * k, [0, 0, 0, 5.0 if k == 0 else 0.0, 0, 0], 1e-4 * np.eye(6))
    assert fusion.standing
    assert np.abs(fusion.estimate.velocity).max() < 0.01


def test_the_start_pose_is_that_of_the_first_sample():
    """Constant velocity, a quiet IMU: wheels show that it is no standstill."""
    fusion = Fusion(FusionSettings(), position=(5.0, 1.0, 0.0), yaw=0.5)
    for k in range(301):
        fusion.imu(0.01 * k, *STILL)
        fusion.wheels(0.01 * k, [0, 0, 0, 2.0, 0, 0], 1e-4 * np.eye(6))
    assert fusion.faults["moving_start"] == 1
    e = fusion.estimate
    error = e.position[:2] - [5.0 + 6.0 * np.cos(0.5), 1.0 + 6.0 * np.sin(0.5)]
    assert np.linalg.norm(error) < 0.05
    # wheels alone: their slip of 3 % and lasting slip of 3 % are in the covariance
    assert 0.1 < np.sqrt(e.pose_covariance[3, 3]) < 0.5


def test_a_copy_continues_like_the_filter_it_is_of():
    fusion, other = standing(3.0), Fusion(FusionSettings())
    fusion.keyframe(3.005)  # waits
    fusion.copy_to(other)
    for k in range(100):
        for one in (fusion, other):
            one.imu(3.01 + 0.01 * k, (0.0, 0.0, 0.1), (0.2, 0.0, 9.81))
    np.testing.assert_array_equal(other.estimate.covariance, fusion.estimate.covariance)
    np.testing.assert_array_equal(other.estimate.position, fusion.estimate.position)
    assert other.faults == fusion.faults
    with pytest.raises(FusionError, match="copy_to: the filters have other sizes"):
        fusion.copy_to(Fusion(FusionSettings(clones=4)))
