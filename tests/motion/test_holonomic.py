"""A robot on rollers by nine numbers: those of the wheels without slip, and what a carpet makes of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.errors import CalibrationError
from grouser.logs import Sensor
from grouser.motion import Holonomic
from grouser.motion.velocity import Inputs
from grouser.odometry.log import odometry_of

ROBOT = gr.vehicle("robotino")
GAINS = {"model.gain_x": 0.4, "model.gain_y": 0.6, "model.gain_turn": 0.7, "model.turn_per_y": -0.4}
MANIFEST = Path(__file__).resolve().parents[2] / "examples" / "surface-change" / "robotino.toml"


def rim_rates(twist: np.ndarray) -> np.ndarray:
    """Rates of the wheels (n, 3) for (v_x, v_y, ω), (n, 3): wheel k rolls along (−sin b, cos b), 0.125 m out."""
    b = np.radians([60.0, 180.0, 300.0])
    rows = np.stack([-np.sin(b), np.cos(b), np.full(3, 0.125)], axis=1)
    return np.asarray(twist @ rows.T / 0.04)


def drive(n: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Time and (v_x, v_y, ω) of a drive in all directions."""
    t = 0.05 * np.arange(n)
    return t, np.stack([0.3 * np.sin(0.5 * t), 0.25 * np.cos(0.7 * t), 0.5 * np.sin(0.33 * t)], axis=1)


def inputs(twist: np.ndarray, t: np.ndarray) -> Inputs:
    return Inputs(time=t, attitude=np.zeros((len(t), 2)), rates=rim_rates(twist), angles=np.zeros((len(t), 3)))


def test_without_slip_it_is_the_closed_form_of_three_wheels_and_of_the_engine() -> None:
    t, twist = drive(50)
    found = Holonomic(vehicle=ROBOT).twists(inputs(twist, t))
    np.testing.assert_allclose(found[:, [3, 4, 2]], twist, rtol=0.0, atol=1e-9)
    model, ground = gr.Kinematics(ROBOT), gr.terrain.plane()
    state = gr.settle(ROBOT, ground).state
    for k in (3, 17, 40):
        engine = model.velocity(state, rim_rates(twist)[k], ground).value
        np.testing.assert_allclose(found[k], engine[:6], rtol=0.0, atol=1e-6)


def test_mecanum_wheels_are_solved_as_well() -> None:
    robot = gr.vehicle("mecanum")
    model, ground = gr.Kinematics(robot), gr.terrain.plane()
    state = gr.settle(robot, ground).state
    for rates in ([3.0, 3.0, 3.0, 3.0], [-2.0, 2.0, 2.0, -2.0], [1.0, -1.0, 1.0, -1.0]):
        given = Inputs(time=np.zeros(1), attitude=np.zeros((1, 2)), rates=np.array([rates]), angles=np.zeros((1, 4)))
        engine = model.velocity(state, np.array(rates), ground).value
        np.testing.assert_allclose(Holonomic(vehicle=robot).twists(given)[0], engine[:6], rtol=0.0, atol=1e-6)


def test_each_number_acts_on_its_own_motion() -> None:
    t, twist = drive(3)
    vx, vy, w = twist[2]
    model = Holonomic(
        vehicle=ROBOT, gain_x=0.9, gain_y=0.8, gain_turn=0.7, x_per_y=0.01, y_per_x=0.02, turn_per_x=0.03,
        turn_per_y=0.04, x_per_turn=0.05, y_per_turn=0.06,
    )  # fmt: skip
    found = model.twists(inputs(twist, t))[2]
    assert found[3] == pytest.approx(0.9 * vx + 0.01 * vy + 0.05 * w)
    assert found[4] == pytest.approx(0.02 * vx + 0.8 * vy + 0.06 * w)
    assert found[2] == pytest.approx(0.03 * vx + 0.04 * vy + 0.7 * w)


