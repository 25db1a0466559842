"""The start velocity of dynamics: exact for closed forms, consistent with its covariance, and causal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_run
from grouser.errors import CalibrationError
from grouser.logs.log import Log, Poses, Sensor
from grouser.logs.report import Report
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.planar import DifferentialDrive
from grouser.motion.start_velocity import ACCELERATION, start_velocity, unevenness
from tests.motion import planted_logs as drives

ICE = gr.Dynamics(gr.vehicle("landtamer"), contact=gr.contact.Pacejka(friction=0.3))
LEVEL = gr.terrain.plane()


def turning_log(sensor: Sensor, seed: int | None = None, gyro: bool = False) -> tuple[Log, dict[str, np.ndarray]]:
    """A vehicle whose speed and turn rate grow evenly and which slides to the left; wheels that tell nothing of it."""
    t = 0.02 * np.arange(301)
    yaw = 0.3 + 0.4 * t + 0.05 * t**2
    v, left = 1.0 + 0.5 * t, 0.3
    way = np.stack([v * np.cos(yaw) - left * np.sin(yaw), v * np.sin(yaw) + left * np.cos(yaw)], axis=1)
    place = np.concatenate([np.zeros((1, 2)), np.cumsum(0.5 * (way[1:] + way[:-1]) * 0.02, axis=0)])
    c, s = np.cos(yaw), np.sin(yaw)
    place = place + np.stack([c * sensor.x - s * sensor.y, s * sensor.x + c * sensor.y], axis=1)
    every = slice(0, None, 5)
    n = len(t[every])
    random = np.random.default_rng(seed)
    noise = np.zeros((n, 3)) if seed is None else random.standard_normal((n, 3))
    position = np.column_stack([place[every] + sensor.position_noise * noise[:, :2], np.zeros(n)])
    attitude = np.column_stack([np.zeros((n, 2)), yaw[every] + sensor.yaw + sensor.yaw_noise * noise[:, 2]])
    rates = drives.side_rates(drives.warthog(), np.full(301, 3.0), np.full(301, 3.0))
    turn = 0.4 + 0.1 * t
    log = Log(
        name="turning", time=t, segment=np.zeros(301, np.int64), rates=rates, angles={}, attitude=np.zeros((301, 2)),
        gyro=np.column_stack([np.zeros((301, 2)), turn]) if gyro else None, vehicle="warthog", sensor=sensor,
        poses=Poses(time=t[every] + sensor.lag, position=position, attitude=attitude, segment=np.zeros(n, np.int64)),
        report=Report(period=0.02, pose_period=0.1, samples=301, poses=n, segments=1),
    )  # fmt: skip
    return log, {"time": t, "velocity": np.stack([v, np.full(301, left), turn], axis=1)}


def found_and_true(sensor: Sensor, **options):
    log, truth = turning_log(sensor, **options)
    motion = MotionModel(model=gr.Kinematics(drives.warthog()), sensor=sensor)
    cut = cut_log(log, motion, interval=0.5)
    some = cut.only(slice(3, None))  # the first have few poses before them
    rolling = np.tile([0.9, 0.0, 0.0], (len(some), 1))
    yaw_rate = None if log.gyro is None else log.gyro[:, 2]
    found = start_velocity(log, sensor, some, rolling, yaw_rate)
    at = np.round((some.times[:, 0] - sensor.lag) / 0.02).astype(int)
    return found, truth["velocity"][at]


@pytest.mark.parametrize("sensor", [Sensor(), Sensor(x=0.5, y=-0.3, yaw=0.4, lag=0.1)], ids=["centred", "mounted"])
def test_poses_without_noise_give_the_velocity_whatever_the_wheels_do(sensor):
    exact = replace(sensor, position_noise=1e-6, yaw_noise=1e-6)
    found, true = found_and_true(exact)
    # Parabolas through poses 0.1 s apart: a third of the third derivative (up to 4 m/s³) times 0.1² s², and a prior of
    # accelerations that may change.
    np.testing.assert_allclose(found.velocity, true, rtol=0.0, atol=0.03)


def test_the_covariance_is_that_of_the_errors():
    sensor = Sensor(position_noise=0.01, yaw_noise=0.005)
    nees = []
    for seed in range(60):
        found, true = found_and_true(sensor, seed=seed)
        error = found.velocity - true
        nees.append(np.einsum("ia,iab,ib->i", error, np.linalg.inv(found.covariance), error).mean() / 3.0)
    # Accelerations are those of the prior or less, so it is rather too large.
    assert 0.3 < np.mean(nees) < 1.3
    sigma = np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2))
    assert sigma[:, :2].max() < 0.2 * ACCELERATION[0]


def test_a_gyro_makes_the_turn_rate_certain():
    sensor = Sensor(position_noise=0.01, yaw_noise=0.02)
    with_gyro, true = found_and_true(sensor, seed=1, gyro=True)
    without, _ = found_and_true(sensor, seed=1)
    assert np.abs(with_gyro.velocity[:, 2] - true[:, 2]).max() < 0.05
    assert (with_gyro.covariance[:, 2, 2] < 0.25 * without.covariance[:, 2, 2]).all()


def test_nothing_measured_after_the_start_is_used():
    sensor = Sensor()
    log, _ = turning_log(sensor, seed=3, gyro=True)
    motion = MotionModel(model=gr.Kinematics(drives.warthog()), sensor=sensor)
    cut = cut_log(log, motion, interval=0.5)
    one = cut.only(slice(5, 6))
    later = log.poses.time > one.times[0, 0] + 1e-9
    moved = replace(log.poses, position=log.poses.position + 9.0 * later[:, None])
    gyro = np.where(log.time[:, None] > one.times[0, 0] + 1e-9, 5.0, log.gyro)
    other = replace(log, poses=moved, gyro=gyro)
    rolling = np.array([[0.9, 0.0, 0.0]])
    a, b = (start_velocity(one_log, sensor, one, rolling, one_log.gyro[:, 2]) for one_log in (log, other))
    # The jump itself is one of the poses by which their noise is judged, and hardly counts.
    np.testing.assert_allclose(a.velocity, b.velocity, rtol=0.0, atol=0.15)  # 90 m/s, if the jump of 9 m were seen


@pytest.fixture(scope="module")
def ice_log() -> Log:
    """Wheels that lock and spin."""
    drive = gr.drive.schedule([(2.0 * k, gr.drive.arc(5.0 if k % 2 else 1.0)) for k in range(7)])
    return log_of_run(gr.simulate(ICE, LEVEL, drive, duration=14.0, dt=0.02))


def test_the_model_that_made_a_log_of_spinning_wheels_predicts_it(ice_log):
    motion = MotionModel(model=ICE, ground=LEVEL, sensor=ice_log.sensor, dt=0.02)
    by_poses = gr.evaluate(motion, ice_log, interval=1.0).errors.position
    by_wheels = gr.evaluate(motion.replace(start="wheels"), ice_log, interval=1.0).errors.position
    assert np.sqrt(np.mean(by_poses**2)) < 0.02
    assert np.sqrt(np.mean(by_wheels**2)) > 1.0


def test_an_uncertain_start_is_in_the_covariance_of_the_end(ice_log):
    noisy = replace(ice_log, sensor=replace(ice_log.sensor, position_noise=0.01, yaw_noise=0.005))
    random = np.random.default_rng(5)
    poses = noisy.poses
    position = poses.position + 0.01 * random.standard_normal(poses.position.shape)
    attitude = poses.attitude + np.array([0.0, 0.0, 0.005]) * random.standard_normal(poses.attitude.shape)
    noisy = replace(noisy, poses=replace(poses, position=position, attitude=attitude))
    quiet = gr.motion.Noise(density=1e-8 * np.eye(3))
    motion = MotionModel(model=ICE, ground=LEVEL, sensor=noisy.sensor, noise=quiet, dt=0.02)
    errors = gr.evaluate(motion, noisy, interval=1.0).errors
    assert 0.3 < errors.nees.mean() < 2.0
    known = gr.evaluate(motion.replace(start="wheels"), noisy, interval=1.0).errors
    # Where the wheels grip, a wrong start is forgotten.
    assert np.median(errors.covariance[:, 0, 0] / known.covariance[:, 0, 0]) > 10.0


def test_what_cannot_stand_on_a_ground_is_refused_in_one_sentence():
    motion = MotionModel(model=DifferentialDrive(vehicle=drives.warthog()))
    with pytest.raises(CalibrationError, match="DifferentialDrive takes its attitude from the log"):
        motion.replace(ground=LEVEL)
    with pytest.raises(CalibrationError, match="start 'now' is not one of poses, wheels"):
        motion.replace(start="now")


def test_poses_that_jump_are_not_taken_for_speed():
    sensor = Sensor(position_noise=1e-3, yaw_noise=1e-3)
    log, _ = turning_log(sensor, seed=1)
    assert unevenness(log)[0] < 5e-3
    jumps = 0.3 * (np.arange(len(log.poses)) % 3 == 0)  # every third pose is late by a lidar's period
    jumping = replace(log, poses=replace(log.poses, position=log.poses.position + jumps[:, None]))
    assert unevenness(jumping)[0] == pytest.approx(np.std(jumps), rel=0.5)
    assert unevenness(jumping)[2] < 5e-3
    motion = MotionModel(model=gr.Kinematics(drives.warthog()), sensor=sensor)
    some = cut_log(log, motion, interval=0.5).only(slice(3, None))
    rolling = np.tile([2.5, 0.3, 0.6], (len(some), 1))
    moved = replace(some, start=some.start + jumps[np.searchsorted(log.poses.time, some.times[:, 0] - 1e-9)][:, None])
    found = start_velocity(jumping, sensor, moved, rolling)
    # Believed to a millimetre they would be speeds of metres per second.
    assert np.abs(found.velocity - rolling)[:, :2].max() < 1.2
