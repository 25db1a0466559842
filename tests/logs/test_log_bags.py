"""ROS 1 and ROS 2 bags and MCAP files, written here and read back."""

from __future__ import annotations

import builtins
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import drive

import grouser as gr
from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.bag_draft import bag_draft

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")
pytest.importorskip("mcap", reason="mcap is not installed; it is in the extra [mcap]")

JOINTS = {"FL": "front_left", "BL": "back_left", "FR": "front_right", "BR": "back_right"}
MANIFEST: dict[str, Any] = {
    "vehicle": "warthog",
    "rates": {j: {"topic": "/joint_states", "field": "velocity", "joint": name} for j, name in JOINTS.items()},
    "commands": {"FL": {"topic": "/cmd_vel", "field": "twist.linear.x"}},
    "pose": {
        "x": {"topic": "/odom", "field": "pose.pose.position.x"},
        "y": {"topic": "/odom", "field": "pose.pose.position.y"},
        **{f"q{a}": {"topic": "/odom", "field": f"pose.pose.orientation.{a}"} for a in "wxyz"},
    },
}
START = 1_700_000_000


def messages() -> list[tuple[str, float, dict[str, Any]]]:
    """Topic, time and content: wheels at 20 Hz, poses at 10 Hz between them, commands at 5 Hz."""
    columns = drive(20.0)
    made: list[tuple[str, float, dict[str, Any]]] = []
    for k, t in enumerate(columns["t"]):
        left, right = columns["wl"][k], columns["wr"][k]
        names = list(JOINTS.values())
        made.append(("/joint_states", t, {"name": names, "velocity": [left, left, right, right]}))
        if k % 2 == 0:
            yaw = columns["yaw"][k]
            pose = {"x": columns["x"][k], "y": columns["y"][k], "w": np.cos(yaw / 2), "k": np.sin(yaw / 2)}
            made.append(("/odom", t + 0.01, pose))
        if k % 4 == 0:
            made.append(("/cmd_vel", t + 0.02, {"x": float(k)}))
    return made


def ros_message(types: Any, topic: str, t: float, content: dict[str, Any], ros1: bool) -> Any:
    sec, nanosec = divmod(round(t * 1e9), 10**9)
    stamp = types["builtin_interfaces/msg/Time"](sec=START + sec, nanosec=nanosec)
    seq = {"seq": 0} if ros1 else {}
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **seq)
    vector, point = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Point"]
    if topic == "/joint_states":
        empty = np.zeros(0)
        return types["sensor_msgs/msg/JointState"](
            header=header, name=content["name"], position=empty, velocity=np.array(content["velocity"]), effort=empty
        )
    zero = vector(x=0.0, y=0.0, z=0.0)
    if topic == "/cmd_vel":
        twist = types["geometry_msgs/msg/Twist"](linear=vector(x=content["x"], y=0.0, z=0.0), angular=zero)
        return types["geometry_msgs/msg/TwistStamped"](header=header, twist=twist)
    pose = types["geometry_msgs/msg/Pose"](
        position=point(x=content["x"], y=content["y"], z=0.0),
        orientation=types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=content["k"], w=content["w"]),
    )
    twist = types["geometry_msgs/msg/Twist"](linear=zero, angular=zero)
    return types["nav_msgs/msg/Odometry"](
        header=header,
        child_frame_id="base",
        pose=types["geometry_msgs/msg/PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
        twist=types["geometry_msgs/msg/TwistWithCovariance"](twist=twist, covariance=np.zeros(36)),
    )


TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/odom": "nav_msgs/msg/Odometry",
    "/cmd_vel": "geometry_msgs/msg/TwistStamped",
}


