"""What may be handed to the fusion filter, and what comes out of it in ROS order."""

import copy
import pickle

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.errors import FusionError, OdometryError
from grouser.fusion import Fusion, FusionSettings
from grouser.odometry import ros_odometry, write_csv, write_tum
from grouser.odometry.estimate import NOT_OBSERVED

REST = (0.0, 0.0, 9.81)


def aligned(start=0.0, **settings):
    fusion = Fusion(FusionSettings(**settings))
    for k in range(150):
        fusion.imu(start + 0.01 * k, (0.0, 0.0, 0.0), REST)
    return fusion


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f: f.imu(1.5, (0.0, 0.0), REST), r"gyro: has shape \(2,\), needs \(3,\)"),
        (lambda f: f.imu(1.5, (0.0, 0.0, 0.0), 9.81), r"acceleration: has shape \(\), needs \(3,\)"),
        (lambda f: f.imu("now", (0.0, 0.0, 0.0), REST), "t: 'now' is not a number"),
        (lambda f: f.wheels(1.5, np.zeros(5), np.eye(6)), r"twist: has shape \(5,\), needs \(6,\)"),
        (lambda f: f.wheels(1.5, "fast", np.eye(6)), "twist: is not an array"),
        (lambda f: f.wheels(1.5, np.zeros(6), 1e-4), r"covariance: has shape \(\), needs \(6, 6\)"),
        (lambda f: f.wheels(1.5, np.zeros(6), np.eye(6), observed=[True]), r"observed: has shape \(1,\)"),
        (lambda f: f.wheels(None, np.zeros(6), np.eye(6)), "t: None is not a number"),
        (lambda f: f.keyframe("later"), "t: 'later' is not a number"),
        (lambda f: f.relative_pose(1.0, 1.4, 0.0, (1, 0, 0, 0), np.eye(6)), r"position: has shape \(\)"),
        (lambda f: f.relative_pose(1.0, 1.4, (0, 0, 0), (1, 0, 0), np.eye(6)), r"quaternion: has shape \(3,\)"),
        (lambda f: f.relative_pose(1.0, 1.4, (0, 0, 0), (1, 0, 0, 0), np.eye(5)), r"covariance: has shape \(5, 5\)"),
        (lambda f: f.relative_pose("a", 1.4, (0, 0, 0), (1, 0, 0, 0), np.eye(6)), "t_from: 'a' is not a number"),
        (lambda _: Fusion(3), "settings: 3 is not a FusionSettings"),
    ],
)
def test_what_has_another_shape_is_refused_by_name_and_nothing_is_taken_in(call, said):
    fusion = aligned()
    before = fusion.estimate
    with pytest.raises(FusionError, match=said):
        call(fusion)
    assert fusion.time == before.time
    fusion.imu(1.5, (0.0, 0.0, 0.0), REST)
    assert np.abs(fusion.estimate.position).max() < 1e-6


@pytest.mark.parametrize("matrix", [-np.eye(6), np.eye(6) + 3.0 * np.eye(6, k=1), np.ones((6, 6)) - 0.5 * np.eye(6)])
def test_a_matrix_that_is_no_covariance_is_a_fault(matrix):
    fusion = aligned()
    before = fusion.estimate.covariance
    fusion.wheels(1.49, (0, 0, 0, 0.3, 0, 0), matrix, observed=np.ones(6, dtype=bool))
    fusion.relative_pose(1.0, 1.4, (0.1, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), matrix)
    assert fusion.faults["wheels_not_finite"] == 1
    assert fusion.faults["pose_not_finite"] == 1
    np.testing.assert_array_equal(fusion.estimate.covariance, before)
    assert fusion.nis["wheels"].used == fusion.nis["poses"].used == 0


