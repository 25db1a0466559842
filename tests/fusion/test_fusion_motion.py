"""The filter's geometry: strapdown integration, levers, relative poses, delays, slip, all with exact inputs."""

from itertools import pairwise

import numpy as np
import pytest
from fusion_motions import QUIET, feed_imu, standing, wavy_path

from experiments.sensors import exponential
from grouser import rotation
from grouser.fusion.filter import Fusion, FusionSettings

PLACE = (0.2, -0.1, 0.15)
BIAS = np.array([0.015, -0.015, 0.0])
RATE = np.arange(0.0, 20.0, 0.01)


@pytest.fixture(scope="module")
def path():
    return wavy_path()


def relative(path, a, b):
    Ra, Rb = (rotation.from_quaternion(path.quaternion([t])[0]) for t in (a, b))
    return Ra.T @ (path.position([b])[0] - path.position([a])[0]), rotation.to_quaternion(Ra.T @ Rb)


def test_specific_force_and_rates_integrate_back_to_the_path(path):
    """Trapezoids of 10 ms on motions below 1 Hz: errors of second order, millimetres after 18 s."""
    fusion = Fusion(FusionSettings(imu_position=PLACE, **QUIET))
    feed_imu(fusion, path, RATE, place=PLACE)
    e = fusion.estimate
    assert np.linalg.norm(e.position - path.position([e.time])[0]) < 5e-3
    assert np.linalg.norm(e.velocity - path.velocity([e.time])[0]) < 2e-3
    turn = rotation.from_quaternion(e.quaternion).T @ rotation.from_quaternion(path.quaternion([e.time])[0])
    assert np.abs(turn - np.eye(3)).max() < 1e-4
    assert np.abs(e.twist - path.twist([e.time])[0]).max() < 2e-3


def test_integration_error_falls_with_the_square_of_the_step(path):
    errors = []
    for step in (0.02, 0.01):
        fusion = Fusion(FusionSettings(**QUIET, rate=1.0 / step))
        feed_imu(fusion, path, np.arange(0.0, 15.0 + 1e-9, step))
        errors.append(np.linalg.norm(fusion.estimate.position - path.position([15.0])[0]))
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_biases_seen_at_rest_are_taken_out():
    fusion = Fusion(FusionSettings(**QUIET))
    for t in np.arange(0.0, 1.5, 0.01):
        fusion.imu(t, [0.01, -0.02, 0.03], [0.0, 0.0, 9.86])
    e = fusion.estimate
    assert e.gyro_bias == pytest.approx([0.01, -0.02, 0.03], abs=1e-5)
    assert e.acceleration_bias[2] == pytest.approx(0.05, abs=1e-5)


def test_a_tilted_start_is_levelled_and_its_tilt_is_as_uncertain_as_the_accelerometer_bias():
    roll, pitch = 0.1, -0.2
    force = rotation.from_rpy(roll, pitch, 0.0).T @ np.array([0.0, 0.0, 9.81])
    fusion = Fusion(FusionSettings(acceleration_bias=0.05), yaw=0.7)
    for t in np.arange(0.0, 1.2, 0.01):
        fusion.imu(t, np.zeros(3), force)
    e = fusion.estimate
    assert rotation.to_rpy(rotation.from_quaternion(e.quaternion)) == pytest.approx([roll, pitch, 0.7], abs=1e-3)
    # tilt = b/g; along the body's x the accelerometer sees little of the vertical
    assert np.sqrt(e.covariance[1, 1]) == pytest.approx(0.05 / 9.81, rel=0.1)
    # More pitch (nose down) than believed, θ_y > 0, shows as f_x < 0 that a positive bias must have hidden.
    assert e.covariance[1, 12] > 0.0


@pytest.mark.parametrize("point", [(0.0, 0.0, 0.0), (0.3, 0.1, -0.5)])
def test_wheels_correct_a_velocity_at_the_point_they_tell_about(path, point):
    """Without wheels the bias is 0.3 m/s after 18 s; a wrong lever or sign would leave ω × lever, up to 0.1 m/s."""
    none = (1e-6, 1e-6, 1e-6)
    fusion = Fusion(FusionSettings(imu_position=PLACE, wheel_point=point, slip=none, lasting_slip=none, **QUIET))
    gyro, force = path.rate(RATE), path.specific_force(RATE, PLACE)
    twist = path.twist(RATE)
    twist[:, 3:] += np.cross(twist[:, :3], point)
    seen = (False, False, False, True, True, True)
    for t, w, f, v in zip(RATE, gyro, force, twist, strict=True):
        fusion.imu(t, w, f + BIAS)
        fusion.wheels(t, v, 1e-6 * np.eye(6), seen)
    assert np.abs(fusion.estimate.twist[3:] - path.twist([RATE[-1]])[0, 3:]).max() < 4e-3
    assert fusion.nis["wheels"].refused == 0


