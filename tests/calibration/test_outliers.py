"""Outliers weigh as little in the noise as in slip, and a fit without outliers is that of Gaussian noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from grouser.calibration import likelihood
from grouser.calibration.calibrate import calibrate
from grouser.calibration.loss import loss_of, weight_of
from grouser.logs.log import Sensor
from grouser.motion.noise import Noise
from tests.motion import planted_logs as drives

DENSITY = np.diag([1e-3, 1e-3, 4e-4])


@cache
def log():
    truth = drives.slipping(sensor=Sensor(position_noise=0.01, yaw_noise=0.005), noise=Noise(density=DENSITY))
    return drives.winding_log(truth, seed=5, seconds=300.0, dt=0.05, poses_every=4)


def fitted(of):
    return calibrate(drives.slipping(np.zeros(6), of.sensor), of, ["slip", "noise"])


@cache
def clean():
    return fitted(log())


@pytest.mark.parametrize(("count", "size"), [(1, 50.0), (3, 5.0), (8, 5.0)])
def test_a_few_bad_poses_change_neither_slip_nor_noise(count, size):
    position = log().poses.position.copy()
    position[100 + 170 * np.arange(count), 0] += size  # poses at which one interval ends and the next begins
    found = fitted(replace(log(), poses=replace(log().poses, position=position)))
    assert found.training.rejected == 2 * count
    for name, value in clean().values.items():
        off = abs(found.values[name] - value)
        # Up to 16 of 149 intervals fewer: estimates of the rest differ by a share of their sigma.
        assert off < 0.8 * clean().sigma[name], name


def test_spinning_wheels_for_four_seconds_do_not_change_the_noise():
    """The vehicle stands while its wheels turn on: poses after 60 s are those of 4 s before."""
    poses = log().poses
    late = np.flatnonzero(poses.time >= 60.0)
    stop, back = int(late[0]), round(4.0 / float(poses.time[1] - poses.time[0]))
    position, attitude = poses.position.copy(), poses.attitude.copy()
    position[stop : stop + back], attitude[stop : stop + back, 2] = position[stop], attitude[stop, 2]
    moved, turned = poses.position[stop + back] - position[stop], poses.attitude[stop + back, 2] - attitude[stop, 2]
    c, s = np.cos(-turned), np.sin(-turned)
    rest = poses.position[stop + back :] - poses.position[stop + back]
    position[stop + back :, 0] = position[stop, 0] + c * rest[:, 0] - s * rest[:, 1]
    position[stop + back :, 1] = position[stop, 1] + s * rest[:, 0] + c * rest[:, 1]
    attitude[stop + back :, 2] -= turned
    assert np.linalg.norm(moved) > 1.0
    found = fitted(replace(log(), poses=replace(poses, position=position, attitude=attitude)))
    assert 1 <= found.training.rejected <= 4
    for name in ("noise.vx", "noise.vy", "noise.wz", "noise.wander_vx"):
        assert abs(found.values[name] - clean().values[name]) < 0.5 * clean().sigma[name], name


def test_without_outliers_the_noise_is_that_of_the_gaussian_likelihood():
    truth = drives.slipping(noise=Noise(density=DENSITY))
    ratios = []
    for seed in range(6):
        problem = drives.problem_of(drives.winding_log(truth, seed=seed, seconds=200.0, dt=0.1), truth)
        robust, plain = (likelihood.maximise(problem, truth, loss=loss).motion.noise for loss in ("mixture", "none"))
        ratios.append(robust.values / plain.values)
    # Of 600 distances of χ² of three freedoms about the largest is doubted a little; sigma of a density is 10 %.
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1.0, rtol=0.0, atol=0.02)


def test_a_mixture_is_square_inside_and_forgets_what_is_far():
    d2 = np.array([0.0, 3.0, 7.8])
    np.testing.assert_allclose(weight_of(d2, "mixture", 3), 1.0, rtol=0.0, atol=0.01)
    np.testing.assert_allclose(loss_of(d2, "mixture", 3) - loss_of(d2[:1], "mixture", 3), d2, rtol=0.0, atol=0.01)
    far = np.array([1e2, 1e4, 1e8])
    # The pull of a residual, its weight times its size, goes to zero; its share in the noise, w d², to m + 1.
    assert np.all(np.diff(weight_of(far, "mixture", 3) * np.sqrt(far)) < 0.0)
    assert weight_of(far[-1:], "mixture", 3)[0] * far[-1] == pytest.approx(4.0, rel=1e-3)


def test_the_mixture_is_a_density():
    """exp(−loss/2) of a Gaussian in one dimension integrates to that of the Gaussian."""
    x = np.sinh(np.linspace(-16.0, 16.0, 400_001))
    p = np.exp(-0.5 * loss_of(x**2, "mixture", 1)) / np.sqrt(2.0 * np.pi)
    assert np.trapezoid(p, x) == pytest.approx(1.0, abs=1e-4)
