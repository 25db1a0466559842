"""A user's own contact law: its parameters are listed as it declares them, and found from a simulated log."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_run
from grouser.logs.log import Log, Sensor
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import available, default, unit_of, with_values
from tests.motion import planted_logs as drives

TRUTH = {"contact.grip": 0.42, "contact.creep": 2500.0}
DT = 0.02
SENSOR = Sensor(position_noise=5e-3, yaw_noise=3e-3)


@gr.contact.law
def brush(
    v, r_omega, dz, *, spring=6.0e4, damper=3.0e3,
    grip=gr.param(0.55, "1", low=0.05, high=1.5), creep=gr.param(1800.0, "N s/m", low=100.0, high=1e5),
):  # fmt: skip
    """Force against the slip velocity, rising with `creep` and levelling off at `grip` times the load."""
    f_z = max(0.0, -spring * dz - damper * min(1.0, -dz / 0.005) * v[2])
    most = grip * f_z + 1e-9
    speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + 1e-12)
    pull = most * math.tanh(creep * speed / most) / speed
    return -pull * v[0], -pull * v[1], f_z


@pytest.fixture(scope="module")
def start() -> MotionModel:
    model = gr.Dynamics(drives.warthog(), contact=brush)
    exact = Noise(density=1e-9 * np.eye(3))  # the drives are those of a deterministic engine
    return MotionModel(model=model, ground=gr.terrain.plane(), dt=DT, sensor=SENSOR, noise=exact)


@pytest.fixture(scope="module")
def log(start: MotionModel) -> Log:
    """A dozen drives of two seconds with the planted law; slow and fast turns, so that grip and creep differ."""
    truth = with_values(start, TRUTH)
    random = np.random.default_rng(1)
    t = DT * np.arange(100)
    runs = []
    for k in range(12):
        a, b, c, d = random.uniform(-1.0, 1.0, 4)
        left, right = 3.0 * a + 6.0 * b * np.sin(2.0 * t + k), 3.0 * c + 6.0 * d * np.cos(1.5 * t + k) + 2.0
        commands = np.stack([left, right, left, right], axis=1)
        runs.append(gr.simulate(truth.model, truth.ground, commands, duration=2.0, dt=DT))
    return log_of_run(runs, pose_rate=50.0, position_noise=SENSOR.position_noise, yaw_noise=SENSOR.yaw_noise, seed=4)


@pytest.fixture(scope="module")
def fit(start: MotionModel, log: Log) -> Fit:
    return gr.calibrate(start, log, list(TRUTH), interval=None, loss="none")


def test_what_a_law_declares_is_listed_with_its_unit_and_bounds(start: MotionModel) -> None:
    assert {"contact.grip", "contact.creep", "contact.spring", "contact.damper"} <= set(available(start))
    grip, creep = default(start, "contact.grip"), default(start, "contact.creep")
    assert (grip.value, grip.lower, grip.upper) == (0.55, 0.05, 1.5)
    assert (creep.value, creep.lower, creep.upper) == (1800.0, 100.0, 1e5)
    assert (unit_of(start, "contact.grip"), unit_of(start, "contact.creep")) == ("1", "N s/m")


def test_planted_grip_and_creep_are_found_within_three_sigmas(start: MotionModel, fit: Fit) -> None:
    for name, true in TRUTH.items():
        assert abs(fit.values[name] - true) < 3.0 * fit.sigma[name], name
        # The log decides: the start is outside.
        assert abs(default(start, name).value - true) > 4.0 * fit.sigma[name], name


def test_the_fitted_law_is_the_users_own_and_stays_in_code(fit: Fit, tmp_path: Path) -> None:
    contact = fit.model.model.contact
    assert {p.name: p.value for p in contact.parameters}["grip"] == fit.values["contact.grip"]
    with pytest.raises(gr.GrouserError, match="a fit file can hold"):
        fit.save(tmp_path / "own.toml")
    assert not list(tmp_path.iterdir())
