"""The live view as a client of Foxglove sees it: a WebSocket on loopback with channels and their messages."""

import json
import logging
import math
import socket
import struct
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest

import grouser as gr
from grouser.errors import GrouserError
from grouser.node.messages import DiagnosticArray, DiagnosticStatus, Header, KeyValue, Odometry, Time

pytest.importorskip("foxglove")
client = pytest.importorskip("websockets.sync.client")
schemas = pytest.importorskip("foxglove_schemas_protobuf")

from foxglove_schemas_protobuf.Log_pb2 import Log  # noqa: E402
from foxglove_schemas_protobuf.PosesInFrame_pb2 import PosesInFrame  # noqa: E402
from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate  # noqa: E402

from grouser.node import foxglove_view  # noqa: E402
from grouser.node.foxglove_scene import PathSoFar  # noqa: E402
from grouser.node.foxglove_view import LiveView, slip_of  # noqa: E402

TOPICS = {"/odom", "/tf", "/path", "/scene", "/wheels", "/slip", "/monitor", "/diagnostics"}


@pytest.fixture
def view(monkeypatch):
    monkeypatch.setattr(foxglove_view, "RATE", 1e9)
    monkeypatch.setattr(foxglove_view, "SLOW", 0.0)
    opened = LiveView(port=0, vehicle=gr.vehicle("rocky7"))
    yield opened
    opened.close()


class Client:
    """Speaks Foxglove's WebSocket protocol: JSON for control, op code 1, subscription, time and bytes for messages."""

    def __init__(self, port, topics):
        self.context = client.connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"])
        self.socket = self.context.__enter__()
        self.channels = {}
        while set(self.channels) != TOPICS:
            said = json.loads(self.socket.recv(timeout=5))
            if said["op"] == "advertise":
                self.channels.update({one["topic"]: one for one in said["channels"]})
        wanted = [{"id": k, "channelId": self.channels[topic]["id"]} for k, topic in enumerate(topics)]
        self.topics = topics
        self.socket.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))

    def message(self, topic, show):
        """Call show until a message of the topic comes: time [ns] and bytes."""
        for _ in range(200):
            show()
            while True:
                try:
                    data = self.socket.recv(timeout=0.02)
                except TimeoutError:
                    break
                if isinstance(data, bytes) and data[0] == 1:
                    number, stamp = struct.unpack("<IQ", data[1:13])
                    if self.topics[number] == topic:
                        return stamp, data[13:]
        raise AssertionError(f"no message of {topic}")


def odometry(x=1.0, y=2.0, sigma=0.1, sec=100):
    message = Odometry(Header(Time(sec, 5), "odom"), "base_link")
    message.pose.pose.position.x, message.pose.pose.position.y = x, y
    message.pose.covariance = (np.eye(6) * sigma**2).ravel()
    message.twist.twist.linear.x = 0.5
    return message


def estimate(**more):
    twist, rolling = np.array([0, 0, 0.2, 0.3, 0.05, 0]), np.array([0, 0, 0.1, 0.5, 0, 0])
    given = {"twist": twist, "wheels": SimpleNamespace(odometry_twist=rolling), "excluded": ()}
    return SimpleNamespace(**{**given, **more})


def test_all_channels_are_advertised_with_foxgloves_types(view):
    one = Client(view.port, [])
    kinds = {topic: channel["schemaName"] for topic, channel in one.channels.items()}
    assert kinds["/odom"] == "foxglove.Odometry"
    assert kinds["/tf"] == "foxglove.FrameTransforms"
    assert kinds["/path"] == "foxglove.PosesInFrame"
    assert kinds["/scene"] == "foxglove.SceneUpdate"
    assert kinds["/diagnostics"] == "foxglove.Log"
    assert unquote(view.url).endswith(f"ws://127.0.0.1:{view.port}")


