"""Kernels give for eight numbers in lanes what they give for each of them alone."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import grouser._kernels.lanes  # noqa: F401  # sine, cosine and their inverses of lanes
from grouser._compile.jit import entry, inlined
from grouser._compile.lanes import LANES, bits, both, either, lanes_of, only, put_lanes, where
from grouser._kernels.kinematics.steering import nearest_way

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="lanes are compiled only")
X = np.linspace(-1.0, 1.0, LANES)
Y = np.array([0.3, -0.7, 0.0, 2.0, -0.001, 5.0, -5.0, 0.5])


@inlined
def all_of(x, y):
    """Inverse functions, choices, and the steering angle nearest to a present one."""
    a = x > 0.0
    b = y > 0.0
    kinds = where(both(a, b), 1.0, where(either(a, b), 2.0, 3.0)) + where(only(a, b), 10.0, x)
    return math.asin(x), math.atan2(y, x), math.sin(y), kinds, nearest_way(y, 0.1 * x, 1.0, 0.2, 0.1 + 0.0 * x, 1.2)


@entry
def in_lanes(x, y, out):
    """Of eight numbers at once; returns where x is above 0."""
    first = lanes_of(x, 0)
    found = all_of(first, lanes_of(y, 0))
    for k in range(5):
        put_lanes(found[k], out, LANES * k)
    return bits(first > 0.0)


@entry
def one_by_one(x, y, out):
    """Of each number alone."""
    for i in range(LANES):
        found = all_of(x[i], y[i])
        for k in range(5):
            out[LANES * k + i] = found[k]
    return bits(x[0] > 0.0)


def test_lanes_are_as_numbers():
    eight, alone = np.zeros(5 * LANES), np.zeros(5 * LANES)
    assert in_lanes(X, Y, eight) == sum(1 << i for i in range(LANES) if X[i] > 0.0)
    assert one_by_one(X, Y, alone) == 0
    np.testing.assert_allclose(eight, alone, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(alone[:LANES], np.arcsin(X), rtol=0.0, atol=1e-15)


def test_choices_in_plain_python():
    assert (where(True, 1.0, 2.0), where(False, 1.0, 2.0)) == (1.0, 2.0)
    assert (both(True, False), either(True, False), only(True, False), bits(True)) == (False, True, True, 1)
