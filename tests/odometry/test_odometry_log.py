"""Odometry along a log: made-up drives whose truth is known, and the real Warthog (tests/data/warthog)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from experiments.data import unpacked
from grouser.calibration.simulated import log_of_motion
from grouser.errors import LogError
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.motion import FourNumbers, Perturbative
from grouser.motion.consistency import nees_band
from grouser.motion.fit import Fit, Training
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import default, with_values
from grouser.motion.spread import SAME_GROUND, GroundSpread
from grouser.odometry.gyro import at_rest, gyro_signal
from grouser.odometry.judge import judge
from grouser.odometry.log import LogOdometry, odometry_of

ROOT = Path(__file__).parents[2]
TRAINED = "grass_20240808_1619"
QUIET = Noise(density=np.diag([1e-9, 1e-9, 1e-9]))
SENSOR = Sensor(x=0.4, y=-0.2, lag=0.1, position_noise=1e-4, yaw_noise=1e-4, attitude_noise=0.0)


@cache
def warthog() -> gr.Vehicle:
    return gr.vehicle("warthog")


def four_numbers(**numbers: float) -> MotionModel:
    gains = {"speed_gain": 0.95, "yaw_gain": 0.6, "lateral": 0.05, "yaw_per_speed": 0.01} | numbers
    return MotionModel(model=FourNumbers(vehicle=warthog(), **gains), sensor=SENSOR, noise=QUIET)


def rates(left, right) -> dict[str, np.ndarray]:
    return {"FL": left, "BL": left, "FR": right, "BR": right}


def drive(
    motion: MotionModel, *, seconds: float = 30.0, stops: bool = True, seed: int | None = None, segment=None
) -> Log:
    """Turns both ways, climbs and leans; stands for 5 s at the start and at the end if it stops."""
    t = 0.05 * np.arange(round(seconds / 0.05) + 1)
    left = 4.0 + 2.0 * np.sin(0.7 * t) + 1.5 * np.sin(2.3 * t)
    right = 4.0 + 2.5 * np.cos(1.1 * t)
    if stops:
        going = (t > 5.0) & (t < seconds - 5.0)
        left, right = left * going, right * going
    attitude = 0.1 * np.stack([np.sin(0.9 * t), 0.8 * np.cos(1.3 * t)], axis=1)
    return log_of_motion(motion, t, rates(left, right), attitude=attitude, poses_every=2, seed=seed, segment=segment)


def with_gyro(log: Log, motion: MotionModel, *, lag: float = 0.0, bias: float = 0.0, noise: float = 0.0) -> Log:
    """The log with the gyro of a vehicle that turns as a motion model says, stamped `lag` later than it turned."""
    run = odometry_of(motion, log)
    random = np.random.default_rng(3)
    rate = run.twist[:, :3].copy()
    for axis in range(3):
        rate[:, axis] = np.interp(log.elapsed - lag, log.elapsed, rate[:, axis])
    rate += noise * random.standard_normal(rate.shape) + np.array([0.0, 0.0, bias])
    return replace(log, gyro=rate)


def fit_of(motion: MotionModel, names: list[str], covariance: np.ndarray) -> Fit:
    parameters = tuple(default(motion, name) for name in names)
    training = Training(
        log="none", samples=0, intervals=0, interval=2.0, distance=None, overlapping=False, rejected=0,
        position_rms=0.0, yaw_rms=0.0, method="batch",
    )  # fmt: skip
    return Fit(
        model=motion, parameters=parameters, vector=np.array([p.value for p in parameters]), covariance=covariance,
        noise_covariance=np.zeros((0, 0)), training=training,
    )  # fmt: skip


def test_odometry_of_the_model_that_made_the_log_has_no_error() -> None:
    """A sensor off the origin that is late: a wrong sign of lag, mounting or slip shows at once."""
    motion = four_numbers()
    log = drive(motion)
    found = judge(odometry_of(motion, log), log, motion.sensor)
    # Poses of a late sensor lie between samples, where poses are interpolated: second order of 0.05 s.
    assert np.abs(found.error).max() < 2e-3
    assert found.end_error < 1e-9
    assert abs(found.yaw_error) < 1e-9
    late = judge(odometry_of(motion, log), log, replace(motion.sensor, lag=-0.1))
    assert np.abs(late.error[:, :2]).max() > 0.1


def test_distance_and_turning_are_those_of_the_path_and_not_of_the_noise() -> None:
    noisy = replace(SENSOR, position_noise=0.01, yaw_noise=0.01, x=0.0, y=0.0, lag=0.0)
    motion = four_numbers().replace(sensor=noisy)
    t = 0.05 * np.arange(2001)
    going = (t > 40.0) & (t < 60.0)
    log = log_of_motion(motion, t, rates(4.0 * going, 5.0 * going), poses_every=2, seed=1)
    run = odometry_of(motion, log)
    found = judge(run, log, motion.sensor)
    rim = 0.5 * 0.3 * (4.0 + 5.0) * 0.95
    assert found.distance == pytest.approx(20.0 * rim, rel=0.01)
    assert found.turning == pytest.approx(20.0 * (0.6 * 0.3 / 1.08 + 0.01 * rim), rel=0.05)
    assert run.path[-1] == pytest.approx(20.0 * math.hypot(rim, 0.05 * 0.177), rel=0.01)


def test_a_full_turn_while_the_poses_are_missing_is_counted() -> None:
    motion = four_numbers()
    t = 0.05 * np.arange(1201)
    going = (t > 5.0) & (t < 55.0)
    log = log_of_motion(motion, t, rates(-2.0 * going, 2.0 * going), poses_every=2, seed=None)
    rate = 0.6 * 2.0 * 2.0 * 0.3 / 1.08
    blind = (log.poses.time < 20.0) | (log.poses.time > 20.0 + 2.0 * math.pi / rate)
    wrapped = log.poses.attitude[blind]
    wrapped[:, 2] = np.unwrap(np.remainder(wrapped[:, 2], 2.0 * math.pi))
    seen = replace(log.poses, time=log.poses.time[blind], position=log.poses.position[blind], attitude=wrapped,
                   segment=log.poses.segment[blind])  # fmt: skip
    holed = replace(log, poses=seen)
    found = judge(odometry_of(motion, holed), holed, motion.sensor)
    assert abs(found.yaw_error) < 1e-6
    assert found.turning == pytest.approx(rate * 50.0, rel=0.02)
    # Odometry that turns too little by far would lose a turn by itself; another that counts them sets it right.
    weak = odometry_of(four_numbers(yaw_gain=0.2), holed)
    counted = judge(weak, holed, motion.sensor, turns=odometry_of(motion, holed))
    assert counted.yaw_error == pytest.approx(-50.0 * rate * (1.0 - 0.2 / 0.6), rel=0.02)


def test_estimates_of_a_log_carry_what_is_wrong_throughout_in_world_axes() -> None:
    """What the ground adds is an error of place and of yaw, about the world's z axis however the body leans."""
    motion = four_numbers()
    log = drive(motion)
    wide, narrow = (odometry_of(motion, log, ground=ground) for ground in (GroundSpread(), SAME_GROUND))
    for k in (150, 317, 400):
        assert np.abs(wide.attitude[k]).max() > 0.04
        more, less = (run.estimates[k].ros_pose_covariance().reshape(6, 6) for run in (wide, narrow))
        added, expected = more - less, (wide.covariance - narrow.covariance)[k]
        assert expected[3, 3] > 1e-6
        assert added[:3, :3] == pytest.approx(expected[:3, :3], abs=1e-12)
        assert added[5, 5] == pytest.approx(expected[3, 3])
        assert added[:3, 5] == pytest.approx(expected[:3, 3], abs=1e-12)
        assert np.abs(added[3:5]).max() < 1e-12


