"""Estimates in files and in ROS order."""

import csv

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.odometry import EncoderNoise, ros_odometry, write_csv, write_tum
from grouser.odometry.estimate import COLUMNS, COVARIANCE_COLUMNS


@pytest.fixture(scope="module")
def estimates():
    """A drive straight along the world's y, on a side slope, with noise that tells all components apart."""
    husky = gr.vehicle("husky")
    noise = gr.Noise(components=("vx", "vy", "wz"), density=np.diag([4e-3, 1e-3, 2e-3]), grows="time")
    odometry = gr.Odometry(
        gr.MotionModel(model=gr.Kinematics(husky), noise=noise),
        noise=EncoderNoise(rate=0.0, attitude=0.01),
        yaw=0.5 * np.pi,
        position=(1.0, 2.0, 3.0),
    )
    return [odometry.update(0.1 * k, dict.fromkeys(husky.wheels, 5.0), None, (0.2, 0.0)) for k in range(30)]


def test_ros_twist_covariance_has_speeds_first(estimates):
    e = estimates[-1]
    ros = e.ros_twist_covariance().reshape(6, 6)
    own = e.twist_covariance
    assert ros.shape == (6, 6)
    assert e.ros_twist_covariance().shape == (36,)
    # x, y, z, then rotations about x, y, z: v_x is noisier than v_y, ω_z is last.
    assert ros[0, 0] == own[3, 3] > ros[1, 1] == own[4, 4] > 0.0
    assert ros[5, 5] == own[2, 2] > 0.0
    assert ros[5, 1] == own[2, 4]
    assert ros[1, 5] == own[4, 2]


def test_ros_pose_covariance_is_in_world_axes(estimates):
    e = estimates[-1]
    ros = e.ros_pose_covariance().reshape(6, 6)
    assert ros == pytest.approx(ros.T)
    # The body's x is the world's y: along-track noise of q T = 4e-3 · 2.9 stands at y, index 1.
    assert ros[1, 1] == pytest.approx(4e-3 * 2.9, rel=0.01)
    # Yaw is about the world's Z, whatever the roll; errors of roll turn about the world's y, of pitch about −x.
    # Of ω_z only the part about the vertical turns the heading: cos 0.2.
    assert ros[5, 5] == pytest.approx(2e-3 * np.cos(0.2) ** 2 * 2.9, rel=0.01)
    assert ros[3, 3] == pytest.approx(1e-4, rel=0.01)
    assert ros[4, 4] == pytest.approx(1e-4, rel=0.01)
    # A yaw error to the left moves a vehicle that went along +y towards −x.
    v = 5.0 * gr.vehicle("husky").arrays.radius[0]
    assert ros[0, 5] == pytest.approx(-2e-3 * np.cos(0.2) ** 2 * v * 2.9**2 / 2.0, rel=0.02)


def test_ros_covariance_of_position_is_that_of_the_body_turned(estimates):
    e = estimates[-1]
    R = rotation.from_quaternion(e.quaternion)
    ros = e.ros_pose_covariance().reshape(6, 6)
    assert ros[:3, :3] == pytest.approx(R @ e.pose_covariance[3:, 3:] @ R.T)
    assert ros[:3, 3:] == pytest.approx(R @ e.pose_covariance[3:, :3] @ R.T)


def test_ros_message_has_the_fields_of_nav_msgs_odometry(estimates):
    message = ros_odometry(estimates[-1], frame="map", child_frame="rover")
    assert message["header"] == {"stamp": {"sec": 2, "nanosec": 900000000}, "frame_id": "map"}
    assert message["child_frame_id"] == "rover"
    assert set(message["pose"]["pose"]["orientation"]) == {"x", "y", "z", "w"}
    assert message["twist"]["twist"]["linear"]["x"] == pytest.approx(estimates[-1].twist[3])
    assert message["twist"]["twist"]["angular"]["z"] == pytest.approx(estimates[-1].twist[2])
    assert len(message["pose"]["covariance"]) == len(message["twist"]["covariance"]) == 36


def test_tum_has_the_quaternion_with_w_last(tmp_path, estimates):
    write_tum(tmp_path / "a.tum", estimates)
    rows = np.loadtxt(tmp_path / "a.tum")
    assert rows.shape == (30, 8)
    assert rows[-1, 0] == estimates[-1].time
    assert rows[-1, 1:4].tolist() == estimates[-1].position.tolist()
    assert rows[-1, 7] == estimates[-1].quaternion[0]
    assert rows[-1, 4:7].tolist() == estimates[-1].quaternion[1:].tolist()


def test_csv_holds_everything_exactly(tmp_path, estimates):
    write_csv(tmp_path / "a.csv", estimates)
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert list(rows[0]) == [*COLUMNS, *COVARIANCE_COLUMNS]
    last, e = rows[-1], estimates[-1]
    assert float(last["y"]) == e.position[1]
    assert float(last["vx"]) == e.twist[3]
    assert last["observed_vz"] == "0"
    assert last["observed_wz"] == "1"
    assert last["degraded"] == "0"
    assert float(last["pose_covariance_y_y"]) == e.ros_pose_covariance()[7]
    assert float(last["twist_covariance_x_x"]) == e.twist_covariance[3, 3]
    write_csv(tmp_path / "b.csv", estimates, covariance=False)
    assert (tmp_path / "b.csv").read_text().splitlines()[0].split(",") == list(COLUMNS)


def test_a_file_that_cannot_be_written_is_said(tmp_path, estimates):
    with pytest.raises(gr.GrouserError, match="cannot be written"):
        write_tum(tmp_path / "no" / "a.tum", estimates)