def test_only_observed_directions_are_used():
    """Vertical speed is nonsense here, and NaN where not observed."""
    fusion = standing()
    before = fusion.estimate
    for k in range(50):
        t = fusion.time + 0.01
        fusion.imu(t, np.zeros(3), [0.0, 0.0, 9.81])
        fusion.wheels(t, [np.nan, np.nan, 0.0, 0.0, 0.0, 5.0 + k], 1e-6 * np.eye(6))
    assert fusion.nis["wheels"].refused == 0
    assert fusion.estimate.velocity == pytest.approx(before.velocity, abs=1e-3)
    assert "wheels_not_finite" not in fusion.faults


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_relative_poses_remove_the_drift_of_a_biased_imu(path, announced, delay):
    """A frame, sign or time error of a clone would leave centimetres per frame, which the gate would refuse."""
    fusion, alone = (Fusion(FusionSettings(imu_position=PLACE)) for _ in range(2))
    frames = np.arange(1.5, 19.0, 0.1)
    gyro, force = path.rate(RATE), path.specific_force(RATE, PLACE) + BIAS
    due = [(b + delay, a, b) for a, b in pairwise(frames)]
    marks = list(frames)
    noise = 1e-8 if announced or delay == 0.0 else 1e-6  # a pose from the history is not exact to a tenth of a mm
    for t, w, f in zip(RATE, gyro, force, strict=True):
        fusion.imu(t, w, f)
        alone.imu(t, w, f)
        while marks and marks[0] <= t + 1e-9:
            mark = marks.pop(0)
            if announced:
                fusion.keyframe(mark)
        while due and due[0][0] <= t + 1e-9:
            _, a, b = due.pop(0)
            fusion.relative_pose(a, b, *relative(path, a, b), noise * np.eye(6))
    assert fusion.nis["poses"].used > 165
    assert fusion.nis["poses"].refused == 0
    drift, error = (np.linalg.norm(f.estimate.position - path.position([f.time])[0]) for f in (alone, fusion))
    assert drift > 0.5
    # the tilt that the bias left at the start, 2 mrad over 9 m, and what the noise of each step allows
    assert error < 0.06


def test_a_late_wheel_velocity_is_compared_with_the_velocity_of_its_time(path):
    """While the speed changes by 0.5 m/s², 0.2 s of delay taken as now would be 0.1 m/s."""
    estimates = []
    for late in (0.0, 0.2):
        fusion = Fusion(FusionSettings(**QUIET))
        gyro, force, twist = path.rate(RATE), path.specific_force(RATE), path.twist(RATE)
        lag = round(late / 0.01)
        for k in range(500):
            fusion.imu(RATE[k], gyro[k], force[k])
            if k >= lag:
                fusion.wheels(RATE[k - lag], twist[k - lag], 1e-6 * np.eye(6))
        assert fusion.nis["wheels"].refused == 0
        estimates.append(fusion.estimate)
    assert estimates[1].velocity == pytest.approx(estimates[0].velocity, abs=2e-3)
    assert estimates[1].velocity == pytest.approx(path.velocity([RATE[499]])[0], abs=3e-3)


def test_measurements_ahead_of_the_imu_wait_for_it(path):
    """Wheels and frames between IMU samples, given before the sample that follows them."""
    fusion = Fusion(FusionSettings(**QUIET))
    gyro, force = path.rate(RATE), path.specific_force(RATE)
    for k in range(1000):
        fusion.imu(RATE[k], gyro[k], force[k])
        between = RATE[k] + 0.004
        fusion.wheels(between, path.twist([between])[0], 1e-8 * np.eye(6))
    assert not fusion.faults.keys() - {"poses_missing"}
    assert fusion.nis["wheels"].refused == 0
    assert fusion.estimate.velocity == pytest.approx(path.velocity([fusion.time])[0], abs=2e-3)


def test_constant_slip_is_learned_from_relative_poses(path):
    """Odometry 10 % too fast: v_true = v_odometry + u s, so s = −0.1/1.1 of the odometry, −0.1 of the true speed."""
    fusion = Fusion(FusionSettings(slip=(0.1, 0.1, 0.1), lasting_slip=(0.1, 0.1, 0.1), **QUIET))
    gyro, force, twist = path.rate(RATE), path.specific_force(RATE), path.twist(RATE)
    twist[:, 3:] *= 1.1
    for k in range(1900):
        fusion.imu(RATE[k], gyro[k], force[k])
        fusion.wheels(RATE[k], twist[k], 1e-5 * np.eye(6), (False, False, False, True, True, False))
        if k % 10 == 0:
            fusion.keyframe(RATE[k])
            if k > 120:
                a, b = RATE[k - 10], RATE[k]
                fusion.relative_pose(a, b, *relative(path, a, b), 1e-8 * np.eye(6))
    ahead = path.twist([fusion.time])[0, 3:5] / np.linalg.norm(path.twist([fusion.time])[0, 3:5])
    assert fusion.estimate.slip[:2] == pytest.approx(-0.1 * ahead, abs=0.02)


def test_covariance_is_of_the_body_frame_error(path):
    """Estimates of many noisy runs scatter as the stated covariance says, in body axes, rotation first."""
    random = np.random.default_rng(1)
    samples, settings = [], FusionSettings(imu_position=PLACE, gyro_bias=1e-3, acceleration_bias=1e-2)
    noise = np.repeat([3e-4, 1e-3], 3) * 10.0
    for _ in range(60):
        fusion = Fusion(settings)
        bias = np.repeat([1e-3, 1e-2], 3) * random.standard_normal(6)
        feed_imu(fusion, path, RATE[:700], place=PLACE, bias=bias, noise=noise, random=random)
        e = fusion.estimate
        R = rotation.from_quaternion(e.quaternion)
        rho = R.T @ (path.position([e.time])[0] - e.position)
        nu = R.T @ (path.velocity([e.time])[0] - e.velocity)
        turn = R.T @ rotation.from_quaternion(path.quaternion([e.time])[0])
        theta = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        samples.append(np.concatenate([theta, nu, rho]))
    scatter = np.sqrt(np.mean(np.square(samples), axis=0))
    # 60 samples: one sigma of a standard deviation is 9 %
    assert scatter == pytest.approx(np.sqrt(np.diag(e.covariance)[:9]), rel=0.35)


def test_exponential_of_small_and_large_rotations():
    assert exponential(np.array([[0.0, 0.0, np.pi / 2]]))[0] @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0])
    assert exponential(np.zeros((1, 3)))[0] == pytest.approx(np.eye(3))