def test_wheels_that_stand_hold_the_vehicle_on_a_slope() -> None:
    """The slip surface has terms of gravity alone, which would turn a parked vehicle for ever."""
    slip = np.zeros(13)
    slip[[3, 7, 11, 12]] = 0.05
    motion = MotionModel(model=Perturbative(vehicle=warthog(), slip=slip), sensor=SENSOR, noise=QUIET)
    t = 0.05 * np.arange(1001)
    going = t < 10.0
    attitude = np.tile([0.2, -0.1], (len(t), 1))
    log = log_of_motion(motion, t, rates(4.0 * going, 4.0 * going), attitude=attitude, seed=None)
    run = odometry_of(motion, log)
    parked = run.time > 10.2
    assert run.rest[parked].all()
    # Of the 40 s at most a sample is driven on.
    assert np.ptp(run.yaw[parked]) < 0.05 * 0.06 * 9.81 * 0.3
    assert np.ptp(run.position[parked], axis=0).max() < 0.05 * 0.06 * 9.81 * 0.3
    assert np.abs(run.twist[parked]).max() == 0.0
    assert abs(run.yaw[t < 9.9][-1]) > 0.01  # while it drives, it does slip
    assert run.time == pytest.approx(log.elapsed)


def test_a_short_gap_is_driven_through_and_a_long_one_ends_the_drive() -> None:
    motion = four_numbers()
    t = 0.05 * np.arange(401)
    for hole, drives in ((1.0, 1), (3.0, 2)):
        time = np.where(t > 10.0, t + hole, t)
        log = log_of_motion(
            motion, time, rates(0.0 * t + 4.0, 0.0 * t + 4.0), segment=(t > 10.0).astype(np.int64), seed=None
        )
        run = odometry_of(motion, log)
        assert int(run.drive[-1]) + 1 == drives
        assert run.faults.get("gap", 0) == 2 - drives
        speed = 0.3 * 4.0 * 0.95
        reach = run.path[-1]
        assert reach == pytest.approx(speed * (20.0 + hole if drives == 1 else 10.0 - 0.05), rel=1e-3)
        assert run.degraded.any() == (drives == 1)


