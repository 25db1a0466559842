"""`grouser simulate --fit`, `grouser rollout --fit`: a calibrated model with samples, and what is refused."""

import json

import numpy as np
import pytest

import grouser as gr
from grouser.cli import run
from grouser.motion import Powertrain
from tests.motion.uncertain_fit import dynamic_fit, fit_of


@pytest.fixture
def fit(tmp_path):
    """A fit file of a husky."""
    path = tmp_path / "fit.toml"
    fit_of(powertrain=Powertrain(delay=0.1, time_constant=0.2)).save(path)
    return str(path)


def printed(arguments, capsys, code=0):
    assert run(arguments) == code
    return capsys.readouterr()


def test_simulate_says_sigma_tip_margin_slip_and_why_it_ended(fit, capsys):
    base = ["simulate", "husky", "--fit", fit, "--duration", "2", "--samples", "50", "--seed", "3"]
    first, second = (json.loads(printed([*base, "--json"], capsys).out) for _ in range(2))
    assert first == second
    assert first["samples"] == 50
    assert len(first["final_sigma"]) == 3
    assert np.shape(first["final_covariance"]) == (4, 4)
    assert first["least_tip_margin_deg"] > 20.0
    assert first["largest_slip"] == pytest.approx(0.02, abs=1e-6)
    assert first["energy"] is None
    assert first["ended"]
    text = printed(base, capsys).out
    assert "sigma at the end" in text
    assert "least tip margin" in text


def test_rollout_drives_each_arc_by_samples(fit, tmp_path, capsys):
    out = tmp_path / "fan.npz"
    base = ["rollout", "husky", "--fit", fit, "--rollouts", "5", "--samples", "4", "--duration", "1"]
    result = json.loads(printed([*base, "--out", str(out), "--every", "5", "--json"], capsys).out)
    assert result["status"]["ok"] == 20
    assert result["mean_yaw_sigma_deg"] > 0.0
    with np.load(out) as file:
        assert file["state"].shape[:2] == (20, 6)
        assert file["speed"].shape == (20,)
    assert "sigma of 4 samples" in printed(base, capsys).out


def test_rollouts_of_a_dynamic_fit_have_forces_soils_and_a_start_at_rest(tmp_path, capsys):
    path, raster, out = (str(tmp_path / name) for name in ("fit.toml", "soils.npz", "fan.npz"))
    dynamic_fit().save(path)
    gr.terrain.SoilRaster(classes=np.zeros((1, 1), dtype=np.uint8), origin=(-50.0, -50.0), cell=100.0).save(raster)
    base = ["rollout", "husky", "--fit", path, "--rollouts", "2", "--samples", "2", "--duration", "1", "--json"]
    ice = ["--soils", raster, "--soil", "0=pacejka:friction=.02"]
    firm = json.loads(printed([*base, "--every", "1", "--out", out], capsys).out)
    assert firm["model"] == "dynamic"
    with np.load(out) as file:  # it stands in its contacts and does not fall into them
        assert np.ptp(file["state"][..., 6]) < 0.005
    hill = [*base, "--terrain", "slope:deg=10"]
    firm, slippery = (json.loads(printed([*hill, *more], capsys).out) for more in ([], ice))
    assert firm["sliding"] == 0
    assert slippery["sliding"] == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "warthog", "--fit", "FIT"], "is of 'husky', not of 'warthog'"),
        (["rollout", "warthog", "--fit", "FIT"], "is of 'husky', not of 'warthog'"),
        (["simulate", "husky", "--samples", "5"], "add --fit FILE"),
        (["rollout", "husky", "--samples", "5"], "add --fit FILE"),
        (["simulate", "husky", "--fit", "FIT", "--slip", "0,0,0,0,0,0"], "--slip: the fit says"),
        (["simulate", "husky", "--fit", "FIT", "--model", "dynamic"], "--model: the fit says"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(fit, arguments, words, capsys):
    error = printed([fit if a == "FIT" else a for a in arguments], capsys, code=2).err
    assert words in error
