"""Order, loss and recovery: what the fusion filter does with measurements besides the linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from fusion_motions import feed_imu, standing, wavy_path
from fusion_reference import READING, SETTINGS, STATE, general_memory, one_event, put
from test_fusion_jacobians import run_remember, two_clones

from grouser import rotation
from grouser._compile.jit import entry
from grouser._kernels.fusion import pose, wheels
from grouser._kernels.fusion.memory import LOOSE, WATCHED
from grouser.fusion import Fusion, FusionSettings

STILL = (np.zeros(3), np.array([0.0, 0.0, 9.81]))
NO_MOTION = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


@entry
def run_refuse(m):
    wheels.refuse_wheels(m)


@entry
def run_review(m, agrees):
    wheels.review_distrust(m, agrees != 0)


@entry
def run_measure_wheels(m, drive):
    wheels.measure_wheels(m, drive.events[0])


@entry
def run_open_motion(m, drive):
    pose.open_motion(m, drive.events[0], 1, 0)


def memory(fusion):
    return fusion._memory


def test_measurements_that_wait_are_taken_in_the_order_of_their_times():
    fusion = standing(2.0)
    clones = int(memory(fusion).counts.clones)
    for ahead in (0.008, 0.003, 0.006):
        fusion.keyframe(2.0 + ahead)
    fusion.imu(2.01, *STILL)
    times = memory(fusion).clones.time[clones : clones + 3]
    np.testing.assert_allclose(times, [2.003, 2.006, 2.008])


def test_a_sample_between_two_times_is_that_of_the_line_between_them():
    fusion = standing(2.0)
    fusion.keyframe(2.004)
    fusion.imu(2.01, [0.0, 0.0, 1.0], STILL[1])  # the rate grows by 100 rad/s²: 0.8 mrad after 4 ms, 5 after 10
    np.testing.assert_allclose(2.0 * memory(fusion).clones[1].quaternion[3], 8e-4, rtol=1e-3)
    assert fusion.estimate.yaw == pytest.approx(5e-3, rel=1e-3)


def test_a_lost_reading_makes_both_of_its_steps_uncertain():
    fusion = standing(2.0)
    growth = []
    for rate in (0.0, 6.0, 0.0, 0.0):
        before = fusion.estimate.covariance[0, 0]
        fusion.imu(fusion.time + 0.01, [rate, 0.0, 0.0], STILL[1])
        growth.append(fusion.estimate.covariance[0, 0] - before)
    assert growth[1] == pytest.approx(growth[2], rel=1e-3)
    assert growth[1] == pytest.approx(5.2**2 * 0.1 * 0.01, rel=1e-2)
    assert max(growth[0], growth[3]) < 1e-3 * growth[1]


def test_a_shock_that_saturates_the_accelerometer_leaves_its_last_good_reading():
    fusion = standing(2.0)
    fusion.imu(2.01, STILL[0], [0.0, 41.0, 9.81])
    fusion.imu(2.02, *STILL)
    assert np.abs(fusion.estimate.velocity).max() < 1e-4


def test_the_rolling_speed_ends_with_the_wheels():
    fusion = standing(2.0)
    memory(fusion).state.velocity[0] = 0.4
    fusion.wheels(fusion.time, [0, 0, 0, 0.4, 0, 0], np.eye(6))
    assert memory(fusion).clock.rolling_speed == pytest.approx(0.4, rel=0.1)
    for _ in range(55):
        fusion.imu(fusion.time + 0.01, *STILL)
    assert memory(fusion).clock.rolling_speed == 0.0


def test_a_silence_is_counted_once():
    fusion = standing(4.0)
    assert fusion.faults == {"poses_missing": 1}


def test_the_beginning_of_a_pose_is_forgotten_and_its_end_is_kept():
    fusion = standing(2.0)
    fusion.keyframe(2.0)
    fusion.imu(2.1, *STILL)
    fusion.imu(2.11, *STILL)
    fusion.keyframe(2.11)
    fusion.relative_pose(2.0, 2.11, *NO_MOTION, 1e-4 * np.eye(6))
    count = memory(fusion).counts.clones
    assert memory(fusion).clones.time[:count].tolist() == [2.11]


def test_a_clone_that_makes_room_does_not_shift_the_others_of_a_pose():
    """All five places are taken; the end of the pose is not among them, so that the first is forgotten."""
    path, times = wavy_path(8.0), np.arange(0.0, 7.0, 0.01)
    fusion = Fusion(FusionSettings(clones=4))
    feed_imu(fusion, path, times[:600])
    frames = times[[560, 570, 580, 590, 599]]
    for t in frames:
        fusion.keyframe(t)
    assert memory(fusion).counts.clones == 5
    (pa, pb), (qa, qb) = path.position([frames[1], 5.955]), path.quaternion([frames[1], 5.955])
    Ra, Rb = rotation.from_quaternion(qa), rotation.from_quaternion(qb)
    fusion.relative_pose(frames[1], 5.955, Ra.T @ (pb - pa), rotation.to_quaternion(Ra.T @ Rb), 1e-6 * np.eye(6))
    assert (fusion.nis["poses"].used, fusion.nis["poses"].refused) == (1, 0)


def test_poses_that_contradict_wheels_for_long_are_admitted_with_the_noise_they_show():
    fusion = standing(2.0)
    for k in range(150):
        fusion.imu(fusion.time + 0.01, *STILL)
        fusion.wheels(fusion.time, np.zeros(6), 1e-6 * np.eye(6))
        if k % 10 == 9:
            fusion.relative_pose(fusion.time - 0.1, fusion.time, [0.05, 0, 0], NO_MOTION[1], 1e-8 * np.eye(6))
    assert fusion.faults["pose_refused"] >= 10
    assert fusion.faults["pose_readmitted"] >= 1
    assert fusion.nis["poses"].used >= 1
    assert abs(fusion.estimate.velocity[0]) < 0.05  # 0.5 m/s by the poses


def test_refused_poses_open_velocity_and_gyro_bias_by_their_residual():
    m = general_memory()
    two_clones(m)
    before = m.covariance.diagonal().copy()
    run_open_motion(m, one_event(time=10.0, start=9.6, quaternion=NO_MOTION[1], position=np.array([0.4, -0.3, 0.7])))
    added = m.covariance.diagonal() - before
    r = m.residual
    np.testing.assert_allclose(added[3:6], r[3:] @ r[3:] / 0.16)
    np.testing.assert_allclose(added[9:12], r[:3] @ r[:3] / 0.16)
    assert np.count_nonzero(added) == 6


@pytest.mark.parametrize("state", [0, WATCHED, LOOSE])
def test_wheels_are_distrusted_after_refusals_that_last(state):
    m = general_memory()
    m.counts.distrusted = state
    for now in (10.0, 10.2):
        m.clock.now = now
        run_refuse(m)
        assert m.counts.distrusted == state
    m.clock.now, m.clock.calm = 10.31, 10.1
    run_refuse(m)
    assert m.counts.distrusted == (state or WATCHED)
    assert m.faults.wheels_distrusted == (state == 0)
    assert np.isnan(m.clock.calm)


def test_watched_wheels_are_trusted_after_two_calm_seconds_and_a_refusal_sets_them_back():
    m = general_memory()
    m.counts.distrusted, m.clock.poses = WATCHED, 20.0
    for now, agrees, distrusted in ((10.0, 1, 1), (11.0, 0, 1), (12.1, 1, 1), (12.25, 1, 0)):
        m.clock.now = now
        run_review(m, agrees)
        assert m.counts.distrusted == distrusted, now


def test_without_poses_and_gps_distrusted_wheels_are_used_with_the_noise_of_a_wide_slip():
    """White noise of the density of a slip σ u that is correlated along L: 2 (σ u)² (L / u) over the time between."""
    m = general_memory()
    m.counts.distrusted, m.clock.poses = WATCHED, 8.0
    for _ in range(2):
        run_review(m, 1)
        assert m.counts.distrusted == LOOSE
    m.clock.rolling_time = 9.98
    seen = np.array([0, 0, 0, 1, 0, 0])
    run_measure_wheels(m, one_event(time=10.0, observed=seen, covariance=1e-4 * np.eye(6), twist=np.ones(6)))
    rate = READING[:3] - STATE.gyro_bias
    v = STATE.R.T @ STATE.v + np.cross(rate, np.subtract(SETTINGS.wheel_point, SETTINGS.imu_position))
    u = max(np.linalg.norm([v[0], v[1], SETTINGS.slip_arm * rate[2]]), np.linalg.norm([1, 1, SETTINGS.slip_arm]))
    wide = 2.0 * SETTINGS.distrust_slip[0] ** 2 * u * SETTINGS.slip_length / 0.02
    assert m.noise[0, 0] == pytest.approx(wide, rel=1e-3)
    assert not m.H[0, 15:].any()
    for source in ("poses", "gps"):
        m.clock.poses, m.clock.gps = 8.0, -np.inf
        m.clock[source] = 9.9
        run_review(m, 1)
        assert m.counts.distrusted == WATCHED


def test_a_late_velocity_has_the_accelerometers_noise_of_its_delay():
    m = general_memory()
    for k in range(5):
        put(STATE.after(-0.05 + 0.01 * k), m)
        m.clock.now = 9.95 + 0.01 * k
        run_remember(m)
    put(STATE, m)
    m.clock.now = m.clock.poses = 10.0
    seen = np.array([0, 0, 0, 0, 0, 1])
    run_measure_wheels(m, one_event(time=9.97, observed=seen, covariance=1e-4 * np.eye(6), twist=np.ones(6)))
    lever = np.subtract(SETTINGS.wheel_point, SETTINGS.imu_position)
    gyro = SETTINGS.gyro_noise**2 / 0.01 * (lever[0] ** 2 + lever[1] ** 2)
    assert m.noise[0, 0] == pytest.approx(1e-4 + gyro + 0.03 * SETTINGS.acceleration_noise**2, rel=1e-12)
    assert m.then.time == 9.97
    np.testing.assert_array_equal(m.then.gyro, READING[:3])
    assert m.wheels.used + m.wheels.refused == 1