@pytest.mark.parametrize("lag", [-0.12, 0.0, 0.08])
def test_lag_and_bias_of_the_gyro_are_found_without_any_pose(lag: float) -> None:
    motion = four_numbers()
    log = with_gyro(drive(motion, seconds=60.0), motion, lag=lag, bias=0.004, noise=0.005)
    blind = replace(log, poses=replace(log.poses, time=log.poses.time[:0], position=log.poses.position[:0],
                                       attitude=log.poses.attitude[:0], segment=log.poses.segment[:0]))  # fmt: skip
    wrong_gain = odometry_of(four_numbers(yaw_gain=0.9), blind).twist[:, 2]
    found = gyro_signal(blind, warthog(), wrong_gain)
    assert found.lag == pytest.approx(lag, abs=0.01)
    assert found.bias[2] == pytest.approx(0.004, abs=4.0 * 0.005 / math.sqrt(9.0 * 20.0))
    assert 0.3 < found.bias_sigma / (0.005 / math.sqrt(9.0 * 20.0)) < 3.0
    assert found.noise == pytest.approx(0.005, rel=0.3)
    assert found.rest == pytest.approx(8.0, abs=1.0)


def test_with_gyro_a_wrong_turn_slip_does_no_harm() -> None:
    motion = four_numbers()
    log = with_gyro(drive(motion, seconds=60.0), motion, lag=0.1, bias=0.01)
    wrong = four_numbers(yaw_gain=0.8, yaw_per_speed=-0.02)
    plain = judge(odometry_of(wrong, log), log, SENSOR)
    held = judge(odometry_of(wrong, log, gyro=True), log, SENSOR, turns=odometry_of(motion, log))
    assert abs(plain.yaw_error) > 0.5
    assert abs(held.yaw_error) < 0.01
    assert held.end_error < 0.05 * plain.end_error


def test_a_log_without_gyro_is_refused_and_one_hardly_at_rest_says_so() -> None:
    motion = four_numbers()
    log = drive(motion, stops=False)
    with pytest.raises(LogError, match=r"has no gyro about the body's z axis; name its columns in \[gyro\]"):
        odometry_of(motion, log, gyro=True)
    moving = with_gyro(log, motion)
    found = odometry_of(motion, moving, gyro=True).gyro
    assert found is not None
    assert found.rest == 0.0
    assert found.bias_sigma == 0.003
    assert not at_rest(moving, warthog()).any()


def test_slopes_are_those_of_the_odometry_itself() -> None:
    motion = four_numbers()
    log = drive(motion, seconds=40.0)
    names = ["model.speed_gain", "model.yaw_gain", "model.lateral", "model.yaw_per_speed"]
    run = odometry_of(fit_of(motion, names, np.eye(4)), log)
    assert run.parameters[:4] == tuple(names)
    for k, name in enumerate(names):
        h = 1e-4
        field = name.partition(".")[2]
        value = getattr(motion.model, field)
        ends = [odometry_of(with_values(motion, {name: value + sign * h}), log) for sign in (1.0, -1.0)]
        moved = np.concatenate([ends[0].position - ends[1].position, (ends[0].yaw - ends[1].yaw)[:, None]], axis=1)
        # The sums take mean headings of steps where the odometry takes arcs: second order of the step.
        assert run.slopes[:, :, k] == pytest.approx(moved / (2.0 * h), rel=2e-3, abs=2e-3 * np.abs(moved).max() / h)


