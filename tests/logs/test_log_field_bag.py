"""A bag as one meets it becomes a calibration: check drafts the manifest, calibrate takes it and finds the slip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")

import field_bag
from field_bag import ANTENNA, NORTH, SLIP, write_field_bag

import grouser as gr
from grouser.cli import run
from grouser.errors import LogError

JOINT = {"topic": "/joint_states", "field": "position", "kind": "position"}
RATES = {wheel: {**JOINT, "joint": name} for wheel, name in field_bag.NAMES.items()}
ODOM = {
    "x": {"topic": "/odom", "field": "pose.pose.position.x"},
    "y": {"topic": "/odom", "field": "pose.pose.position.y"},
    **{f"q{a}": {"topic": "/odom", "field": f"pose.pose.orientation.{a}"} for a in "wxyz"},
}
IMU = {
    "gyro": {a: {"topic": "/imu", "field": f"angular_velocity.{a}"} for a in "xyz"},
    "acceleration": {a: {"topic": "/imu", "field": f"linear_acceleration.{a}"} for a in "xyz"},
}


@pytest.fixture(scope="module")
def by_gps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, field_bag.Path2D]:
    """GPS is all that measures a position."""
    folder = tmp_path_factory.mktemp("gps") / "bag"
    return folder, write_field_bag(folder)


@pytest.fixture(scope="module")
def by_map(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, field_bag.Path2D]:
    """A map corrects the odometry through tf; there is no GPS."""
    folder = tmp_path_factory.mktemp("map") / "bag"
    return folder, write_field_bag(folder, gps=False, corrected=True)


def drafted(bag: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What check says of a bag, and its draft in a file."""
    assert run(["check", str(bag), "--vehicle", "warthog", "--write", str(file)]) == 0
    return capsys.readouterr().out


