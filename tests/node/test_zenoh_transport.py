"""Zenoh between processes on loopback: discovery, reliable messages, peers that go and come back; a router between."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

zenoh = pytest.importorskip("zenoh")

from grouser.node import zenoh_transport  # noqa: E402
from grouser.node.fields import type_hash  # noqa: E402
from grouser.node.messages import JointState, String, Twist, TwistStamped, Vector3, decode  # noqa: E402
from grouser.node.transport import TransportError  # noqa: E402
from grouser.node.zenoh_transport import ZenohTransport, session_settings  # noqa: E402

PEER = Path(__file__).with_name("zenoh_peer.py")
TOPIC = "/joint_states"


@pytest.fixture
def domain():
    """Of this test alone: others may run on this computer."""
    return random.SystemRandom().randrange(1000, 1_000_000)


@pytest.fixture
def other(domain):
    """Starts other processes; ends those it started."""
    started = []

    def start(what, count):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen([sys.executable, str(PEER), what, str(domain), str(count)], **pipes))
        assert started[-1].stdout.readline() == "ready\n"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def transport(domain):
    opened = ZenohTransport("here", domain=domain, connect=())
    yield opened
    opened.close()


def wait_for(condition, polls=3000):
    for _ in range(polls):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("did not happen")


def publishers(transport):
    return [one for one in transport.peers() if one.publishes]


def test_a_thousand_messages_between_processes_arrive_whole_and_in_order(other, domain):
    listener, talker = other("listen", 1000), other("talk", 1000)
    assert talker.stdout.readline() == "sent\n"
    assert listener.stdout.readline() == "1000 True 0\n"


def test_a_peer_is_discovered_and_noticed_when_killed_and_when_it_comes_back(other, transport):
    got = []
    transport.subscribe(TOPIC, JointState, lambda data, arrived: got.append(decode(JointState, data).header.stamp.sec))
    first = other("talk", 50)
    wait_for(lambda: publishers(transport))
    [peer] = publishers(transport)
    assert (peer.topic, peer.type) == (TOPIC, "sensor_msgs/msg/JointState")
    assert peer.identity.startswith("/talk@")
    wait_for(lambda: len(got) == 50)
    first.send_signal(signal.SIGKILL)
    wait_for(lambda: not transport.peers())
    got.clear()
    other("talk", 50)
    wait_for(lambda: publishers(transport))
    assert publishers(transport)[0].identity != peer.identity
    wait_for(lambda: len(got) == 50)
    assert got == list(range(50))
    assert transport.lost() == 0
    assert transport.faults() == {}


def test_a_peer_that_leaves_properly_is_gone_at_once(other, transport):
    transport.publisher(TOPIC, JointState)
    listener = other("listen", 0)
    wait_for(lambda: [one for one in transport.peers() if not one.publishes])
    listener.stdin.close()
    wait_for(lambda: not transport.peers())


def test_tokens_of_node_publisher_and_subscription_are_in_the_network(transport, domain):
    transport.subscribe("/in", String, lambda data, arrived: None)
    transport.publisher("/out", String)
    with raw_session() as session:
        found = []

        def all_found():
            replies = session.liveliness().get(f"@ros2_lv/{domain}/**", timeout=2.0)
            found[:] = sorted(str(reply.ok.key_expr) for reply in replies)
            return len(found) == 3

        wait_for(all_found)
    zid = found[0].split("/")[2]
    middle, kind = f"@ros2_lv/{domain}/{zid}/0", f"std_msgs::msg::dds_::String_/{type_hash(String)}"
    assert found == [
        f"{middle}/0/NN/%/%/here",
        f"{middle}/1/MS/%/%/here/%in/{kind}/2::,5:,:,:,,",
        f"{middle}/2/MP/%/%/here/%out/{kind}/::,10:,:,:,,",
    ]


def raw_session(**settings):
    config = zenoh.Config()
    for path, value in {**session_settings(connect=()), **settings}.items():
        config.insert_json5(path, json.dumps(value))
    return zenoh.open(config)


@pytest.mark.parametrize("mode", ["peer", "client"])
def test_nodes_find_each_other_through_a_router_alone(mode, domain, monkeypatch):
    def without_multicast(*given, **options):
        return {**session_settings(*given, **options), "scouting/multicast/enabled": False}

    monkeypatch.setattr(zenoh_transport, "session_settings", without_multicast)
    with socket.create_server(("127.0.0.1", 0)) as free:
        endpoint = f"tcp/127.0.0.1:{free.getsockname()[1]}"
    router = raw_session(**{"mode": "router", "listen/endpoints": [endpoint], "scouting/multicast/enabled": False})
    got = []
    a = ZenohTransport("a", domain=domain, mode=mode, connect=[endpoint])
    b = ZenohTransport("b", domain=domain, mode=mode, connect=[endpoint])
    b.subscribe("/says", String, lambda data, arrived: got.append(decode(String, data).data))
    publish = a.publisher("/says", String)
    wait_for(lambda: a.peers() and b.peers())
    publish(String("through"))
    wait_for(lambda: got == ["through"])
    for one in (a, b, router):
        one.close()


def test_only_loopback_is_listened_on(transport):
    links = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.exists()]
    inodes = {re.sub(r"\D", "", one) for one in links if one.startswith("socket")}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    listening = {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}
    assert listening == {"0100007F"}
    devices = Path("/proc/net/igmp").read_text().split("\n")[1:]
    joined, device = set(), ""
    for line in devices:
        words = line.split()
        device = words[1] if words and not line.startswith("\t") else device
        joined |= {device} if words and words[0] == "E00000E0" else set()  # 224.0.0.224, where Zenoh scouts
    assert joined <= {"lo"}


def test_settings_leave_loopback_only_when_told():
    here, out = session_settings(), session_settings(network=True)
    assert here["listen/endpoints"] == ["tcp/127.0.0.1:0"]
    assert here["scouting/multicast/interface"] == "lo"
    assert here["connect/endpoints"] == ["tcp/localhost:7447"]
    assert out["listen/endpoints"] == ["tcp/[::]:0"]
    assert out["scouting/multicast/interface"] == "auto"
    assert session_settings(listen=["tcp/192.0.2.1:7447"])["listen/endpoints"] == ["tcp/192.0.2.1:7447"]


def test_nothing_is_called_after_close_and_a_second_close_does_nothing(transport, domain):
    got = []
    transport.subscribe("/says", String, lambda data, arrived: got.append(data))
    there = ZenohTransport("there", domain=domain, connect=())
    publish = there.publisher("/says", String)
    wait_for(there.peers)
    publish(String("a"))
    wait_for(lambda: got)
    transport.close()
    transport.close()
    publish(String("b"))
    there.close()
    publish(String("c"))
    assert len(got) == 1
    with pytest.raises(TransportError, match="closed"):
        transport.publisher("/x", String)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mode": "client", "connect": ["tcp/127.0.0.1:1"]}, "client mode .* cannot be opened"),
        ({"connect": ["nonsense"]}, "cannot be opened"),
        ({"listen": ["tcp/256.0.0.1:0"]}, "cannot be opened"),
        ({"domain": -1}, "domain: -1 is not a ROS domain"),
    ],
)
def test_a_session_that_cannot_be_opened_says_why(given, said):
    with pytest.raises(TransportError, match=said) as told:
        ZenohTransport(**given)
    assert "\n" not in str(told.value)
    assert ".rs" not in str(told.value)


def test_the_domain_is_that_of_ros(monkeypatch, domain):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    with_environment, told = ZenohTransport("a", connect=()), ZenohTransport("b", domain=domain, connect=())
    told.publisher("/says", String)
    with_environment.subscribe("/says", String, lambda data, arrived: None)
    wait_for(with_environment.peers)
    with_environment.close()
    told.close()
    monkeypatch.setenv("ROS_DOMAIN_ID", "many")
    with pytest.raises(TransportError, match="ROS_DOMAIN_ID: 'many' is not a ROS domain"):
        ZenohTransport("a", connect=())


@pytest.mark.parametrize("topic", ["odom", "/a b", "/a/*", "/", "/a//b", "/1st", "/ä"])
def test_a_name_that_is_no_topic_is_refused(transport, topic):
    with pytest.raises(TransportError, match="is not the name of a ROS topic"):
        transport.subscribe(topic, String, lambda data, arrived: None)


def test_a_topic_is_published_with_one_type_and_heard_with_several(transport, domain):
    transport.publisher("/says", String)
    with pytest.raises(TransportError, match=r"/says: has messages of type std_msgs/msg/String already"):
        transport.publisher("/says", JointState)
    got = []
    for kind in (Twist, TwistStamped):  # a node does not know which of them a robot sends
        transport.subscribe("/cmd_vel", kind, lambda data, arrived, kind=kind: got.append(decode(kind, data)))
    there = ZenohTransport("there", domain=domain, connect=())
    send, message = there.publisher("/cmd_vel", TwistStamped), TwistStamped(twist=Twist(Vector3(0.5)))
    wait_for(lambda: send(message) or got)
    assert got[0] == message
    assert [one.type for one in publishers(transport)] == [TwistStamped.NAME]
    assert transport.faults() == {}
    there.close()