def test_alignment_does_not_depend_on_where_the_clock_begins():
    early, late = aligned(), aligned(start=4096.0)  # stamps of both are exact to 1e-12 s
    np.testing.assert_allclose(late.estimate.covariance, early.estimate.covariance, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(late.estimate.gyro_bias, early.estimate.gyro_bias, rtol=0.0, atol=1e-12)


def test_settings_may_be_lists():
    assert FusionSettings(imu_position=[0.1, 0.0, 0.2]).imu_position == (0.1, 0.0, 0.2)
    with pytest.raises(FusionError, match="fusion imu_position"):
        FusionSettings(imu_position=0.1)


def test_a_slow_imu_needs_a_longer_gap():
    with pytest.raises(FusionError, match=r"fusion gap: 0\.05 s is not longer than the 0\.05 s between"):
        FusionSettings(rate=20.0)
    slow = Fusion(FusionSettings(rate=20.0, gap=0.2))
    for k in range(40):
        slow.imu(0.05 * k, (0.0, 0.0, 0.0), REST)
    assert slow.ready
    assert "imu_gap" not in slow.faults


def test_a_filter_is_saved_and_goes_on_as_if_nothing_had_happened():
    fusion = aligned()
    saved, copied = pickle.loads(pickle.dumps(fusion)), copy.deepcopy(fusion)
    for one in (fusion, saved, copied):
        for k in range(150, 200):
            one.imu(0.01 * k, (0.0, 0.0, 0.1), (0.2, 0.0, 9.81))
    for other in (saved, copied):
        np.testing.assert_array_equal(other.estimate.position, fusion.estimate.position)
        np.testing.assert_array_equal(other.estimate.covariance, fusion.estimate.covariance)
    copied.imu(2.0, (0.0, 0.0, 0.1), (0.2, 0.0, 9.81))
    assert copied.time > fusion.time  # they share nothing


def test_fusion_speaks_ros_and_tum(tmp_path):
    fusion = aligned(start=1.7e9)
    e = fusion.estimate
    message = ros_odometry(e)
    assert message["pose"]["covariance"] == e.ros_pose_covariance().tolist()
    world = e.ros_pose_covariance().reshape(6, 6)
    R = rotation.from_quaternion(e.quaternion)
    np.testing.assert_allclose(world[:3, :3], R @ e.pose_covariance[3:, 3:] @ R.T)
    np.testing.assert_allclose(world[3:, 3:], R @ e.pose_covariance[:3, :3] @ R.T)
    twist = e.ros_twist_covariance().reshape(6, 6)
    np.testing.assert_array_equal(twist[3:, 3:], e.twist_covariance[:3, :3])
    write_tum(tmp_path / "fused.tum", [e])
    assert np.loadtxt(tmp_path / "fused.tum")[0] == e.time
    with pytest.raises(OdometryError, match="3 is not an estimate"):
        write_tum(tmp_path / "wrong.tum", [3])
    with pytest.raises(OdometryError, match="is not an Estimate"):
        write_csv(tmp_path / "wrong.csv", [e])
    assert not (tmp_path / "wrong.tum").exists()


def test_what_wheels_do_not_observe_is_no_certainty_in_a_message():
    husky = gr.vehicle("husky")
    odometry = gr.Odometry(husky)
    rates = dict.fromkeys(husky.wheels, 3.0)
    odometry.update(0.0, rates, attitude=(0.0, 0.0))
    e = odometry.update(0.1, rates, attitude=(0.0, 0.0))
    variance = e.ros_twist_covariance().reshape(6, 6).diagonal()  # x, y, z, then about x, y, z
    assert variance[[2, 3, 4]].tolist() == [NOT_OBSERVED] * 3
    np.testing.assert_array_equal(variance[[0, 1, 5]], e.twist_covariance.diagonal()[[3, 4, 2]])
    lost = odometry.update(0.2, {}, attitude=(0.0, 0.0))  # all encoders are silent
    assert lost.ros_twist_covariance()[0] >= 0.9  # m²/s² of v_x: unknown
