"""Choice of the model: held-out errors, the correction that a log supports, and who is tried for which vehicle."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from experiments.data import unpacked
from grouser.calibration.choose import are_runs, folds
from grouser.calibration.evaluate import errors_of
from grouser.calibration.evidence import learn_correction
from grouser.calibration.linear import left_out
from grouser.errors import CalibrationError
from grouser.motion import Corrected, Perturbative
from grouser.motion.intervals import cut_log

ROOT = Path(__file__).parents[2]
NAMES = ("slip", "sensor.y", "sensor.lag", "noise", "sensor.time_noise")


@cache
def warthog() -> gr.Log:
    path = unpacked("warthog") / "warthog_grass_20240808_1619.csv"
    return gr.read_log(path, manifest=ROOT / "examples" / "warthog" / "log.toml")


def surface(slip: np.ndarray | None = None) -> gr.MotionModel:
    given = np.zeros(13) if slip is None else slip
    model = Perturbative(vehicle=gr.vehicle("warthog"), slip=given, gravity_grows="distance")
    return gr.MotionModel(model=model, sensor=warthog().sensor)


def planted(gain: float, seed: int) -> gr.Log:
    """The Warthog's drive with poses of a plane dead reckoning of its own: α₁₀ = −0.4 and a transient of the speed.

    The body moves at V + gain · (V(t) − V(t − 1 s)). Noise: 0.01 m, 0.004 rad in each pose.
    """
    log, random = warthog(), np.random.default_rng(seed)
    left, right = log.rates["FL"], log.rates["FR"]
    v, w = 0.15 * (left + right), 0.6 * 0.3 * (right - left) / 1.08
    pose = np.empty((len(log), 3))
    position, yaw = np.zeros(2), 0.0
    for low, high in pairwise(log.segment_bounds.tolist()):
        t = log.time[low:high]
        speed = v[low:high] + gain * (v[low:high] - np.interp(t - 1.0, t, v[low:high]))
        for k in range(low, high):
            if k > low:
                h = log.time[k] - log.time[k - 1]
                turn = 0.5 * h * (w[k] + w[k - 1])
                ahead = 0.5 * h * (speed[k - low] + speed[k - low - 1])
                position = position + ahead * np.array([np.cos(yaw + 0.5 * turn), np.sin(yaw + 0.5 * turn)])
                yaw += turn
            pose[k] = *position, yaw
    poses, lag = log.poses, 0.15
    at = [np.interp(poses.time - lag, log.time, pose[:, j]) for j in range(3)]
    xyz = np.stack([at[0], at[1], np.zeros(len(poses))], axis=1) + random.normal(0.0, 0.01, (len(poses), 3))
    rpy = np.stack([np.zeros(len(poses)), np.zeros(len(poses)), at[2]], axis=1)
    rpy[:, 2] += random.normal(0.0, 0.004, len(poses))
    level = replace(log.sensor, position_noise=0.01, yaw_noise=0.004, lag=lag, lag_spread=0.0)
    moved = replace(poses, position=xyz, attitude=rpy)
    return replace(log, poses=moved, attitude=np.zeros((len(log), 2)), sensor=level)


@cache
def surface_fit(gain: float, seed: int) -> tuple[gr.Fit, gr.Log, gr.motion.Intervals]:
    log = planted(gain, seed)
    motion = surface().replace(sensor=log.sensor)
    cut = cut_log(log, motion)
    return gr.calibrate(motion, log, NAMES, intervals=cut), log, cut


def test_errors_of_parts_left_out_are_those_of_fits_without_them() -> None:
    """One Gauss–Newton step against fits that have never seen the part, with the noise of all."""
    log = warthog()
    motion = surface()
    cut = cut_log(log, motion)
    fit = gr.calibrate(motion, log, NAMES, intervals=cut)
    fold, by = folds(log, cut)
    assert by == "block"
    error, covariance = left_out(fit, log, cut, fold)
    inside = errors_of(fit, log, cut)
    for k in (0, 3):
        mine = np.flatnonzero(fold == k)
        systematic = list(fit.systematic)
        again = gr.calibrate(fit.model, log, systematic, intervals=cut.only(np.flatnonzero(fold != k)))
        true = errors_of(again, log, cut.only(mine))
        change = np.abs(true.error - inside.error[mine]).max()
        assert change > 0.005
        assert np.abs(error[mine] - true.error).max() < 0.2 * change
        sigma, wanted = (np.sqrt(np.diagonal(R, axis1=1, axis2=2)) for R in (covariance[mine], true.covariance))
        assert np.allclose(sigma, wanted, rtol=0.05)
    assert np.mean(error**2) > np.mean(inside.error**2)


def test_a_planted_transient_is_learned_with_its_size() -> None:
    fit, log, cut = surface_fit(0.08, 1)
    model = learn_correction(fit, log, cut)
    assert model is not None
    assert {1, 2} <= set(model.terms)
    learned = gr.calibrate(fit.model.replace(model=model), log, NAMES, intervals=cut)
    found = learned.model.model
    assert isinstance(found, Corrected)
    for speed in (0.4, 1.2):  # half a metre per second faster than a second ago
        extra = found.extra(*(np.array([x]) for x in (speed, 0.0, 0.5, 0.0)))[0]
        assert extra[3] == pytest.approx(0.04, abs=0.01)
    rms = [np.sqrt(np.mean(errors_of(one, log, cut).position ** 2)) for one in (fit, learned)]
    assert rms[1] < 0.9 * rms[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_where_there_is_nothing_to_learn_the_correction_is_off_or_small(seed: int) -> None:
    fit, log, cut = surface_fit(0.0, seed)
    model = learn_correction(fit, log, cut)
    if model is not None:
        learned = gr.calibrate(fit.model.replace(model=model), log, NAMES, intervals=cut).model.model
        assert isinstance(learned, Corrected)
        assert np.abs(learned.extra(*(np.array([x]) for x in (1.0, 0.4, 0.3, 0.2)))).max() < 0.01


def test_few_intervals_teach_no_correction() -> None:
    fit, log, cut = surface_fit(0.08, 1)
    assert learn_correction(fit, log, cut.only(slice(0, 40))) is None
    with pytest.raises(CalibrationError, match="on top of a fitted Perturbative"):
        learn_correction(gr.calibrate(gr.Kinematics(gr.vehicle("warthog")), log, ["slip.p2", "noise"]), log, cut)


def test_the_choice_is_the_candidate_with_the_highest_held_out_likelihood() -> None:
    _, log, _ = surface_fit(0.08, 1)
    choice = gr.calibration.choose(log)
    assert list(choice.tried) == ["kinematic", "perturbative", "sliding", "corrected"]
    assert choice.name == "corrected"
    score = {name: one.log_likelihood for name, one in choice.tried.items()}
    assert choice.name == max(score, key=lambda name: score[name])
    assert choice.tried["corrected"].errors.summary()["position_rms"] < 0.03  # two poses of 0.01 m in x and y: 0.02
    assert choice.baseline.summary(consistency=False)["yaw_rms_deg"] > 5.0
    for one in choice.tried.values():
        assert 0.7 < one.errors.summary()["nees"] < 1.4


def test_several_logs_are_left_out_one_by_one() -> None:
    folder = unpacked("warthog")
    files = [folder / f"warthog_{name}.csv" for name in ("grass_20240729_1446", "grass_20240808_1556")]
    log = gr.read_log(files, manifest=ROOT / "examples" / "warthog" / "log.toml")
    assert sum(log.report.file_segments) == log.n_segments
    cut = cut_log(log, surface())
    fold, by = folds(log, cut)
    assert by == "log"
    assert (np.diff(fold) >= 0).all()
    first = cut_log(gr.read_log(files[0], manifest=ROOT / "examples" / "warthog" / "log.toml"), surface())
    assert np.count_nonzero(fold == 0) == pytest.approx(len(first), abs=2)  # the usual pose period is of both logs


@pytest.mark.parametrize("halves", [(0, 1), (1, 0)])
def test_the_default_fit_of_a_tricycle_finds_its_geometry(halves: tuple[int, int], data: Path) -> None:
    """Fitted to every other set of runs, judged on the end of the runs of the others: 0.06 m and 4°."""
    sets = sorted({path.parent for path in (data / "optiodom" / "tricycle").rglob("*_run-*.csv")})
    assert len(sets) >= 4
    logs = []
    for half in halves:
        files = [path for one in sets[half::2] for path in sorted(one.glob("*_run-*.csv"))]
        logs.append(gr.read_log(files, manifest=ROOT / "examples" / "optiodom" / "tricycle.toml"))
    trained, judged = logs
    assert trained.vehicle is not None
    robot = gr.vehicle(trained.vehicle)
    assert are_runs(trained, robot)
    names = [one.name for one in gr.calibration.candidates(robot, trained)]
    assert names == ["kinematic", "perturbative", "corrected", "bicycle"]
    choice = gr.calibration.choose(trained)
    assert (choice.by, choice.fit.training.interval) == ("log", None)
    ends = errors_of(choice.fit, judged, cut_log(judged, choice.fit.model, interval=None))
    assert ends.position.mean() <= 0.06
    assert np.degrees(np.abs(ends.error[:, 2])).mean() <= 4.0
    bicycle = choice.tried["bicycle"].fit.values
    assert bicycle["model.steering_offset"] == pytest.approx(-0.019, abs=0.003)
    # Noise is that of two seconds, so that short predictions are not over-confident.
    assert gr.evaluate(choice.fit, judged).errors.summary()["inside_95"] > 0.9


def test_no_candidates_and_no_vehicle_are_refused() -> None:
    with pytest.raises(CalibrationError, match="no candidates"):
        gr.calibration.choose(warthog(), [])
    with pytest.raises(CalibrationError, match="names no vehicle"):
        gr.calibration.choose(replace(warthog(), vehicle=None))
