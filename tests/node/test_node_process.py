"""`grouser node` as a process on loopback: odometry comes back, and a killed node goes on from its checkpoint."""

import json
import math
import os
import subprocess
import sys
import threading
import time
import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

from grouser.cli.app import app
from grouser.logs.manifest import load_manifest
from grouser.node import messages as ros
from grouser.node.cdr import decode
from tests.node.stand_in import Loop

pytest.importorskip("cyclonedds")
pytest.importorskip("grouser.robot.robot")

from grouser.node.dds import DdsTransport
from grouser.node.inputs import Inputs
from grouser.node.runner import Node, NodeSettings

DOMAIN = 100 + (os.getpid() + 60) % 120
WHEELS = ("FL", "FR", "BL", "BR")
MANIFEST = 'schema = "grouser/log@1"\nvehicle = "husky"\n[rates]\n' + "".join(
    f'{name} = {{topic = "/joint_states", field = "velocity", joint = "{name}"}}\n' for name in WHEELS
)
SPEED = 0.165 * 2.0


class Robot:
    """Another process's robot: sends its wheels, hears the odometry."""

    def __init__(self, folder):
        self.transport = DdsTransport(DOMAIN)
        self.got = []
        self.transport.subscribe(
            "/odom", ros.Odometry, lambda data, _: self.got.append(decode(ros.Odometry, data)), reliable=True
        )
        self.send = self.transport.publisher("/joint_states", ros.JointState, reliable=False)
        self.manifest, self.checkpoint = folder / "robot.toml", folder / "node.npz"
        self.manifest.write_text(MANIFEST)
        self.stopping = threading.Event()

    def start(self):
        """A node, once it has found the topics."""
        node = subprocess.Popen(
            [sys.executable, "-m", "grouser", "node", "--manifest", str(self.manifest), "--domain", str(DOMAIN),
             "--checkpoint", str(self.checkpoint), "--json"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        known = {one.identity for one in self.transport.peers()}  # a killed one is seen for some time
        while len({one.topic for one in self.transport.peers() if one.identity not in known}) < 2:
            assert node.poll() is None
            time.sleep(0.05)
        return node

    def drive(self):
        """Drive on and on, in a thread of its own."""
        message = ros.JointState(name=list(WHEELS), velocity=np.full(4, 2.0))
        while not self.stopping.wait(0.01):
            message.header.stamp = ros.Time.of(time.time())
            self.send(message)

    def wait(self, seconds):
        """Until the odometry received has advanced so far; the last one."""
        first = self.got[-1].header.stamp.seconds if self.got else None
        while first is None or self.got[-1].header.stamp.seconds < first + seconds:
            time.sleep(0.02)
            first = self.got[-1].header.stamp.seconds if self.got and first is None else first
        return self.got[-1]


def where(odometry):
    return odometry.pose.pose.position.x


def when(odometry):
    return odometry.header.stamp.seconds


def test_a_node_that_is_killed_goes_on_from_its_checkpoint(tmp_path):
    robot = Robot(tmp_path)
    thread = threading.Thread(target=robot.drive)
    thread.start()
    node = robot.start()
    try:
        last = robot.wait(3.0)
        assert where(last) == pytest.approx(SPEED * (when(last) - when(robot.got[0])), abs=0.02)
        node.kill()
        node.wait()
        last, heard = robot.got[-1], len(robot.got)
        node = robot.start()
        robot.wait(1.0)
        first = robot.got[heard]
        pause = when(first) - when(last)
        # Up to 10 s the chain takes a pause for a silence and the wheels' rates for its motion, later for no motion; a
        # checkpoint is at most some seconds old.
        assert where(last) - 3.0 * SPEED < where(first) < where(last) + SPEED * pause + 0.1
        if pause < 6.0:
            assert where(first) == pytest.approx(where(last) + SPEED * pause, abs=0.1)
        after = robot.got[-1]
        assert where(after) - where(first) == pytest.approx(SPEED * (when(after) - when(first)), abs=0.02)
        assert after.pose.covariance[0] > last.pose.covariance[0]
        node.terminate()
        said = json.loads(node.communicate(timeout=30)[0])
        assert said["resumed"]
        assert said["lost"] == {"queue": 0, "way": 0}
        assert {"median", "p99"} <= set(said["latency_ms"])
    finally:
        robot.stopping.set()
        thread.join()
        node.kill()
        robot.transport.close()


def test_the_state_of_a_chain_goes_on_in_another_one_as_if_nothing_had_happened():
    from grouser.robot import Robot as Chain
    from grouser.robot.robot import restore, state_of

    def feed(chain, steps):
        for k in steps:
            chain.imu(0.01 * k, (0.0, 0.0, 0.1), (0.0, 0.0, 9.80665))
            chain.joints(0.01 * k, np.array([2.0, 2.2, 2.0, 2.2]))

    first, second = Chain("husky"), Chain("husky")
    feed(first, range(300))
    restore(second, state_of(first))
    for one in (first, second):
        feed(one, range(300, 400))
    for name in ("time", "position", "quaternion", "twist", "pose_covariance"):
        np.testing.assert_array_equal(getattr(first.estimate, name), getattr(second.estimate, name))
    with pytest.raises(Exception, match="does not fit this fit and version"):
        restore(second, {**state_of(first), "fusion": np.zeros(3, np.uint8)})


@pytest.mark.parametrize("jump", [-100.0, 1e6])
def test_a_clock_that_is_set_is_reported_and_the_pose_goes_on(jump):
    from grouser.robot import Robot as Chain

    loop, chain = Loop(), Chain("husky")
    node = Node(
        chain, Inputs(load_manifest(tomllib.loads(MANIFEST)), chain.vehicle.joints), loop, NodeSettings(rate=1e9)
    )
    for k in range(400):
        t = 1000.0 + 0.01 * k + (jump if k >= 200 else 0.0)
        loop.send("/joint_states", ros.JointState(ros.Header(ros.Time.of(t)), list(WHEELS), velocity=np.full(4, 2.0)))
        node._work(0.0, math.inf)
    node._diagnose(0.0)
    last = loop.sent["/odom"][-1]
    assert when(last) == pytest.approx(1003.99 + jump, abs=1e-6)
    assert where(last) == pytest.approx(SPEED * 3.99, abs=0.25 * SPEED)  # 20 signals of 10 ms until it is believed
    states = {one.name: one for one in loop.sent["/diagnostics"][-1].status}
    assert "fault signals_clock" in {one.key for one in states["grouser: estimate"].values}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--transport", "carrier-pigeon"], "is not one of dds, zenoh"),
        (["--rate", "0"], "--rate: 0 is not a positive number"),
        (["--for", "-1"], "--for: -1 is not a positive number"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(tmp_path, options, said):
    from grouser.errors import GrouserError

    (tmp_path / "m.toml").write_text(MANIFEST)
    result = CliRunner().invoke(app, ["node", "--manifest", str(tmp_path / "m.toml"), *options])
    assert result.exit_code != 0
    assert isinstance(result.exception, GrouserError)
    assert said in str(result.exception)