def test_planted_gains_come_back_and_odometry_follows_them(tmp_path: Path) -> None:
    t, twist = drive()
    sensor = Sensor(position_noise=0.002, yaw_noise=0.002)
    planted = gr.MotionModel(model=Holonomic(vehicle=ROBOT).with_parameters(GAINS), sensor=sensor)
    rates = dict(zip(ROBOT.wheels, rim_rates(twist).T, strict=True))
    log = log_of_motion(planted, t, rates, seed=2)
    fit = gr.calibrate(Holonomic(vehicle=ROBOT), log, ["model"])
    for name, value in GAINS.items():
        assert abs(fit.values[name] - value) < 3.0 * fit.sigma[name], name
        assert fit.sigma[name] < 0.05
    fit.save(tmp_path / "fit.toml")
    again = gr.Fit.load(tmp_path / "fit.toml")
    assert again.model.model.parameters == pytest.approx(fit.model.model.parameters, abs=1e-9)
    run = odometry_of(again, log, quiet=True)
    # 3 mm/√m of process noise and the fit's own error over 12 m of path.
    assert math.dist(run.position[-1, :2], log.poses.position[-1, :2]) < 0.3


def test_a_vehicle_without_rollers_is_refused() -> None:
    with pytest.raises(CalibrationError, match="'warthog' has wheels without rollers, so it cannot drive in any dir"):
        Holonomic(vehicle=gr.vehicle("warthog"))


def test_two_wheels_do_not_determine_the_motion() -> None:
    t, twist = drive(5)
    given = inputs(twist, t)
    given.rates[:, 1] = np.nan
    with pytest.raises(CalibrationError, match="the log measures 2 wheels of 'robotino'"):
        Holonomic(vehicle=ROBOT).twists(given)


def test_turns_by_slip_of_a_robot_that_drives_straight_are_not_held_against_its_wheels() -> None:
    # It leaves each way it is sent straight on by a bend; its wheels hardly turn it, and by chance the other way.
    from grouser.logs.manifest import load_manifest
    from grouser.logs.plausible import find_problems

    t = 0.05 * np.arange(1200)
    ahead = 0.2 * np.sign(np.sin(0.2 * t))
    twist = np.stack([0.2 * np.ones_like(t), ahead, 0.03 * ahead], axis=1)
    slips = {"model.gain_turn": 0.2, "model.turn_per_y": -0.4}
    motion = gr.MotionModel(model=Holonomic(vehicle=ROBOT).with_parameters(slips), sensor=Sensor())
    log = log_of_motion(motion, t, dict(zip(ROBOT.wheels, rim_rates(twist).T, strict=True)), seed=2)
    tables = {"vehicle": "robotino", "time": {"column": "t"}, "rates": {w: w for w in ROBOT.wheels},
              "pose": {"x": "x", "y": "y", "yaw": "yaw"}}  # fmt: skip
    assert not find_problems(log, load_manifest(tables), ROBOT)


def length(time: np.ndarray, position: np.ndarray, at: np.ndarray) -> float:
    """Of a path by its places every half second [m], so that jitter of the camera adds nothing."""
    x, y = (np.interp(at, time, position[:, k]) for k in range(2))
    return float(np.sum(np.hypot(np.diff(x), np.diff(y))))


@pytest.mark.parametrize(("run", "plain_off"), [("table_exp36", 0.09), ("green_exp156", 0.50)])
def test_odometry_of_the_second_half_of_a_run_agrees_with_the_camera(run: str, plain_off: float, data: Path) -> None:
    # Calibrated on the first half of the run, on the floor of which the wheels slip by a tenth, or by 40 %.
    assert len(MANIFEST.read_text().splitlines()) <= 25
    log = gr.read_log(data / "surface-change" / "one_surface" / f"{run}.csv", manifest=MANIFEST)
    assert len(log) > 150
    first, second = log.split(0.5)
    names = ["model.gain_x", "model.gain_y", "noise"]
    fit = gr.calibrate(Holonomic(vehicle=ROBOT), first, names, interval=0.5)
    at = np.arange(0.0, min(second.elapsed[-1], second.pose_elapsed[-1]), 0.5)
    camera = length(second.pose_elapsed, second.poses.position, at)
    plain = gr.MotionModel(model=gr.Kinematics(ROBOT), sensor=log.sensor)
    off = {name: length(second.elapsed, odometry_of(one, second, quiet=True).position, at) / camera - 1.0
           for name, one in (("plain", plain), ("fit", fit))}  # fmt: skip
    assert off["plain"] > plain_off
    assert abs(off["fit"]) < 0.05