def write_bag(folder: Path, kind: str) -> Path:
    from rosbags.typesys import Stores, get_typestore

    if kind == "json.mcap":
        return write_json(folder / "drive.mcap")
    ros1 = kind == ".bag"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    if ros1:
        from rosbags.rosbag1 import Writer

        path, writer = folder / "drive.bag", Writer(folder / "drive.bag")
    else:
        from rosbags.rosbag2 import StoragePlugin
        from rosbags.rosbag2 import Writer as Writer2

        plugin = StoragePlugin.MCAP if kind == ".mcap" else StoragePlugin.SQLITE3
        path = folder / "drive"
        writer = Writer2(path, version=9, storage_plugin=plugin)  # type: ignore[assignment]
    with writer:
        links = {topic: writer.add_connection(topic, name, typestore=store) for topic, name in TYPES.items()}
        for topic, t, content in messages():
            message = ros_message(store.types, topic, t, content, ros1)
            pack = store.serialize_ros1 if ros1 else store.serialize_cdr
            # Recorded half a second after it was stamped.
            writer.write(links[topic], round((START + t + 0.5) * 1e9), pack(message, TYPES[topic]))
    return path


def write_json(path: Path) -> Path:
    from mcap.writer import CompressionType, Writer

    with path.open("wb") as stream:
        writer = Writer(stream, compression=CompressionType.NONE)
        writer.start()
        schema = writer.register_schema("any", "jsonschema", b"{}")
        channels = {topic: writer.register_channel(topic, "json", schema) for topic in TYPES}
        for topic, t, content in messages():
            sec, nanosec = divmod(round(t * 1e9), 10**9)
            message: dict[str, Any] = {"header": {"stamp": {"sec": START + sec, "nanosec": nanosec}}}
            if topic == "/odom":
                pose = {"position": {"x": content["x"], "y": content["y"]},
                        "orientation": {"w": content["w"], "x": 0, "y": 0, "z": content["k"]}}  # fmt: skip
                message["pose"] = {"pose": pose}
            elif topic == "/cmd_vel":
                message["twist"] = {"linear": content}
            else:
                message |= content
            when = round((START + t + 0.5) * 1e9)
            writer.add_message(channels[topic], when, json.dumps(message).encode(), when)
        writer.finish()
    return path


KINDS = (".bag", ".db3", ".mcap", "json.mcap")


@pytest.mark.parametrize("kind", KINDS)
def test_bag_gives_the_drive_that_was_written(kind: str, tmp_path: Path) -> None:
    columns = drive(20.0)
    log = gr.read_log(write_bag(tmp_path, kind), manifest=MANIFEST)
    np.testing.assert_allclose(log.time - START, columns["t"], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(log.rates["BR"], columns["wr"])
    np.testing.assert_allclose(log.poses.time - START, columns["t"][::2] + 0.01, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(log.poses.position[:, 0], columns["x"][::2])
    np.testing.assert_allclose(log.poses.attitude[:, 2], columns["yaw"][::2], rtol=0.0, atol=1e-9)
    # A command holds until the next one.
    held = log.commands["FL"]
    assert np.isnan(held[0])
    np.testing.assert_array_equal(held[1:9], [0, 0, 0, 0, 4, 4, 4, 4])
    assert log.n_segments == 1


def test_single_files_of_ros_2_and_time_of_recording(tmp_path: Path) -> None:
    for kind in (".db3", ".mcap"):
        folder = tmp_path / kind[1:]
        folder.mkdir()
        file = next(write_bag(folder, kind).glob(f"*{kind}"))
        log = gr.read_log(file, manifest={**MANIFEST, "time": {"stamp": "record"}})
        assert log.time[0] - START == pytest.approx(0.5, abs=1e-6)


def test_other_topics_are_not_made_up_where_they_have_a_gap() -> None:
    # Attitude comes with the poses, which pause for two seconds.
    from grouser.logs.bags import Series, _at
    from grouser.logs.manifest import load_manifest

    manifest = load_manifest(MANIFEST)
    other = np.concatenate([np.arange(0, 50), np.arange(70, 100)]) / 10
    time = np.arange(0, 180) / 20
    topic = Series(other, np.arange(80), {"attitude.roll": 2.0 * other}, False)
    values = _at(time, topic, "attitude.roll", manifest.rates["FL"], manifest)
    inside = (time > 4.92) & (time < 6.98)
    assert np.isnan(values[inside]).all()
    np.testing.assert_allclose(values[~inside], 2.0 * time[~inside], rtol=0.0, atol=1e-9)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no such topic": (
        {"topic": "/joint_state", "field": "velocity[0]"},
        r"'/joint_state' \(\[labels\] a of .*\); did you mean '/j",
    ),
    "no such field": ({"topic": "/odom", "field": "pose.pos.x"}, r"has no 'pos'; fields there are pose, covariance"),
    "not a number": ({"topic": "/odom", "field": "pose.pose"}, r"is not a number"),
    "not a path": ({"topic": "/odom", "field": "a..b"}, r"is not a path such as"),
    "a column": ({"column": "x"}, r"names a column, but drive is a bag"),
}