def test_only_loopback_is_listened_on(view):
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    listening = {row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{view.port:04X}")}
    assert listening == {f"0100007F:{view.port:04X}"}


def test_the_vehicle_is_drawn_with_an_excluded_wheel_in_another_colour(view):
    rover = gr.vehicle("rocky7")
    one = Client(view.port, ["/scene"])
    for _ in range(20):
        stamp, data = one.message("/scene", lambda: view.show(odometry(), excluded=(rover.wheels[0],)))
        drawn = {entity.id: entity for entity in SceneUpdate.FromString(data).entities}
        if "vehicle" in drawn:
            break
    assert stamp == 100_000_000_005
    wheels = drawn["vehicle"].cylinders
    assert drawn["vehicle"].frame_id == "base_link"
    assert len(drawn["vehicle"].cubes) == 1
    assert len(wheels) == len(rover.wheels)
    colours = [(c.color.r, c.color.g, c.color.b) for c in wheels]
    assert colours[0] != colours[1]
    assert len(set(colours[1:])) == 1
    places = [(c.pose.position.x, c.pose.position.y, c.pose.position.z) for c in wheels]
    np.testing.assert_allclose(places, rover.wheel_positions)
    assert wheels[0].size.x == pytest.approx(2 * rover.arrays.radius[0])


def test_the_ellipsoid_of_the_position_has_the_half_axes_of_95_percent(view):
    one = Client(view.port, ["/scene"])
    for _ in range(20):
        _, data = one.message("/scene", lambda: view.show(odometry(sigma=0.1)))
        drawn = {entity.id: entity for entity in SceneUpdate.FromString(data).entities}
        if "position 95 %" in drawn:
            break
    sphere = drawn["position 95 %"].spheres[0]
    assert sphere.size.x == pytest.approx(2 * 0.1 * 2.7955, rel=1e-3)  # √χ²(3; .95) = 2.7955
    assert (sphere.pose.position.x, sphere.pose.position.y) == (1.0, 2.0)


def test_slip_wheels_and_monitor_are_told_by_name(view):
    one = Client(view.port, ["/slip", "/wheels", "/monitor"])
    first = gr.vehicle("rocky7").wheels[0]
    given = {"excluded": (first,), "monitor": {"stuck": True, "sliding": False}, "slip": slip_of(estimate())}
    said = {topic: json.loads(one.message(topic, lambda: view.show(odometry(), **given))[1]) for topic in one.topics}
    assert said["/slip"] == pytest.approx({"ahead": -0.2, "left": 0.05, "yaw": 0.1, "share": 0.4})
    assert said["/monitor"] == {"stuck": True, "sliding": False}
    assert {wheel["name"] for wheel in said["/wheels"]["wheels"]} == set(gr.vehicle("rocky7").wheels)
    assert [wheel["name"] for wheel in said["/wheels"]["wheels"] if wheel["excluded"]] == [first]


def test_slip_of_a_robot_that_stands_has_no_share_and_no_nan():
    still = estimate(twist=np.zeros(6), wheels=SimpleNamespace(odometry_twist=np.zeros(6)))
    assert slip_of(still) == (0.0, 0.0, 0.0, None)
    assert slip_of(estimate(twist=np.full(6, math.nan))) == (None, None, None, None)
    assert slip_of(estimate(wheels=None)) is None


def test_diagnostics_come_with_their_level_and_values(view):
    one = Client(view.port, ["/diagnostics"])
    states = DiagnosticArray(Header(Time(7, 0), ""), [DiagnosticStatus(2, "wheels", "stuck", "", [KeyValue("k", "3")])])
    stamp, data = one.message("/diagnostics", lambda: view.show(odometry(), diagnostics=states))
    log = Log.FromString(data)
    assert (stamp, log.level, log.name, log.message) == (7_000_000_000, Log.ERROR, "wheels", "stuck; k: 3")


def test_the_path_is_whole_in_bounded_memory(view):
    for k in range(300):
        view.show(odometry(x=0.1 * k, y=0.0))
    one = Client(view.port, ["/path"])
    _, data = one.message("/path", lambda: view.show(odometry(x=30.0, y=0.0)))
    xs = [pose.position.x for pose in PosesInFrame.FromString(data).poses]
    np.testing.assert_allclose(xs[:301], 0.1 * np.arange(301), rtol=0.0, atol=1e-9)

    path = PathSoFar(most=100, spacing=0.05)
    for k in range(100_000):
        path.add(0.01 * k, 0.0, 0.0)
    assert 50 <= len(path.points) <= 100
    assert path.points[0, 0] == 0.0
    steps = np.diff(path.points[:, 0])
    assert path.points[-1, 0] >= 999.99 - path.spacing
    assert steps.max() < 2.1 * path.spacing
    path.add(math.nan, 0.0, 0.0)
    assert np.isfinite(path.points).all()


def test_nonsense_in_an_estimate_does_not_stop_the_view(view):
    one = Client(view.port, sorted(TOPICS))
    one.message("/odom", lambda: view.show(odometry()))
    for message in (odometry(x=math.nan), odometry(sigma=math.nan), odometry(sec=-5), odometry(sec=2**31 - 1)):
        view.show(message, slip=slip_of(estimate(twist=np.full(6, math.inf))))
    assert one.message("/odom", lambda: view.show(odometry(sec=101)))[0] > 0


def test_at_most_twenty_times_a_second():
    opened = LiveView(port=0)
    one = Client(opened.port, ["/odom"])
    one.message("/odom", lambda: opened.show(odometry(sec=1)))
    for k in range(1000):
        opened.show(odometry(sec=2 + k))
    received = []
    try:
        while True:
            received.append(one.socket.recv(timeout=0.2))
    except TimeoutError:
        pass
    opened.close()
    assert len(received) < 20  # a thousand calls take less than a second


def test_a_port_that_is_taken_is_said_in_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(GrouserError, match=rf"^Foxglove cannot be served at 127.0.0.1:{port}.*free port$"):
            LiveView(port=port)


def test_after_closing_nobody_listens():
    opened = LiveView(port=0)
    port = opened.port
    opened.close()
    opened.show(odometry(), monitor={})
    for _ in range(500):  # the server ends in a thread of its own
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return
        except OSError:
            pass
        time.sleep(0.01)
    raise AssertionError("the port is still open")


def test_the_users_logging_is_left_alone():
    before = (list(logging.getLogger().handlers), logging.getLogger().level)
    LiveView(port=0).close()
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before
