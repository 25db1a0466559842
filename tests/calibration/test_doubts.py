"""A fit that ran away, stopped early or took too long a step says so."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.calibrate import doubts
from grouser.calibration.simulated import log_of_run
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import most_allowed, step_error
from tests.motion import planted_logs as drives

LEVEL = gr.terrain.plane()
FRICTION = Parameter(name="contact.friction", value=1.0, sigma=0.3, lower=0.02, upper=3.0)


@pytest.mark.parametrize(
    ("value", "words"),
    [(3.0, "ran to 3, the largest value"), (0.02, "the smallest value"), (2.8, "6 sigmas from its prior 1 ± 0.3")],
)
def test_a_parameter_at_a_bound_or_far_from_its_prior_is_named(value, words):
    (sentence,) = doubts([FRICTION], np.array([value]))
    assert words in sentence
    assert sentence.startswith("contact.friction")


def test_an_ordinary_fit_is_not_doubted():
    assert doubts([FRICTION], np.array([0.6])) == ()
    at_zero = Parameter(name="contact.rolling_resistance", value=0.0, sigma=10.0, lower=0.0, upper=200.0)
    assert doubts([at_zero], np.array([0.0])) == ()  # it started there


@pytest.fixture(scope="module")
def driven():
    """Steered hard on stiff tyres, in steps of 5 ms."""
    t = 0.005 * np.arange(1600)
    left, right = 4.0 + 3.0 * np.sin(2.5 * t), 4.0 + 3.0 * np.cos(3.1 * t)
    model = gr.Dynamics(drives.warthog(), contact=gr.contact.Pacejka(friction=0.5))
    run = gr.simulate(model, LEVEL, np.stack([left, right, left, right], axis=1), duration=8.0, dt=0.005)
    return model, log_of_run(run, pose_rate=20.0, position_noise=1e-3, yaw_noise=1e-3, seed=2)


def test_the_error_of_the_step_falls_with_the_step(driven):
    model, log = driven
    quiet = gr.motion.Noise(density=1e-9 * np.eye(3))
    errors = []
    for dt in (0.04, 0.02, 0.01):
        motion = MotionModel(model=model, ground=LEVEL, sensor=log.sensor, noise=quiet, dt=dt)
        errors.append(step_error(LogProblem(log, motion, cut_log(log, motion, interval=1.0)), motion))
    assert errors[0] > 1.5 * errors[1] > 1.5 * 1.5 * errors[2]
    by_log = drives.slipping()
    assert step_error(LogProblem(log, by_log, cut_log(log, by_log)), by_log) == 0.0


def test_calibration_halves_a_step_that_is_too_long(driven):
    model, log = driven
    start = MotionModel(model=model, ground=LEVEL, sensor=log.sensor, dt=0.05)
    fit = gr.calibrate(start, log, ["contact.friction", "noise"], interval=1.0)
    problem = LogProblem(log, start, cut_log(log, start, interval=1.0))
    assert fit.model.dt < 0.05
    assert step_error(problem, fit.model) <= most_allowed(problem) or "steps of" in fit.warnings[-1]
    assert abs(fit.values["contact.friction"] - 0.5) < 3.0 * fit.sigma["contact.friction"]
