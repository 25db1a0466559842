"""GPS positions, headings and slip parameters: their derivatives by differences, and what they determine."""

from __future__ import annotations

import numpy as np
import pytest
from fusion_reference import (
    SETTINGS,
    STATE,
    assert_blocks,
    differences,
    exponential,
    general_memory,
    one_event,
    put_then,
    quaternion,
)

from grouser._compile.jit import entry
from grouser._kernels.fusion import filter as events
from grouser._kernels.fusion import gps, wheels, yaw
from grouser.errors import FusionError
from grouser.fusion import Fusion, FusionSettings
from grouser.rotation import from_quaternion

ANTENNA = np.array([-0.2, 0.35, 0.8])
WITH_ANTENNA = SETTINGS.replace(gps_position=tuple(ANTENNA))
ARM = ANTENNA - SETTINGS.imu_position
REST = ((0.0, 0.0, 0.0), (0.0, 0.0, 9.81))


@entry
def run_position_rows(m, delay):
    gps.position_rows(m, delay)


@entry
def run_clone_position_rows(m, index):
    gps.clone_position_rows(m, index)


@entry
def run_heading_rows(m, delay):
    return yaw.heading_rows(m, delay)


@entry
def run_wheels(m, drive):
    speed = wheels.predict_wheels(m, drive.events[0].twist)
    wheels.wheel_rows(m, 0.0, speed)
    return speed


@entry
def run_turn(m, angle, sigma):
    yaw.turn_world(m, angle, sigma)


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_rows_of_a_position_are_the_derivative_of_the_antennas_place(seconds):
    m = general_memory(settings=WITH_ANTENNA)
    put_then(STATE.after(-seconds), m, 10.0 - seconds)
    run_position_rows(m, seconds)

    def place(e):
        then = STATE.moved(e).after(-seconds)
        return then.p + then.R @ ARM

    np.testing.assert_allclose(m.predicted[:3], place(np.zeros(21)), rtol=0.0, atol=1e-12)
    assert_blocks(m.H[:3, :15].copy(), differences(place, 15), tolerance=0.03)


def test_rows_of_a_position_at_a_clone():
    m = general_memory(settings=WITH_ANTENNA)
    R, p = exponential([0.8, 0.3, -1.2]), np.array([2.0, -1.0, 0.7])
    m.counts.clones = 2
    m.clones[1].quaternion, m.clones[1].position = quaternion(R), p
    run_clone_position_rows(m, 1)

    def place(e):
        turn = exponential(e[:3])
        return turn @ (p + R @ ANTENNA) + e[3:6]

    np.testing.assert_allclose(m.predicted[:3], place(np.zeros(21)), rtol=0.0, atol=1e-12)
    assert_blocks(m.H[:3, :6].copy(), differences(place, 6), tolerance=1e-5)
    assert m.columns[:6].tolist() == list(range(27, 33))


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_rows_of_a_heading_are_the_derivative_of_the_yaw(seconds):
    m = general_memory()
    put_then(STATE.after(-seconds), m, 10.0 - seconds)
    angle = run_heading_rows(m, seconds)

    def direction(e):
        forward = STATE.moved(e).after(-seconds).R[:, 0]
        return np.array([np.arctan2(forward[1], forward[0])])

    assert angle == pytest.approx(direction(np.zeros(21))[0], abs=1e-9)
    assert_blocks(m.H[:1, :15].copy(), differences(direction, 15), rows=1, tolerance=0.03)


def test_rows_of_the_wheels_by_given_parameters():
    """v_wheels = v − u s − D δ, and the rolling speed depends on neither."""
    m = SETTINGS.memory(0.3, parameters=np.diag(np.arange(1.0, 6.0)))
    general = general_memory()
    for name in ("state", "imu", "clock"):
        for field in getattr(m, name).dtype.names:
            getattr(m, name)[field] = getattr(general, name)[field]
    put_then(STATE, m, 10.0)
    D, delta = np.random.default_rng(5).normal(size=(6, 5)), np.array([0.1, -0.2, 0.3, 0.4, -0.5])
    m.slopes[:], m.parameters[:] = D, delta
    run_wheels(m, one_event())
    with_them = m.predicted.copy()
    np.testing.assert_allclose(m.H[:, 18:], -D)
    m.parameters[:] = 0.0
    run_wheels(m, one_event())
    np.testing.assert_allclose(with_them - m.predicted, -D @ delta, rtol=0.0, atol=1e-12)


