"""Simple odometries do what their equations say, on the vehicles they describe."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.batch import gauss_newton
from grouser.calibration.simulated import log_of_motion, log_of_run
from grouser.errors import CalibrationError
from grouser.motion.intervals import cut_log
from grouser.motion.log_prediction import predict_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers, nominal_model
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import Inputs

WARTHOG, RECBOT = gr.vehicle("warthog"), gr.vehicle("recbot")


def inputs(vehicle, rates, angles=None):
    def row(values):
        return np.array([[values.get(joint, np.nan) for joint in vehicle.joints]])

    return Inputs(time=np.zeros(1), attitude=np.zeros((1, 2)), rates=row(rates), angles=row(angles or {}))


def sides(left, right):
    return {"FL": left, "BL": left, "FR": right, "BR": right}


def test_differential_drive_is_3_64_to_3_66():
    v = DifferentialDrive(vehicle=WARTHOG, yaw_gain=0.5).twists(inputs(WARTHOG, sides(2.0, 4.0)))[0]
    assert v == pytest.approx([0.0, 0.0, 0.5 * 0.6 / 1.08, 0.9, 0.0, 0.0], abs=1e-12)


def test_one_wheel_a_side_is_enough_and_a_side_without_is_refused():
    v = DifferentialDrive(vehicle=WARTHOG).twists(inputs(WARTHOG, {"FL": 2.0, "BR": 4.0}))[0]
    assert v[[2, 3]] == pytest.approx([0.6 / 1.08, 0.9])
    with pytest.raises(CalibrationError, match="no wheel on the right of 'warthog'"):
        DifferentialDrive(vehicle=WARTHOG).twists(inputs(WARTHOG, {"FL": 2.0}))
    with pytest.raises(CalibrationError, match="has no wheel 'XX'"):
        DifferentialDrive(vehicle=WARTHOG, left=("XX",)).twists(inputs(WARTHOG, sides(1.0, 1.0)))


def test_four_numbers_turn_left_for_a_positive_drift_and_slide_left_for_a_positive_lateral():
    model = FourNumbers(vehicle=WARTHOG, speed_gain=0.9, yaw_gain=0.5, lateral=0.05, yaw_per_speed=0.01)
    v = model.twists(inputs(WARTHOG, sides(2.0, 4.0)))[0]
    turn = 0.5 * 0.6 / 1.08 + 0.01 * 0.81
    assert v == pytest.approx([0.0, 0.0, turn, 0.81, 0.05 * turn, 0.0])


@pytest.mark.parametrize("curvature", [-0.2, 0.0, 0.15])
def test_a_bicycle_follows_the_arc_its_wheels_are_steered_to(curvature):
    """Left and right wheels steer differently; both tell the same curvature."""
    tan = {w: curvature * 1.77 / (1.0 - curvature * y) for w, y in (("steerL", 0.635), ("steerR", -0.635))}
    rear = {"BL": (1.0 - curvature * 0.61) * 2.0 / 0.3048, "BR": (1.0 + curvature * 0.61) * 2.0 / 0.3048}
    steered = {joint: float(np.arctan(t)) for joint, t in tan.items()}
    v = Bicycle(vehicle=RECBOT).twists(inputs(RECBOT, rear, steered))[0]
    assert v == pytest.approx([0.0, 0.0, 2.0 * curvature, 2.0, 0.0, 0.0], abs=1e-12)
    # A front wheel alone tells the speed too.
    front = np.hypot(1.0 - curvature * 0.635, curvature * 1.77) * 2.0 / 0.2794
    v = Bicycle(vehicle=RECBOT).twists(inputs(RECBOT, {"FL": float(front)}, steered))[0]
    assert v[[2, 3]] == pytest.approx([2.0 * curvature, 2.0], abs=1e-12)


def test_a_bicycle_needs_a_steering_angle():
    with pytest.raises(CalibrationError, match="no steering angle of 'recbot'"):
        Bicycle(vehicle=RECBOT).twists(inputs(RECBOT, {"BL": 1.0, "BR": 1.0}))
    with pytest.raises(CalibrationError, match="measures no wheel of 'recbot'"):  # it would stand still
        Bicycle(vehicle=RECBOT).twists(inputs(RECBOT, {"steerL": 0.0}, {"steerL": 0.1, "steerR": 0.1}))


def test_a_longer_wheelbase_turns_less_and_an_offset_to_the_left_turns_left():
    straight = {"BL": 5.0, "BR": 5.0}
    steered = {"steerL": 0.1, "steerR": 0.1}
    turning = inputs(RECBOT, straight, steered)
    plain, longer = (Bicycle(vehicle=RECBOT, wheelbase=L).twists(turning)[0] for L in (0.0, 2.5))
    assert 0.0 < longer[2] < plain[2]
    ahead = {"steerL": 0.0, "steerR": 0.0}
    assert Bicycle(vehicle=RECBOT, steering_offset=0.02).twists(inputs(RECBOT, straight, ahead))[0][2] > 0.0
    assert Bicycle(vehicle=RECBOT).parameters["model.wheelbase"] == pytest.approx(1.77)


def test_the_nominal_model_is_of_the_vehicles_kind():
    assert isinstance(nominal_model(WARTHOG), DifferentialDrive)
    assert isinstance(nominal_model(RECBOT), Bicycle)
    with pytest.raises(CalibrationError, match="steers all its wheels"):
        nominal_model(gr.vehicle("lru1"))


def test_the_bicycle_predicts_a_kinematic_drive_on_level_ground():
    run = gr.simulate(
        gr.Kinematics(gr.vehicle("recbot_rigid")), gr.terrain.plane(), gr.drive.arc(2.0, 0.1), duration=6.0, dt=0.01
    )
    log = log_of_run(run)
    error = predict_log(MotionModel(model=Bicycle(vehicle=run.vehicle), sensor=log.sensor), log).error
    # The first interval has the steering on its way, when the two front wheels disagree.
    assert np.abs(error[1:]).max() < 2e-3


@pytest.mark.parametrize(
    "truth",
    [
        DifferentialDrive(vehicle=WARTHOG, yaw_gain=0.6),
        FourNumbers(vehicle=WARTHOG, speed_gain=0.95, yaw_gain=0.55, lateral=0.05, yaw_per_speed=0.008),
        Bicycle(vehicle=RECBOT, speed_gain=0.97, steering_offset=0.02, wheelbase=1.9),
    ],
    ids=lambda model: type(model).__name__,
)
def test_planted_numbers_come_back_and_the_model_rebuilds_from_its_spec(truth):
    n = 1201
    time = 0.05 * np.arange(n)
    speed, turn = 1.5 + 0.5 * np.sin(0.7 * time), np.cos(0.4 * time)
    car = truth.vehicle
    rates = {
        w: (speed - np.sign(p[1]) * 0.3 * turn) / 0.3 for w, p in zip(car.wheels, car.wheel_positions, strict=True)
    }
    angles = {joint.joint: 0.2 * turn for joint in car.steering}
    log = log_of_motion(MotionModel(model=truth), time, rates, angles=angles, poses_every=2, seed=None)
    start = MotionModel(model=type(truth)(vehicle=car, **truth.spec))
    problem = LogProblem(log, start, cut_log(log, start))
    unit = np.tile(np.eye(3), (len(problem.intervals), 1, 1))
    fit = gauss_newton(problem, start, resolve(start, ["model"]), prior=False, loss="none", covariance=unit)
    assert fit.values == pytest.approx(list(truth.parameters.values()), abs=1e-6)
    with pytest.raises(CalibrationError, match=r"no parameter 'model\.nothing'"):
        truth.with_parameters({"model.nothing": 1.0})


def test_the_four_numbers_of_the_warthog_predict_its_grass(data):
    """data/warthog/README.txt: .959, .553, .048 m, .0081; there 0.045 to 0.117 m and 1.1 to 1.8° rms on other logs."""
    manifest = Path(__file__).parents[2] / "examples" / "warthog" / "log.toml"
    log = gr.read_log(data / "warthog" / "warthog_grass_20240729_1446.csv", manifest=manifest)
    plain = DifferentialDrive(vehicle=WARTHOG)
    four = FourNumbers(vehicle=WARTHOG, speed_gain=0.959, yaw_gain=0.553, lateral=0.048, yaw_per_speed=0.0081)
    rms = {}
    for model in (plain, four):
        error = predict_log(MotionModel(model=model, sensor=replace(log.sensor, lag=0.15)), log).error
        square = error**2
        rms[model] = (np.sqrt(np.mean(square[:, 0] + square[:, 1])), np.degrees(np.sqrt(np.mean(square[:, 2]))))
    assert rms[four][0] < 0.07
    assert rms[four][1] < 1.8
    assert rms[plain][0] > 3.0 * rms[four][0]
    assert rms[plain][1] > 8.0 * rms[four][1]
