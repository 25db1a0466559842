"""The test for a change of ground: its promise, on numbers drawn here."""

import numpy as np
import pytest

from grouser._compile.jit import entry
from grouser._kernels.robot import ground

SIGMA, BAND = np.array([0.2, 0.1]), np.array([0.25, 0.15])
SHIFTS = np.array([[0.2, 0.0], [-0.2, 0.0], [0.0, 0.1], [0.2, -0.1]])


@entry
def ratios_after(blocks, shifts, band, weight, bound, out):
    """Sum over blocks of e^λ for each shift, of blocks taken one by one; the work array is out[1]."""
    for k in range(blocks.shape[0]):
        for h in range(shifts.shape[0]):
            out[1, h] = 0.0
        ground.advance(out[1], shifts, blocks[k], band, weight, bound, 1.0)
        for h in range(shifts.shape[0]):
            out[0, h] += out[1, h]


def mean_ratio(offset, bound=50.0):
    blocks = np.asarray(offset) + SIGMA * np.random.default_rng(2).normal(size=(100_000, 2))
    out = np.zeros((2, len(SHIFTS)))
    ratios_after(blocks, SHIFTS, BAND, 1.0 / SIGMA**2, bound, out)
    return out[0] / len(blocks)


@pytest.mark.parametrize("offset", [(0.0, 0.0), (0.25, 0.15), (-0.25, -0.15), (0.25, -0.15)])
def test_anywhere_within_the_band_the_ratio_is_one_on_average_at_most(offset):
    """exp(δ (d − b)/S) in closed form for an offset d and a shift δ > 0: one at the edge of the band, less within."""
    expected = np.exp(((SHIFTS * offset - np.abs(SHIFTS) * BAND) / SIGMA**2).sum(axis=1))
    np.testing.assert_allclose(mean_ratio(offset), expected, rtol=0.05)
    assert expected.max() < 1.0 + 1e-9
    assert np.all(mean_ratio(offset, bound=1.0) < 1.02)


def test_beyond_the_band_it_grows_for_shifts_of_that_sign_only():
    ratio = mean_ratio((0.45, 0.0))
    assert ratio[0] > 2.0
    assert ratio[1] < 0.1
    assert ratio[2] < 0.5
