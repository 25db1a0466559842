"""DDS between participants and between processes, on loopback."""

import importlib
import os
import subprocess
import sys
import threading

import pytest

from grouser.node import messages as ros
from grouser.node.cdr import decode

pytest.importorskip("cyclonedds")

from grouser.node.dds import DdsTransport
from grouser.node.transport import TransportError

DOMAIN = 100 + os.getpid() % 120
WAIT = 30.0
"""Longest wait for what must come [s]; a test that passes does not wait so long."""

PUBLISHER = """
import sys
from grouser.node import messages as ros
from grouser.node.dds import DdsTransport
transport = DdsTransport(int(sys.argv[1]))
publish = {name: transport.publisher(f"/all/{kind.__name__}", kind) for name, kind in ros.TYPES.items()}
sys.stdin.readline()  # the other side has found all of them
for name, kind in ros.TYPES.items():
    publish[name](kind())
for k in range(2000):
    publish["std_msgs/msg/Float64"](ros.Float64(float(k)))
sys.stdin.readline()
transport.close()
"""


@pytest.fixture
def transport():
    one = DdsTransport(DOMAIN)
    yield one
    one.close()


def wait_until(holds):
    gate = threading.Event()
    for _ in range(int(WAIT / 0.02)):
        if holds():
            return
        gate.wait(0.02)
    raise AssertionError("what must come has not come")


def test_every_message_goes_from_process_to_process_and_none_is_lost(transport):
    got = {name: [] for name in ros.TYPES}
    for name, kind in ros.TYPES.items():
        transport.subscribe(
            f"/all/{kind.__name__}", kind, lambda data, _, name=name: got[name].append(data), reliable=True
        )
    other = subprocess.Popen([sys.executable, "-c", PUBLISHER, str(DOMAIN)], stdin=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: len([one for one in transport.peers() if one.publishes]) == len(ros.TYPES))
        assert {one.type for one in transport.peers()} == set(ros.TYPES)
        print("go", file=other.stdin, flush=True)
        wait_until(lambda: len(got["std_msgs/msg/Float64"]) == 2001 and all(got.values()))
        assert all(decode(kind, got[name][0]) == kind() for name, kind in ros.TYPES.items())
        numbers = [decode(ros.Float64, one).data for one in got["std_msgs/msg/Float64"][1:]]
        assert numbers == [float(k) for k in range(2000)]
        assert transport.lost() == 0
        print("end", file=other.stdin, flush=True)
        assert other.wait(WAIT) == 0
        wait_until(lambda: not transport.peers())
    finally:
        other.kill()


def test_names_and_quality_are_those_that_ros_expects(transport):
    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription
    from cyclonedds.core import Policy

    transport.publisher("/odom", ros.Odometry)
    transport.subscribe("/imu", ros.Imu, lambda *_: None)
    out, heard = (
        [one for one in BuiltinDataReader(transport._participant, kind).take(50) if one.topic_name.startswith("rt/")]
        for kind in (BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription)
    )
    assert (out[0].topic_name, out[0].type_name) == ("rt/odom", "nav_msgs::msg::dds_::Odometry_")
    assert (heard[0].topic_name, heard[0].type_name) == ("rt/imu", "sensor_msgs::msg::dds_::Imu_")
    assert isinstance(out[0].qos[Policy.Reliability], type(Policy.Reliability.Reliable(1)))
    assert heard[0].qos[Policy.Reliability] == Policy.Reliability.BestEffort
    for one in (out[0], heard[0]):
        assert one.qos[Policy.Durability] == Policy.Durability.Volatile
        representation = one.qos[Policy.DataRepresentation]
        assert representation.use_cdrv0_representation
        assert not representation.use_xcdrv2_representation


def test_a_subscriber_of_sensor_data_hears_reliable_and_best_effort_publishers(transport):
    other, got = DdsTransport(DOMAIN), []
    try:
        transport.subscribe("/text", ros.String, lambda data, _: got.append(decode(ros.String, data).data))
        publish = [other.publisher("/text", ros.String, reliable=reliable) for reliable in (True, False)]
        wait_until(lambda: len(transport.peers()) == 2)
        wait_until(lambda: len(other.peers()) == 2)
        for one, text in zip(publish, ("reliable", "best effort"), strict=True):
            one(ros.String(text))
        wait_until(lambda: len(got) == 2)
        assert set(got) == {"reliable", "best effort"}
    finally:
        other.close()


def test_without_cyclone_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclonedds", None)
    monkeypatch.delitem(sys.modules, "grouser.node.dds")
    with pytest.raises(TransportError, match=r"pip install 'grouser\[dds\]'"):
        importlib.import_module("grouser.node.dds")


@pytest.mark.parametrize("domain", [-1, 233])
def test_a_domain_that_does_not_exist_is_refused(domain):
    with pytest.raises(TransportError, match="domains are 0 to 232"):
        DdsTransport(domain)


def test_the_domain_of_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "mine")
    with pytest.raises(TransportError, match="ROS_DOMAIN_ID: 'mine'"):
        DdsTransport()


def test_a_topic_begins_with_a_slash_and_closing_twice_is_no_harm(transport):
    with pytest.raises(TransportError, match="begins with /"):
        transport.publisher("odom", ros.Odometry)
    transport.close()
