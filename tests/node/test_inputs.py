"""Messages to the signals of the chain, by the manifest."""

import math

import numpy as np
import pytest

from grouser.errors import LogError
from grouser.logs.manifest import load_manifest
from grouser.node import messages as ros
from grouser.node.inputs import Inputs
from grouser.robot.robot import give
from tests.node.stand_in import Recorder

JOINTS = ("FL", "FR")
RATES = {name: {"topic": "/joint_states", "field": "velocity", "joint": name.lower()} for name in JOINTS}


def taken(tables, *sent, joints=JOINTS):
    """The topics of a manifest, and what a chain is given of these (topic, message, arrival)."""
    inputs = Inputs(load_manifest({"rates": RATES, **tables}), joints)
    robot = Recorder()
    for name, message, *arrived in sent:
        found = [one for one in inputs.topics if (one.name, one.type) == (name, type(message))]
        assert len(found) == 1, f"{name} is subscribed {len(found)} times"
        for event in inputs.reader.take(found[0].given, *(arrived or [99.0]), message):
            give(robot, event)
    return inputs.topics, robot.calls


def joints(t, velocity, names=("fr", "other", "fl"), **more):
    return ros.JointState(ros.Header(ros.Time.of(t)), list(names), velocity=np.array(velocity), **more)


def test_joints_go_by_their_names_with_sign_unit_and_lag():
    rates = {name: {**one, "unit": "deg/s", "sign": -1, "lag": 0.5} for name, one in RATES.items()}
    angles = {"FR": {"topic": "/joint_states", "field": "position", "joint": "fr", "lag": 0.5}}
    _, calls = taken(
        {"rates": rates, "angles": angles},
        ("/joint_states", joints(2.0, [90.0, 1.0, 180.0], position=np.array([0.1, 0.2, 0.3]))),
    )
    (name, t, given, angle) = calls[0]
    assert (name, t) == ("joints", 1.5)
    np.testing.assert_allclose(given, [-math.pi, -math.pi / 2])
    np.testing.assert_array_equal(angle, [np.nan, 0.1])


def test_a_joint_that_a_message_leaves_out_is_not_measured():
    _, calls = taken(
        {}, ("/joint_states", joints(1.0, [3.0], ["fl"])), ("/joint_states", joints(2.0, [1.0], ["fl", "fr"]))
    )
    np.testing.assert_array_equal(calls[0][2], [3.0, np.nan])
    np.testing.assert_array_equal(calls[1][2], [1.0, np.nan])


@pytest.mark.parametrize(("kind", "expected"), [("position", 4.0), ("increment", 6.0)])
def test_rates_of_counts_are_differences(kind, expected):
    rates = {name: {**one, "field": "position", "kind": kind} for name, one in RATES.items()}
    both = [joints(t, [], ["fl", "fr"], position=np.array([p, p])) for t, p in ((1.0, 1.0), (1.5, 3.0))]
    _, calls = taken({"rates": rates}, *(("/joint_states", one) for one in both))
    assert np.isnan(calls[0][2]).all()
    np.testing.assert_allclose(calls[1][2], expected)


def test_wheels_of_several_topics_go_together_and_a_silent_one_is_not_measured():
    rates = {name: {"topic": f"/{name}", "field": "data"} for name in JOINTS}
    sent = (("FR", 2.0, 99.0), ("FL", 1.0, 99.0), ("FL", 3.0, 99.01), ("FL", 4.0, 109.0))
    _, calls = taken({"rates": rates}, *(("/" + name, ros.Float64(value), at) for name, value, at in sent))
    np.testing.assert_array_equal(calls[0][2], [1.0, 2.0])
    np.testing.assert_array_equal(calls[1][2], [3.0, 2.0])
    np.testing.assert_array_equal(calls[2][2], [4.0, np.nan])
    assert calls[0][1] == 99.0, "a message without a header has the time of its arrival"


IMU = {
    "gyro": {axis: {"topic": "/imu", "field": f"angular_velocity.{axis}"} for axis in "xyz"},
    "acceleration": {axis: {"topic": "/imu", "field": f"linear_acceleration.{axis}"} for axis in "xyz"},
}


