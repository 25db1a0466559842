"""Every measurement Jacobian of the online filters and of the likelihood, against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grouser.calibration.interval_filter import shortening
from grouser.calibration.likelihood import Horizon, _Form, _Part
from grouser.calibration.online import OnlineFilter
from grouser.calibration.perturbative_filter import PerturbativeFilter
from grouser.logs.log import Sensor
from grouser.motion.model import MotionModel
from grouser.motion.noise import FORMS, Noise
from grouser.motion.parameters import default, resolve, with_values
from grouser.motion.slip_surface import NAMES, Perturbative
from tests.motion import planted_logs as drives

DENSITY = np.array([[4e-3, 1e-3, 5e-4], [1e-3, 2e-3, -3e-4], [5e-4, -3e-4, 1e-3]])
SENSOR = Sensor(x=0.3, y=-0.2, z=0.5, yaw=0.2, lag=0.03, position_noise=0.02, yaw_noise=0.01, time_noise=0.03)


def surface(noise=None):
    model = Perturbative(vehicle=drives.warthog(), slip=np.linspace(-0.1, 0.1, 13))
    return MotionModel(model=model, sensor=SENSOR, noise=Noise() if noise is None else noise)


def poses_along(problem, motion, name, steps):
    """Residual components of interval 3 for changes of one parameter."""
    value = default(motion, name).value
    moved = problem.poses([with_values(motion, {name: value + d}) for d in steps], slice(3, 4))
    return moved[:, 0, problem.rows]


def by_differences(problem, motion, names):
    columns = []
    for name in names:
        h = 1e-3 * default(motion, name).scale
        # Five points: the error is of the fourth order of h.
        far_below, below, above, far_above = poses_along(problem, motion, name, (-2 * h, -h, h, 2 * h))
        columns.append((far_below - 8.0 * below + 8.0 * above - far_above) / (12.0 * h))
    return np.array(columns).T


@pytest.mark.parametrize("residual", [("x", "y", "yaw"), ("yaw", "z", "x", "pitch")])
def test_the_slopes_of_the_general_filter_are_differences(residual):
    motion = drives.slipping(sensor=SENSOR)
    problem = drives.problem_of(drives.winding_log(motion, seconds=12.0), motion, residual=residual)
    names = ["slip.p1", "slip.p3", "slip.p6", "sensor.x", "sensor.yaw", "sensor.lag", "vehicle.radius"]
    learner = OnlineFilter(motion, resolve(motion, names))
    _, (H,), predicted = learner._linearise(problem, 3, learner.p[None])
    wanted = by_differences(problem, motion, names)
    # Both are central differences: their own error, h² and rounding over h, is below 1e-7 of the largest.
    np.testing.assert_allclose(H, wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max())
    np.testing.assert_allclose(predicted.poses[0], problem.poses([motion])[0][3], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("residual", [("x", "y", "yaw"), ("yaw", "z", "x")])
def test_the_slopes_of_the_perturbative_filter_are_differences(residual):
    motion = surface()
    log = drives.winding_log(motion, seconds=12.0, dt=0.02)
    problem = drives.problem_of(log, motion, residual=residual)
    learner = PerturbativeFilter(problem, motion, resolve(motion, ["slip"]))
    _, (H,), predicted = learner._linearise(problem, 3, learner.p[None])
    wanted = by_differences(problem, motion, NAMES)
    # The convolution integral differs by the second order of the sample period.
    np.testing.assert_allclose(H, wanted, rtol=0.0, atol=1e-3 * np.abs(wanted).max())
    np.testing.assert_allclose(predicted.poses[0], problem.poses([motion])[0][3], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_slopes_of_the_covariance_are_differences(form):
    density = np.diag(np.diag(DENSITY)) if form == "diagonal" else DENSITY
    wander = np.array([1e-3, 5e-4, 2e-4])
    motion = drives.slipping(sensor=SENSOR, noise=Noise(form=form, density=density, wander=wander))
    problem = drives.problem_of(drives.winding_log(motion, seconds=12.0), motion, residual=("x", "y", "z", "yaw"))
    predicted = problem.errors(motion)
    names = [*motion.noise.names, "sensor.position_noise", "sensor.yaw_noise", "sensor.time_noise"]
    found = problem.covariance_slopes(motion, predicted, names)
    for k, name in enumerate(names):
        value = default(motion, name).value
        h = 1e-4 * max(abs(value), 1e-4)
        ends = [problem.covariance(with_values(motion, {name: value + s * h}), predicted) for s in (1.0, -1.0)]
        wanted = (ends[0] - ends[1]) / (2.0 * h)
        np.testing.assert_allclose(found[:, k], wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max(), err_msg=name)


@pytest.mark.parametrize("form", FORMS)
def test_the_slopes_of_the_free_coordinates_are_differences(form):
    density = np.diag(np.diag(DENSITY)) if form == "diagonal" else DENSITY
    motion = drives.slipping(
        sensor=SENSOR, noise=Noise(form=form, density=density, wander=np.array([1e-4, 2e-4, 3e-5]))
    )
    coordinates = _Form(motion, [*motion.noise.names, "sensor.time_noise"])
    x, h = coordinates.start + 0.1, 1e-6
    v, slopes = coordinates.elements(x)
    for k, e in enumerate(np.eye(len(x))):
        wanted = (coordinates.elements(x + h * e)[0] - coordinates.elements(x - h * e)[0]) / (2.0 * h)
        np.testing.assert_allclose(slopes[k], wanted, rtol=0.0, atol=1e-9)
    at = coordinates.motion_at(x)
    assert v[-1] == pytest.approx(at.sensor.time_noise**2)
    np.testing.assert_allclose(v[-4:-1], at.noise.wander)


@pytest.mark.parametrize("loss", ["mixture", "none"])
@pytest.mark.parametrize("form", ["diagonal", "full"])
def test_the_slopes_of_the_likelihood_of_noise_are_differences(form, loss):
    density = np.diag(np.diag(DENSITY)) if form == "diagonal" else DENSITY
    noise = Noise(form=form, density=density, wander=np.array([1e-4, 2e-4, 3e-5]))
    motion = drives.slipping(0.97 * drives.SLIP, sensor=SENSOR, noise=noise)
    problem = drives.problem_of(drives.winding_log(drives.slipping(sensor=SENSOR, noise=noise), seed=2), motion)
    problem.intervals.measured[3, 0] += 1.0  # an outlier
    form_of = _Form(motion, [*noise.names, "sensor.time_noise"])
    uncertain = np.tile(1e-4 * np.eye(3), (len(problem.intervals), 1, 1))
    part = _Part(Horizon(problem, uncertain), form_of, loss)
    v = form_of.elements(form_of.start)[0]
    # R = R₀ + Σ vⱼ Bⱼ is the covariance of the model.
    R = part.fixed + np.einsum("j,ija->ia", v, part.B).reshape(part.fixed.shape)
    np.testing.assert_allclose(R, problem.covariance(motion, problem.errors(motion)), rtol=1e-6)
    for cost in (part.cost, form_of.prior):
        for k, e in enumerate(np.eye(len(v))):
            h = 1e-5 * v[k] if v[k] != 0.0 else 1e-9
            wanted = (cost(v + h * e)[0] - cost(v - h * e)[0]) / (2.0 * h)
            assert cost(v)[1][k] == pytest.approx(wanted, rel=1e-4, abs=1e-6 / abs(h) * 1e-6)


def test_an_update_is_that_of_the_linear_model():
    """T (3.51)–(3.54) by information: P⁻¹ grows by Hᵀ R⁻¹ H, and the estimate moves by P⁺ Hᵀ R⁻¹ r."""
    truth = drives.slipping(sensor=replace(SENSOR, position_noise=0.05))
    problem = drives.problem_of(drives.winding_log(truth, seed=3), truth)
    start = drives.slipping(0.8 * drives.SLIP, truth.sensor)
    learner = OnlineFilter(start, resolve(start, ["slip", "sensor.y"]), gate=np.inf, adapt=False)
    p, P = learner.p.copy(), learner.P.copy()
    _, (H,), predicted = learner._linearise(problem, 2, learner.p[None])
    R = problem.covariance(start, predicted)[0]
    update = learner.update(problem, 2)
    np.testing.assert_allclose(update.innovation, H @ P @ H.T + R, rtol=1e-12)
    information = np.linalg.inv(P) + H.T @ np.linalg.solve(R, H)
    np.testing.assert_allclose(learner.P, np.linalg.inv(information), rtol=1e-6, atol=1e-12)
    r = update.residual + shortening(problem, start, predicted)
    step = np.linalg.solve(information, H.T @ np.linalg.solve(R, r))
    np.testing.assert_allclose(learner.p, p + step, rtol=1e-6, atol=1e-9)
