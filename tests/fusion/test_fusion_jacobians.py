"""Jacobians of the fusion filter against differences of an independent model, in general position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fusion_reference import (
    READING,
    SETTINGS,
    STATE,
    assert_blocks,
    differences,
    exponential,
    from_quaternion,
    general_memory,
    get,
    logarithm,
    one_event,
    put,
    put_then,
    quaternion,
    skew,
)

from grouser._compile.jit import entry
from grouser._kernels.fusion import delay as past
from grouser._kernels.fusion import estimate, pose, predict, start, still, update, wheels

POINT = np.subtract(SETTINGS.wheel_point, SETTINGS.imu_position)
ORIGIN = -np.array(SETTINGS.imu_position)


@entry
def run_predict(m, dt):
    predict.predict(m, dt)


@entry
def run_wheel_rows(m, delay, drive):
    speed = wheels.predict_wheels(m, drive.events[0].twist)
    wheels.wheel_rows(m, delay, speed)
    return speed


@entry
def run_select(m, drive, drift, loose):
    return wheels.select_observed(m, drive.events[0], drift, loose)


@entry
def run_past_jacobian(m, delay):
    past.past_jacobian(m, delay)


@entry
def run_pose_rows(m, q, p):
    pose.pose_rows(m, 1, 0, q, p)


@entry
def run_rest(m):
    start.measure_rest(m, 1.5)


@entry
def run_stand_still(m):
    still.stand_still(m)


@entry
def run_update(m, rows, count):
    square = update.innovate(m, rows, count)
    update.commit(m, rows)
    return square


@entry
def run_remember(m):
    past.remember(m)


@entry
def run_recall(m, time):
    return past.recall(m, time)


@entry
def run_carry_correction(m, dt):
    past.carry_correction(m, dt)


@entry
def run_clone(m, time):
    return past.clone(m, time)


@entry
def run_drop(m, index):
    update.drop_clone(m, index)


@entry
def run_body_jacobian(m, drive):
    estimate.write_estimate(m, drive.estimates[0])
    estimate.body_jacobian(m, drive.estimates[0])


@entry
def run_twist_jacobian(m, drive):
    estimate.twist_jacobian(m, drive.estimates[0].twist)


def without_noise(m):
    for name in ("gyro_noise", "acceleration_noise", "gyro_walk", "acceleration_walk", "slip"):
        m.settings[name] = 0.0
    m.prior[:] = 0.0
    return m


def test_the_covariance_moves_with_the_derivative_of_the_motion():
    dt = 0.002
    m = without_noise(general_memory())
    m.clock.rolling_speed = 80.0  # m/s: slip decays visibly within one step
    before = m.covariance[:21, :21].copy()
    m.counts.clones = 4
    m.covariance[:21, 21:42] = np.eye(21)  # clones stand still: their covariance with the state becomes Φ
    run_predict(m, dt)
    reference = STATE.after(dt)
    np.testing.assert_allclose(m.state.position, reference.p, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(m.state.velocity, reference.v, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(from_quaternion(m.state.quaternion), reference.R, rtol=0.0, atol=1e-12)
    keep, last = np.exp(-80.0 * dt / SETTINGS.slip_length), np.exp(-80.0 * dt / SETTINGS.lasting_length)
    np.testing.assert_allclose(m.state.slip, keep * STATE.slip)
    np.testing.assert_allclose(m.parameters, last * STATE.lasting)
    motion = differences(lambda e: reference.error(STATE.moved(e).after(dt))[:15], 15)
    found = m.covariance[:21, 21:42].copy()
    assert_blocks(found[:15, :15], motion)
    np.testing.assert_allclose(found[15:, 15:], np.diag([keep] * 3 + [last] * 3), rtol=0.0, atol=1e-15)
    assert not found[:15, 15:].any()
    assert not found[15:, :15].any()
    np.testing.assert_array_equal(m.covariance[21:42, :21], found.T)
    np.testing.assert_allclose(m.covariance[:21, :21], found @ before @ found.T, rtol=1e-9, atol=1e-15)


def test_the_rotation_of_the_linearisation_is_that_of_the_middle_of_a_step():
    """Half a step off would be 2.4 % of a turn of 0.05 rad."""
    dt = 0.05
    m = without_noise(general_memory())
    m.counts.clones = 4
    m.covariance[:21, 21:42] = np.eye(21)
    run_predict(m, dt)
    reference = STATE.after(dt)
    motion = differences(lambda e: reference.error(STATE.moved(e).after(dt))[:6], 15)
    assert_blocks(m.covariance[:3, 30:33].copy(), motion[:3, 9:12], tolerance=2e-3)
    assert_blocks(m.covariance[3:6, 33:36].copy(), motion[3:, 12:], tolerance=2e-3)


def test_the_state_moves_exactly_through_a_large_turn_with_constant_readings():
    m = general_memory()
    run_predict(m, 0.8)
    reference = STATE.after(0.8, steps=20000)
    # The reference takes steps of 0.04 ms, of second order, and 20000 products.
    np.testing.assert_allclose(m.state.position, reference.p, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(m.state.velocity, reference.v, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(from_quaternion(m.state.quaternion), reference.R, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize(("step", "factor"), [(0.01, 1.0), (0.03, 9.0)])
def test_noise_of_the_gyro_enters_as_an_error_of_its_reading(step, factor):
    """A step in which samples are missing has the square of their number in variance."""
    dt = 0.002
    m = without_noise(general_memory())
    m.settings.gyro_noise, m.clock.step = 4e-4, step
    m.covariance[:] = 0.0
    run_predict(m, dt)
    after = STATE.after(dt)

    def turned(e):
        shifted = READING.copy()
        shifted[:3] += e[:3]
        return after.error(STATE.after(dt, shifted))[:9]

    G = differences(turned, 3) / dt
    assert_blocks(m.covariance[:9, :9] / (4e-4 * dt * factor), G @ G.T)
    assert not m.covariance[9:, :].any()


def test_noise_of_the_accelerometer_is_white_within_the_step():
    dt = 0.02
    m = without_noise(general_memory())
    m.settings.acceleration_noise = 3e-3
    m.covariance[:] = 0.0
    run_predict(m, dt)
    s = (np.arange(1000) + 0.5) / 1000 * dt  # time left after each piece of noise
    expected = 3e-3 * dt * np.array([[1.0, s.mean()], [s.mean(), (s * s).mean()]])
    np.testing.assert_allclose(m.covariance[3:9, 3:9], np.kron(expected, np.eye(3)), rtol=1e-5, atol=1e-18)
    assert not m.covariance[:3].any()


@pytest.mark.parametrize("lost", [False, True])
def test_lost_readings_and_walks_have_their_own_noise(lost):
    m = general_memory()
    m.covariance[:] = 0.0
    m.imu.step_without_gyro = m.imu.step_without_acceleration = int(lost)
    run_predict(m, 0.01)
    s = m.settings
    gyro, acceleration = (s.gyro_lost, s.acceleration_lost) if lost else (s.gyro_noise, s.acceleration_noise)
    variance = m.covariance.diagonal()
    np.testing.assert_allclose(variance[:3], gyro * 0.01)
    v = 0.5 * (STATE.v + m.state.velocity)
    np.testing.assert_allclose(variance[3:6], acceleration * 0.01 + gyro * 0.01 * (v @ v - v * v))
    np.testing.assert_allclose(variance[9:12], s.gyro_walk * 0.01)
    np.testing.assert_allclose(variance[12:15], s.acceleration_walk * 0.01)


def test_slip_keeps_its_variance_along_the_way():
    m = general_memory()
    m.covariance[:] = 0.0
    m.clock.rolling_speed = 0.7
    sigma = SETTINGS.slip
    m.covariance[range(15, 21), range(15, 21)] = np.square([*sigma, *SETTINGS.lasting_slip])
    run_predict(m, 0.5)
    np.testing.assert_allclose(m.covariance.diagonal()[15:21], np.square([*sigma, *SETTINGS.lasting_slip]))


def wheels_of(state, then, speed):
    """Twist that the wheels show, with a given rolling speed."""
    rate = READING[:3] - state.gyro_bias
    v = then.R.T @ then.v + np.cross(rate, POINT)
    slip = state.slip + state.lasting
    return np.concatenate([rate, v]) - speed * np.array([0.0, 0.0, slip[2], slip[0], slip[1], 0.0])


def rolling_speed(state, then):
    rate = READING[:3] - state.gyro_bias
    v = then.R.T @ then.v + np.cross(rate, POINT)
    return np.linalg.norm([v[0], v[1], SETTINGS.slip_arm * rate[2]])


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_wheel_rows_are_the_derivative_of_the_wheels_twist(seconds):
    """The rolling speed depends on ξ_v only: its slopes by gyro bias and delay are left out."""
    m = general_memory()
    then = STATE.after(-seconds)
    put_then(then, m, 10.0 - seconds)
    speed = run_wheel_rows(m, seconds, one_event())
    assert speed == pytest.approx(rolling_speed(STATE, then))
    np.testing.assert_allclose(m.predicted, wheels_of(STATE, then, speed), rtol=0.0, atol=1e-12)

    def predicted(e):
        moved = STATE.moved(e)
        only_v = np.where((np.arange(21) >= 3) & (np.arange(21) < 6), e, 0.0)
        return wheels_of(moved, moved.after(-seconds), rolling_speed(STATE, then.moved(only_v)))

    expected = differences(predicted, 21)
    assert_blocks(m.H.copy(), expected, rows=1, tolerance=0.03)
    assert m.columns.tolist() == list(range(21))


@pytest.mark.parametrize("lost", [False, True])
def test_observed_rows_of_the_wheels_move_to_the_front_with_their_noise(lost):
    m = general_memory()
    put_then(STATE, m, 10.0)
    run_wheel_rows(m, 0.0, one_event())
    H, predicted, G = m.H.copy(), m.predicted.copy(), np.vstack([np.eye(3), -skew(POINT)])
    root = np.random.default_rng(1).normal(size=(6, 8))
    drive = one_event(
        twist=predicted + np.arange(1.0, 7.0), covariance=root @ root.T, observed=np.array([1, 0, 1, 1, 0, 1])
    )
    picked = [3, 5] if lost else [0, 2, 3, 5]
    m.imu.gyro_lost = int(lost)
    assert run_select(m, drive, 0.25, 2.0) == len(picked)
    k = len(picked)
    np.testing.assert_array_equal(m.H[:k], H[picked])
    np.testing.assert_allclose(m.residual[:k], np.arange(1.0, 7.0)[picked])
    variance = 1.0 if lost else SETTINGS.gyro_noise**2 / 0.01
    noise = root @ root.T + variance * G @ G.T + np.diag([0.0] * 3 + [0.25] * 3)
    noise[range(2, 6), range(2, 6)] += 2.0 * np.square(SETTINGS.distrust_slip)[[2, 0, 1, 1]]
    np.testing.assert_allclose(np.tril(m.noise[:k, :k]), np.tril(noise[np.ix_(picked, picked)]))


def test_jacobian_of_a_past_pose_by_the_present_state():
    seconds = 0.02
    m = general_memory()
    then = STATE.after(-seconds)
    put_then(then, m, 10.0 - seconds)
    run_past_jacobian(m, seconds)
    expected = differences(lambda e: then.error(STATE.moved(e).after(-seconds))[[0, 1, 2, 6, 7, 8]], 15)
    assert_blocks(m.J[:6].copy(), expected, tolerance=0.03)


@pytest.mark.parametrize("seconds", [0.0, 0.025])
def test_a_clone_is_the_bodys_pose_of_its_time_with_its_covariance(seconds):
    """Corrections made since then apply to the past as well; those made before do not."""
    m = general_memory()
    earlier = m.correction
    earlier.quaternion, earlier.velocity = quaternion(exponential([0.3, 0.1, -0.2])), np.array([0.4, 0.2, -0.5])
    earlier.position = np.array([-1.0, 0.6, 0.3])
    start = STATE.after(-0.05)
    for k in range(5):
        put(start.after(0.01 * k), m)
        m.clock.now = 9.95 + 0.01 * k
        run_remember(m)
        run_carry_correction(m, 0.01)
    put(STATE, m)
    m.clock.now = 10.0
    run_remember(m)
    xi = np.random.default_rng(4).normal(0.0, 0.1, 21)
    xi[9:] = 0.0
    m.gain[0, :21], m.residual[0] = xi, 1.0
    P = m.covariance[:21, :21] + np.outer(xi, xi)
    m.covariance[:21, :21] = P
    put(STATE, m)
    commit_one(m)
    ahead = 0.005 if seconds else 0.0  # from the row of the ring before
    row, then = STATE.moved(xi).after(-seconds - ahead), STATE.moved(xi).after(-seconds)
    np.testing.assert_allclose(m.state.position, STATE.moved(xi).p, rtol=0.0, atol=1e-12)
    assert run_clone(m, 10.0 - seconds) == 0
    np.testing.assert_allclose(m.clones[0].position, row.p + ahead * row.v + then.R @ ORIGIN, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(from_quaternion(m.clones[0].quaternion), then.R, rtol=0.0, atol=1e-9)
    assert m.clones[0].time == 10.0 - seconds
    run_past_jacobian(m, seconds)
    J = np.hstack([m.J[:6], np.zeros((6, 6))])
    np.testing.assert_allclose(m.covariance[21:27, :21], J @ m.covariance[:21, :21], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(m.covariance[:21, 21:27], m.covariance[21:27, :21].T, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(m.covariance[21:27, 21:27], J @ m.covariance[:21, :21] @ J.T, rtol=0.0, atol=1e-15)


@entry
def commit_one(m):
    update.commit(m, 1)


def test_the_ring_moves_on_from_the_row_before_and_ends_after_its_length():
    m = general_memory()
    rows = m.past.size
    for k in range(rows + 3):
        m.clock.now = 0.01 * k
        m.state.position[0] = m.clock.now
        run_remember(m)
    m.clock.now += 0.01
    assert not run_recall(m, 0.02 - 2e-4)
    assert run_recall(m, 0.0345)
    np.testing.assert_allclose(m.then.position, [0.03 + 0.0045 * STATE.v[0], *(STATE.p + 0.0045 * STATE.v)[1:]])
    turn = exponential(0.0045 * (READING[:3] - STATE.gyro_bias))
    np.testing.assert_allclose(from_quaternion(m.then.quaternion), STATE.R @ turn, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(m.then.gyro, READING[:3])


def two_clones(m):
    """Poses of two moments: row 1 is the first of the measurement, row 0 the second."""
    poses = [(exponential([0.8, 0.3, -1.2]), np.array([2.0, -1.0, 0.7])), (STATE.R, np.array([-0.6, 1.3, 0.4]))]
    m.counts.clones = 2
    for k, (R, p) in enumerate(poses):
        m.clones[k].quaternion, m.clones[k].position = quaternion(R), p
    return poses


def relative(poses):
    (Rb, pb), (Ra, pa) = poses
    return Ra.T @ Rb, Ra.T @ (pb - pa)


def test_rows_of_a_relative_pose_are_the_derivative_of_its_residual():
    m = general_memory()
    poses = two_clones(m)

    def residual(e):
        """Of the measurement that a true pair of poses would give."""
        true = []
        for k, (R, p) in enumerate(poses):
            theta, shift = e[6 * k : 6 * k + 3], e[6 * k + 3 : 6 * k + 6]
            true.append((exponential(theta) @ R, p + np.cross(theta, p) + shift))
        R, p = relative(true)
        run_pose_rows(m, quaternion(R), p)
        return m.residual.copy()

    slopes = differences(residual, 12)
    np.testing.assert_allclose(residual(np.zeros(21)), 0.0, rtol=0.0, atol=1e-12)
    assert_blocks(m.H[:, :12].copy(), slopes, tolerance=1e-6)
    assert m.columns[:12].tolist() == list(range(21, 33))


def test_the_residual_of_a_relative_pose_is_its_logarithm():
    m = general_memory()
    R, p = relative(two_clones(m))
    delta = np.array([0.3, -0.5, 0.4, 0.2, 0.7, -0.6])
    xi = np.zeros(21)
    xi[:3], xi[6:9] = delta[:3], delta[3:]
    step = replace(STATE, R=np.eye(3), v=np.zeros(3), p=np.zeros(3)).moved(xi)
    run_pose_rows(m, quaternion(R @ step.R), p + R @ step.p)
    np.testing.assert_allclose(m.residual, delta, rtol=0.0, atol=1e-12)


def test_rows_of_the_alignment_are_the_derivative_of_the_readings_at_rest():
    m = general_memory()

    def reading(e):
        true = STATE.moved(e)
        return np.concatenate([true.gyro_bias, true.R.T @ [0.0, 0.0, 9.81] + true.acceleration_bias])

    m.imu.average = reading(np.zeros(21)) + 1e-9
    run_rest(m)
    assert_blocks(m.H.copy(), differences(reading, 21), tolerance=1e-6)
    assert m.columns.tolist() == list(range(21))
    np.testing.assert_allclose(m.noise, np.diag(np.repeat([3e-4**2, 1e-3**2], 3) / 1.5))
    m = general_memory()
    true = STATE.moved(np.array([0.0] * 9 + [0.01, -0.02, 0.03] + [0.0] * 9))
    m.imu.average = np.concatenate([true.gyro_bias, true.R.T @ [0.0, 0.0, 9.81] + true.acceleration_bias])
    run_rest(m)
    np.testing.assert_allclose(m.state.gyro_bias, true.gyro_bias, rtol=0.0, atol=1e-4)


def test_standing_still_stops_the_velocity_and_holds_the_pose():
    m = general_memory(replace(STATE, v=np.array([3e-3, -2e-3, 1e-3])))
    run_stand_still(m)
    assert np.abs(m.state.velocity).max() < 1e-4
    assert (m.counts.anchor, m.counts.clones, m.standstill.used, m.standstill.rows) == (0, 1, 1, 3)
    anchor = get(m)
    m.clock.now += 0.25
    # Drift of the state and of its error, which the clone does not share
    drift = np.array([1e-3, -2e-3, 1.5e-3, 0.0, 0.0, 0.0, 4e-3, 3e-3, -2e-3] + [0.0] * 12)
    put(anchor.moved(drift), m)
    m.covariance[range(9), range(9)] += 1e-3
    run_stand_still(m)
    assert m.standstill.refused == 0
    assert (m.counts.anchor, m.counts.clones, m.standstill.used, m.standstill.rows) == (0, 1, 3, 12)
    now, clone = get(m), m.clones[0]
    np.testing.assert_allclose(now.R, from_quaternion(clone.quaternion), rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(now.p + now.R @ ORIGIN, clone.position, rtol=0.0, atol=3e-4)


def test_a_state_that_moves_refuses_the_standstill_and_forgets_the_anchor():
    m = general_memory()
    m.covariance[:] = 1e-8 * np.eye(len(m.covariance))
    before = get(m)
    run_stand_still(m)
    assert (m.standstill.refused, m.faults.standstill_refused, m.counts.anchor, m.counts.clones) == (1, 1, -1, 0)
    np.testing.assert_array_equal(get(m).v, before.v)


def test_an_update_is_that_of_kalman_on_the_group():
    m = general_memory()
    poses = two_clones(m)
    random = np.random.default_rng(2)
    root = random.normal(0.0, 1e-2, (33, 40))
    P, R = root @ root.T, 1e-3 * np.diag(random.uniform(1.0, 2.0, 6))
    m.covariance[:33, :33] = P
    columns = random.permutation(33)[:12]
    H, r = np.zeros((6, 33)), random.normal(0.0, 0.1, 6)
    m.H[:, :12] = H[:, columns] = random.normal(size=(6, 12))
    m.columns[:12], m.noise[:], m.residual[:] = columns, R, r
    square = run_update(m, 6, 12)
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    assert square == pytest.approx(r @ np.linalg.solve(S, r))
    np.testing.assert_allclose(m.covariance[:33, :33], P - K @ S @ K.T, rtol=0.0, atol=1e-14)
    xi = K @ r
    expected = STATE.moved(xi[:21])
    assert np.abs(expected.error(get(m))).max() < 1e-12
    for k, (R_clone, p) in enumerate(poses):
        error = np.zeros(21)
        error[:3], error[6:9] = xi[21 + 6 * k : 24 + 6 * k], xi[24 + 6 * k : 27 + 6 * k]
        moved = replace(STATE, R=R_clone, p=p).moved(error)
        np.testing.assert_allclose(from_quaternion(m.clones[k].quaternion), moved.R, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(m.clones[k].position, moved.p, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(from_quaternion(m.correction.quaternion), exponential(xi[:3]), rtol=0.0, atol=1e-12)
    step = replace(STATE, v=np.zeros(3), p=np.zeros(3)).moved(xi[:21])
    np.testing.assert_allclose(np.concatenate([m.correction.velocity, m.correction.position]), [*step.v, *step.p])


def test_a_dropped_clone_leaves_the_others_as_they_are():
    m = general_memory()
    for k in range(3):
        m.clock.now = 10.0 + k
        m.state.position[0] = k
        run_clone(m, m.clock.now)
    m.covariance[:39, :39] = np.arange(39 * 39).reshape(39, 39)
    m.counts.anchor = 2
    kept = [*range(27), *range(33, 39)]
    expected, clones = m.covariance[np.ix_(kept, kept)].copy(), m.clones[[0, 2]].copy()
    run_drop(m, 1)
    np.testing.assert_array_equal(m.covariance[:33, :33], expected)
    np.testing.assert_array_equal(m.clones[:2], clones)
    assert (m.counts.clones, m.counts.anchor) == (2, 1)
    run_drop(m, 1)
    assert m.counts.anchor == -1


def of_origin(state):
    """R, v and p of the body's origin."""
    rate = READING[:3] - state.gyro_bias
    return state.R, state.v + state.R @ np.cross(rate, ORIGIN), state.p + state.R @ ORIGIN


