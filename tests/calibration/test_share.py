"""Several logs fitted together: planted sensor and soils come back, and each log helps the others' vehicle."""

import json
from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration import likelihood
from grouser.calibration.share import calibrate_together
from grouser.cli import run
from grouser.errors import CalibrationError
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.predict import LogProblem
from tests.oracles import planar_slip as truth

WANTED = ["slip", "sensor.y", "sensor.lag", "noise"]
LAG, LEFT = 0.12, -0.15


@pytest.fixture(scope="module")
def model():
    return gr.motion.Perturbative(vehicle=gr.vehicle("warthog"), gravity_grows="distance")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("share")


@pytest.fixture(scope="module")
def logs(folder):
    soils = (truth.FIRM, truth.SOFT, truth.FIRM, truth.SOFT)
    options = {"lag": LAG, "arm": (0.0, LEFT), "seconds": 80.0}
    return [truth.drive(folder, f"d{i}", lambda x, y, a=a: a, seed=i, **options) for i, a in enumerate(soils)]


@pytest.fixture(scope="module")
def shared(model, logs):
    return calibrate_together(model, logs, WANTED, own_lag=False)


@pytest.fixture(scope="module")
def alone(model, logs):
    return [gr.calibrate(model, log, WANTED) for log in logs]


def test_the_vehicle_is_found_within_its_sigma_and_better_than_by_any_log_alone(shared, alone):
    assert shared.converged
    for name, planted in (("sensor.y", LEFT), ("sensor.lag", LAG)):
        assert abs(shared.fit.values[name] - planted) < 3.0 * shared.fit.sigma[name]
        # Four logs of about the same worth give half the sigma of one.
        assert shared.fit.sigma[name] < 0.65 * np.median([fit.sigma[name] for fit in alone])


def test_soils_are_told_apart(shared):
    turn = np.array([ground.values["slip.a10"] for ground in shared.grounds])
    sigma = np.array([ground.sigma["slip.a10"] for ground in shared.grounds])
    planted = np.array([truth.FIRM[9], truth.SOFT[9]] * 2)
    assert np.all(np.abs(turn - planted) < 3.5 * sigma)
    assert turn[[0, 2]].min() - turn[[1, 3]].max() > 5.0 * sigma.max()
    # Of two values 0.15 apart, twice each, the spread is 0.087; few grounds are given more.
    assert 0.07 < shared.spread["slip.a10"] < 0.18
    assert shared.spread["slip.a10"] > 5.0 * shared.spread["slip.a12"]


def test_parameters_of_grounds_are_within_their_sigmas(shared):
    soils = [truth.FIRM, truth.SOFT] * 2
    z = [
        (ground.values[f"slip.a{i + 1}"] - a[i]) / ground.sigma[f"slip.a{i + 1}"]
        for ground, a in zip(shared.grounds, soils, strict=True)
        for i in range(13)
    ]
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5


def test_one_slip_for_all_soils_is_noisier(model, logs, folder, shared):
    """Without a ground of its own, what differs between soils is taken for noise."""
    together = gr.read_log([folder / log.name for log in logs], manifest=folder / "planar_slip.toml")
    pooled = gr.calibrate(model, together, WANTED)
    assert pooled.values["noise.wz"] > 1.5 * shared.fit.values["noise.wz"]


def test_the_fit_holds_mean_and_spread(shared, tmp_path):
    shared.fit.save(tmp_path / "fit.toml")
    read = gr.Fit.load(tmp_path / "fit.toml")
    np.testing.assert_allclose(read.spread, shared.fit.spread, rtol=1e-12)
    np.testing.assert_allclose(read.vector, shared.fit.vector, rtol=1e-12)
    names = [p.name for p in read.systematic]
    sensor = [names.index("sensor.y"), names.index("sensor.lag")]
    assert not read.spread[sensor].any()
    mean = np.mean([ground.values["slip.a10"] for ground in shared.grounds])
    assert read.values["slip.a10"] == pytest.approx(mean, abs=0.01)


def test_lags_may_differ_from_log_to_log(model, tmp_path):
    lags = (0.05, 0.2)
    logs = [
        truth.drive(tmp_path, f"lag{i}", lambda x, y: truth.FIRM, seed=40 + i, lag=lag, seconds=60.0)
        for i, lag in enumerate(lags)
    ]
    found = calibrate_together(model, logs, ["slip", "sensor.lag", "noise"])
    for ground, lag in zip(found.grounds, lags, strict=True):
        assert abs(ground.values["sensor.lag"] - lag) < 3.5 * ground.sigma["sensor.lag"]
    assert found.fit.model.sensor.lag_spread == pytest.approx(found.spread["sensor.lag"])
    assert 0.05 < found.spread["sensor.lag"] < 0.3


