"""`Robot` from a manifest: places of sensors and noise by the table [robot], as for `grouser fuse`."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import LogError, RobotError
from grouser.logs.manifest import load_manifest
from grouser.robot import Robot, RobotSettings
from grouser.robot.from_manifest import live_settings
from grouser.rotation import from_quaternion, to_rpy

MANIFEST = """schema = "grouser/log@1"
vehicle = "husky"
[rates]
FL = {topic = "/joint_states", field = "velocity", joint = "FL"}
[robot]
imu_position = [0.1, 0.2, 0.3]
delay = 0.25
noise = {gyro_noise = 0.004}
[robot.visual]
topic = "/visual"
noise = [0.01, 0.02, 0.03, 0.04]
"""
RADIUS, HALF_TRACK = 0.165, 0.285


def test_a_robot_takes_a_manifest_or_its_file(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text(MANIFEST)
    for given in (path, str(path), load_manifest(path)):
        settings = Robot("husky", given).settings
        assert settings.fusion.imu_position == (0.1, 0.2, 0.3)
        assert settings.fusion.gyro_noise == 0.004
        assert (settings.delay, settings.visual) == (0.25, (0.01, 0.02, 0.03, 0.04))
    assert settings.noise.rate == RobotSettings().noise.rate > 0.0, (
        "a vehicle without a fit has the noise of its encoders"
    )
    model = gr.MotionModel(model=gr.Kinematics(gr.vehicle("husky")))
    assert live_settings(path, model).noise.rate == 0.0, "the process noise of a fit includes the encoders"


def test_what_is_no_manifest_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(RobotError, match="or a manifest"):
        Robot("husky", 3.0)
    with pytest.raises(LogError, match=r"nothing\.toml"):
        Robot("husky", tmp_path / "nothing.toml")


def test_a_robot_with_gps_finds_its_yaw_in_the_world():
    """The yaw of the start is not known; fixes of 0.3 m on 16 m of way."""
    rng = np.random.default_rng(3)
    gps = {"topic": "/fix", "noise": [0.5, 0.5, 1.0]}
    manifest = load_manifest({"rates": {"FL": {"topic": "/j", "field": "data"}}, "robot": {"gps": gps}})
    robot = Robot("husky", manifest)
    x, y, yaw = 0.0, 0.0, 1.9
    for k in range(2400):
        t = 0.01 * k
        moving = min(max(t - 3.0, 0.0), 1.0)
        v, turn = 0.8 * moving, 0.2 * moving
        push = 0.8 if 0.0 < moving < 1.0 else 0.0
        robot.imu(t, rng.normal([0.0, 0.0, turn], 2e-3), rng.normal([push, v * turn, 9.81], 0.02))
        if k % 2 == 0:
            left, right = ((v + side * HALF_TRACK * turn) / RADIUS for side in (-1.0, 1.0))
            robot.joints(t, {"FL": left, "FR": right, "BL": left, "BR": right})
        if k % 20 == 0:
            robot.gps(t, rng.normal([x, y, 0.0], [0.3, 0.3, 0.6]), np.diag([0.09, 0.09, 0.36]))
        x, y, yaw = x + 0.01 * v * math.cos(yaw), y + 0.01 * v * math.sin(yaw), yaw + 0.01 * turn
    estimate = robot.estimate
    sigma = np.sqrt(np.diag(estimate.pose_covariance))
    error = estimate.position[:2] - [x, y]
    turned = to_rpy(from_quaternion(estimate.quaternion))[2] - yaw
    assert sigma[2] < 0.1
    assert (sigma[3:5] < 0.5).all()
    assert abs(math.remainder(turned, 2.0 * math.pi)) < 4.0 * sigma[2]
    assert (np.abs(error) < 4.0 * sigma[3:5]).all()
