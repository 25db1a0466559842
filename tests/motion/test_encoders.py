"""Encoders observe the powertrain: travel by closed forms, and gain, delay and time constant apart from slip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_motion, log_of_run
from grouser.errors import CalibrationError
from grouser.logs.log import Log
from grouser.motion.encoders import PARTS
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.powertrain import Powertrain
from grouser.motion.predict import LogProblem
from tests.motion import planted_logs as drives

TRUTH = Powertrain(gain=0.9, delay=0.12, time_constant=0.3)
NAMES = ("powertrain.gain", "powertrain.delay", "powertrain.time_constant")


def lagged(command: np.ndarray, dt: float) -> np.ndarray:
    """Rates by plain Euler steps of a hundredth of the sample period: shares no code with the powertrain."""
    fine, out = 100, np.empty_like(command)
    rate = TRUTH.gain * command[0]
    wait = round(TRUTH.delay / dt * fine)
    for k in range(len(command)):
        out[k] = rate
        for i in range(fine):
            acting = command[max((k * fine + i - wait) // fine, 0)]
            rate += dt / fine / TRUTH.time_constant * (TRUTH.gain * acting - rate)
    return out


def commanded_log(seconds: float = 60.0, dt: float = 0.05, seed: int | None = 2) -> Log:
    """A slipping Warthog whose wheels follow stepwise commands."""
    random = np.random.default_rng(9)
    n = round(seconds / dt) + 1
    steps = random.uniform(1.0, 7.0, (n // 24 + 1, 2))
    left, right = np.repeat(steps, 24, axis=0)[:n].T
    motion = drives.slipping(noise=Noise(density=np.diag([2e-4, 1e-4, 1e-4])))
    rates = drives.side_rates(motion.vehicle, lagged(left, dt), lagged(right, dt))
    log = log_of_motion(motion, dt * np.arange(n), rates, seed=seed, poses_every=2)
    return replace(log, commands=drives.side_rates(motion.vehicle, left, right))


def start() -> MotionModel:
    return drives.slipping(np.zeros(6)).replace(powertrain=Powertrain())


def test_travel_of_the_parts_is_the_integral_of_the_rates():
    log = commanded_log(10.0)
    motion = start().replace(sensor=replace(log.sensor, lag=0.03))
    cut = cut_log(log, motion, interval=2.0)
    problem = LogProblem(log, motion, cut)
    encoders = problem.encoders
    assert len(encoders.groups) == 2
    t = log.time[:, None]
    linear = np.tile(1.0 + 0.5 * t, (1, 4))  # travels t + t²/4
    found = encoders.travel(linear, cut, 0.03)
    edges = cut.times[:, :1] - 0.03 + cut.duration[:, None] * np.linspace(0.0, 1.0, PARTS + 1)
    way = np.diff(edges + 0.25 * edges**2, axis=1) / np.sqrt(cut.duration[:, None] / PARTS)
    np.testing.assert_allclose(found.reshape(len(cut), PARTS, 2), way[..., None] * np.ones(2), rtol=1e-9)


def test_the_true_powertrain_predicts_poses_and_travel():
    log = commanded_log(20.0, seed=None)
    motion = drives.slipping().replace(powertrain=TRUTH)
    problem = LogProblem(log, motion, cut_log(log, motion, interval=2.0))
    assert problem.size == 3 + 2 * PARTS
    r = problem.residuals(problem.poses([motion])[0])
    # Euler steps of 0.5 ms: rates off by 0.0005/0.3 of a step of 6 rad/s; poses by a hundredth of that.
    assert np.abs(r).max() < 0.02
    wrong = motion.replace(powertrain=replace(TRUTH, delay=0.2))
    assert np.abs(problem.residuals(problem.poses([wrong])[0])[:, 3:]).max() > 0.2


def test_a_part_of_the_log_is_predicted_as_with_the_whole():
    log = commanded_log(20.0)
    motion = start().replace(powertrain=TRUTH)
    problem = LogProblem(log, motion, cut_log(log, motion, interval=2.0))
    whole = problem.poses([motion])[0]
    for k in range(len(problem.intervals)):
        one = slice(k, k + 1)
        np.testing.assert_allclose(problem.poses([motion], one)[0], whole[one], rtol=0.0, atol=1e-5)
        np.testing.assert_allclose(
            problem.residuals(problem.poses([motion], one)[0], one), problem.residuals(whole)[one], rtol=0.0, atol=1e-5
        )


@pytest.mark.parametrize("online", [False, True], ids=["batch", "online"])
def test_gain_delay_and_time_constant_are_found_apart_from_slip(online):
    log = commanded_log()
    fit = gr.calibrate(start(), log, ["slip", *NAMES, "noise"], online=online)
    for name, true in zip(NAMES, (TRUTH.gain, TRUTH.delay, TRUTH.time_constant), strict=True):
        assert abs(fit.values[name] - true) < 3.0 * fit.sigma[name], name
    assert fit.sigma["powertrain.gain"] < 0.01
    assert abs(fit.values["slip.p6"] - drives.SLIP[5]) < 0.05  # a wrong gain would be taken for slip
    assert fit.sigma["powertrain.delay"] >= 0.05 / np.sqrt(12.0)  # of commands every 0.05 s
    errors = gr.evaluate(fit, log).errors
    assert errors.error.shape[1] == 3


def test_commands_drive_a_powertrain_and_dynamics_on_a_ground():
    vehicle, dt = drives.warthog(), 0.02
    t = dt * np.arange(301)
    left = np.where(np.floor(t) % 2 == 0, 5.0, 2.0)
    commands = np.stack([left, 3.0 + 0.0 * t, left, 3.0 + 0.0 * t], axis=1)
    rates = TRUTH.rates(t, commands)
    model = gr.Dynamics(vehicle)
    run = gr.simulate(model, gr.terrain.plane(), 0.5 * (rates[1:] + rates[:-1]), duration=6.0, dt=dt)
    log = log_of_run(run, pose_rate=50.0)
    # The simulated log's samples stand in the middle of steps; commands are held from sample to sample.
    held = np.concatenate([commands[:1], commands[:-1], commands[-1:]])
    by_name = {joint: held[:, a].copy() for a, joint in enumerate(vehicle.actuated)}
    log = replace(log, commands=by_name, rates={j: log.rates[j] for j in vehicle.actuated})
    motion = MotionModel(model=model, ground=gr.terrain.plane(), dt=dt, sensor=log.sensor, powertrain=TRUTH)
    errors = gr.evaluate(motion, log, interval=1.0).errors
    # Commands are late by half a step of 0.02 s where they change: 3 rad/s × 0.3 m × 0.01 s.
    assert errors.position.max() < 0.012
    wrong = gr.evaluate(motion.replace(powertrain=Powertrain(gain=1.0)), log, interval=1.0).errors
    assert wrong.position.max() > 0.1
    with pytest.raises(CalibrationError, match="has no commands"):
        gr.evaluate(motion, replace(log, commands={}), interval=1.0)