def calibrated(bag: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The parameters of a kinematic fit."""
    command = ["calibrate", str(bag), "--manifest", str(manifest), "--model", "kinematic", "--split", "1", "--json"]
    assert run(command) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["parameters"]
    return found


def assert_planted(found: dict[str, Any]) -> None:
    for name, planted in SLIP.items():
        assert abs(found[name]["value"] - planted) < 2.0 * found[name]["sigma"], name
        assert found[name]["sigma"] < 0.02


def test_gps_bag_from_check_to_the_planted_slip(
    by_gps: tuple[Path, field_bag.Path2D], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, _ = by_gps
    said = drafted(bag, tmp_path / "log.toml", capsys)
    assert "/joint_states: its velocity arrays are empty or not numbers, so rates are differences of pos" in said
    assert "not used: /odom: moves in frame odom, so it is likely wheel odometry" in said
    assert "not used: /tf: moves in frame odom" in said
    assert "pose by /fix (NavSatFix)" in said
    assert "/imu in frame imu_link: turned by roll 180.0°, pitch 0.0°, yaw 0.0° on the body" in said
    assert "FILL IN" not in said
    assert run(["check", str(bag), "--manifest", str(tmp_path / "log.toml")]) == 0
    said = capsys.readouterr().out
    assert "IMU turned into the body's axes by roll 180.0°" in said
    assert "GPS antenna at (-0.3, 0.2, 0.9) m on the body, tf gps_link → base_link" in said
    assert "heading from motion, joined by the turns of the gyro: one sigma 0." in said
    assert "warning" not in said
    assert_planted(calibrated(bag, tmp_path / "log.toml", capsys))


def test_map_bag_from_check_to_the_planted_slip(
    by_map: tuple[Path, field_bag.Path2D], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag, _ = by_map
    said = drafted(bag, tmp_path / "log.toml", capsys)
    assert "pose of base_link in map by /tf" in said
    assert_planted(calibrated(bag, tmp_path / "log.toml", capsys))


def test_signals_of_the_gps_bag_are_those_of_the_true_path(by_gps: tuple[Path, field_bag.Path2D]) -> None:
    bag, true = by_gps
    place = {name: {"topic": "/fix", "field": name} for name in ("latitude", "longitude", "altitude")}
    log = gr.read_log(
        bag, manifest={"vehicle": "warthog", "rates": RATES, **IMU, "pose": {**place, "yaw_from": "motion"}}
    )
    t = log.poses.time - field_bag.START
    yaw = np.interp(t, true.t, true.yaw)
    off = np.angle(np.exp(1j * (log.poses.attitude[:, 2] - yaw)))
    assert np.degrees(np.sqrt(np.mean(off**2))) < 0.7
    # East and north of the first fix, where the antenna was.
    c, s = np.cos(NORTH), np.sin(NORTH)
    first = c * ANTENNA[0] - s * ANTENNA[1], s * ANTENNA[0] + c * ANTENNA[1]
    x = np.interp(t, true.t, true.x) + np.cos(yaw) * ANTENNA[0] - np.sin(yaw) * ANTENNA[1] - first[0]
    assert np.abs(log.poses.position[:, 0] - x).max() < 6.0 * field_bag.NOISE
    assert log.gyro is not None
    assert log.acceleration is not None
    turn = np.interp(log.time - field_bag.START, true.t, np.gradient(true.yaw, true.t))
    assert np.corrcoef(log.gyro[:, 2], turn)[0, 1] > 0.99
    assert np.median(log.acceleration[:, 2]) == pytest.approx(9.81, abs=0.05)


def test_poses_of_a_tf_chain_are_those_of_the_true_path(by_map: tuple[Path, field_bag.Path2D]) -> None:
    bag, true = by_map
    log = gr.read_log(
        bag, manifest={"vehicle": "warthog", "rates": RATES, "pose": {"frame": "base_link", "world": "map"}}
    )
    t = log.poses.time - field_bag.START
    assert len(t) > 590  # one for each change of map → odom, at 5 Hz, not for each of odom → base_link, at 25 Hz
    np.testing.assert_allclose(log.poses.position[:, 0], np.interp(t, true.t, true.x), rtol=0.0, atol=0.03)
    np.testing.assert_allclose(log.poses.position[:, 1], np.interp(t, true.t, true.y), rtol=0.0, atol=0.03)
    np.testing.assert_allclose(log.poses.attitude[:, 2], np.interp(t, true.t, true.yaw), rtol=0.0, atol=0.002)


@pytest.mark.parametrize(
    ("pose", "said"),
    [
        (
            {"frame": "base", "world": "map"},
            r"\[pose\] frame and world: tf has no frame 'base'; did you mean 'base_link'",
        ),
        ({"frame": "base_link", "world": "gps_link"}, r"does not move"),
    ],
)
def test_a_wrong_frame_is_named(pose: dict[str, str], said: str, by_map: tuple[Path, field_bag.Path2D]) -> None:
    with pytest.raises(LogError, match=said):
        gr.read_log(by_map[0], manifest={"vehicle": "warthog", "rates": RATES, "pose": pose})


@pytest.mark.parametrize("pose", [ODOM, {"frame": "base_link", "world": "odom"}], ids=["topic", "tf"])
def test_wheel_odometry_as_the_reference_is_suspected_aloud(
    pose: dict[str, Any], by_gps: tuple[Path, field_bag.Path2D]
) -> None:
    log = gr.read_log(by_gps[0], manifest={"vehicle": "warthog", "rates": RATES, "pose": pose})
    (said,) = [one for one in log.report.problems if one.key == "pose"]
    assert said.severity == "warning"
    assert "the poses equal the wheel odometry to rounding, so they are wheel odometry" in said.message
    assert "tf from map to the vehicle" in said.remedy


def test_a_true_pose_is_not_suspected(by_map: tuple[Path, field_bag.Path2D]) -> None:
    log = gr.read_log(
        by_map[0], manifest={"vehicle": "warthog", "rates": RATES, "pose": {"frame": "base_link", "world": "map"}}
    )
    assert not log.report.problems


def test_an_imu_that_hangs_upside_down_is_found_without_tf_static(tmp_path: Path) -> None:
    true = write_field_bag(tmp_path / "bag", seconds=80.0, gps=False, corrected=True, static=False)
    pose = {"frame": "base_link", "world": "map"}
    log = gr.read_log(tmp_path / "bag", manifest={"vehicle": "warthog", "rates": RATES, **IMU, "pose": pose})
    (said,) = log.report.problems
    assert said.key == "robot.imu_rpy"
    assert said.severity == "warning"
    assert "the IMU is turned by roll 180.0°, pitch 0.0°, yaw 0.0° on the body" in said.message
    assert said.remedy == "write imu_rpy = [3.1416, 0, 0] in [robot]"
    assert log.gyro is not None
    turn = np.interp(log.time - field_bag.START, true.t, np.gradient(true.yaw, true.t))
    assert np.corrcoef(log.gyro[:, 2], turn)[0, 1] > 0.99


def test_odometry_by_a_gyro_of_the_other_sign_is_refused(by_map: tuple[Path, field_bag.Path2D]) -> None:
    pose = {"frame": "base_link", "world": "map"}
    gyro = {"z": {**IMU["gyro"]["z"], "sign": -1}}
    # With a sign the axes count as given by hand, so tf does not turn them: this one is right, the next is not.
    right = gr.read_log(by_map[0], manifest={"vehicle": "warthog", "rates": RATES, "gyro": gyro, "pose": pose})
    assert not right.report.problems
    motion = gr.MotionModel(model=gr.Kinematics(gr.vehicle("warthog")))
    gr.odometry.odometry_of(motion, right, gyro=True)
    gyro = {"z": {**IMU["gyro"]["z"], "sign": -1, "scale": -1.0}}
    wrong = gr.read_log(
        by_map[0],
        manifest={"vehicle": "warthog", "rates": RATES, "gyro": gyro, "pose": pose, "robot": {"imu_rpy": [0, 0, 0]}},
    )
    with pytest.raises(LogError, match=r"odometry by this gyro would be wrong; \[gyro\] z: .*sign = -1 for z"):
        gr.odometry.odometry_of(motion, wrong, gyro=True)
