"""The table [robot] of a manifest: what is read, what is left out, what is refused in one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from grouser.errors import LogError
from grouser.fusion import FusionSettings
from grouser.logs.manifest import Manifest, load_manifest
from grouser.logs.mounts import mounts_of
from grouser.logs.robot_table import RobotTable

RATES = {"rates": {"FL": "wl"}}


def manifest(**robot: Any) -> Manifest:
    return load_manifest({**RATES, "robot": robot})


def test_a_manifest_without_the_table_has_its_defaults() -> None:
    found = load_manifest(RATES)
    assert found.robot == RobotTable()
    assert found.robot.delay == 0.5
    assert found.robot.topics.base_frame == "base_link"
    assert found.pose_use == "reference"


def test_poses_by_latitude_and_longitude_are_gps_unless_told() -> None:
    pose = {"latitude": "lat", "longitude": "lon", "heading": "h"}
    assert load_manifest({**RATES, "pose": pose}).pose_use == "gps"
    assert load_manifest({**RATES, "pose": pose, "robot": {"pose": "reference"}}).pose_use == "reference"
    assert load_manifest({**RATES, "pose": {"x": "x", "y": "y", "yaw": "z"}}).pose_use == "reference"


def test_a_mounting_is_a_rotation_from_the_sensor_to_the_body() -> None:
    """An IMU whose x axis points left has yaw 90°: what it feels along its x is along the body's y."""
    by_angles = manifest(imu_rpy=[0.0, 0.0, math.pi / 2]).robot.R_body_imu
    by_quaternion = manifest(imu_quaternion=[math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)]).robot.R_body_imu
    assert by_angles is not None
    assert by_quaternion is not None
    assert by_angles @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert by_quaternion == pytest.approx(by_angles, abs=1e-12)
    assert manifest().robot.R_body_imu is None
    camera = manifest(visual={"topic": "/vo", "rpy": [0.0, math.pi / 2, 0.0]}).robot.visual
    assert camera is not None
    assert camera.R_body_sensor is not None
    assert camera.R_body_sensor @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)


def test_settings_of_the_filter_go_by_their_names() -> None:
    found = manifest(noise={"gyro_noise": 2e-3, "slip": [0.1, 0.2, 0.3]}).robot.settings(FusionSettings, "m.toml")
    assert found == {"gyro_noise": 2e-3, "slip": (0.1, 0.2, 0.3)}
    assert FusionSettings(**found).slip == (0.1, 0.2, 0.3)
    with pytest.raises(LogError, match=r"m.toml, table \[robot.noise\], field gyro_nose: .*did you mean 'gyro_noise'"):
        manifest(noise={"gyro_nose": 1.0}).robot.settings(FusionSettings, "m.toml")


@pytest.mark.parametrize(
    ("robot", "said"),
    [
        ({"imu_positon": [0.0, 0.0, 1.0]}, r"\[robot\], imu_positon: .*did you mean 'imu_position'"),
        ({"visual": {}}, r"\[robot\], visual, field topic: is missing"),
        ({"visual": {"topic": "/vo", "scale": 1.0}}, "fields here are position, rpy"),
        ({"heading": {}}, "needs either topic"),
        ({"heading": {"topic": "/imu", "label": "compass"}}, "needs either topic"),
        ({"delay": 0.0}, "delay: input should be greater than 0"),
        ({"pose": "gsp"}, "'reference', 'gps', 'pose' or 'relative'"),
        ({"imu_rpy": [0.0, 1.0]}, "at least 3"),
        ({"imu_rpy": [0.0, 0.0, 0.0], "imu_quaternion": [1.0, 0.0, 0.0, 0.0]}, "both imu_rpy and imu_quaternion"),
        ({"imu_quaternion": [0.0, 0.0, 0.0, 0.0]}, "imu_quaternion is zero"),
        ({"noise": {"gyro_noise": "small"}}, "noise, field gyro_noise: input should be a valid number"),
        ({"noise": {"imu_position": [0.0, 0.0, 0.0]}}, r"imu_position stands in \[robot\]"),
        ({"gps": {"noise": [1.0, 1.0, -1.0]}}, "greater than 0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(robot: dict[str, Any], said: str) -> None:
    with pytest.raises(LogError, match=said) as caught:
        manifest(**robot)
    assert "\n" not in str(caught.value)


def test_the_rotation_is_proper() -> None:
    R = manifest(imu_rpy=[0.3, -0.2, 2.0]).robot.R_body_imu
    assert R is not None
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0.0, atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_an_antenna_that_nothing_places_is_reported_as_assumed() -> None:
    found = manifest(gps={"topic": "/fix"})
    assert mounts_of(found).lines(found) == [
        "antenna: (0, 0, 0) m, nothing gives its place: the body's origin and axes are assumed"
    ]
    found = manifest(gps={"topic": "/fix"}, antenna=[0.1, 0.0, 0.5])
    assert mounts_of(found).lines(found) == ["antenna: (0.1, 0, 0.5) m, by the manifest"]
