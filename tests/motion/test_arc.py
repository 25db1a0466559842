"""The arc step of dead reckoning: its motion, and each of its Jacobians against differences."""

from __future__ import annotations

import numpy as np
import pytest

from grouser import rotation
from grouser._compile.jit import entry
from grouser._kernels.motion import arc as kernels
from grouser._kernels.motion.arc import Arc

SMALL = 1e-6  # of central differences, whose error is then of the order of 1e-10


@entry
def take_step(arc, h, yaw, pitched, by_pitch):
    kernels.lean(arc)
    turned = kernels.turn_by_pitch(arc, h, pitched) if by_pitch else kernels.turn_by_rates(arc, h)
    kernels.move_along(arc, h, yaw, turned)


@entry
def gains(arc, h, velocity, attitude):
    for i in range(6):
        kernels.velocity_gain(arc, i, velocity[i])
    kernels.attitude_gain(arc, h, attitude[0], attitude[1])


@entry
def carried(P, matrix, dx, dy, q, a, b):
    kernels.carry_both(P, dx, dy)
    kernels.carry(matrix, matrix.shape[1], dx, dy)
    kernels.add_outer(P, q, a, b)


def arc_of(twist, attitude, h, yaw, pitched=0.0, by_pitch=False):
    arc = Arc.zeros()
    arc.twist[:], arc.attitude[:] = twist, attitude
    take_step(arc, float(h), float(yaw), float(pitched), bool(by_pitch))
    return arc


def step_of(twist, attitude, h, yaw, **pitch):
    return arc_of(twist, attitude, h, yaw, **pitch).step.copy()


def differences(function, at):
    """Columns ∂f/∂x by central differences, rows the entries of x."""
    e = SMALL * np.eye(len(at))
    return np.array([(function(at + d) - function(at - d)) / (2.0 * SMALL) for d in e])


def drives(count=8):
    random = np.random.default_rng(4)
    for _ in range(count):
        yield random.uniform(-1.5, 1.5, 6), random.uniform(-0.5, 0.5, 2), random.uniform(-3.0, 3.0)


@pytest.mark.parametrize("turn", [0.0, 1.9e-4, 0.3, 2.0])
def test_a_level_step_ends_on_the_circle(turn):
    h, speed, yaw = 0.5, 1.2, 0.7
    step = step_of(np.array([0.0, 0.0, turn / h, speed, 0.0, 0.0]), np.zeros(2), h, yaw)
    radius = speed * h / turn if turn else 0.0
    ahead = radius * np.sin(turn) if turn else speed * h
    left = 2.0 * radius * np.sin(0.5 * turn) ** 2
    c, s = np.cos(yaw), np.sin(yaw)
    # Below a half turn of 1e-4 the chord is its series; the next term would be half⁴/120, 1e-18.
    np.testing.assert_allclose(step, [c * ahead - s * left, s * ahead + c * left, 0.0, turn], rtol=0.0, atol=1e-12)


def test_a_short_step_is_the_velocity_turned_into_the_world():
    h = 1e-6
    for twist, attitude, yaw in drives():
        step = step_of(twist, attitude, h, yaw) / h
        R_world_body = rotation.from_rpy(*attitude, yaw)
        np.testing.assert_allclose(step[:3], R_world_body @ twist[3:], rtol=0.0, atol=1e-5)
        (sr, _), (cr, cp) = np.sin(attitude), np.cos(attitude)
        np.testing.assert_allclose(step[3], (sr * twist[1] + cr * twist[2]) / cp, rtol=1e-12)


def test_the_turn_by_the_measured_pitch_is_that_by_the_rates_where_both_agree():
    h = 0.05
    for twist, attitude, yaw in drives():
        pitched = h * (np.cos(attitude[0]) * twist[1] - np.sin(attitude[0]) * twist[2])
        by_pitch = step_of(twist, attitude, h, yaw, pitched=pitched, by_pitch=True)
        np.testing.assert_allclose(by_pitch, step_of(twist, attitude, h, yaw), rtol=1e-12)


def test_on_its_side_the_turn_is_that_of_the_rates():
    twist, attitude = np.array([0.1, 0.2, 0.3, 1.0, 0.0, 0.0]), np.array([1.5, 0.0])
    by_pitch = step_of(twist, attitude, 0.1, 0.0, pitched=0.4, by_pitch=True)
    np.testing.assert_array_equal(by_pitch, step_of(twist, attitude, 0.1, 0.0))


@pytest.mark.parametrize("by_pitch", [False, True])
@pytest.mark.parametrize("h", [0.1, 0.01])
def test_gains_of_velocity_errors_are_slopes_of_the_step(h, by_pitch):
    velocity, attitude_gains = np.zeros((6, 4)), np.zeros((2, 4))
    for twist, attitude, yaw in drives():
        pitch = {"pitched": 0.3 * h, "by_pitch": by_pitch}
        arc = arc_of(twist, attitude, h, yaw, **pitch)
        gains(arc, h, velocity, attitude_gains)
        slopes = differences(lambda x, a=attitude, y=yaw, p=pitch: step_of(x, a, h, y, **p), twist) / h
        # The chord changes with the turn by turn/12 of the displacement, which the gain leaves out.
        left_out = np.abs(arc.step[3]) / 10.0 * np.hypot(*arc.step[:2]) * np.abs(arc.to_yaw).max()
        np.testing.assert_allclose(velocity[3:], slopes[3:], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(velocity[:3], slopes[:3], rtol=0.0, atol=left_out + 1e-8)
        assert np.abs(slopes[1:3, :2]).max() > 5.0 * left_out or np.hypot(*arc.step[:2]) < 0.01


@pytest.mark.parametrize("h", [0.1, 0.001])
def test_gains_of_attitude_errors_are_slopes_of_the_step(h):
    velocity, gain = np.zeros((6, 4)), np.zeros((2, 4))
    for twist, attitude, yaw in drives():
        arc = arc_of(twist, attitude, h, yaw)
        gains(arc, h, velocity, gain)
        slopes = differences(lambda x, t=twist, y=yaw: step_of(t, x, h, y), attitude)
        # Half of the turn that an attitude error adds also turns the displacement: of second order in h.
        left_out = 0.6 * np.abs(slopes[:, 3]).max() * np.hypot(*arc.step[:2])
        np.testing.assert_allclose(gain, slopes, rtol=0.0, atol=left_out + 1e-9)
        np.testing.assert_allclose(gain[:, 2:], slopes[:, 2:], rtol=0.0, atol=1e-8)


def test_errors_are_carried_as_a_yaw_error_turns_the_displacement():
    """Φ of P (7) is the slope of where a path ends by the errors (x, y, z, yaw) at its start."""
    random = np.random.default_rng(1)
    root, other = random.normal(size=(4, 4)), random.normal(size=(4, 3))
    P, q, a, b = root @ root.T, 0.3, random.normal(size=4), random.normal(size=4)
    for twist, attitude, yaw in drives(3):
        h = 0.2

        def end(error, twist=twist, attitude=attitude, yaw=yaw, h=h):
            return error + step_of(twist, attitude, h, yaw + error[3])

        transition = differences(end, np.zeros(4)).T
        dx, dy = step_of(twist, attitude, h, yaw)[:2]
        carried_P, carried_other = P.copy(), other.copy()
        carried(carried_P, carried_other, dx, dy, q, a, b)
        np.testing.assert_allclose(carried_P, transition @ P @ transition.T + q * np.outer(a, b), rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(carried_other, transition @ other, rtol=0.0, atol=1e-8)