@pytest.mark.parametrize(("signal", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_wrong_signal_is_named(signal: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=message):
        gr.read_log(write_bag(tmp_path, ".db3"), manifest={**MANIFEST, "labels": {"a": signal}})


def test_joint_that_never_appears_leaves_no_samples(tmp_path: Path) -> None:
    rates = {"FL": {"topic": "/joint_states", "field": "velocity", "joint": "middle"}}
    with pytest.raises(
        LogError, match=r"/joint_states has no messages with joint 'middle'; it has front_left, back_left,"
    ):
        gr.read_log(write_bag(tmp_path, ".bag"), manifest={**MANIFEST, "rates": rates})


@pytest.mark.parametrize("suffix", [".bag", ".db3", ".mcap"])
def test_damaged_bag_is_refused_in_one_sentence(suffix: str, tmp_path: Path) -> None:
    whole = write_bag(tmp_path, "json.mcap" if suffix == ".mcap" else suffix)
    data = (whole if whole.is_file() else next(whole.glob("*.db3"))).read_bytes()
    for content in (b"", b"hello", data[:100], b"\0" * 1000):
        path = tmp_path / f"bad{suffix}"
        path.write_bytes(content)
        with pytest.raises(LogError) as caught:
            gr.read_log(path, manifest=MANIFEST)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "command"), [(".bag", r"grouser\[ros\]"), (".mcap", r"grouser\[mcap,ros\]")])
def test_missing_library_says_what_to_install(
    kind: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"drive{kind}"
    path.write_bytes(b"\x89MCAP")
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("rosbags", "mcap"):
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LogError, match=command):
        list(bags.messages(path, ["/odom"]))


@pytest.mark.parametrize("kind", KINDS)
def test_topics_are_listed(kind: str, tmp_path: Path) -> None:
    assert set(bags.topics(write_bag(tmp_path, kind))) == set(TYPES)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "json.mcap"])
def test_the_drafted_manifest_reads_once_vehicle_and_joints_are_named(kind: str, tmp_path: Path) -> None:
    path = write_bag(tmp_path, kind)
    text = bag_draft(path, bags.topics(path)).text
    assert "pose" not in tomllib.loads(text)  # /odom is named like wheel odometry, so its lines are remarks
    draft = tomllib.loads(re.sub(r"^# (\[pose\]|[xyz] = |q[wxyz] = )", r"\1", text, flags=re.MULTILINE))
    assert set(draft["rates"]) == set(JOINTS.values())
    draft["vehicle"] = "warthog"
    draft["rates"] = {joint: draft["rates"][name] for joint, name in JOINTS.items()}
    log, wanted = gr.read_log(path, manifest=draft), gr.read_log(path, manifest=MANIFEST)
    for joint in JOINTS:
        np.testing.assert_array_equal(log.rates[joint], wanted.rates[joint])
    np.testing.assert_array_equal(log.poses.position, wanted.poses.position)
    np.testing.assert_array_equal(log.poses.attitude, wanted.poses.attitude)


def test_a_draft_of_strange_topics_is_toml(tmp_path: Path) -> None:
    odd = {"/a\n[rates]\nx = 1": "geometry_msgs/msg/PoseStamped", '/"b"': "geometry_msgs/msg/TransformStamped"}
    assert set(tomllib.loads(bag_draft(tmp_path, odd).text)) == {"schema", "vehicle", "time", "rates", "pose", "sensor"}
    nothing = tomllib.loads(bag_draft(tmp_path, {"/chatter": "json"}).text)
    assert "pose" not in nothing
    imu = tomllib.loads(bag_draft(tmp_path, {"/imu": "sensor_msgs/msg/Imu"}).text)
    assert imu["gyro"]["z"] == {"topic": "/imu", "field": "angular_velocity.z"}
