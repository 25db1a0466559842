"""Robots on rollers, tracks and castor balls are calibrated and dead-reckoned as others are."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.batch import gauss_newton
from grouser.calibration.choose import candidates
from grouser.calibration.simulated import log_of_motion, log_of_run
from grouser.cli import run as command_line
from grouser.errors import CalibrationError
from grouser.motion.fit import Fit
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve, with_values
from grouser.motion.plain import plain_odometry
from grouser.motion.planar import nominal_model
from grouser.motion.predict import LogProblem
from grouser.odometry.log import odometry_of
from grouser.slip import BodySlip, DriveFrameSlip
from tests.kinematics.test_rollers import KNOWN
from tests.motion.planted_logs import PRECISE
from tests.vehicles.castor import turtle

SLIP = np.array([-0.5, -0.1, -0.6, -0.3, 0.05, -0.4])


def any_way(name, seconds=40.0):
    """Time, rates and attitude of a robot on rollers that drives and turns all ways on ground that tilts both ways."""
    t = 0.05 * np.arange(round(seconds / 0.05) + 1)
    forward, left, turn = 0.3 * np.sin(0.5 * t), 0.25 * np.cos(0.7 * t), 0.5 * np.sin(0.33 * t)
    rates = np.array([KNOWN[name](*twist) for twist in zip(forward, left, turn, strict=True)])
    attitude = 0.1 * np.stack([np.sin(0.31 * t), np.cos(0.23 * t)], axis=1)
    return t, dict(zip(gr.vehicle(name).wheels, rates.T, strict=True)), attitude


def two_sides(vehicle, seconds=30.0):
    """The same of a vehicle with two driven sides."""
    t = 0.05 * np.arange(round(seconds / 0.05) + 1)
    left, right = 4.0 + 2.0 * np.sin(0.7 * t) + 1.5 * np.sin(2.3 * t), 4.0 + 2.0 * np.cos(1.1 * t)
    attitude = 0.2 * np.stack([np.sin(0.9 * t), 0.8 * np.cos(1.3 * t)], axis=1)
    return t, {"left": left, "right": right}, attitude


VEHICLES = {
    "robotino": (gr.vehicle("robotino"), DriveFrameSlip), "mecanum": (gr.vehicle("mecanum"), DriveFrameSlip),
    "tracked": (gr.vehicle("tracked"), BodySlip), "turtle": (turtle(), BodySlip),
}  # fmt: skip


@pytest.mark.parametrize("name", VEHICLES)
def test_planted_slip_is_found_again(name):
    vehicle, kind = VEHICLES[name]
    t, rates, attitude = any_way(name) if name in KNOWN else two_sides(vehicle)
    start = MotionModel(model=gr.Kinematics(vehicle, slip=kind(np.zeros(6))), sensor=PRECISE)
    parameters = resolve(start, ["slip"])
    truth = with_values(start, dict(zip([p.name for p in parameters], SLIP.tolist(), strict=True)))
    log = log_of_motion(truth, t, rates, attitude=attitude, seed=None)
    assert set(log.rates) == set(vehicle.rolling_wheels)
    problem = LogProblem(log, start, cut_log(log, start, interval=2.0))
    found = gauss_newton(problem, start, parameters, loss="none", prior=False)
    np.testing.assert_allclose(found.values, SLIP, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", VEHICLES)
def test_slip_that_is_not_chosen_is_of_the_kind_that_the_wheels_ask_for(name):
    vehicle, kind = VEHICLES[name]
    motion = MotionModel(model=gr.Kinematics(vehicle))
    assert type(with_values(motion, {"slip.p2": -0.1}).model.slip) is kind


def test_the_radius_of_a_track_is_found_from_the_rates_of_its_one_encoder():
    vehicle = gr.vehicle("tracked")
    t, rates, attitude = two_sides(vehicle)
    start = MotionModel(model=gr.Kinematics(vehicle), sensor=PRECISE)
    planted = {"vehicle.left.radius": 0.104, "vehicle.right.radius": 0.097}
    log = log_of_motion(with_values(start, planted), t, rates, attitude=attitude, seed=None)
    problem = LogProblem(log, start, cut_log(log, start, interval=2.0))
    found = gauss_newton(problem, start, resolve(start, list(planted)), loss="none", prior=False)
    np.testing.assert_allclose(found.values, list(planted.values()), rtol=1e-7)


def test_a_robot_on_rollers_has_no_two_sides():
    vehicle = gr.vehicle("robotino")
    t, rates, _ = any_way("robotino", 2.0)
    motion = MotionModel(model=gr.Kinematics(vehicle))
    log = log_of_motion(motion, t, rates, seed=None)
    assert type(plain_odometry(motion, log).model) is gr.Kinematics
    assert [one.name for one in candidates(vehicle, log)] == ["kinematic"]
    with pytest.raises(CalibrationError, match="'robotino' drives in any direction on rollers"):
        nominal_model(vehicle)


@pytest.mark.parametrize("name", VEHICLES)
def test_odometry_of_a_simulated_drive_ends_where_the_drive_does(name):
    """Exact rates of the engine's own kinematic run on level ground, each joint that has an encoder."""
    vehicle = VEHICLES[name][0]
    drive = gr.drive.twist(0.2, 0.1 if name in KNOWN else 0.0, 0.3)
    run = gr.simulate(gr.Kinematics(vehicle, integrator="rk4"), gr.terrain.plane(), drive, duration=5.0, dt=0.02)
    log = log_of_run(run)
    assert set(log.rates) == set(vehicle.rolling_wheels)
    found = odometry_of(MotionModel(model=gr.Kinematics(vehicle)), log)
    np.testing.assert_allclose(found.position[-1, :2], run.position[-1, :2], rtol=0.0, atol=2e-3)
    assert found.yaw[-1] == pytest.approx(run.yaw[-1], abs=1e-3)