def test_covariance_is_consistent_when_fit_and_noise_are_as_claimed() -> None:
    """Parameters drawn from the fit's covariance, process noise, noisy poses: NEES within its 95 % band, or near."""
    loud = Noise(density=np.diag([4e-4, 2e-4, 1e-4]))
    sensor = replace(SENSOR, position_noise=0.02, yaw_noise=0.005, attitude_noise=0.0)
    mean = four_numbers().replace(noise=loud, sensor=sensor)
    names = ["model.speed_gain", "model.yaw_gain", "model.yaw_per_speed"]
    covariance = np.diag([0.02, 0.03, 0.004]) ** 2
    covariance[0, 1] = covariance[1, 0] = 0.5 * 0.02 * 0.03
    fit = fit_of(mean, names, covariance)
    random = np.random.default_rng(7)
    root = np.linalg.cholesky(covariance)
    last, stretches = [], []
    for seed in range(60):
        values = fit.vector + root @ random.standard_normal(3)
        log = drive(with_values(mean, dict(zip(names, values, strict=True))), seed=seed)
        found = judge(odometry_of(fit, log, ground=SAME_GROUND), log, sensor)
        e, C = found.error[-1, [0, 1, 3]], found.covariance[-1][np.ix_([0, 1, 3], [0, 1, 3])]
        last.append(e @ np.linalg.solve(C, e) / 3.0)
        stretches.append(float(np.mean(found.stretches)))
    low, high = nees_band(60)
    assert 0.9 * low < np.mean(last) < 1.1 * high
    # Stretches of one log share its parameters; their mean is still 1.
    assert 0.75 < np.mean(stretches) < 1.3


def test_another_ground_makes_the_covariance_grow_with_the_way() -> None:
    motion = four_numbers()
    log = drive(motion, seconds=60.0)
    calm = odometry_of(motion, log, ground=SAME_GROUND).covariance[-1]
    wide = odometry_of(motion, log, ground=GroundSpread(speed=0.0, turn=0.0, drift=0.002)).covariance[-1]
    run = odometry_of(motion, log)
    signed = float(np.sum(run.twist[1:, 3] * np.diff(run.time)))
    assert math.sqrt(wide[3, 3] - calm[3, 3]) == pytest.approx(0.002 * signed, rel=0.03)


def test_estimates_carry_the_whole_covariance() -> None:
    motion = four_numbers()
    log = drive(motion)
    run = odometry_of(motion, log)
    last = run.estimates[-1]
    assert last.time == pytest.approx(30.0)
    assert last.position == pytest.approx(run.position[-1])
    world = last.ros_pose_covariance().reshape(6, 6)
    assert world[:3, :3] == pytest.approx(run.covariance[-1, :3, :3], abs=1e-12)
    assert world[5, 5] > 0.9 * run.covariance[-1, 3, 3] > 1e-6


def log_of(name: str) -> Log:
    return gr.read_log(unpacked("warthog") / f"warthog_{name}.csv", manifest=ROOT / "examples" / "warthog" / "log.toml")


@cache
def real_fit() -> Fit:
    return gr.calibrate(
        gr.Kinematics(warthog()), log_of(TRAINED), ["slip", "sensor.x", "sensor.y", "sensor.lag", "noise",
                                                    "sensor.time_noise"],
    )  # fmt: skip


LOGS = ("asphalt_20240920_0813", "grass_20240718_1659", "grass_20240729_1446", "grass_20240808_1556", TRAINED)


@pytest.mark.parametrize("name", LOGS)
def test_real_robot_fitted_to_one_log(name: str) -> None:
    """The bounds are those of the issue, not of what was measured; the model is the kinematic one.

    The slip surface misses one of them: 3.5 % of yaw on 0718 without gyro, where the robot creeps along a slope.
    """
    log = log_of(name)
    with_gyro: LogOdometry = odometry_of(real_fit(), log, gyro=True)
    for run, end, yaw in ((odometry_of(real_fit(), log), 3.5, 2.5), (with_gyro, 2.5, 0.5)):
        found = judge(run, log, real_fit().model.sensor, turns=with_gyro).summary()
        assert found["end_error_percent"] <= end
        assert found["yaw_error_percent"] <= yaw
        assert found["height_rms"] <= (0.25 if name == TRAINED else 0.15)
    assert with_gyro.gyro is not None
    assert with_gyro.gyro.lag is not None
    assert abs(with_gyro.gyro.lag) < 0.05  # the manifest says 0.17 of 0.15 to 0.20 s
    assert with_gyro.faults == {}