def test_a_turn_of_the_world_turns_state_and_covariance():
    m = general_memory()
    P = m.covariance[:21, :21].copy()
    run_turn(m, 0.7, 1.5)
    R = exponential([0.0, 0.0, 0.7])
    np.testing.assert_allclose(m.state.position, R @ STATE.p, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(m.state.velocity, R @ STATE.v, rtol=0.0, atol=1e-12)
    A = np.eye(21)
    for k in (0, 3, 6):
        A[k : k + 3, k : k + 3] = R
    expected = A @ P @ A.T
    expected[2, 2] = 1.5**2
    np.testing.assert_allclose(m.covariance[:21, :21], expected, rtol=0.0, atol=1e-14)


def test_a_turn_of_the_world_turns_clones_of_past_poses_too():
    m = general_memory()
    m.counts.clones = 2
    random = np.random.default_rng(4)
    root = random.normal(0.0, 1e-2, (33, 40))
    P = m.covariance[:33, :33] = root @ root.T
    places, turns = random.normal(size=(2, 3)), random.normal(size=(2, 4))
    m.clones.position[:2] = places
    m.clones.quaternion[:2] = turns / np.linalg.norm(turns, axis=1)[:, None]
    before = [from_quaternion(q) for q in m.clones.quaternion[:2]]
    P = P.copy()
    run_turn(m, 0.7, 1.5)
    R = exponential([0.0, 0.0, 0.7])
    A = np.eye(33)
    for k in (0, 3, 6, 21, 24, 27, 30):
        A[k : k + 3, k : k + 3] = R
    expected = A @ P @ A.T
    yaws = np.isin(np.arange(33), (2, 23, 29)).astype(float)  # one turn of all
    expected += (1.5**2 - P[2, 2]) * np.outer(yaws, yaws)
    np.testing.assert_allclose(m.covariance[:33, :33], expected, rtol=0.0, atol=1e-14)
    for k in range(2):
        np.testing.assert_allclose(m.clones.position[k], R @ places[k], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(from_quaternion(m.clones.quaternion[k]), R @ before[k], rtol=0.0, atol=1e-12)


def drive(fusion, seconds, *, speed=0.0, yaw=0.0, start=0.0, position=(0.0, 0.0), fixes=None):
    """Straight ahead at a constant speed after two seconds of rest, IMU and wheels without noise."""
    x = np.array(position, dtype=float)
    for k in range(round(seconds / 0.01)):
        t = start + 0.01 * k
        v = speed * min(max(t - 2.0, 0.0), 1.0)
        a = speed if 2.0 <= t < 3.0 else 0.0
        fusion.imu(t, (0.0, 0.0, 0.0), (a, 0.0, 9.81))
        fusion.wheels(t, (0, 0, 0, v, 0, 0), 1e-4 * np.eye(6))
        x = x + 0.01 * v * np.array([np.cos(yaw), np.sin(yaw)])
        if fixes and k % 100 == 50:
            fixes(t, x)
    return x


@pytest.mark.parametrize("yaw_true", [0.4, -2.8, 3.1])
def test_positions_find_a_yaw_that_is_unknown(yaw_true):
    fusion = Fusion(FusionSettings(start_noise=(1.0, np.pi)))
    random = np.random.default_rng(3)

    def fix(t, x):
        fusion.gps(t, x + 0.3 * random.standard_normal(2), 0.09 * np.eye(2))

    x = drive(fusion, 25.0, speed=1.0, yaw=yaw_true, fixes=fix)
    e = fusion.estimate
    turn = np.angle(np.exp(1j * (e.yaw - yaw_true)))
    assert abs(turn) < 3.0 * np.sqrt(e.covariance[2, 2]) < 0.2
    assert np.linalg.norm(e.position[:2] - x) < 1.0
    assert fusion.nis["gps"].refused == 0


def test_a_robot_that_stands_holds_one_position_wherever_it_is():
    fusion = Fusion(FusionSettings(start_noise=(1.0, np.pi)))
    drive(fusion, 10.0, position=(300.0, -200.0), fixes=lambda t, x: fusion.gps(t, x, 0.09 * np.eye(2)))
    assert fusion._memory.counts.held == 1


def test_a_heading_sets_an_unknown_yaw_directly():
    fusion = Fusion(FusionSettings(start_noise=(1e-3, np.pi)))
    drive(fusion, 5.0, speed=0.5)
    fusion.heading(fusion.time, 2.0, 0.05)
    e = fusion.estimate
    assert e.yaw == pytest.approx(2.0, abs=1e-3)
    assert np.sqrt(e.covariance[2, 2]) == pytest.approx(0.05, rel=0.02)
    way = 0.5 * (e.time - 2.5)
    np.testing.assert_allclose(e.position[:2], way * np.array([np.cos(2.0), np.sin(2.0)]), rtol=0.0, atol=0.03)


def test_a_heading_after_a_turn_turns_the_path_by_what_was_unknown():
    """After 1 m ahead and a turn of 1 rad on the spot a heading of 2 rad says that it began at 1 rad."""
    fusion = Fusion(FusionSettings(start_noise=(1e-3, np.pi)))
    for k in range(700):
        t = 0.01 * k
        rate = 0.5 if 5.0 <= t < 7.0 else 0.0
        v = 0.5 if 2.5 <= t < 4.5 else 0.0
        a = 5.0 * (2.5 <= t < 2.6) - 5.0 * (4.5 <= t < 4.6)
        fusion.imu(t, (0.0, 0.0, rate), (a, 0.0, 9.81))
        fusion.wheels(t, (0.0, 0.0, rate, v, 0.0, 0.0), 1e-4 * np.eye(6))
    before = fusion.estimate
    turned, way = before.yaw, np.linalg.norm(before.position[:2])
    assert turned == pytest.approx(1.0, abs=0.02)
    fusion.heading(fusion.time, 2.0, 0.05)
    e = fusion.estimate
    assert e.yaw == pytest.approx(2.0, abs=1e-3)
    # It started within a millimetre of the origin, with which the position does not follow the heading any further.
    began = 2.0 - turned
    np.testing.assert_allclose(e.position[:2], way * np.array([np.cos(began), np.sin(began)]), rtol=0.0, atol=0.02)


def test_positions_of_one_place_far_from_an_uncertain_start_determine_no_yaw():
    """The direction from the start to where it stands is known as well as the start is: to 30 m over 12 m."""
    fusion = Fusion(FusionSettings(start_noise=(30.0, np.pi)))
    drive(fusion, 15.0, speed=1.0)
    drive(fusion, 10.0, start=15.0, fixes=lambda t, x: fusion.gps(t, (9.0, 9.0), 0.09 * np.eye(2)))
    assert np.sqrt(fusion.estimate.covariance[2, 2]) > 1.5


def test_a_heading_that_persists_is_let_in_again_and_one_that_does_not_is_left_out():
    fusion = Fusion(FusionSettings())
    drive(fusion, 4.0)
    fusion.heading(fusion.time, 1.0, 0.01)
    assert abs(fusion.estimate.yaw) < 1e-3
    assert fusion.nis["heading"].refused == 1
    for k in range(20):
        drive(fusion, 1.0, start=4.0 + k)
        fusion.heading(fusion.time, 1.0, 0.01)
    assert fusion.faults["heading_readmitted"] >= 1
    assert fusion.estimate.yaw == pytest.approx(1.0, abs=0.05)


def test_positions_that_jump_are_refused_and_adopted_when_they_stay():
    fusion = Fusion(FusionSettings())
    noise = 1e-2 * np.eye(3)

    def go(first, last, x):
        for k in range(first, last):
            drive(fusion, 1.0, start=float(k))
            fusion.gps(fusion.time, (x, 0.0, 0.0), noise)

    go(0, 5, 0.0)
    assert fusion.degraded == ("poses",)
    go(5, 7, 30.0)
    assert abs(fusion.estimate.position[0]) < 0.1
    assert "gps" in fusion.degraded
    go(7, 30, 30.0)
    assert fusion.estimate.position[0] == pytest.approx(30.0, abs=1.0)
    assert fusion.faults["gps_refused"] >= 3


def test_a_late_position_is_compared_with_the_place_of_its_time():
    ends = []
    for late in (0.0, 0.4):
        fusion = Fusion(FusionSettings(start_noise=(1.0, 1e-3)))
        x = drive(fusion, 6.0, speed=1.0)
        fusion.gps(fusion.time - late, (x[0] + 0.5 - late, x[1]), 1e-4 * np.eye(2))
        ends.append(fusion.estimate.position[0] - x[0])
    assert ends[0] == pytest.approx(0.5, abs=0.02)
    assert ends[1] == pytest.approx(ends[0], abs=0.02)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda f: f.gps(f.time, (np.nan, 0.0, 0.0), np.eye(3)), "gps_not_finite"),
        (lambda f: f.gps(f.time, (0.0, 0.0), -np.eye(2)), "gps_not_finite"),
        (lambda f: f.gps(np.nan, (0.0, 0.0), np.eye(2)), "gps_not_finite"),
        (lambda f: f.gps(f.time - 2.0, (0.0, 0.0, 0.0), np.eye(3)), "gps_late"),
        (lambda f: f.heading(f.time, np.nan, 0.1), "heading_not_finite"),
        (lambda f: f.heading(f.time, 0.0, 0.0), "heading_not_finite"),
        (lambda f: f.heading(f.time - 2.0, 0.0, 0.1), "heading_late"),
    ],
)
def test_what_cannot_be_used_is_a_fault(call, fault):
    fusion = Fusion()
    drive(fusion, 4.0)
    before = fusion.estimate
    call(fusion)
    assert fusion.faults[fault] == 1
    np.testing.assert_array_equal(fusion.estimate.covariance, before.covariance)


