"""The integral of a log against differences of itself: every Jacobian, noise integral and velocity that it gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from grouser import rotation
from grouser._kernels.motion import log_integral as kernels
from grouser._kernels.motion.arc import Arc
from grouser.logs.log import Sensor
from grouser.motion.consistency import pose_noise, yaw_transition
from grouser.motion.intervals import relative_poses
from grouser.motion.predict import ERRORS, integrate_log

STEP = 0.02
TIME = STEP * np.arange(101)
MOUNTING = np.array([0.4, -0.3, 0.8, 0.5, 0.013])
NOISE = np.array([0, 1, 2, 3, 4, 5])


def drive(seed=0):
    """Roll, pitch (n, 2) and body velocities (n, 6) that change smoothly, and the intensity of noise (n,)."""
    random = np.random.default_rng(seed)
    waves = [np.sin(np.outer(TIME, random.uniform(0.5, 2.0, 8)) + random.uniform(0.0, 6.0, 8)) for _ in range(2)]
    attitude = 0.3 * waves[0][:, :2]
    twist = waves[1][:, :6] * (0.2, 0.4, 0.9, 0.8, 0.3, 0.2) + (0.0, 0.0, 0.2, 1.0, 0.0, 0.0)
    return attitude, twist, 1.0 + 0.5 * waves[1][:, 7]


def integral(
    attitude, twist, *, time=TIME, times=((0.111, 1.777),), mounting=MOUNTING, slope=None, noise=(), intensity=None,
    length=0.0,
):  # fmt: skip
    return integrate_log(
        time=time,
        attitude=attitude,
        twist=twist[None],
        slope=np.zeros((len(time), 6, 0)) if slope is None else slope,
        noise=np.array(noise, dtype=np.int64),
        intensity=np.ones(len(time)) if intensity is None else intensity,
        samples=np.tile([0, len(time)], (len(times), 1)),
        times=np.array(times),
        mounting=mounting[None],
        length=length,
    )


def end_of(*args, **options):
    return integral(*args, **options).poses[0, ERRORS]


def test_slopes_by_parameters_are_differences_of_the_pose():
    attitude, twist, _ = drive()
    slope = np.random.default_rng(1).normal(size=(6, 5)) * np.cos(np.outer(TIME, [0.3, 0.5, 0.8, 1.1, 1.4]))[:, None]
    found = integral(attitude, twist, slope=slope).slopes[0]
    h = 1e-6
    ends = [[end_of(attitude, twist + s * h * slope[..., k]) for s in (1.0, -1.0)] for k in range(5)]
    wanted = np.array([(plus - minus) / (2.0 * h) for plus, minus in ends]).T
    # A step turns by 0.02 rad, of which a twelfth of the chord's change is left out.
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=2e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("mounted", [0.0, 0.5])
@pytest.mark.parametrize("length", [0.02, 0.7, 1e6])
def test_noise_integrals_are_sums_over_disturbed_steps(mounted, length):
    """Each step's velocities are disturbed alone, by all of the way to the pose of the sensor."""
    attitude, twist, intensity = drive(2)
    mounting = np.array([*MOUNTING[:3], mounted, 0.0])
    options = {"times": [(0.0, 2.0)], "mounting": mounting, "noise": NOISE}
    found = integral(attitude, twist, intensity=intensity, length=length, **options)
    R_body_sensor = rotation.from_rpy(0.0, 0.0, mounted)

    def sensor_end(extra):
        out = np.empty((len(TIME), 4))
        kernels.dead_reckon(TIME, attitude, twist, extra, Arc.zeros(), out)
        poses = []
        for k in (0, -1):
            R = rotation.from_rpy(*attitude[k], out[k, 3])
            poses.append([*(out[k, :3] + R @ mounting[:3]), *rotation.to_rpy(R @ R_body_sensor)])
        return relative_poses(*np.array(poses)[:, None])[0, ERRORS]

    h, none = 1e-5, np.zeros((len(TIME) - 1, 6))
    np.testing.assert_allclose(sensor_end(none), found.poses[0, ERRORS], rtol=0.0, atol=1e-12)
    gain, way = np.empty((len(none), 6, 4)), 0.5 * STEP * (intensity[1:] + intensity[:-1])
    for k in range(len(none)):
        for i in range(6):
            moved = none.copy()
            moved[k, i] = h
            gain[k, i] = (sensor_end(moved) - sensor_end(-moved)) / (2.0 * h * STEP)
    W = np.einsum("k,kai,kbj->abij", way, gain, gain)
    # Means of e^(−|s − s'|/length) over pairs of points of two steps, from many points of each.
    points = (np.cumsum(way) - way)[:, None] + way[:, None] * (np.arange(50) + 0.5) / 50
    apart = np.abs(points[:, None, :, None] - points[None, :, None, :])
    together = np.exp(-apart / length).mean(axis=(2, 3)) * np.outer(way, way)
    wander = np.einsum("kl,kai,laj->aij", together, gain, gain)
    for a in range(6):
        np.testing.assert_allclose(
            found.wander[0, a], wander[a], rtol=0.0, atol=4e-3 * np.diag(wander[a]).max() + 1e-12
        )
    for place, s in enumerate((0.0, way.sum())):
        near = way[:, None] * np.exp(-np.abs(points - s) / length).mean(axis=1, keepdims=True)
        wanted = np.einsum("k,kai->ai", near[:, 0], gain)
        np.testing.assert_allclose(found.reach[0, :, place], wanted, rtol=0.0, atol=4e-3 * np.abs(wanted).max() + 1e-12)
    for a, b in itertools.product(range(6), repeat=2):
        size = np.sqrt(np.outer(np.diag(W[a, a]), np.diag(W[b, b]))).max()
        np.testing.assert_allclose(found.W[0, a, b], W[a, b], rtol=0.0, atol=2e-3 * size + 1e-12)


