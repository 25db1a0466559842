"""The node without a network: what goes in comes out, and what goes wrong is told and harms nothing."""

import math
import threading

import numpy as np
import pytest

from grouser.logs.manifest import load_manifest
from grouser.node import messages as ros
from grouser.node.checkpoint import CheckpointError, Checkpoints, read_checkpoint
from grouser.node.inbox import AT_ONCE, MOST, Inbox
from grouser.node.inputs import Inputs
from grouser.node.runner import Node, NodeSettings
from grouser.node.transport import Peer
from grouser.node.watch import Latency
from tests.node.stand_in import Loop, Wheels

WHEELS = ("FL", "FR", "BL", "BR")
MANIFEST = {
    "rates": {name: {"topic": "/joint_states", "field": "velocity", "joint": name} for name in WHEELS},
    "gyro": {axis: {"topic": "/imu", "field": f"angular_velocity.{axis}"} for axis in "xyz"},
    "acceleration": {axis: {"topic": "/imu", "field": f"linear_acceleration.{axis}"} for axis in "xyz"},
}


def make_node(**options):
    loop, robot = Loop(), Wheels()
    settings = options.pop("settings", NodeSettings(rate=1e6))
    inputs = Inputs(load_manifest(MANIFEST), robot.odometry.vehicle.joints)
    return Node(robot, inputs, loop, settings, vehicle="husky", **options), loop, robot


def joints(t, rate=2.0):
    return ros.JointState(ros.Header(ros.Time.of(t)), list(WHEELS), velocity=np.full(4, rate))


def work(node, loop, times, rate=2.0):
    for t in times:
        loop.send("/joint_states", joints(t, rate))
        node._work(0.0, math.inf)


def states(loop):
    return {one.name.removeprefix("grouser: "): one for one in loop.sent["/diagnostics"][-1].status}


def test_odometry_and_transform_say_the_same_in_the_frames_of_rep_105():
    node, loop, robot = make_node(settings=NodeSettings(rate=1e6, frame="odom", child="base_link"))
    work(node, loop, np.arange(0.0, 3.0, 0.02) + 1e9)
    odom, transform = loop.sent["/odom"][-1], loop.sent["/tf"][-1].transforms[0]
    assert (odom.header.frame_id, odom.child_frame_id) == ("odom", "base_link")
    assert (transform.header.frame_id, transform.child_frame_id) == ("odom", "base_link")
    assert odom.header == transform.header
    assert odom.header.stamp == ros.Time.of(1e9 + 2.98)
    place = odom.pose.pose.position
    assert (place.x, place.y, place.z) == tuple(robot.estimate.position)
    assert place.x == pytest.approx(0.165 * 2.0 * 2.98, rel=1e-3)
    assert transform.transform.translation.x == place.x
    assert odom.twist.twist.linear.x == pytest.approx(0.33, rel=1e-3)
    w, x, y, z = robot.estimate.quaternion
    assert odom.pose.pose.orientation == ros.Quaternion(x, y, z, w)


def test_covariances_are_symmetric_and_have_no_zero_on_the_diagonal():
    node, loop, _ = make_node()
    work(node, loop, [1.0, 1.02])
    for part in (loop.sent["/odom"][0].pose, loop.sent["/odom"][0].twist):
        matrix = part.covariance.reshape(6, 6)
        np.testing.assert_array_equal(matrix, matrix.T)
        assert (np.diag(matrix) > 0.0).all()


def test_the_rate_of_odometry_is_bounded_and_no_estimate_is_sent_twice():
    node, loop, _ = make_node(settings=NodeSettings(rate=1e-3))
    work(node, loop, np.arange(0.0, 1.0, 0.02))
    assert len(loop.sent["/odom"]) == 1
    node, loop, _ = make_node()
    work(node, loop, [1.0])
    node._work(0.0, math.inf)
    assert len(loop.sent["/odom"]) == 1


def test_damaged_and_impossible_messages_are_counted_and_the_estimate_goes_on():
    node, loop, _ = make_node()
    work(node, loop, [1.0, 1.02])
    loop.receivers["/joint_states", ros.JointState](b"\0\1\0\0 what is this", 1.0)
    loop.send("/imu", ros.Imu(angular_velocity=ros.Vector3(1000.0)))
    loop.send("/imu", ros.Imu(angular_velocity=ros.Vector3(math.nan)))
    work(node, loop, [1.04])
    node._diagnose(node._watches[0].last)
    found = states(loop)
    assert found["/joint_states"].level == found["/imu"].level == 1
    assert "1 damaged and 0 refused messages: sensor_msgs/msg/JointState: byte" in found["/joint_states"].message
    assert "0 damaged and 1 refused messages: imu at t" in found["/imu"].message
    assert len(loop.sent["/odom"]) == 3
    assert node.summary()["damaged"] == node.summary()["refused"] == 1
    assert list(node.summary()["left_out"].values()) == [1]
    assert any("not all six values" in one.key for one in found["node"].values)


def test_what_a_transport_could_not_use_is_told():
    node, loop, _ = make_node()
    loop.faults = lambda: {"/imu: messages with another type hash": 3}
    node._diagnose(0.0)
    assert states(loop)["node"].message == "/imu: messages with another type hash"
    assert node.summary()["transport_faults"] == {"/imu: messages with another type hash": 3}


