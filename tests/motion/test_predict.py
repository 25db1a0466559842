"""Predictions of a log: closed forms, frames, mirrors, lags, cuts; the integral along the log of `LogProblem`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.errors import CalibrationError
from grouser.logs.log import Poses, Sensor
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.planar import DifferentialDrive
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import SlipTwists, inputs_of, twists
from tests.motion import planted_logs as drives


def arc(v: float, w: float, t: float, sensor: Sensor) -> np.ndarray:
    """x, y, yaw of a sensor on a body that drives an arc, in the sensor's heading frame at the start: closed form."""
    yaw = w * t
    centre = np.array([v / w * np.sin(yaw), v / w * (1.0 - np.cos(yaw))])
    c, s = np.cos(yaw), np.sin(yaw)
    swing = np.array([c * sensor.x - s * sensor.y - sensor.x, s * sensor.x + c * sensor.y - sensor.y])
    moved = centre + swing
    c, s = np.cos(sensor.yaw), np.sin(sensor.yaw)
    return np.array([c * moved[0] + s * moved[1], c * moved[1] - s * moved[0], yaw])


@pytest.mark.parametrize("dt", [0.5, 0.037])
def test_constant_rates_on_level_ground_give_an_arc_whatever_the_sample_period(dt):
    vehicle = drives.warthog()
    sensor = Sensor(x=0.7, y=-0.3, z=1.0, yaw=0.5)
    motion = MotionModel(model=DifferentialDrive(vehicle=vehicle), sensor=sensor)
    t = np.arange(0.0, 6.0, dt)
    rates = drives.side_rates(vehicle, np.full(len(t), 3.0), np.full(len(t), 6.0))
    log = log_of_motion(motion, t, rates, seed=None)
    problem = drives.problem_of(log, motion)
    v, w = 0.3 * 4.5, 0.3 * 3.0 / 1.08
    pose = problem.poses([motion])[0]
    for k, duration in enumerate(problem.intervals.duration):
        np.testing.assert_allclose(pose[k, [0, 1, 5]], arc(v, w, duration, sensor), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(problem.residuals(pose), 0.0, rtol=0.0, atol=1e-12)


def test_climbing_straight_ahead_rises_and_leaning_turns_slower_over_ground():
    motion = MotionModel(model=DifferentialDrive(vehicle=drives.warthog()), sensor=drives.PRECISE)
    log = drives.repeated(motion, 1, seed=0, left=4.0, right=4.0, attitude=(0.0, -0.2))  # nose up is negative pitch
    pose = drives.problem_of(log, motion, interval=None).poses([motion])[0, 0]
    np.testing.assert_allclose(pose[:3], [2.4 * np.cos(0.2), 0.0, 2.4 * np.sin(0.2)], rtol=0.0, atol=1e-12)
    log = drives.repeated(motion, 1, seed=0, left=3.0, right=5.0, attitude=(0.3, 0.0))
    pose = drives.problem_of(log, motion, interval=None).poses([motion])[0, 0]
    assert pose[5] == pytest.approx(2.0 * np.cos(0.3) * 0.3 * 2.0 / 1.08, abs=1e-12)


def test_moving_and_turning_the_world_changes_no_residual():
    motion = drives.slipping()
    log = drives.winding_log(motion, seed=1)
    before = drives.problem_of(log, motion)
    yaw = 2.5
    c, s = np.cos(yaw), np.sin(yaw)
    p = log.poses
    moved = replace(
        p,
        position=p.position @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + [30.0, -20.0, 5.0],
        attitude=p.attitude + np.array([0.0, 0.0, yaw]),
    )
    after = drives.problem_of(replace(log, poses=moved), motion)
    np.testing.assert_allclose(after.intervals.measured, before.intervals.measured, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        after.residuals(after.poses([motion])[0]), before.residuals(before.poses([motion])[0]), rtol=0.0, atol=1e-12
    )


def test_the_mirrored_log_is_predicted_as_the_mirror_image():
    t, left, right, attitude = drives.winding()
    p = drives.SLIP
    mirror = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    poses = []
    for sides, roll, slip, y in (
        ((left, right), 1.0, p, 0.3),
        ((right, left), -1.0, p * [1, 1, 1, 1, -1, 1], -0.3),  # p₅ pulls to one side; the others know none
    ):
        motion = drives.slipping(slip, Sensor(x=0.4, y=y, z=0.2, yaw=y))
        rates = drives.side_rates(drives.warthog(), *sides)
        log = log_of_motion(motion, t, rates, attitude=attitude * [roll, 1.0], seed=None)
        poses.append(drives.problem_of(log, motion).poses([motion])[0])
    np.testing.assert_allclose(poses[1], poses[0] * mirror, rtol=0.0, atol=1e-12)


def test_a_late_sensor_sees_the_same_motion_under_later_stamps():
    on_time = drives.slipping(sensor=Sensor(x=0.3))
    log = drives.winding_log(on_time)
    late = drives.slipping(sensor=Sensor(x=0.3, lag=0.23))
    shifted = replace(log, poses=replace(log.poses, time=log.poses.time + 0.23))
    cut = cut_log(log, on_time)
    a = LogProblem(log, on_time, cut).poses([on_time])[0]
    b = LogProblem(shifted, late, replace(cut, times=cut.times + 0.23)).poses([late])[0]
    np.testing.assert_allclose(b, a, rtol=0.0, atol=1e-12)
    wrong = LogProblem(shifted, on_time, replace(cut, times=cut.times + 0.23)).poses([on_time])[0]
    assert np.abs(wrong - a).max() > 0.05


def test_a_sensor_mounted_askew_is_predicted_exactly_on_slopes_too():
    """On a slope its yaw is not the body's plus that of the mounting: 0.3° at a pitch of 0.2 rad."""
    motion = drives.slipping(sensor=replace(drives.PRECISE, x=0.3, y=-0.2, z=0.5, yaw=0.4))
    problem = drives.problem_of(drives.winding_log(motion), motion)
    np.testing.assert_allclose(problem.residuals(problem.poses([motion])[0]), 0.0, rtol=0.0, atol=1e-9)


def test_an_interval_of_a_long_log_is_predicted_as_the_log_cut_out():
    motion = drives.slipping(sensor=Sensor(x=0.3, lag=0.07))
    log = drives.winding_log(motion, seed=3)
    whole = drives.problem_of(log, motion)
    all_poses = whole.poses([motion])[0]
    for k in (3, 8):
        # A window of the inputs, as the online filter takes it.
        np.testing.assert_array_equal(whole.poses([motion], slice(k, k + 1))[0, 0], all_poses[k])
        t0, t1 = whole.intervals.times[k]
        part = log.part(t0 - 0.3, t1 + 0.3)
        cut = whole.intervals.only(slice(k, k + 1))
        alone = LogProblem(part, motion, replace(cut, ranges=np.array([[0, len(part)]])))
        np.testing.assert_allclose(alone.poses([motion])[0, 0], all_poses[k], rtol=0.0, atol=1e-13)


def test_nothing_is_interpolated_from_one_segment_to_the_next():
    motion = drives.slipping(sensor=Sensor(lag=0.1))
    t, left, right, attitude = drives.winding(seconds=6.0)
    rates = drives.side_rates(drives.warthog(), left, right)
    n = len(t)
    alone = log_of_motion(motion, t, rates, attitude=attitude, seed=None)
    # The same stretch between two others with absurd rates, on the same clock without a gap.
    wild = {w: np.concatenate([np.full(n, 300.0), r, np.full(n, -300.0)]) for w, r in rates.items()}
    clock = np.concatenate([t - t[-1] - 0.05, t, t + t[-1] + 0.05])
    log = log_of_motion(
        motion, clock, wild, attitude=np.tile(attitude, (3, 1)), segment=np.repeat([0, 1, 2], n), seed=None
    )
    cut = cut_log(log, motion)
    mine = np.flatnonzero(cut.segment == 1)
    one = drives.problem_of(alone, motion)
    problem = LogProblem(log, motion, cut)
    np.testing.assert_array_equal(problem.intervals.times[mine], one.intervals.times)
    np.testing.assert_array_equal(problem.poses([motion])[0][mine], one.poses([motion])[0])
    np.testing.assert_array_equal(problem.errors(motion).W[mine], one.errors(motion).W)


def test_candidates_predicted_together_are_those_predicted_alone():
    motions = [drives.slipping(s * drives.SLIP, Sensor(x=s, lag=0.1 * s)) for s in (0.0, 0.5, 1.0)]
    problem = drives.problem_of(drives.winding_log(motions[0]), motions[0])
    together = problem.poses(motions)
    for k, motion in enumerate(motions):
        np.testing.assert_array_equal(together[k], problem.poses([motion])[0])


def test_slip_found_by_superposition_is_slip_found_directly():
    # Velocities are affine in p₁…p₆; a fresh problem with another slip must agree with the shared one.
    a, b = drives.slipping(np.zeros(6)), drives.slipping()
    log = drives.winding_log(a)
    shared = drives.problem_of(log, a).poses([b])[0]
    fresh = drives.problem_of(log, b).poses([b])[0]
    np.testing.assert_allclose(shared, fresh, rtol=0.0, atol=1e-12)
    inputs = inputs_of(log, b.vehicle)
    found = SlipTwists(a.model, inputs).twists(drives.SLIP[None])[0]
    np.testing.assert_allclose(found, twists(b.model, inputs), rtol=0.0, atol=1e-12)


def test_residual_angles_wrap():
    motion = drives.slipping()
    problem = drives.problem_of(drives.winding_log(motion), motion)
    poses = problem.poses([motion])[0]
    poses[:, 5] += 2.0 * np.pi - 0.01
    np.testing.assert_allclose(problem.residuals(poses)[:, 2], 0.01, rtol=0.0, atol=1e-9)


def test_predict_log_gives_covariance_and_error_of_each_interval():
    motion = drives.slipping()
    found = motion.predict(drives.winding_log(motion, seed=4), interval=1.0)
    assert found.covariance.shape == (len(found.times), 3, 3)
    white = np.linalg.solve(np.linalg.cholesky(found.covariance), found.error[..., None])[..., 0]
    assert 1.5 < np.mean(np.sum(white**2, axis=1)) < 5.0


def test_a_log_without_wheels_or_with_an_unknown_residual_is_refused_in_a_sentence():
    motion = drives.slipping()
    log = drives.winding_log(motion)
    with pytest.raises(CalibrationError, match="rate of no joint"):
        motion.predict(replace(log, rates={}))
    with pytest.raises(CalibrationError, match="residual"):
        LogProblem(log, motion, cut_log(log, motion), residual=("x", "speed"))


def test_dynamics_without_ground_is_refused():
    with pytest.raises(CalibrationError, match="ground"):
        MotionModel(model=gr.Dynamics(drives.warthog()))
    assert isinstance(drives.winding_log(drives.slipping()).poses, Poses)