def test_wrong_shapes_are_refused_by_name():
    fusion = Fusion()
    with pytest.raises(FusionError, match=r"position: has shape \(4,\), needs \(3,\), or \(2,\)"):
        fusion.gps(0.0, np.zeros(4), np.eye(4))
    with pytest.raises(FusionError, match=r"covariance: has shape \(2, 2\), needs \(3, 3\)"):
        fusion.gps(0.0, np.zeros(3), np.eye(2))
    with pytest.raises(FusionError, match="the filter has no parameters"):
        fusion.wheels(0.0, np.zeros(6), np.eye(6), slopes=np.zeros((6, 2)))
    with pytest.raises(FusionError, match=r"parameters: has shape \(2, 3\)"):
        Fusion(parameters=np.zeros((2, 3)))
    with pytest.raises(FusionError, match="is not the covariance"):
        Fusion(parameters=-np.eye(2))
    with pytest.raises(FusionError, match=r"slopes: has shape \(6, 3\), needs \(6, 2\)"):
        Fusion(parameters=np.eye(2)).wheels(0.0, np.zeros(6), np.eye(6), slopes=np.zeros((6, 3)))


def test_positions_determine_a_slip_parameter_and_its_covariance_shrinks():
    """Wheels 8 % too fast, a parameter whose slope is the forward speed: δ = −0.08/1.08 of what they show."""
    fusion = Fusion(FusionSettings(slip=(1e-3, 1e-3, 1e-3)), parameters=np.diag([0.1, 0.1]) ** 2)
    random = np.random.default_rng(1)
    x = 0.0
    for k in range(4000):
        t = 0.01 * k
        v = min(max(t - 2.0, 0.0), 1.0)
        fusion.imu(t, (0.0, 0.0, 0.0), (1.0 if 2.0 <= t < 3.0 else 0.0, 0.0, 9.81))
        slopes = np.zeros((6, 2))
        slopes[3, 0] = 1.08 * v  # of the second nothing is seen
        fusion.wheels(t, (0, 0, 0, 1.08 * v, 0, 0), 1e-4 * np.eye(6), slopes=slopes)
        x += 0.01 * v
        if k % 100 == 50:
            fusion.gps(t, (x + 0.1 * random.standard_normal(), 0.0, 0.0), 1e-2 * np.eye(3))
    e = fusion.estimate
    sigma = np.sqrt(np.diag(e.parameter_covariance))
    assert sigma[0] < 0.01
    assert abs(e.parameters[0] + 0.08 / 1.08) < 3.0 * sigma[0]
    assert e.parameters[1] == 0.0
    assert sigma[1] == pytest.approx(0.1)