def test_the_estimate_is_of_the_bodys_origin_with_its_error_in_body_axes():
    m, drive = general_memory(), one_event()
    run_body_jacobian(m, drive)
    row = drive.estimates[0]
    R, v, p = of_origin(STATE)
    np.testing.assert_allclose(row.position, p, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(row.velocity, v, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(row.twist, [*(READING[:3] - STATE.gyro_bias), *(R.T @ v)], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(row.slip, STATE.slip + STATE.lasting)

    def error(e):
        true = STATE.moved(e)
        R_true, v_true, p_true = of_origin(true)
        return np.concatenate([logarithm(R.T @ R_true), R.T @ (v_true - v), R.T @ (p_true - p), e[9:15]])

    J = differences(error, 15)
    assert_blocks(m.J.copy(), J, tolerance=1e-6)
    P = m.covariance[:21, :21]
    np.testing.assert_allclose(row.covariance, J @ P[:15, :15] @ J.T, rtol=1e-6, atol=1e-10)
    both = np.hstack([np.zeros((3, 15)), np.eye(3), np.eye(3)])
    np.testing.assert_allclose(row.slip_covariance, both @ P @ both.T)

    def twist(delta):
        """(ω, v) in body axes of a state with an error of the origin in body axes."""
        true_R, true_v = R @ exponential(delta[:3]), v + R @ delta[3:6]
        return np.concatenate([READING[:3] - STATE.gyro_bias - delta[9:12], true_R.T @ true_v])

    run_twist_jacobian(m, drive)
    T = differences(twist, 15)
    assert_blocks(m.J[:6].copy(), T, tolerance=1e-6)
    noise = np.diag([SETTINGS.gyro_noise**2 * SETTINGS.rate] * 3 + [0.0] * 3)
    np.testing.assert_allclose(row.twist_covariance, T @ row.covariance @ T.T + noise, rtol=1e-6, atol=1e-12)
