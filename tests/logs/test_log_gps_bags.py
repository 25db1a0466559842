"""GPS fixes (sensor_msgs/NavSatFix) in a ROS 2 bag, with the heading of an IMU on another topic."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import drive
from test_log_gps import DATUM, fixes

import grouser as gr
from grouser.errors import LogError
from grouser.logs.bag_draft import bag_draft
from grouser.logs.bags import topics

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")

JOINTS = ("FL", "BL", "FR", "BR")
TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/gps/fix": "sensor_msgs/msg/NavSatFix",
    "/imu": "sensor_msgs/msg/Imu",
}


def write_bag(path: Path) -> dict[str, np.ndarray]:
    """Wheels at 20 Hz, fixes at 4 Hz of which some are none, an IMU whose quaternion changes its sign; the drive."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types: Any = store.types
    columns = drive(40.0)
    places = fixes(columns, DATUM)

    def header(t: float) -> Any:
        sec, nanosec = divmod(round(t * 1e9), 10**9)
        return types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](sec, nanosec), "")

    vector, quaternion = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
    zero, nine = vector(0.0, 0.0, 0.0), np.zeros(9)
    with Writer(path, version=9) as writer:
        links = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in TYPES.items()}

        def put(topic: str, t: float, message: Any) -> None:
            writer.write(links[topic], round(t * 1e9), store.serialize_cdr(message, TYPES[topic]))

        for k, t in enumerate(columns["t"]):
            left, right = columns["wl"][k], columns["wr"][k]
            velocity, none = np.array([left, left, right, right]), np.zeros(0)
            joints = types["sensor_msgs/msg/JointState"](header(t), list(JOINTS), none, velocity, none)
            put("/joint_states", t, joints)
            then, sign = t + 0.02, -1.0 if k % 7 == 0 else 1.0  # the IMU is read between two rows
            half = 0.5 * float(np.interp(then, columns["t"], columns["yaw"]))
            turned = quaternion(0.0, 0.0, sign * np.sin(half), sign * np.cos(half))
            put("/imu", t, types["sensor_msgs/msg/Imu"](header(then), turned, nine, zero, nine, zero, nine))
            if k % 5 == 0:
                status = types["sensor_msgs/msg/NavSatStatus"](-1 if k % 50 == 0 and k else 0, 1)
                spread = np.diag([0.04, 0.09, 0.5]).ravel()
                place = (places["lat"][k], places["lon"][k], places["alt"][k])
                fix = types["sensor_msgs/msg/NavSatFix"](header(t), status, *place, spread, 2)
                put("/gps/fix", t, fix)
    return columns


def test_bag_of_fixes_gives_the_drive_that_was_written(tmp_path: Path) -> None:
    columns = write_bag(tmp_path / "drive")
    draft = bag_draft(tmp_path / "drive", topics(tmp_path / "drive")).text
    tables = tomllib.loads(draft.replace('vehicle = "FILL IN"', 'vehicle = "warthog"'))
    assert tables["pose"].pop("yaw_from") == "motion"
    tables["pose"] |= {f"q{a}": {"topic": "/imu", "field": f"orientation.{a}"} for a in "wxyz"}
    log = gr.read_log(tmp_path / "drive", manifest=tables)
    used = [k for k in range(5, 800, 5) if k % 50]  # at the first fix there is no heading yet
    np.testing.assert_allclose(log.poses.time, columns["t"][used], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(log.poses.position[:, 0], columns["x"][used], rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(log.poses.position[:, 1], columns["y"][used], rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(log.poses.attitude[:, 2], columns["yaw"][used], rtol=0.0, atol=1e-3)
    assert log.poses.sigma is not None
    np.testing.assert_allclose(log.poses.sigma, np.tile([0.2, 0.3, log.sensor.yaw_noise], (len(used), 1)))
    assert log.poses.datum == pytest.approx(DATUM)
    assert next(iter(log.report.rejected_poses)).startswith("no GPS fix")


def test_position_of_two_topics_is_refused(tmp_path: Path) -> None:
    write_bag(tmp_path / "drive")
    rate = {"topic": "/joint_states", "field": "velocity", "joint": "FL"}
    pose = {
        "latitude": {"topic": "/gps/fix", "field": "latitude"},
        "longitude": {"topic": "/imu", "field": "orientation.x"},
        "yaw": {"topic": "/imu", "field": "orientation.z"},
    }
    with pytest.raises(LogError, match=r"table \[pose\]: names 2 topics for its position"):
        gr.read_log(tmp_path / "drive", manifest={"rates": {"FL": rate}, "pose": pose})


def test_heading_between_two_messages_is_interpolated_past_north() -> None:
    from grouser.logs.bags import _continuous

    heading = np.radians([350.0, 358.0, np.nan, 6.0, 14.0])
    np.testing.assert_allclose(
        np.degrees(_continuous("pose.heading", {"pose.heading": heading})), [350, 358, np.nan, 366, 374]
    )
