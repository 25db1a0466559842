"""Bags with more in them than one robot: other publishers, other robots, other clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")

from field_bag import NAMES, Bag, driven, write_field_bag

import grouser as gr
from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.bag_draft import bag_draft
from grouser.logs.manifest import load_manifest

SLIP = {"slip.p2": -0.08}


def drafted(bag: Path, file: Path) -> tuple[Path, tuple[str, ...]]:
    """The manifest that check drafts."""
    draft = bag_draft(bag, bags.topics(bag), gr.vehicle("warthog"), "warthog")
    file.write_text(draft.text)
    return file, draft.found


class Fleet(Bag):
    """Robots whose topics, and maybe frames, have their name in front."""

    robot = ""
    prefix = ""

    def put(self, topic: str, kind: str, recorded: float, message: Any) -> None:
        for one in getattr(message, "transforms", [message]):
            one.header.frame_id = f"{self.prefix}{one.header.frame_id}"
            if hasattr(one, "child_frame_id"):
                one.child_frame_id = f"{self.prefix}{one.child_frame_id}"
        shared = self.prefix and topic.startswith("/tf")
        super().put(topic if shared else f"/{self.robot}{topic}", kind, recorded, message)


def write_fleet(folder: Path, *, prefixed: bool) -> None:
    """Two robots that drive one path, the second turned by 2 rad and from (5, 3) m; its IMU is not upside down."""
    path, bag = driven(40.0, SLIP), Fleet()
    rate = np.gradient(path.yaw, path.t)
    angle = [np.append(0.0, np.cumsum(0.5 * (one[1:] + one[:-1]) * 0.02)) for one in (path.left, path.right)]
    for robot, turn, place, flip in (("r1", 0.0, (0.0, 0.0), -1.0), ("r2", 2.0, (5.0, 3.0), 1.0)):
        bag.robot, bag.prefix = robot, f"{robot}/" if prefixed else ""
        bag.mounted()
        if flip > 0.0:
            links = bag.waiting[-1][-1].transforms
            links[1].transform.rotation = bag.turned(0.0)
        for k, t in enumerate(path.t.tolist()):
            axes = np.array([1.0, flip, flip])
            bag.imu(t, t, axes * (0.0, 0.0, rate[k]), axes * (0.0, 0.0, 9.81))
            bag.positions(t, t, angle[0][k], angle[1][k])
            bag.link(t, t, "odom", "base_link", (path.x[k], path.y[k]), path.yaw[k])
            if k % 5 == 0:  # what corrects the odometry; it differs by a µm, or it would not move
                bag.link(t, t, "map", "odom", (place[0] + 1e-6 * k, place[1]), turn)
    bag.write(folder)


@pytest.mark.parametrize("prefixed", [False, True], ids=["tf of their own", "one tf, frames with a prefix"])
def test_of_two_robots_one_is_drafted_and_read(prefixed: bool, tmp_path: Path) -> None:
    write_fleet(tmp_path / "bag", prefixed=prefixed)
    file, found = drafted(tmp_path / "bag", tmp_path / "log.toml")
    assert "several robots: this draft is of r1; for r2 write its topics instead" in found
    assert any("roll 180.0°" in one for one in found)
    second = tmp_path / "second.toml"
    second.write_text(file.read_text().replace("r1/", "r2/"))
    first, other = (gr.read_log(tmp_path / "bag", manifest=one) for one in (file, second))
    for log, place in ((first, (0.0, 0.0)), (other, (5.0, 3.0))):
        np.testing.assert_allclose(log.poses.position[0, :2], place, rtol=0.0, atol=0.01)
        assert log.acceleration is not None
        assert np.median(log.acceleration[:, 2]) == pytest.approx(9.81)
    assert first.poses.attitude[0, 2] == pytest.approx(0.0, abs=0.01)
    assert other.poses.attitude[0, 2] == pytest.approx(2.0, abs=0.01)


def test_joints_of_an_arm_in_the_topic_of_the_wheels_are_no_rows(tmp_path: Path) -> None:
    path, bag = driven(20.0, SLIP), Bag()
    angle = [np.append(0.0, np.cumsum(0.5 * (one[1:] + one[:-1]) * 0.02)) for one in (path.left, path.right)]
    for k, t in enumerate(path.t.tolist()):
        bag.positions(t, t, angle[0][k], angle[1][k])
        bag.pose("/truth", t, t, path.x[k], path.y[k], path.yaw[k])
        message = bag.types["sensor_msgs/msg/JointState"](
            header=bag.header(t + 0.01, ""), name=["elbow"], position=np.ones(1), velocity=np.zeros(1),
            effort=np.zeros(0),
        )  # fmt: skip
        bag.put("/joint_states", "sensor_msgs/msg/JointState", t + 0.01, message)
    bag.write(tmp_path / "bag")
    file, found = drafted(tmp_path / "bag", tmp_path / "log.toml")
    # The arm has velocities, the wheels have none.
    assert any("its velocity arrays are empty" in one for one in found)
    log = gr.read_log(tmp_path / "bag", manifest=file)
    assert log.report.rows == len(path.t)
    assert not log.report.rejected
    assert "1000 messages of /joint_states hold other joints" in log.report.remarks
    np.testing.assert_allclose(log.rates["FL"][1:-1], path.left[1:-1], rtol=0.0, atol=0.05)
    motion = gr.MotionModel(model=gr.Kinematics(gr.vehicle("warthog")))
    from grouser.logs.stream import open_stream

    stream = open_stream(tmp_path / "bag", load_manifest(file), motion.vehicle.joints, log)
    events = [one for one in stream.events() if one.kind == "joints"]
    assert len(events) == len(path.t)
    assert all(np.isfinite(one.values[0]).all() for one in events[1:])


def test_joints_stamped_by_another_clock_are_refused(tmp_path: Path) -> None:
    path, bag = driven(5.0, SLIP), Bag()
    for k, t in enumerate(path.t.tolist()):
        bag.joints(t - 37.0, t, path.left[k], path.right[k])
        bag.link(t, t, "map", "base_link", (path.x[k], path.y[k]), path.yaw[k])
    bag.write(tmp_path / "bag")
    rates = {j: {"topic": "/joint_states", "field": "velocity", "joint": f"{j}_wheel"} for j in NAMES}
    manifest = {"vehicle": "warthog", "rates": rates, "pose": {"frame": "base_link", "world": "map"}}
    with pytest.raises(LogError, match=r'/tf: .* /joint_states 37 s: they have two clocks; use stamp = "record"'):
        gr.read_log(tmp_path / "bag", manifest=manifest)
    assert len(gr.read_log(tmp_path / "bag", manifest={**manifest, "time": {"stamp": "record"}})) == len(path.t)


def test_fusion_with_gps_and_no_heading_starts_where_the_antenna_may_be_and_is_judged_in_the_world(
    tmp_path: Path,
) -> None:
    from grouser.robot.fuse_log import fuse_log

    write_field_bag(tmp_path / "bag", seconds=60.0)
    file, _ = drafted(tmp_path / "bag", tmp_path / "log.toml")
    fused = fuse_log(tmp_path / "bag", manifest=file)
    assert fused.judged is not None
    # The antenna is 0.36 m from the origin on a side that is not known, and the fixes are good to 2 cm.
    assert "gps_refused" not in fused.run.faults
    assert fused.judged.end_error < 0.1
    assert abs(fused.judged.yaw_error) < np.radians(3.0)
