"""Process noise: how Q′ is made of parameters, and the covariances it gives, against Monte Carlo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grouser.calibration import likelihood
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.motion.noise import COMPONENTS, FORMS, Noise, bounded
from tests.motion import planted_logs as drives

DENSITY = np.array([[4e-3, 1e-3, -5e-4], [1e-3, 2e-3, 3e-4], [-5e-4, 3e-4, 1e-3]])


@pytest.mark.parametrize("form", FORMS)
def test_slopes_of_the_density_are_its_differences(form):
    noise = Noise(density=np.diag(np.diag(DENSITY)) if form == "diagonal" else DENSITY, form=form)
    h = 1e-7
    for k in range(len(noise.names)):
        step = h * np.eye(len(noise.names))[k]
        ends = [noise.with_values(noise.values + sign * step).density for sign in (1.0, -1.0)]
        # Q′ is quadratic in U and linear otherwise: central differences are exact but for rounding, 1e-16/h.
        np.testing.assert_allclose(noise.slopes()[k], (ends[0] - ends[1]) / (2.0 * h), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_density_survives_its_parameters(form):
    noise = Noise(density=np.diag(np.diag(DENSITY)) if form == "diagonal" else DENSITY, form=form)
    np.testing.assert_allclose(noise.with_values(noise.values).density, noise.density, rtol=1e-9, atol=1e-14)


def test_bounded_density_is_positive_and_leaves_a_good_one_alone():
    np.testing.assert_array_equal(bounded(DENSITY, 1e-9, 1e2), DENSITY)
    fixed = bounded(np.array([[1.0, 2.0], [2.0, 1.0]]), 1e-9, 1e2)  # eigenvalues −1 and 3
    np.testing.assert_allclose(np.linalg.eigvalsh(fixed), [1e-9, 3.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"components": ("vx", "up")}, "component"),
        ({"form": "round"}, "form"),
        ({"grows": "slowly"}, "grows"),
        ({"density": np.eye(2)}, "shape"),
        ({"density": np.full((3, 3), np.nan)}, "finite"),
        ({"density": np.diag([1.0, -1.0, 1.0])}, "positive"),
    ],
)
def test_bad_noise_is_refused_in_a_sentence(bad, says):
    with pytest.raises(CalibrationError, match=says):
        Noise(**bad)


def whitened(problem, motion):
    """Sample covariance of the residuals in units of the predicted one: the identity if that is right."""
    predicted = problem.errors(motion)
    r = problem.residuals(predicted.poses)
    L = np.linalg.cholesky(problem.covariance(motion, predicted)[0])
    white = np.linalg.solve(L, (r - r.mean(axis=0)).T)
    return white @ white.T / len(r)


@pytest.mark.parametrize(
    ("density", "sensor", "grows"),
    [
        (DENSITY, Sensor(position_noise=1e-6, yaw_noise=1e-6), "distance"),
        (DENSITY, Sensor(x=1.0, y=-0.7, z=0.5, yaw=0.8, position_noise=1e-6, yaw_noise=1e-6), "time"),
        (1e-12 * np.eye(3), Sensor(x=0.5, yaw=-0.6, position_noise=0.02, yaw_noise=0.03), "distance"),
        (
            1e-12 * np.eye(3),
            Sensor(x=0.8, y=0.4, yaw=0.5, position_noise=0.01, yaw_noise=0.005, time_noise=0.03),
            "time",
        ),
        (DENSITY, Sensor(x=0.8, y=0.4, yaw=0.5, position_noise=0.05, yaw_noise=0.03, time_noise=0.05), "distance"),
    ],
    ids=["process", "process seen by a mounted sensor", "poses", "time stamps", "all"],
)
def test_covariance_of_residuals_is_that_of_drives_on_a_slope(density, sensor, grows):
    noise = Noise(components=("vx", "vy", "wz"), density=density, form="full", grows=grows)
    motion = drives.slipping(np.zeros(6), sensor, noise)
    copies = 3000
    log = drives.repeated(motion, copies, seed=3, dt=0.1, left=3.0, right=5.0, attitude=(0.15, -0.2))
    problem = drives.problem_of(log, motion, interval=None)
    assert len(problem.intervals) == copies
    # Standard error of a variance of 3000 samples is 2.6 %; linearised propagation is good to about 1 % here.
    np.testing.assert_allclose(whitened(problem, motion), np.eye(3), rtol=0.0, atol=0.11)


def test_noise_of_turns_and_heights_reaches_what_it_should():
    # Noise of the turn rate about y alone turns the yaw only where the body rolls: sin(roll)/cos(pitch).
    noise = Noise(components=("wy",), density=np.array([[1e-3]]), form="full", grows="time")
    motion = drives.slipping(np.zeros(6), noise=noise)
    for roll in (0.0, 0.3):
        log = drives.repeated(motion, 2, seed=0, left=3.0, right=3.0, attitude=(roll, 0.1))
        problem = drives.problem_of(log, motion, interval=None)
        yaw = np.einsum("ab,iabjk->ijk", noise.density, problem.errors(motion).W)[0, 3, 3]
        assert yaw == pytest.approx(2.0 * 1e-3 * (np.sin(roll) / np.cos(0.1)) ** 2, abs=1e-12)
    assert COMPONENTS[1] == "wy"


def test_density_grows_with_distance_or_time():
    for grows, expected in (("time", 2.0), ("distance", 2.0 * 4.0 * 0.3)):
        noise = Noise(density=np.diag([1e-3, 1e-3, 1e-9]), grows=grows)
        motion = drives.slipping(np.zeros(6), Sensor(position_noise=0.0, yaw_noise=0.0), noise)
        log = drives.repeated(motion, 2, seed=0, left=4.0, right=4.0)
        problem = drives.problem_of(log, motion, interval=None)
        R = problem.covariance(motion, problem.errors(motion))[0]
        assert R[0, 0] == pytest.approx(1e-3 * expected, rel=1e-9)


@pytest.fixture(scope="module")
def noisy_problem():
    truth = drives.slipping(noise=Noise(density=DENSITY, form="full"))
    log = drives.winding_log(truth, seed=5, seconds=300.0, dt=0.1)
    return drives.problem_of(log, truth), truth


def test_full_and_cholesky_forms_find_the_same_density(noisy_problem):
    problem, truth = noisy_problem
    found = {}
    for form in ("full", "cholesky"):
        start = truth.replace(noise=Noise(density=2e-3 * np.eye(3), form=form))
        found[form], covariance, _ = likelihood.maximise(problem, start)
        assert covariance.shape == (6, 6)
    # One and the same maximum; the search stops at a relative change of the likelihood of 1e-9.
    np.testing.assert_allclose(found["full"].noise.density, found["cholesky"].noise.density, rtol=0.0, atol=2e-5)
    sigma = np.sqrt(np.diag(likelihood.maximise(problem, truth).covariance))
    I, J = np.triu_indices(3)
    assert np.all(np.abs(found["full"].noise.density - DENSITY)[I, J] < 3.0 * sigma)


def test_most_likely_noise_is_where_the_likelihood_is_largest(noisy_problem):
    problem, truth = noisy_problem
    best, _, _ = likelihood.maximise(problem, truth.replace(noise=Noise(density=1e-2 * np.eye(3))))
    predicted = problem.errors(best)
    r = problem.residuals(predicted.poses)

    def at(motion):
        return likelihood.log_likelihood(r, problem.covariance(motion, predicted))

    for k in range(3):
        for factor in (0.95, 1.05):
            moved = best.noise.values * np.where(np.arange(3) == k, factor, 1.0)
            assert at(best.replace(noise=best.noise.with_values(moved))) < at(best)


def test_most_likely_noise_of_the_sensor_is_found_beside_that_of_the_process():
    sensor = Sensor(position_noise=0.05, yaw_noise=0.02)
    truth = drives.slipping(sensor=sensor, noise=Noise(density=np.diag([1e-3, 1e-3, 1e-3])))
    # Short intervals tell the sensor's noise, long ones that of the process.
    log = drives.winding_log(truth, seed=2, seconds=400.0, dt=0.1)
    problem = drives.problem_of(log, truth, interval=1.0, every=2)
    start = truth.replace(sensor=replace(sensor, position_noise=0.02, yaw_noise=0.01))
    names = ["sensor.position_noise", "sensor.yaw_noise"]
    best, covariance, _ = likelihood.maximise(problem, start, names=names)
    sigma = np.sqrt(np.diag(covariance))
    error = np.array([best.sensor.position_noise - 0.05, best.sensor.yaw_noise - 0.02])
    assert np.all(np.abs(error) < 3.0 * sigma)
    assert np.all(sigma < 0.15 * np.array([0.05, 0.02]))
    np.testing.assert_array_equal(best.noise.density, start.noise.density)
