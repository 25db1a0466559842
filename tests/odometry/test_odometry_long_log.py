"""Odometry along a log piece by piece: the same numbers as sample by sample, however the log is cut."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.motion import FourNumbers, Perturbative
from grouser.motion.fit import Fit, Training
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import default
from grouser.odometry import log as odometry_log
from grouser.odometry import log_source
from grouser.odometry.compare import compare
from grouser.odometry.judge import judge
from grouser.odometry.log import LogOdometry, odometry_of
from grouser.odometry.odometry import Odometry
from grouser.view.odometry import plot_odometry, shown

SENSOR = Sensor(x=0.4, y=-0.2, lag=0.1, position_noise=0.01, yaw_noise=0.01, attitude_noise=0.002)
NOISE = Noise(density=np.diag([1e-4, 1e-4, 1e-4]))
SLIP = np.array([-0.03, 0.0, -0.02, 0.01, 0.0, 0.03, -0.09, 0.02, 0.01, -0.4, 0.0, 0.0, -0.003])


def four_numbers() -> MotionModel:
    gains = {"speed_gain": 0.95, "yaw_gain": 0.6, "lateral": 0.05, "yaw_per_speed": 0.01}
    return MotionModel(model=FourNumbers(vehicle=gr.vehicle("warthog"), **gains), sensor=SENSOR, noise=NOISE)


def perturbative() -> MotionModel:
    law = Perturbative(vehicle=gr.vehicle("warthog"), slip=SLIP, gravity_grows="distance")
    return MotionModel(model=law, sensor=SENSOR, noise=NOISE)


def wheels_only() -> MotionModel:
    return MotionModel(model=Kinematics(gr.vehicle("warthog")), sensor=SENSOR, noise=NOISE)


def two_drives(*, faults: bool = False) -> Log:
    """40 s, a gap of 5 s that ends the drive, 20 s more; a rest of 6 s in the first."""
    t = 0.05 * np.arange(1201)
    segment = (t > 40.0).astype(np.int64)
    going = (t < 10.0) | (t > 16.0)
    left = going * (4.0 + 2.0 * np.sin(0.7 * t))
    right = going * (4.0 + 2.5 * np.cos(1.1 * t))
    attitude = 0.1 * np.stack([np.sin(0.9 * t), 0.8 * np.cos(1.3 * t)], axis=1)
    rates = {"FL": left, "BL": left, "FR": right, "BR": right}
    log = log_of_motion(four_numbers(), t, rates, attitude=attitude, poses_every=2, seed=4, segment=segment)
    late = 5.0 * log.segment
    poses = replace(log.poses, time=log.poses.time + 5.0 * log.poses.segment)
    log = replace(log, time=log.time + late, poses=poses)
    if faults:
        broken = {name: column.copy() for name, column in log.rates.items()}
        broken["FL"][[300, 301, 700]] = np.nan
        broken["BR"][500] = np.nan
        bent = np.array(log.attitude)
        bent[450] = np.nan
        log = replace(log, rates=broken, attitude=bent)
    return log


def fit_of(motion: MotionModel, names: list[str]) -> Fit:
    parameters = tuple(default(motion, name) for name in names)
    training = Training(
        log="none", samples=0, intervals=0, interval=2.0, distance=None, overlapping=False, rejected=0,
        position_rms=0.0, yaw_rms=0.0, method="batch",
    )  # fmt: skip
    return Fit(
        model=motion, parameters=parameters, vector=np.array([p.value for p in parameters]),
        covariance=1e-4 * np.eye(len(names)), noise_covariance=np.zeros((0, 0)), training=training,
    )  # fmt: skip


def cut(monkeypatch: pytest.MonkeyPatch, samples: int) -> None:
    """Take so many samples at once, and keep no more than poses and velocities, as of a log of gigabytes."""
    monkeypatch.setattr(log_source, "WINDOW", samples)
    monkeypatch.setattr(odometry_log, "ALL_KEPT", 0)


@pytest.mark.parametrize("motion", [four_numbers, perturbative, wheels_only])
def test_many_samples_in_one_call_are_as_one_update_each(motion, caplog: pytest.LogCaptureFixture) -> None:
    """A state that is lost, a map of the wrong wheels or gravity's slip of another sample would show."""
    log = two_drives(faults=True)
    with caplog.at_level(logging.WARNING, logger="grouser.odometry"):
        run = odometry_of(motion(), log)
    said = [record.getMessage() for record in caplog.records]
    caplog.clear()
    single = Odometry(motion(), **run.source.options)
    met: dict[str, int] = {}
    stopped = 0.0
    rows = run.estimates
    with caplog.at_level(logging.WARNING, logger="grouser.odometry"):
        for k, drive in enumerate(run.drive):
            if k > 0 and drive != run.drive[k - 1]:
                met = dict(single.faults)
                single.reset()
                single.begin_faults(set(met))
            if run.source.waits[k]:
                stopped += log.elapsed[k] - log.elapsed[k - 1]
                continue
            rates = {name: column[k] for name, column in log.rates.items()}
            one = single.update(log.elapsed[k] - stopped, rates, attitude=log.attitude[k])
            np.testing.assert_array_equal(one.position, run.position[k])
            np.testing.assert_array_equal(one.twist_covariance, rows[k].twist_covariance)
            assert one.yaw == run.yaw[k]
            assert one.degraded == run.degraded[k]
    for kind, count in single.faults.items():
        met[kind] = met.get(kind, 0) + count
    assert run.faults == met
    assert met["rate"] == 4
    assert met["attitude"] == 1
    assert said == [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("motion", [four_numbers, perturbative, wheels_only])
def test_pieces_of_any_length_give_the_same_numbers(motion, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts inside a drive, inside the rest and at the gap: sums and states must go on."""
    log = two_drives()
    names = {four_numbers: ["model.yaw_gain", "model.lateral"], perturbative: ["slip.a1", "slip.a10"]}.get(motion, [])
    fit = fit_of(motion(), names)
    whole = odometry_of(fit, log)
    expected = whole.covariance, whole.slopes, whole.quaternion, whole.slip, judge(whole, log, SENSOR)
    cut(monkeypatch, 83)
    pieces = odometry_of(fit, log)
    assert len(list(pieces.pieces())) == -(-len(log) // 83)
    assert whole.states.dtype.names != pieces.states.dtype.names == odometry_log.KEPT
    for name in odometry_log.KEPT:
        np.testing.assert_array_equal(pieces.states[name], whole.states[name])
    for found, right in zip(
        (pieces.covariance, pieces.slopes, pieces.quaternion, pieces.slip), expected[:4], strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)
    judged = judge(pieces, log, SENSOR)
    np.testing.assert_allclose(judged.covariance, expected[4].covariance, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(judged.stretches, expected[4].stretches, rtol=1e-10)
    assert judged.end_error == expected[4].end_error
    assert judged.along == pytest.approx(expected[4].along, rel=1e-10)


def test_the_second_drive_alone_is_as_in_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    cut(monkeypatch, 100)
    run = odometry_of(fit_of(perturbative(), ["slip.a10"]), two_drives())
    first, end = run.drive_bounds[1:].tolist()
    assert 0 < first < end == len(run.drive)
    alone = list(run.pieces(first))
    assert alone[0].first == first
    np.testing.assert_allclose(
        np.concatenate([piece.slopes for piece in alone]), run.slopes[first:], rtol=0.0, atol=1e-13
    )
    found = np.concatenate([piece.noise_covariance + piece.systematic for piece in alone])
    np.testing.assert_allclose(found, run.covariance[first:], rtol=1e-12, atol=1e-14)
    assert np.abs(found[0]).max() < 1e-20  # a drive begins at a pose that is known, but for rounding


def test_poses_alone_come_without_the_systematic_part() -> None:
    run = odometry_of(four_numbers(), two_drives())
    quick, full = list(run.each_estimate(systematic=False)), run.estimates
    assert len(quick) == len(full) == len(run.drive)
    for k in (5, 400, 1000):
        np.testing.assert_array_equal(quick[k].quaternion, full[k].quaternion)
        np.testing.assert_array_equal(quick[k].position, run.position[k])
    assert full[700].pose_covariance[2, 2] > quick[700].pose_covariance[2, 2]


def test_progress_rises_to_a_hundred() -> None:
    told: list[tuple[int, int]] = []
    compare(two_drives(), fit_of(four_numbers(), []), progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (100, 100)


def test_a_long_curve_keeps_its_peaks_and_ends() -> None:
    curve = np.sin(np.linspace(0.0, 9.0, 300_000))
    curve[[123_457, 250_001]] = 5.0, -7.0
    other = np.zeros(300_000)
    other[77_777] = 1.0
    rows = shown(curve, other)
    assert len(rows) < 11_000
    assert (np.diff(rows) > 0).all()
    assert {0, 77_777, 123_457, 250_001, 299_999} <= set(rows.tolist())
    assert shown(curve[:16_000]).tolist() == list(range(16_000))


def test_a_picture_of_many_poses_draws_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    log = two_drives()
    run: LogOdometry = odometry_of(four_numbers(), log)
    judged = judge(run, log, SENSOR)
    monkeypatch.setattr("grouser.view.odometry.PARTS", 20)
    figure: Figure = plot_odometry(run, judged)
    line = figure.axes[2].lines[-1]
    assert 20 <= len(line.get_xdata()) < len(judged.time) / 2
    assert np.max(line.get_ydata()) == np.degrees(judged.error[:, 3]).max()
