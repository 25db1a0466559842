"""Random rough ground has the statistics it was asked for."""

import math

import numpy as np
import pytest

import grouser.terrain as terrain
from grouser.errors import TerrainError


def nodes(ground):
    return ground.settings["heights"]


def test_mean_and_rms_are_exact_on_the_map():
    h = nodes(terrain.rough(rms=0.15, length=0.8, seed=1))
    assert abs(h.mean()) < 1e-15
    assert math.sqrt(np.mean(h * h)) == pytest.approx(0.15, rel=1e-13)


def test_the_autocorrelation_falls_as_a_gaussian_along_both_axes():
    length, spacing = 0.8, 0.1
    lags = [4, 8, 16]
    found = np.zeros((2, 3))
    seeds = 12
    for seed in range(seeds):
        h = nodes(terrain.rough(rms=1.0, length=length, seed=seed, size=60.0, spacing=spacing))
        for axis, v in enumerate((h, h.T)):
            found[axis] += [np.mean(v[k:] * v[:-k]) / seeds for k in lags]
    wanted = np.exp(-((np.array(lags) * spacing / length) ** 2))
    # One map holds (60/0.8)² / π ≈ 1800 independent patches, twelve maps 21000: 1/√21000 ≈ 0.007; four sigma.
    np.testing.assert_allclose(found, np.broadcast_to(wanted, (2, 3)), rtol=0.0, atol=0.03)


def test_the_map_is_not_periodic():
    h = nodes(terrain.rough(rms=1.0, length=0.8, seed=4, size=20.0))
    across = np.mean(h[0] * h[-1]) / np.mean(h * h)
    assert abs(across) < 0.7
    assert np.abs(h[0] - h[-1]).max() > 0.5


def test_a_seed_gives_the_same_ground_and_another_seed_another():
    a, b, c = (nodes(terrain.rough(rms=0.15, length=0.8, seed=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 0.1


def test_size_spacing_and_centre_are_as_asked():
    ground = terrain.rough(rms=0.1, length=0.5, seed=0, size=(10.0, 4.0), spacing=0.1, center=(5.0, -1.0))
    assert ground.bounds == (0.0, 10.0, -3.0, 1.0)
    assert nodes(ground).shape == (101, 41)
    default = terrain.rough(rms=0.1, length=0.8, seed=0)
    assert default.bounds == (-20.0, 20.0, -20.0, 20.0)
    assert nodes(default).shape == (401, 401)
    assert nodes(terrain.rough(rms=0.1, length=0.01, seed=0)).shape == (1001, 1001)


def test_no_roughness_is_flat():
    assert np.abs(terrain.rough(rms=0.0, length=1.0, seed=0).height(0.3, 0.4)) == 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"rms": -1.0},
        {"rms": math.nan},
        {"length": 0.0},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"size": -3.0},
        {"size": (1.0, 2.0, 3.0)},
        {"size": 1e6},
        {"spacing": 1.0},
        {"spacing": 1e-5, "size": 20.0},
        {"center": 3.0},
        {"interpolation": "nearest"},
    ],
)
def test_absurd_rough_ground_is_refused(change):
    with pytest.raises(TerrainError) as caught:
        terrain.rough(**({"rms": 0.1, "length": 0.8, "seed": 1} | change))
    assert "\n" not in str(caught.value)