def test_labels_separate_the_grounds_of_one_log(model, tmp_path):
    log = truth.drive(tmp_path, "both", lambda x, y: truth.FIRM if x < 0.0 else truth.SOFT, seed=3, seconds=150.0)
    found = calibrate_together(model, [log], ["slip", "noise"], label="soil")
    turn = {ground.name: ground.values["slip.a10"] for ground in found.grounds}
    assert list(turn) == ["both.csv soil=0.45", "both.csv soil=0.6"]
    assert turn["both.csv soil=0.45"] - turn["both.csv soil=0.6"] == pytest.approx(0.15, abs=0.06)


def test_noise_of_several_grounds_is_that_of_their_residuals_together(model, logs):
    """Each ground is predicted by its own model; all intervals count the same, as if they were of one log."""
    motions = [MotionModel(model=model, sensor=log.sensor) for log in logs[:2]]
    problems = [LogProblem(log, m, cut_log(log, m)) for log, m in zip(logs, motions, strict=False)]
    other = motions[1].replace(sensor=replace(motions[1].sensor, x=0.7, lag=0.2))
    names = ["noise.vx", "noise.wz", "sensor.yaw_noise"]
    form = likelihood._Form(motions[0], names)
    part = likelihood._Part(likelihood.Horizon(problems[1], motion=other), form, "none")
    predicted = problems[1].errors(other)
    np.testing.assert_array_equal(part.r, problems[1].residuals(predicted.poses))
    v = form.elements(form.start)[0]
    R = part.fixed + np.einsum("j,ija->ia", v, part.B).reshape(part.fixed.shape)
    np.testing.assert_allclose(R, problems[1].covariance(motions[0], predicted), rtol=1e-6)
    # Two thirds and one third of the intervals of one log are two grounds of the same model.
    whole, cut = problems[0], problems[0].intervals
    first = 2 * len(cut) // 3
    parts = [whole.recut(cut.only(part)) for part in (slice(0, first), slice(first, None))]
    halves = [likelihood.Horizon(part, motion=motions[0]) for part in parts]
    found, wanted = likelihood.maximise(halves, motions[0]), likelihood.maximise(whole, motions[0])
    np.testing.assert_allclose(found.motion.noise.density, wanted.motion.noise.density, rtol=1e-3)
    np.testing.assert_allclose(found.covariance, wanted.covariance, rtol=1e-3)


def test_left_out_grounds_are_predicted_without_them(shared, logs):
    """Their ellipses hold about 95 %: 156 intervals, and soil 0.15 apart in turn slip."""
    inside = np.concatenate([errors.inside for errors in shared.left_out])
    assert 0.88 < inside.mean() <= 1.0
    own = np.mean([ground.position_rms for ground in shared.grounds])
    assert np.mean([np.sqrt(np.mean(errors.position**2)) for errors in shared.left_out]) > 1.1 * own


def test_mistakes_are_one_sentence(model, logs):
    with pytest.raises(CalibrationError, match="several logs in a list"):
        calibrate_together(model, logs[0])
    with pytest.raises(CalibrationError, match="is one ground"):
        calibrate_together(model, logs[:1])
    with pytest.raises(CalibrationError, match=r"no label 'grass'.*soil"):
        calibrate_together(model, logs, label="grass")
    with pytest.raises(CalibrationError, match="no parameters to share"):
        calibrate_together(model, logs, ["noise"])


def test_the_command_prints_vehicle_grounds_and_spread(logs, folder, capsys):
    out = folder / "shared.toml"
    arguments = ["calibrate", *(str(folder / log.name) for log in logs[:2])]
    arguments += ["--manifest", str(folder / "planar_slip.toml"), "--share", "--model", "perturbative"]
    assert run([*arguments, "--out", str(out), "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    turn = [one["grounds"][f"d{i}.csv"]["parameters"]["slip.a10"]["value"] for i in range(2)]
    assert turn[0] - turn[1] > 0.1
    assert one["spread"]["slip.a10"] > 0.04
    assert one["parameters"]["sensor.y"]["sigma"] < 0.03
    assert gr.Fit.load(out).spread is not None
    assert run([*arguments, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "2 grounds" in said
    assert "spread, 1σ" in said
    assert run([*arguments, "--online"]) == 2
    assert "--online: is not for --share" in capsys.readouterr().err
