"""Rotations obey the axioms of SO(3) and survive their own conversions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouser import rotation
from grouser.errors import GrouserError

TIGHT = 1e-12
angles = st.floats(-10.0, 10.0)


def elementary(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    return {
        "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


def random_rotations(n, seed=0):
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return rotation.from_quaternion(q)


@given(angles, angles, angles)
def test_rpy_is_yaw_times_pitch_times_roll(roll, pitch, yaw):
    expected = elementary("z", yaw) @ elementary("y", pitch) @ elementary("x", roll)
    np.testing.assert_allclose(rotation.from_rpy(roll, pitch, yaw), expected, rtol=0.0, atol=TIGHT)


def test_matrices_are_orthogonal_with_determinant_one():
    rng = np.random.default_rng(1)
    for R in (rotation.from_rpy(*rng.uniform(-7, 7, (3, 500))), random_rotations(500)):
        np.testing.assert_allclose(
            R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), rtol=0.0, atol=TIGHT
        )
        np.testing.assert_allclose(np.linalg.det(R), 1.0, rtol=0.0, atol=TIGHT)


@given(angles, st.floats(-1.5, 1.5), angles)
def test_rpy_comes_back_within_its_range(roll, pitch, yaw):
    back = rotation.to_rpy(rotation.from_rpy(roll, pitch, yaw))
    turns = (back - [roll, pitch, yaw]) / (2 * np.pi)
    # pitch within ±1.5 rad: roll and yaw are lost by at most 1/cos(1.5) = 14 roundings
    np.testing.assert_allclose(turns, np.round(turns), rtol=0.0, atol=1e-13)
    assert abs(back[1]) <= np.pi / 2


@pytest.mark.parametrize("offset", [0.0, 1e-16, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rpy_rebuilds_the_matrix_at_and_near_gimbal_lock(sign, offset):
    rng = np.random.default_rng(2)
    for roll, yaw in rng.uniform(-3, 3, (50, 2)):
        R = rotation.from_rpy(roll, sign * (np.pi / 2 - offset), yaw)
        np.testing.assert_allclose(rotation.from_rpy(*rotation.to_rpy(R)), R, rtol=0.0, atol=TIGHT)


def test_an_exact_quarter_pitch_has_no_roll():
    R = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(rotation.to_rpy(R), [0.0, np.pi / 2, 0.0])


def test_quaternions_rebuild_every_matrix():
    R = random_rotations(2000, seed=3)
    q = rotation.to_quaternion(R)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, rtol=0.0, atol=TIGHT)
    assert np.all(q[:, 0] >= 0.0)
    np.testing.assert_allclose(rotation.from_quaternion(q), R, rtol=0.0, atol=TIGHT)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -2, 3], [-1, -1, -1]])
@pytest.mark.parametrize("short_of", [0.0, 1e-15, 1e-9, 1e-4])
def test_half_turns_are_no_bad_case_for_the_quaternion(axis, short_of):
    u = np.array(axis, float) / np.linalg.norm(axis)
    half = (np.pi - short_of) / 2
    q = np.concatenate([[np.cos(half)], np.sin(half) * u])
    R = rotation.from_quaternion(q)
    np.testing.assert_allclose(rotation.from_quaternion(rotation.to_quaternion(R)), R, rtol=0.0, atol=TIGHT)


def test_quaternion_product_is_matrix_product():
    rng = np.random.default_rng(4)
    for a, b in rng.normal(size=(100, 2, 4)):
        w = a[0] * b[0] - a[1:] @ b[1:]
        v = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
        ab = np.concatenate([[w], v])
        product = rotation.from_quaternion(a) @ rotation.from_quaternion(b)
        np.testing.assert_allclose(rotation.from_quaternion(ab), product, rtol=0.0, atol=TIGHT)


def test_the_length_of_a_quaternion_does_not_matter():
    q = np.array([0.3, -0.2, 0.9, 0.1])
    for scale in (1e-200, 1e-3, 1.0, 1e200):
        np.testing.assert_allclose(
            rotation.from_quaternion(scale * q), rotation.from_quaternion(q), rtol=0.0, atol=TIGHT
        )


def test_leading_axes_are_kept():
    rpy = np.random.default_rng(5).uniform(-1, 1, (2, 4, 3))
    R = rotation.from_rpy(rpy[..., 0], rpy[..., 1], rpy[..., 2])
    assert R.shape == (2, 4, 3, 3)
    assert rotation.to_rpy(R).shape == (2, 4, 3)
    assert rotation.to_quaternion(R).shape == (2, 4, 4)
    np.testing.assert_allclose(rotation.from_quaternion(rotation.to_quaternion(R)), R, rtol=0.0, atol=TIGHT)
    np.testing.assert_allclose(rotation.to_quaternion(R)[1, 2], rotation.to_quaternion(R[1, 2]), rtol=0.0, atol=0)
    assert rotation.from_rpy(0.0, np.zeros(5), 0.0).shape == (5, 3, 3)
    assert rotation.from_quaternion(np.ones((0, 4))).shape == (0, 3, 3)


@pytest.mark.parametrize("bad", [[0, 0, 0, 0], [1, 2, 3], [np.nan, 0, 0, 1], 1.0])
def test_what_is_no_quaternion_is_refused(bad):
    with pytest.raises(GrouserError, match="quaternion"):
        rotation.from_quaternion(bad)


def test_what_is_no_matrix_is_refused():
    with pytest.raises(GrouserError, match=r"\(3, 4\)"):
        rotation.to_rpy(np.zeros((3, 4)))


def test_yaw_of_is_the_yaw_of_the_matrix_and_wrapped_angles_stay_the_same_direction():
    rng = np.random.default_rng(3)
    q = rng.standard_normal((50, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = rotation.from_quaternion(q)
    np.testing.assert_allclose(rotation.yaw_of(q), np.arctan2(R[:, 1, 0], R[:, 0, 0]), rtol=0.0, atol=1e-14)
    assert float(rotation.yaw_of(q[0])) == rotation.yaw_of(q)[0]
    angles = np.linspace(-20.0, 20.0, 401)
    within = rotation.wrapped(angles)
    assert (np.abs(within) <= np.pi).all()
    np.testing.assert_allclose(np.exp(1j * within), np.exp(1j * angles), rtol=0.0, atol=1e-13)


def test_about_turns_by_the_right_hand_rule_and_skew_is_the_cross_product():
    rng = np.random.default_rng(5)
    for axis, angle in ((np.eye(3)[k], a) for k in range(3) for a in (0.3, -2.0)):
        R = rotation.from_rpy(*(angle * axis))
        np.testing.assert_allclose(rotation.about(axis, angle), R, rtol=0.0, atol=1e-15)
    v, w = rng.standard_normal((2, 3))
    np.testing.assert_allclose(rotation.skew(v) @ w, np.cross(v, w), rtol=0.0, atol=1e-15)
    u = v / np.linalg.norm(v)
    np.testing.assert_allclose(rotation.about(u, 1.1) @ u, u, rtol=0.0, atol=1e-15)
