"""The chain on board: signals in any order give the estimate of signals in order, whatever comes in between."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import RobotError
from grouser.fusion import Fusion
from grouser.motion.correction import Corrected
from grouser.robot import Robot, RobotSettings

RADIUS, HALF_TRACK = 0.125, 0.295  # of the LRU [m]
STEERED = dict.fromkeys(("steerFL", "steerFR", "steerBL", "steerBR", "bogieF", "bogieB"), 0.0)
G = 9.81


def drive(seconds=12.0, seed=0, speed=0.4):
    """Signals of a straight drive on level ground: it stands for 2 s, speeds up within 2 s and goes on."""
    rng = np.random.default_rng(seed)
    signals = []
    for k in range(int(seconds * 100) + 1):
        t = 0.01 * k
        force = [speed / 2.0 if 2.0 <= t < 4.0 else 0.0, 0.0, G]
        signals.append((t, "imu", 3e-3 * rng.standard_normal(3), force + 1e-2 * rng.standard_normal(3)))
        if k % 2 == 0:
            v = speed * min(max(t - 2.0, 0.0) / 2.0, 1.0)
            noise = 0.05 * rng.standard_normal(4) if v > 0.0 else np.zeros(4)
            signals.append((t, "joints", dict(zip(("FL", "FR", "BL", "BR"), v / RADIUS + noise, strict=True)), STEERED))
    return signals


def feed(robot, signals):
    for t, kind, *values in signals:
        getattr(robot, kind)(t, *values)


def shuffled(signals, most, seed=1):
    """The same as they arrive: each is late by up to `most` [s]."""
    rng = np.random.default_rng(seed)
    arrival = [one[0] + rng.uniform(0.0, most) for one in signals]
    return [signals[i] for i in np.argsort(arrival)]


@pytest.fixture(scope="module")
def in_order():
    robot = Robot("lru2")
    feed(robot, drive())
    return robot


def same(a, b):
    assert a.time == b.time
    for name in ("position", "quaternion", "twist", "pose_covariance", "twist_covariance"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.fused.covariance, b.fused.covariance)
    np.testing.assert_array_equal(a.wheels.pose_covariance, b.wheels.pose_covariance)


def test_straight_drive_ends_where_the_wheels_went(in_order):
    estimate = in_order.estimate
    truth = np.array([0.4 * 9.0, 0.0, 0.0])
    delta = estimate.position - truth
    sigma = np.sqrt(np.diag(estimate.pose_covariance)[3:])
    assert (np.abs(delta) < 3.0 * sigma).all()
    assert (sigma < [0.2, 0.2, 0.3]).all()
    assert estimate.twist[3] == pytest.approx(0.4, abs=0.05)
    assert estimate.excluded == ()


def test_clocks_that_agree_less_leave_the_speed_less_certain_while_it_changes():
    """sync: one sigma of the time between IMU and wheels; times an acceleration it is an error of the speed."""
    sigma = []
    for sync in (0.001, 0.5):
        robot = Robot("lru2", settings=RobotSettings(sync=sync))
        feed(robot, [one for one in drive(3.5) if one[0] <= 3.5])  # it speeds up from 2 s to 4 s
        sigma.append(math.sqrt(robot.estimate.twist_covariance[3, 3]))
        assert robot.faults == {}
    assert sigma[1] > 1.03 * sigma[0] > 0.0  # the IMU holds the speed, so that it grows by little: 1.06


def test_late_signals_give_the_estimate_of_signals_in_order(in_order):
    robot = Robot("lru2")
    feed(robot, shuffled(drive(), 0.3))
    replays, replayed = robot.replays
    assert replays > 100
    assert replayed > replays
    same(robot.estimate, in_order.estimate)
    assert robot.faults == in_order.faults


def test_late_poses_are_replayed_too():
    """Relative poses that come 0.2 s late, as visual odometry does, end where those that come at once end."""
    signals = drive()
    poses = []
    for a in np.arange(0.0, 11.5, 0.1):
        place = [0.1 * max(t - 2.0, 0.0) ** 2 if t < 4.0 else 0.4 + 0.4 * (t - 4.0) for t in (a, a + 0.1)]
        moved = np.array([place[1] - place[0], 0.0, 0.0])
        poses.append((a + 0.1, "relative_pose", a, moved, 1e-6 * np.eye(6) + np.diag([0, 0, 0, 4e-6, 4e-6, 4e-6])))
    ends = []
    for delay in (0.0, 0.2):
        robot = Robot("lru2")
        events = [(s[0], *s) for s in signals] + [(p[0] + delay, *p) for p in poses]
        for _, t, kind, *values in sorted(events, key=lambda e: (round(e[0], 6), e[2] != "imu")):
            if kind == "relative_pose":
                robot.relative_pose(values[0], t, values[1], [1.0, 0.0, 0.0, 0.0], values[2])
            else:
                getattr(robot, kind)(t, *values)
        ends.append(robot.estimate)
        assert robot.nis["poses"].used > 100
    np.testing.assert_allclose(ends[1].position, ends[0].position, rtol=0.0, atol=1e-9)
    assert abs(ends[0].position[0] - 3.6) < 0.05


def test_chain_is_odometry_then_fusion(in_order):
    """By hand: Fusion fed with the twist of the wheels, without the measurement of rise, gives nearly the same."""
    fusion, odometry = Fusion(), gr.Odometry("lru2")
    for t, kind, *values in drive():
        if kind == "imu":
            fusion.imu(t, *values)
        else:
            wheels = odometry.update(t, *values)
            fusion.wheels(t, wheels.twist, wheels.twist_covariance)
    np.testing.assert_allclose(in_order.estimate.position[:2], fusion.estimate.position[:2], rtol=0.0, atol=0.02)


def test_too_late_is_counted_and_left_out(in_order):
    signals = drive()
    robot = Robot("lru2", RobotSettings(delay=0.1))
    late = [(5.0, "imu", [9.0, 9.0, 9.0], [50.0, 0.0, 0.0])]
    at = next(i for i, one in enumerate(signals) if one[0] > 5.5)
    feed(robot, signals[:at] + late + signals[at:])
    assert robot.faults["signals_too_late"] == 1
    np.testing.assert_allclose(robot.estimate.position, in_order.estimate.position, rtol=0.0, atol=1e-9)


def test_one_stamp_far_ahead_does_not_stop_the_others(in_order):
    signals = drive()
    wrong = [(1e6, "imu", [0.0, 0.0, 0.0], [0.0, 0.0, G])]
    robot = Robot("lru2")
    feed(robot, signals[:700] + wrong + signals[700:])
    assert robot.faults["signals_too_early"] == 1
    same(robot.estimate, in_order.estimate)


@pytest.mark.parametrize("step", [-3600.0, 1.7e9])
def test_clock_that_is_set_goes_on(in_order, step):
    signals = [(t + (step if t > 6.0 else 0.0), *rest) for t, *rest in drive()]
    robot = Robot("lru2")
    feed(robot, signals)
    assert robot.faults["signals_clock"] == 1
    estimate = robot.estimate
    assert estimate.time == pytest.approx(12.0 + step, abs=1e-3)
    assert abs(estimate.position[0] - in_order.estimate.position[0]) < 0.15  # the signals until the clock was confirmed


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_bad_numbers_are_faults(bad, in_order):
    robot = Robot("lru2")
    for k, (t, kind, *values) in enumerate(drive()):
        if k % 40 == 7:
            robot.imu(t + 1e-4, [bad, 0.0, 0.0], [0.0, 0.0, G])
            robot.joints(t + 1e-4, dict.fromkeys(("FL", "FR", "BL", "BR"), bad), STEERED)
            robot.imu(bad, [0.0, 0.0, 0.0], [0.0, 0.0, G])
        getattr(robot, kind)(t, *values)
    estimate = robot.estimate
    assert np.isfinite(estimate.position).all()
    assert np.isfinite(estimate.pose_covariance).all()
    assert robot.faults["imu_not_finite"] > 10
    assert np.linalg.norm(estimate.position - in_order.estimate.position) < 0.3


def test_without_imu_the_estimate_is_the_wheels():
    robot = Robot("lru2", position=(1.0, 2.0, 0.0), yaw=math.pi / 2)
    feed(robot, [one for one in drive() if one[1] == "joints"])
    estimate = robot.estimate
    assert estimate.fused is None
    assert "imu" in estimate.degraded
    np.testing.assert_allclose(estimate.position, [1.0, 2.0 + 3.6, 0.0], rtol=0.0, atol=0.1)


def test_start_pose_turns_the_path():
    robot = Robot("lru2", position=(1.0, 2.0, 3.0), yaw=math.pi / 2)
    feed(robot, drive())
    np.testing.assert_allclose(robot.estimate.position, [1.0, 2.0 + 3.6, 3.0], rtol=0.0, atol=0.3)


def test_ring_that_is_full_goes_on(in_order):
    robot = Robot("lru2", RobotSettings(events=64))
    feed(robot, drive())
    same(robot.estimate, in_order.estimate)


def test_late_signals_of_a_model_with_correction():
    """A correction uses the last second of wheel velocities: a late sample changes what is added to later ones."""
    model = Corrected(
        vehicle=gr.vehicle("warthog"), slip=np.zeros(13), terms=(1, 4), widths=(1.0, 1.0), reach=(2.0, 2.0, 1.0, 1.0),
        correction=np.array([0.2, 0.3, 0.0, 0.0]),
    )  # fmt: skip
    signals = []
    for t, kind, *values in drive(8.0):
        if kind == "joints":
            turning = 0.2 * math.sin(t) if t > 2.5 else 0.0
            left, right = (values[0]["FL"] + sign * turning for sign in (-1.0, 1.0))
            values = [{w: left if "left" in w or w.endswith("L") else right for w in model.vehicle.wheels}]
        signals.append((t, kind, *values))
    ends = []
    for most in (0.0, 0.2):
        robot = Robot(gr.MotionModel(model=model))
        feed(robot, shuffled(signals, most) if most else signals)
        ends.append(robot.estimate)
    same(*ends)
    odometry = gr.Odometry(gr.MotionModel(model=model))
    for t, kind, *values in signals:
        if kind == "joints":
            alone = odometry.update(t, *values)
    # Not equal: the chain also has the fused attitude and the gyro's noise about x and y, some mrad and mrad/s.
    np.testing.assert_allclose(ends[0].wheels.twist[3:5], alone.twist[3:5], rtol=0.0, atol=2e-3)
    np.testing.assert_allclose(ends[0].wheels.twist[2], alone.twist[2], rtol=0.0, atol=2e-3)
    plain = Robot(gr.MotionModel(model=model.with_parameters({"slip.c1": 0.0, "slip.c4": 0.0})))
    feed(plain, signals)
    assert np.abs(plain.estimate.position - ends[0].position).max() > 1e-3


def test_wrong_input_is_one_sentence():
    robot = Robot("lru2")
    with pytest.raises(RobotError, match=r"joints at t = 'x'.*it takes a time"):
        robot.joints("x", [0.0] * robot.vehicle.n_joints)
    with pytest.raises(RobotError, match="delay"):
        RobotSettings(delay=-1.0)
    with pytest.raises(RobotError, match="quaternion is zero"):
        robot.pose(0.0, [0, 0, 0], [0, 0, 0, 0])
