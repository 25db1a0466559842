"""Sensitivities: central differences, the convolution integral and other differences, each against the others."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve, with_values
from grouser.motion.planar import FourNumbers
from grouser.motion.powertrain import Powertrain
from grouser.motion.sensitivity import jacobian
from grouser.motion.slip_surface import Perturbative
from tests.motion import planted_logs as drives
from tests.motion.convolution import convolution


def differences(problem, motion, parameters, share: float) -> np.ndarray:
    """∂pose/∂p by differences of fourth order, with steps that are a share of each scale."""
    columns = []
    for p in parameters:
        h = share * p.scale
        at = [
            problem.poses([with_values(motion, {p.name: p.value + k * h})])[0][:, problem.rows] for k in (-2, -1, 1, 2)
        ]
        columns.append((at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h))
    return np.stack(columns, axis=2)


CASES = {
    "slip": (lambda: drives.slipping(), ["slip"]),
    "sensor": (lambda: drives.slipping(sensor=Sensor(x=0.3, y=0.2, z=0.4, yaw=0.3, lag=0.1111)), ["sensor"]),
    "geometry": (
        lambda: drives.slipping(),
        ["vehicle.radius", "vehicle.track", "vehicle.wheelbase", "vehicle.FL.yaw", "vehicle.cg.x"],
    ),
    "wheels": (lambda: drives.slipping(), ["vehicle.BR.x", "vehicle.BR.y", "vehicle.FL.radius", "vehicle.FR.roll"]),
    "four numbers": (lambda: MotionModel(model=FourNumbers(vehicle=drives.warthog(), yaw_gain=0.7)), ["model"]),
    "surface": (lambda: MotionModel(model=Perturbative(vehicle=drives.warthog())), ["slip"]),
}


@pytest.mark.parametrize("case", CASES)
def test_jacobian_is_that_of_other_differences(case):
    make, names = CASES[case]
    motion = make()
    # A log of another lag: where poses fall on samples the slope of the lag has kinks.
    problem = drives.problem_of(drives.winding_log(drives.slipping()), motion)
    parameters = resolve(motion, names)
    values = np.array([p.value for p in parameters])
    _, H = jacobian(problem, motion, parameters, values)
    other = differences(problem, motion, parameters, 2e-3)
    size = np.abs(other).max(axis=(0, 1)) + 1e-12
    # Central differences of second order at 1e-4 of the scale: relative error about 1e-7.
    assert np.all(np.abs(H - other).max(axis=(0, 1)) / size < 2e-5)


def test_jacobian_of_the_powertrain_at_its_bound_is_one_sided():
    vehicle = drives.warthog()
    motion = MotionModel(model=gr.Kinematics(vehicle), powertrain=Powertrain(delay=0.0, time_constant=0.2))
    from dataclasses import replace

    log = drives.winding_log(motion.replace(powertrain=None))
    log = replace(log, commands=dict(log.rates))
    problem = drives.problem_of(log, motion)
    parameters = resolve(motion, ["powertrain"])
    _, H = jacobian(problem, motion, parameters, np.array([p.value for p in parameters]))
    later = problem.poses([with_values(motion, {"powertrain.delay": 1e-4})])[0]
    now = problem.poses([motion])[0]
    np.testing.assert_allclose(H[:, :, 1], (later - now)[:, problem.rows] / 1e-4, rtol=0.0, atol=2e-3)
    assert np.abs(H[:, :, 1]).max() > 0.1


@pytest.mark.parametrize("case", ["slip", "geometry", "wheels", "four numbers", "surface"])
def test_convolution_comes_near_the_jacobian_with_the_square_of_the_sample_period(case):
    make, names = CASES[case]
    motion = make().replace(sensor=Sensor(x=0.5, y=0.3, z=0.2, yaw=0.4, lag=0.05))
    apart = []
    for dt in (0.1, 0.05, 0.025):
        problem = drives.problem_of(drives.winding_log(motion, dt=dt, seconds=12.0), motion)
        parameters = resolve(motion, names)
        _, H = jacobian(problem, motion, parameters, np.array([p.value for p in parameters]))
        _, J = convolution(problem, motion, [p.name for p in parameters])
        apart.append(np.abs(H - J).max() / np.abs(H).max())
    assert apart[2] < 2e-3
    ratios = np.array(apart[:-1]) / np.array(apart[1:])
    assert np.all((ratios > 3.2) & (ratios < 5.0))


def test_convolution_refuses_what_is_no_parameter_of_the_velocity():
    motion = drives.slipping()
    problem = drives.problem_of(drives.winding_log(motion), motion)
    with pytest.raises(CalibrationError, match=r"sensor\.x"):
        convolution(problem, motion, ["sensor.x"])


def test_the_jacobian_moves_parameters_toward_the_truth():
    # The sign of (3.27): one Gauss–Newton step on r with H = +∂x_pred/∂p.
    truth, start = drives.slipping(), drives.slipping(np.zeros(6))
    problem = drives.problem_of(drives.winding_log(truth), start)
    parameters = resolve(start, ["slip"])
    poses, H = jacobian(problem, start, parameters, np.zeros(6))
    r = problem.residuals(poses)
    step = np.linalg.lstsq(H.reshape(-1, 6), r.ravel(), rcond=None)[0]
    assert np.linalg.norm(step - drives.SLIP) < 0.5 * np.linalg.norm(drives.SLIP)