@pytest.mark.parametrize("name", KNOWN)
def test_the_command_line_finds_planted_slip_of_a_robot_on_rollers(name, tmp_path, capsys):
    """It gets 9 in 10 of its way in any direction, and 7 in 10 of its turns; poses with noise of 2 mm."""
    t, rates, _ = any_way(name, 60.0)
    vehicle = gr.vehicle(name)
    slip = DriveFrameSlip([0.0, -0.1, 0.0, 0.0, 0.0, -0.3])
    truth = MotionModel(model=gr.Kinematics(vehicle, slip=slip), sensor=PRECISE)
    log = log_of_motion(truth, t, rates, seed=3)
    with open(tmp_path / "drive.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["t", *rates, "x", "y", "yaw"])
        yaw = np.unwrap(log.poses.attitude[:, 2])
        writer.writerows(zip(t, *rates.values(), *log.poses.position[:, :2].T, yaw, strict=True))
    lines = ['schema = "grouser/log@1"', f'vehicle = "{name}"', "[time]", 'column = "t"', "[rates]"]
    lines += [f'{wheel} = "{wheel}"' for wheel in rates]
    lines += ["[pose]", 'x = "x"', 'y = "y"', 'yaw = "yaw"', "[sensor]", "position_noise = 0.002", "yaw_noise = 0.002"]
    (tmp_path / "log.toml").write_text("\n".join(lines) + "\n")
    arguments = ["calibrate", str(tmp_path / "drive.csv"), "--manifest", str(tmp_path / "log.toml"), "--json"]
    assert command_line([*arguments, "--out", str(tmp_path / "fit.toml")]) == 0
    result = json.loads(capsys.readouterr().out)
    found = result["parameters"]
    assert found["slip.p2"]["value"] == pytest.approx(-0.1, abs=0.01)
    assert found["slip.p6"]["value"] == pytest.approx(-0.3, abs=0.02)
    held_out = result["held_out"]
    assert held_out["position_rms"] < 0.5 * held_out["baseline"]["position_rms"]
    assert type(Fit.load(tmp_path / "fit.toml").model.model.slip) is DriveFrameSlip