def test_parameters_return_to_their_prior_along_their_length():
    settings = FusionSettings(parameter_length=5.0)
    fusion = Fusion(settings, parameters=0.04 * np.eye(1))
    m = fusion._memory
    drive(fusion, 3.0, speed=1.0)
    m.parameters[0], m.covariance[18, 18] = 0.1, 1e-6
    drive(fusion, 4.0, speed=1.0, start=3.0)  # no slopes: nothing is measured
    keep = np.exp(-4.0 / 5.0)
    assert fusion.estimate.parameters[0] == pytest.approx(0.1 * keep, rel=0.02)
    assert fusion.estimate.parameter_covariance[0, 0] == pytest.approx(0.04 * (1.0 - keep**2), rel=0.02)


@entry
def run_move_times(m, by):
    events.move_times(m, by)


def test_all_times_of_the_memory_move_with_a_clock_that_jumped():
    m, by = general_memory(), 7.5
    times = [
        "now", "began", "newest", "wheels", "poses", "gps", "headings", "rested", "calm", "imu_lost", "rolling_time",
    ]  # fmt: skip
    for k, name in enumerate(times):
        m.clock[name] = 10.0 + k
    sources = [m.wheels, m.poses, m.gps, m.headings]
    for k, source in enumerate(sources):
        source.since = 30.0 + k
    m.window.start = 40.0
    m.past.time[:] = 50.0
    m.clones.time[:], m.counts.clones = 60.0, 1
    m.fixes.time[:], m.counts.held = 70.0, 1
    run_move_times(m, by)
    assert [m.clock[name] for name in times] == [10.0 + k + by for k in range(len(times))]
    assert [source.since for source in sources] == [30.0 + k + by for k in range(len(sources))]
    assert m.window.start == 40.0 + by
    assert (m.past.time == 50.0 + by).all()
    assert m.clones.time[0] == 60.0 + by  # the one in use
    assert m.fixes.time[0] == 70.0 + by
