"""Rollouts over a ground: equal to the engine's own runs, and to the log-driven model where both hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_run
from grouser.contact import PiecewiseLinear
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.predict import LogProblem
from tests.motion import planted_logs as drives


def commands(n: int, dt: float) -> np.ndarray:
    t = dt * (np.arange(n) + 0.5)
    left, right = 4.0 + np.sin(1.3 * t), 3.0 + 1.5 * np.cos(0.9 * t)
    return np.stack([left, right, left, right], axis=1)


@pytest.mark.parametrize(
    "ground",
    [gr.terrain.plane(), gr.terrain.slope(8.0, heading_deg=30.0)],
    ids=["level", "slope"],
)
def test_a_rollout_of_the_model_that_drove_is_that_drive(ground):
    model = gr.Dynamics(drives.warthog())
    sensor = Sensor(x=0.4, y=-0.2, z=0.6, yaw=0.0)
    run = gr.simulate(model, ground, commands(100, 0.02), duration=2.0, dt=0.02)
    log = log_of_run(run, pose_rate=50.0, sensor=sensor)
    motion = MotionModel(model=model, ground=ground, dt=0.02, sensor=log.sensor)
    problem = LogProblem(
        log, motion, cut_log(log, motion, interval=None), residual=("x", "y", "z", "roll", "pitch", "yaw")
    )
    np.testing.assert_allclose(problem.residuals(problem.poses([motion])[0]), 0.0, rtol=0.0, atol=1e-9)


def test_kinematics_on_level_ground_predicts_what_the_log_driven_model_does():
    model = gr.Kinematics(drives.warthog())
    run = gr.simulate(model, gr.terrain.plane(), commands(400, 0.01), duration=4.0, dt=0.01)
    log = log_of_run(run, pose_rate=20.0, sensor=Sensor(x=0.3, y=0.1, yaw=0.2))
    by_log = MotionModel(model=model, sensor=log.sensor)
    on_ground = MotionModel(model=model, sensor=log.sensor, ground=gr.terrain.plane(), dt=0.01)
    cut = cut_log(log, by_log, interval=1.0)
    a = LogProblem(log, by_log, cut).poses([by_log])[0]
    b = LogProblem(log, on_ground, cut).poses([on_ground])[0]
    # Euler steps of the engine against arcs: first order, 0.01 s × 0.5 rad/s of turning over a metre.
    np.testing.assert_allclose(a[:, [0, 1, 5]], b[:, [0, 1, 5]], rtol=0.0, atol=4e-3)


def test_noise_along_a_rollout_is_that_along_the_log():
    model = gr.Kinematics(drives.warthog())
    run = gr.simulate(model, gr.terrain.plane(), commands(400, 0.01), duration=4.0, dt=0.01)
    log = log_of_run(run, pose_rate=20.0, sensor=Sensor(x=0.3, yaw=0.2))
    noise = Noise(density=np.diag([1e-3, 2e-3, 3e-3]))
    by_log = MotionModel(model=model, sensor=log.sensor, noise=noise)
    on_ground = by_log.replace(ground=gr.terrain.plane(), dt=0.01)
    cut = cut_log(log, by_log, interval=1.0)
    a, b = (p.covariance(m, p.errors(m)) for m in (by_log, on_ground) for p in [LogProblem(log, m, cut)])
    np.testing.assert_allclose(a, b, rtol=0.03, atol=2e-5)


def test_an_interval_starts_with_the_velocity_given():
    # Tyres so soft that the vehicle takes long to do as its wheels do.
    soft = PiecewiseLinear(slip_stiffness_x=300.0, slip_stiffness_y=300.0, friction=0.6)
    model = gr.Dynamics(drives.warthog(), contact=soft)
    run = gr.simulate(model, gr.terrain.plane(), commands(200, 0.02), duration=4.0, dt=0.02)
    log = log_of_run(run, pose_rate=50.0)
    motion = MotionModel(model=model, ground=gr.terrain.plane(), dt=0.02, sensor=log.sensor)
    cut = cut_log(log, motion, interval=1.0)
    at = np.round(cut.times[:, 0] / 0.02).astype(int)
    errors = []
    for start, velocity in (("wheels", None), ("wheels", run.velocity[at][:, [2, 3, 4]]), ("poses", None)):
        one = motion.replace(start=start)
        problem = LogProblem(log, one, replace(cut, velocity=velocity))
        errors.append(np.abs(problem.residuals(problem.poses([one])[0])).max())
    # What is left is how the body pitches and sits on its tyres while it drives, which a settled start does not know.
    assert errors[0] > 1e-2
    assert errors[1] < 1e-3
    assert errors[2] < 2e-3  # a parabola through the poses before: what it misses is the third derivative


def test_a_lag_moves_the_commands_with_the_poses():
    model = gr.Dynamics(drives.warthog())
    run = gr.simulate(model, gr.terrain.plane(), commands(100, 0.02), duration=2.0, dt=0.02)
    log = log_of_run(run, pose_rate=50.0)
    late = replace(log, poses=replace(log.poses, time=log.poses.time + 0.3))
    motion = MotionModel(model=model, ground=gr.terrain.plane(), dt=0.02, sensor=log.sensor)
    lagged = motion.replace(sensor=replace(log.sensor, lag=0.3))
    cut = cut_log(log, motion, interval=None)
    a = LogProblem(log, motion, cut).poses([motion])[0]
    b = LogProblem(late, lagged, replace(cut, times=cut.times + 0.3)).poses([lagged])[0]
    np.testing.assert_allclose(b, a, rtol=0.0, atol=1e-9)


def test_a_log_without_a_driven_wheel_is_refused():
    model = gr.Dynamics(drives.warthog())
    run = gr.simulate(model, gr.terrain.plane(), commands(100, 0.02), duration=2.0, dt=0.02)
    log = log_of_run(run, measured=["FL", "FR"])
    motion = MotionModel(model=model, ground=gr.terrain.plane(), dt=0.02, sensor=log.sensor)
    with pytest.raises(CalibrationError, match="BL"):
        motion.predict(log)
