"""Logs of simulated drives say what sensors on that vehicle would have said."""

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_motion, log_of_run
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.motion.log_prediction import predict_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.slip import BodySlip

CAR = gr.vehicle("warthog")


def kinematics():
    return gr.Kinematics(CAR, slip=BodySlip([-0.3, -0.05, -0.1, -0.02, 0.01, -0.4]), integrator="rk4")


def drive(dt, duration=10.0):
    """Smoothly changing speed and turn, sampled amid each step."""
    t = np.arange(0.0, duration, dt) + 0.5 * dt
    speed, turn = 1.5 + np.sin(t), 0.8 * np.cos(1.3 * t)
    left, right = (speed - 0.54 * turn) / 0.3, (speed + 0.54 * turn) / 0.3
    rates = np.stack([left, right, left, right], axis=1)
    return gr.simulate(kinematics(), gr.terrain.slope(10.0), gr.drive.table(rates), duration=duration, dt=dt)


@pytest.fixture(scope="module")
def run():
    return drive(0.02)


def errors(log, model):
    return np.abs(predict_log(MotionModel(model=model, sensor=log.sensor), log).error).max()


def test_the_model_that_drove_predicts_its_log_to_second_order():
    sensor = Sensor(x=0.3, y=0.2, z=0.5, lag=0.08)
    coarse, fine = (errors(log_of_run(drive(dt), sensor=sensor), kinematics()) for dt in (0.04, 0.02))
    assert fine < 1e-4
    assert coarse / fine == pytest.approx(4.0, rel=0.2)


def test_a_log_repeats_the_run(run):
    log = log_of_run(run, pose_rate=10.0)
    assert log.time[[0, -1]] == pytest.approx([0.0, 10.0])
    assert len(log) == run.steps + 2
    assert np.all(np.diff(log.time) > 0.0)
    assert log.report.pose_period == pytest.approx(0.1)
    np.testing.assert_allclose(log.poses.position, run.position[::5], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(log.poses.attitude, run.rpy[::5], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(log.rates["FL"][1:-1], run.command[:-1, 0], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(log.commands["BR"][1:-1], run.command[:-1, 3], rtol=0.0, atol=0.0)
    # Encoders count every turn: rates held over their steps give the angle back.
    assert run.dt * log.rates["FR"][1:-1].sum() == pytest.approx(run.joint("FR")[-1] - run.joint("FR")[0], rel=1e-12)


def test_a_mounted_sensor_sees_its_own_pose_late(run):
    sensor = Sensor(x=0.4, y=-0.3, z=0.7, yaw=0.5, lag=0.12)
    bare, log = log_of_run(run), log_of_run(run, sensor=sensor)
    R = gr.rotation.from_rpy(*bare.poses.attitude.T)
    arm = np.array([0.4, -0.3, 0.7])
    np.testing.assert_allclose(log.poses.position, bare.poses.position + R @ arm, rtol=0.0, atol=1e-12)
    R_sensor = gr.rotation.from_rpy(*log.poses.attitude.T)
    np.testing.assert_allclose(R_sensor, R @ gr.rotation.from_rpy(0.0, 0.0, 0.5), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(log.poses.time, bare.poses.time + 0.12)


def test_noise_has_the_stated_size_and_a_seed_repeats_it(run):
    noise = {"position_noise": 0.05, "yaw_noise": 0.02, "rate_noise": 0.3, "inclination_noise": 0.01, "pose_rate": 50.0}
    clean = log_of_run(run, pose_rate=50.0)
    log, again, other = (log_of_run(run, seed=seed, **noise) for seed in (1, 1, 2))
    assert np.array_equal(log.poses.position, again.poses.position)
    assert not np.array_equal(log.poses.position, other.poses.position)
    # 500 to 1500 samples: a sample deviation is within a tenth of the true one at 3σ.
    assert (log.poses.position - clean.poses.position).std() == pytest.approx(0.05, rel=0.1)
    assert (log.poses.attitude - clean.poses.attitude)[:, 2].std() == pytest.approx(0.02, rel=0.1)
    assert (log.rates["FL"] - clean.rates["FL"]).std() == pytest.approx(0.3, rel=0.1)
    assert (log.attitude - clean.attitude).std() == pytest.approx(0.01, rel=0.1)
    assert log.sensor.position_noise == 0.05


def test_several_runs_are_segments_of_one_log(run):
    log = log_of_run([run, run], pose_rate=5.0)
    assert log.n_segments == 2
    assert set(log.poses.segment) == {0, 1}
    half = len(log) // 2
    assert np.array_equal(log.time[:half], log.time[half:])
    assert log.duration == pytest.approx(20.0, abs=0.1)


def test_a_log_of_a_motion_model_is_predicted_by_it_exactly(run):
    made = log_of_run(run)
    motion = MotionModel(model=kinematics(), sensor=Sensor(x=0.2, y=0.1, lag=0.1))
    log = log_of_motion(motion, made.time, made.rates, attitude=made.attitude, seed=None)
    assert np.abs(predict_log(motion, log).error).max() < 1e-9


@pytest.mark.parametrize("grows", ["time", "distance"])
def test_noise_of_a_motion_model_scatters_the_ends_as_it_predicts(grows):
    """300 drives of 2 s: mean normalised square error of 3 numbers, within 3σ of its mean."""
    n, drives = 41, 300
    time = np.tile(np.linspace(0.0, 2.0, n), drives)
    segment = np.repeat(np.arange(drives), n)
    density = np.array([[0.02, 0.004, 0.0], [0.004, 0.01, 0.002], [0.0, 0.002, 0.005]])
    motion = MotionModel(
        model=gr.Kinematics(CAR),
        noise=Noise(components=("vx", "vy", "wz"), density=density, form="full", grows=grows),
        sensor=Sensor(position_noise=0.02, yaw_noise=0.01),
    )
    rates = {w: np.full(len(time), 4.0 if w.endswith("L") else 6.0) for w in CAR.wheels}
    log = log_of_motion(motion, time, rates, segment=segment, poses_every=n - 1, seed=5)
    prediction = predict_log(motion, log, interval=None)
    assert len(prediction.times) == drives
    square = np.einsum("ni,nij,nj->n", prediction.error, np.linalg.inv(prediction.covariance), prediction.error)
    assert square.mean() == pytest.approx(3.0, abs=3.0 * np.sqrt(6.0 / drives))


def test_a_model_that_needs_a_ground_is_refused(run):
    motion = MotionModel(model=gr.Kinematics(CAR), ground=gr.terrain.plane())
    with pytest.raises(CalibrationError, match="attitude is an input"):
        log_of_motion(motion, np.arange(3.0), {"FL": np.ones(3)})
    with pytest.raises(CalibrationError, match="at least one run"):
        log_of_run([])