def test_the_imu_is_turned_into_body_axes():
    message = ros.Imu(
        ros.Header(ros.Time.of(3.0)),
        angular_velocity=ros.Vector3(1.0, 2.0, 3.0),
        linear_acceleration=ros.Vector3(4, 5, 6),
    )
    _, calls = taken({**IMU, "robot": {"imu_rpy": [0.0, 0.0, math.pi / 2]}}, ("/imu", message))
    assert calls[0][:2] == ("imu", 3.0)
    np.testing.assert_allclose(calls[0][2], [-2.0, 1.0, 3.0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(calls[0][3], [-5.0, 4.0, 6.0], rtol=0.0, atol=1e-12)
    message.angular_velocity_covariance[0] = -1.0
    assert taken(IMU, ("/imu", message))[1] == [], "the message says that it does not measure turn rates"


@pytest.mark.parametrize("kind", [ros.Odometry, ros.PoseStamped, ros.PoseWithCovarianceStamped])
def test_other_odometry_gives_the_pose_of_the_body(kind):
    pose = ros.Pose(ros.Point(1.0, 2.0, 3.0), ros.Quaternion(0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
    message = kind(ros.Header(ros.Time.of(5.0)))
    if kind is ros.PoseStamped:
        message.pose = pose
    else:
        message.pose.pose = pose
        message.pose.covariance = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).ravel()
    visual = {"topic": "/visual", "position": [0.5, 0.0, 0.0], "covariance_scale": 2.0}
    topics, calls = taken({"robot": {"visual": visual}}, ("/visual", message))
    name, t, position, quaternion, covariance, source = calls[0]
    assert (name, t, source) == ("pose", 5.0, "/visual")
    np.testing.assert_allclose(position, [1.0, 1.5, 3.0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(quaternion, [math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
    if kind is ros.PoseStamped:
        assert covariance is None
    else:  # rotation first, body axes: the world's y is the body's x; the lever adds 0.5² of the turn
        np.testing.assert_allclose(np.diag(covariance), [10.0, 8.0, 12.0, 4.0, 5.0, 8.0], rtol=0.0, atol=1e-12)
    assert {one.name for one in topics} == {"/visual", "/joint_states"}


def test_motions_since_the_message_before_go_with_the_times_of_both():
    def motion(t):
        one = ros.Odometry(ros.Header(ros.Time.of(t)))
        one.pose.pose.position.x, one.pose.covariance = 0.1, np.eye(6).ravel()
        return one

    visual = {"topic": "/visual", "relative": True, "covariance_scale": 1.0}
    _, calls = taken({"robot": {"visual": visual}}, *(("/visual", motion(t)) for t in (1.0, 1.5)))
    assert len(calls) == 1, "the first has none before it"
    assert calls[0][:3] == ("relative_pose", 1.0, 1.5)
    np.testing.assert_allclose(calls[0][3], [0.1, 0.0, 0.0])


def test_fixes_are_metres_east_north_and_up_of_the_first():
    def fix(latitude, status=0, kind=0):
        one = ros.NavSatFix(ros.Header(ros.Time.of(1.0)), ros.NavSatStatus(status), latitude, 7.0, 400.0)
        one.position_covariance, one.position_covariance_type = np.diag([1.0, 1.0, 2.0]).ravel(), kind
        return one

    sent = [("/fix", one) for one in (fix(50.0), fix(50.001, kind=2), fix(51.0, status=-1), fix(math.nan))]
    _, calls = taken({"robot": {"gps": {"topic": "/fix", "covariance_scale": 4.0, "noise": [3.0, 3.0, 6.0]}}}, *sent)
    assert len(calls) == 2, "a receiver without a fix says so in its status"
    np.testing.assert_allclose(calls[0][2], np.zeros(3), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(
        calls[1][2], [0.0, 111.2, 0.0], rtol=0.0, atol=0.1
    )  # a minute of latitude is 1853 m at 50°
    np.testing.assert_allclose(np.diag(calls[0][3]), [9.0, 9.0, 36.0])
    np.testing.assert_allclose(np.diag(calls[1][3]), [4.0, 4.0, 8.0])


@pytest.mark.parametrize("kind", [ros.Imu, ros.QuaternionStamped])
def test_a_heading_of_an_orientation(kind):
    message = kind(ros.Header(ros.Time.of(2.0)))
    turned = ros.Quaternion(0.0, 0.0, math.sin(0.4), math.cos(0.4))
    if kind is ros.Imu:
        message.orientation = turned
    else:
        message.quaternion = turned
    _, calls = taken(
        {"robot": {"heading": {"topic": "/compass", "declination": 0.1, "noise": 0.02}}}, ("/compass", message)
    )
    assert calls[0][:2] == ("heading", 2.0)
    np.testing.assert_allclose(calls[0][2:], [0.7, 0.02])


def test_a_compass_counts_clockwise_from_north():
    tables = {
        "labels": {"compass": {"topic": "/compass", "field": "data"}},
        "robot": {"heading": {"label": "compass", "unit": "deg", "kind": "heading"}},
    }
    _, calls = taken(tables, ("/compass", ros.Float64(30.0)))
    assert calls[0][2] == pytest.approx(math.radians(60.0))


@pytest.mark.parametrize("kind", [ros.Twist, ros.TwistStamped])
def test_commands(kind):
    twist = ros.Twist(ros.Vector3(0.7), ros.Vector3(z=0.2))
    message = twist if kind is ros.Twist else ros.TwistStamped(ros.Header(ros.Time.of(2.0)), twist)
    _, calls = taken({"robot": {"topics": {"command": "/cmd_vel"}}}, ("/cmd_vel", message))
    assert calls == [("command", 99.0 if kind is ros.Twist else 2.0, 0.7, 0.2)]


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"rates": {"FL": "wl"}}, "needs a topic"),
        ({"rates": {"XX": RATES["FL"]}}, "no such joint; joints are FL, FR"),
        ({"gyro": {"z": {"topic": "/imu", "field": "angular_velocity.z"}}}, "has all six"),
        ({"rates": {"FL": {"topic": "/a", "field": "wheel.left"}}}, "no message with wheel.left"),
        ({"robot": {"heading": {"label": "nothing"}}}, "has no 'nothing'"),
        ({"labels": {"a": "a"}, "robot": {"heading": {"label": "a"}}}, "needs a topic"),
        ({**IMU, "robot": {"gps": {"topic": "/imu"}}}, "no message with"),
    ],
)
def test_manifests_that_a_node_cannot_use_are_refused_in_a_sentence(tables, said):
    with pytest.raises(LogError, match=said):
        taken(tables)