def test_silence_degradation_excluded_wheels_and_alarms_are_told():
    node, loop, robot = make_node()
    work(node, loop, [1.0, 1.02])
    node._diagnose(node._watches[0].last)
    assert {name: one.level for name, one in states(loop).items()} == {
        "estimate": 0, "wheels": 0, "monitor": 0, "/joint_states": 0, "/imu": 2, "node": 0
    }  # fmt: skip
    loop.send("/joint_states", joints(1.03), arrived=6.03)
    node._work(0.0, math.inf)
    node._diagnose(node._watches[0].last)
    assert states(loop)["/joint_states"].message == "stamps are 5.0 s behind the clock of this computer"
    robot.excluded, robot.degraded, robot.stuck = ("FL",), ("imu",), True
    work(node, loop, [1.04])
    node._diagnose(node._watches[0].last + 7.0)
    found = states(loop)
    assert found["/joint_states"].level == 3
    assert found["/joint_states"].message == "silent for 7.0 s"
    assert found["wheels"].message == "not used: FL"
    assert found["estimate"].message == "larger covariance, because of imu"
    assert (found["monitor"].level, found["monitor"].message) == (2, "the wheels turn and the robot does not move")
    assert [one.data for one in loop.sent["/monitor/stuck"]][-1]
    assert not loop.sent["/monitor/sliding"][-1].data
    assert all(one.hardware_id == "husky" for one in found.values())


def test_a_publisher_that_disappears_is_named():
    node, loop, _ = make_node()
    loop.visible = [Peer("/imu", "sensor_msgs/msg/Imu", True, "1"), Peer("/odom", "nav_msgs/msg/Odometry", False, "2")]
    node._diagnose(0.0)
    assert states(loop)["node"].message == "ok"
    loop.visible = []
    node._diagnose(1.0)
    assert states(loop)["node"].message == "the publisher of /imu has disappeared"
    loop.visible = [Peer("/imu", "sensor_msgs/msg/Imu", True, "3")]
    node._diagnose(2.0)
    assert states(loop)["node"].message == "ok", "another one publishes the topic again"


def test_a_flood_is_bounded_its_newest_messages_are_kept_and_what_is_lost_is_told():
    node, loop, robot = make_node()
    loop.send("/imu", ros.Imu(ros.Header(ros.Time.of(1.0))))
    for k in range(10_000):
        loop.send("/joint_states", joints(1.0 + 1e-4 * k))
    node._work(0.0, math.inf)
    assert len(loop.sent["/odom"]) == 1, "an estimate goes out before all of the flood is read"
    for _ in range(2 * MOST // AT_ONCE):
        node._work(0.0, math.inf)
    assert robot.estimate.time == pytest.approx(1.9999)
    assert node.summary()["messages"] == {"/joint_states": MOST, "/imu": 1}
    assert node.summary()["lost"]["queue"] == 10_000 - MOST
    node._diagnose(0.0)
    assert states(loop)["node"].message == f"{10_000 - MOST} messages came faster than they could be used"


def test_letters_come_out_in_order_of_arrival_and_each_topic_has_room_of_its_own():
    inbox = Inbox(2, most=3)
    first, second = inbox.receiver(0), inbox.receiver(1)
    second(b"a", 0.0)
    for k in range(5):
        first(bytes([k]), float(k))
    second(b"b", 9.0)
    letters = inbox.take(0.0)
    assert [one.data for one in letters] == [b"a", b"\2", b"\3", b"\4", b"b"]
    assert inbox.lost == [2, 0]
    assert inbox.take(0.0) == []


def test_no_letter_is_left_behind_when_threads_deliver_while_it_is_emptied():
    inbox, got = Inbox(2, most=50), []
    threads = [
        threading.Thread(target=lambda k=k: [inbox.receiver(k)(b"", 0.0) for _ in range(5000)]) for k in range(2)
    ]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        got += inbox.take(0.001)
    got += inbox.take(0.0, most=1000)
    assert len(got) + sum(inbox.lost) == sum(inbox.arrived) == 10_000


def test_quantiles_of_delays():
    delays = np.random.default_rng(1).lognormal(-6.0, 1.0, 5000)
    latency = Latency()
    for one in delays:
        latency.add(one)
    for share in (0.5, 0.99):
        assert latency.quantile(share) == pytest.approx(np.quantile(delays, share), rel=0.06)  # bins are 4.7 % wide
    latency.add(-3.0)
    latency.add(1e9)
    assert latency.count == 5002
    assert latency.longest == 1e9


def test_checkpoints_are_read_back_and_others_are_refused(tmp_path):
    path = tmp_path / "node.npz"
    assert read_checkpoint(path, "husky") is None
    writer = Checkpoints(path, "husky")
    writer.put({"odometry": np.arange(3)})
    writer.close({"odometry": np.arange(4)})
    assert list(read_checkpoint(path, "husky")["odometry"]) == [0, 1, 2, 3]
    assert list(tmp_path.iterdir()) == [path], "nothing half-written stays"
    with pytest.raises(CheckpointError, match="is of vehicle 'husky'"):
        read_checkpoint(path, "zoe")
    np.savez(path, schema=np.array("grouser/checkpoint@0"), vehicle=np.array("husky"))
    with pytest.raises(CheckpointError, match="not 'grouser/checkpoint@1'"):
        read_checkpoint(path, "husky")
    path.write_bytes(b"PK\3\4 no archive")
    with pytest.raises(CheckpointError, match="not a readable"):
        read_checkpoint(path, "husky")


def test_a_checkpoint_that_cannot_be_written_is_told(tmp_path):
    writer = Checkpoints(tmp_path / "no" / "such" / "folder.npz", "husky")
    writer.close({"odometry": np.arange(3)})
    assert "cannot be written" in writer.problem


def test_the_last_checkpoint_is_written_when_the_node_ends(tmp_path):
    path = tmp_path / "node.npz"
    node, loop, robot = make_node(checkpoints=Checkpoints(path, "husky"))
    node._save = robot.state
    work(node, loop, [1.0, 2.0])
    node.stop()
    node.run()
    np.testing.assert_array_equal(read_checkpoint(path, "husky")["position"], robot.estimate.position)
