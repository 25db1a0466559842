"""Rotations of kernels against SciPy, small angles and large."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from grouser._compile.jit import entry
from grouser._kernels import rotation as kernels

SIZES = [0.0, 1e-9, 1e-5, 3e-3, 9.9e-3, 1.01e-2, 0.3, 2.0, 3.1]
AXIS = np.array([0.48, -0.6, 0.64])
V = np.array([0.7, -1.1, 0.4])


@entry
def vectors(q, r, v, out):
    R = out[8:11]
    kernels.matrix(q, R)
    kernels.put(kernels.rotate(q, v), out[0], 0)
    kernels.put(kernels.rotate_back(q, v), out[1], 0)
    kernels.put(kernels.times(R, v), out[2], 0)
    kernels.put(kernels.times_transposed(R, v), out[3], 0)
    kernels.put(kernels.left_jacobian(r, v), out[4], 0)
    kernels.put(kernels.inverse_left_jacobian(r, v), out[5], 0)
    kernels.put(kernels.logarithm(q), out[6], 0)
    kernels.put(kernels.cross(r, v), out[7], 0)
    kernels.skew(v, out[11:14])
    kernels.put(kernels.add(kernels.vector(r, 0), 2.0, kernels.scale(0.5, v)), out[14], 0)
    out[15, 0] = kernels.dot(r, v)
    kernels.put(kernels.column(R, 1), out[16], 0)


@entry
def quaternions(a, b, r, out):
    kernels.put_quaternion(kernels.product(a, b), out[0])
    kernels.put_quaternion(kernels.exponential(r), out[1])
    kernels.put_quaternion(kernels.conjugate(a), out[2])


@entry
def integrals(square, out):
    out[0], out[1], out[2] = kernels.series(square)


@entry
def angles(q, out):
    kernels.set_attitude(q, 0.3, -0.5, 2.0)
    kernels.matrix(q, out[1:4])
    out[0, 0], out[0, 1], out[0, 2] = kernels.euler_angles(out[1:4])


def skew(v):
    return np.cross(np.eye(3), v)


def quaternion(r):
    return Rotation.from_rotvec(r).as_quat()[[3, 0, 1, 2]]


@pytest.mark.parametrize("size", SIZES)
def test_rotations_are_those_of_scipy(size):
    r = size * AXIS
    q, R = quaternion(r), expm(skew(r))
    out = np.zeros((17, 3))
    vectors(q, r, V, out)
    # ∫₀¹ exp(s [r]×) ds from one exponential of a larger matrix
    jacobian = expm(np.block([[skew(r), np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
    expected = [R @ V, R.T @ V, R @ V, R.T @ V, jacobian @ V, np.linalg.solve(jacobian, V), r, np.cross(r, V)]
    np.testing.assert_allclose(out[:8], expected, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(out[8:11], R, rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(out[11:14], skew(V))
    np.testing.assert_allclose(out[14], r + V, rtol=0.0, atol=1e-15)
    assert out[15, 0] == pytest.approx(r @ V, abs=1e-15)
    np.testing.assert_allclose(out[16], R[:, 1], rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("size", SIZES)
def test_quaternions_multiply_as_rotations_do(size):
    r, other = size * AXIS, np.array([0.2, 0.9, -1.3])
    a, b = quaternion(r), quaternion(other)
    out = np.zeros((3, 4))
    quaternions(a, 1.1 * b, r, out)
    both = (Rotation.from_rotvec(r) * Rotation.from_rotvec(other)).as_quat()[[3, 0, 1, 2]]
    np.testing.assert_allclose(out[0], both * np.sign(both @ out[0]), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(out[1], a, rtol=0.0, atol=1e-15)
    np.testing.assert_array_equal(out[2], a * [1.0, -1.0, -1.0, -1.0])


def test_both_quaternions_of_a_rotation_have_one_logarithm():
    r = 2.5 * AXIS
    for sign in (1.0, -1.0):
        out = np.zeros((17, 3))
        vectors(sign * quaternion(r), r, V, out)
        np.testing.assert_allclose(out[6], r, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("size", [1e-3, 9.9e-3, 1.01e-2, 0.5, 3.0])
def test_series_are_those_of_sine_and_cosine(size):
    out = np.zeros(3)
    integrals(size**2, out)
    terms = [[(-1) ** k * size ** (2 * k) / math.factorial(2 * k + n) for k in range(20)] for n in (2, 3, 4)]
    # Above a hundredth of a radian they are differences of nearly equal numbers.
    np.testing.assert_allclose(out, np.sum(terms, axis=1), rtol=1e-14 if size < 0.01 else 1e-7)


def test_attitude_is_yaw_pitch_roll():
    q, out = np.zeros(4), np.zeros((4, 3))
    angles(q, out)
    np.testing.assert_allclose(out[1:], Rotation.from_euler("ZYX", [2.0, -0.5, 0.3]).as_matrix(), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(out[0], [0.3, -0.5, 2.0], rtol=0.0, atol=1e-15)