def test_noise_that_wanders_over_a_short_length_is_white_and_over_a_long_one_constant():
    attitude, twist, intensity = drive(2)
    options = {"times": [(0.0, 2.0)], "noise": NOISE, "intensity": intensity}
    short, long = (integral(attitude, twist, length=length, **options) for length in (1e-4, 1e5))
    for a in range(6):
        size = np.diag(short.W[0, a, a]).max()
        # The first correlation length of the way, 1e-4 of about 1, is counted in full.
        np.testing.assert_allclose(short.wander[0, a] / 2e-4, short.W[0, a, a], rtol=0.0, atol=1e-3 * size)
        constant = np.zeros((len(TIME), 6, 1))
        constant[:, a, 0] = intensity
        slope = integral(attitude, twist, slope=constant, **options).slopes[0, :, 0]
        # Slopes leave out how a step's mean of a product differs from the product of means.
        np.testing.assert_allclose(
            long.wander[0, a], np.outer(slope, slope), rtol=0.0, atol=1e-3 * (slope @ slope) + 1e-12
        )


def test_velocities_at_the_ends_are_slopes_by_time():
    """With constant roll and pitch, whose swing of the sensor the velocities leave out."""
    attitude, twist, _ = drive(3)
    attitude = np.tile(attitude[40], (len(TIME), 1))
    t0, t1, h = 0.111, 1.777, 1e-6
    found = integral(attitude, twist, times=[(t0, t1)])
    ends = found.ends[0]

    def slope(d0, d1):
        plus, minus = (end_of(attitude, twist, times=[(t0 + s * d0, t1 + s * d1)]) for s in (h, -h))
        return (plus - minus) / (2.0 * h)

    begun = yaw_transition(found.poses)[0] @ ends[0]
    # Steps of the integral are arcs of mean velocity, so that slopes hold to the second order of the step.
    np.testing.assert_allclose(slope(0.0, 1.0), ends[1], rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(slope(1.0, 0.0), -begun, rtol=0.0, atol=1e-3)
    later = MOUNTING + h * np.eye(5)[4], MOUNTING - h * np.eye(5)[4]
    by_lag = np.subtract(*(end_of(attitude, twist, times=[(t0, t1)], mounting=m) for m in later)) / (2.0 * h)
    np.testing.assert_allclose(by_lag, begun - ends[1], rtol=0.0, atol=1e-3)
    assert np.abs(begun - ends[0]).max() > 0.1


def test_velocities_at_the_ends_are_those_of_the_log():
    attitude, twist, _ = drive(4)
    t0, t1 = 0.111, 1.777
    found = integral(attitude, twist, times=[(t0, t1)], mounting=np.zeros(5))
    for t, yaw, end in ((t0, 0.0, found.ends[0, 0]), (t1, found.poses[0, 5], found.ends[0, 1])):
        roll, pitch = (np.interp(t, TIME, column) for column in attitude.T)
        v = np.array([np.interp(t, TIME, column) for column in twist.T])
        np.testing.assert_allclose(end[:3], rotation.from_rpy(roll, pitch, yaw) @ v[3:], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(
            end[3], (np.sin(roll) * v[1] + np.cos(roll) * v[2]) / np.cos(pitch), rtol=0.0, atol=1e-12
        )


def test_beyond_the_ends_of_a_stretch_its_last_values_are_held():
    attitude, twist, intensity = drive(6)
    slope = np.cos(np.arange(12.0)).reshape(6, 2) * np.sin(TIME)[:, None, None]
    options = {"times": [(-0.05, 2.07)], "noise": NOISE, "length": 0.7}
    found = integral(attitude, twist, slope=slope, intensity=intensity, **options)
    held = [np.concatenate([a[:1], a, a[-1:]]) for a in (attitude, twist, slope, intensity)]
    time = np.concatenate([[-1.0], TIME, [3.0]])
    wanted = integral(*held[:2], time=time, slope=held[2], intensity=held[3], **options)
    for one, other in zip(found[:6], wanted[:6], strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12)
    assert np.abs(found.wander).max() > 1e-3


def test_noise_of_both_poses_is_carried_by_the_slopes_of_their_difference():
    random = np.random.default_rng(5)
    before, after = random.normal(size=(2, 1, 6))
    sensor = Sensor(position_noise=0.03, yaw_noise=0.02, time_noise=0.05, lag_spread=0.04)
    single = np.diag([sensor.position_noise**2] * 3 + [sensor.yaw_noise**2])
    h = 1e-6

    def difference(da, db):
        a, b = before.copy(), after.copy()
        a[0, ERRORS] += da
        b[0, ERRORS] += db
        return relative_poses(a, b)[0, ERRORS]

    def slopes(first):
        moves = [((h * e, 0.0 * e) if first else (0.0 * e, h * e)) for e in np.eye(4)]
        return np.array([(difference(*m) - difference(*np.negative(m))) / (2.0 * h) for m in moves]).T

    A, B = slopes(True), slopes(False)
    # In the heading frame of the first pose, noise of position is as large in all directions.
    wanted = A @ single @ A.T + B @ single @ B.T
    moved = relative_poses(before, after)
    start, end = random.normal(size=(2, 1, 4))
    silent = Sensor(position_noise=0.03, yaw_noise=0.02, time_noise=0.0)
    np.testing.assert_allclose(pose_noise(silent, moved, start, end)[0], wanted, rtol=0.0, atol=1e-9)
    begun = yaw_transition(moved)[0] @ start[0]
    wanted += sensor.time_noise**2 * (np.outer(begun, begun) + np.outer(end[0], end[0]))
    np.testing.assert_allclose(pose_noise(sensor, moved, start, end)[0], wanted, rtol=0.0, atol=1e-9)
    wanted += sensor.lag_spread**2 * np.outer(end[0] - begun, end[0] - begun)
    np.testing.assert_allclose(pose_noise(sensor, moved, start, end, other_log=True)[0], wanted, rtol=0.0, atol=1e-9)


def test_a_frame_turned_by_a_yaw_error_turns_the_displacement():
    moved, h = np.array([[1.2, -0.7, 0.3, 0.1, 0.2, 0.4]]), 1e-6
    turned = np.array([[np.cos(h), -np.sin(h)], [np.sin(h), np.cos(h)]]) @ moved[0, :2]
    np.testing.assert_allclose(yaw_transition(moved)[0, :2, 3], (turned - moved[0, :2]) / h, rtol=0.0, atol=1e-6)
