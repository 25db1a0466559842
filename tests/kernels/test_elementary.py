"""Elementary functions written out for speed, against the C library's."""

import math

import numpy as np

from grouser._compile.jit import entry
from grouser._kernels.contact.search import FINEST, rotated
from grouser._kernels.elementary import arctangent, sine_cosine


@entry
def evaluate(x, out):
    for i in range(x.size):
        out[i, 0], out[i, 1] = sine_cosine(x[i])
        out[i, 2] = arctangent(x[i])


@entry
def step_on(angle, step, out):
    out[0], out[1] = rotated(math.cos(angle), math.sin(angle), step)


def test_sine_cosine_and_arctangent_are_exact_to_a_few_roundings():
    x = np.concatenate([np.linspace(-np.pi, np.pi, 2001), [0.0, 1e-9, -1e-9]])
    out = np.empty((len(x), 3))
    evaluate(x, out)
    np.testing.assert_allclose(out[:, 0], np.sin(x), rtol=0.0, atol=2e-15)
    np.testing.assert_allclose(out[:, 1], np.cos(x), rtol=0.0, atol=2e-15)
    np.testing.assert_allclose(out[:, 2], np.arctan(x), rtol=1e-15, atol=1e-15)


def test_arctangent_of_large_arguments():
    x = np.concatenate([np.geomspace(1e-6, 1e12, 500), -np.geomspace(1e-6, 1e12, 500)])
    out = np.empty((len(x), 3))
    evaluate(x, out)
    np.testing.assert_allclose(out[:, 2], np.arctan(x), rtol=1e-15)


def test_an_angle_is_stepped_on_by_series():
    # Remainder of the sine's series: spacing¹¹/11! = 5e-15 at three times the finest spacing.
    out = np.empty(2)
    for angle in np.linspace(-1.5, 1.5, 13):
        for step in np.linspace(-3.0 * FINEST, 3.0 * FINEST, 11):
            step_on(angle, step, out)
            np.testing.assert_allclose(out, [math.cos(angle + step), math.sin(angle + step)], rtol=0.0, atol=1e-13)
