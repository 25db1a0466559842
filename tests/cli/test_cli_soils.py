"""`--soils` and `--soil` of simulate and rollout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grouser as gr
from grouser.cli import run

LAWS = ("--soil", "0=pacejka:friction=.8", "--soil", "1=piecewise-linear:friction=.02")


@pytest.fixture(scope="module")
def raster(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Class 1 on the left, y ≥ 0, and class 0 on the right."""
    path = tmp_path_factory.mktemp("soils") / "soils.npz"
    gr.terrain.SoilRaster(classes=[[0, 1]], origin=(0.0, -1.0), cell=1.0).save(path)
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run([*arguments, "--json"]) == 0
    result: dict[str, object] = json.loads(capsys.readouterr().out)
    return result


def test_dynamic_runs_have_the_contact_models_of_their_soils(
    raster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.npz"
    common = ("simulate", "husky", "--model", "dynamic", "--duration", "1", "--terrain", "slope:deg=10")
    answer(capsys, *common, "--soils", raster, *LAWS, "--out", str(out))
    kept = gr.Run.load(out)
    assert kept.ground is not None
    assert kept.ground.soils is not None
    assert [soil.name for soil in kept.ground.soils.soils] == [
        "0: pacejka:friction=.8",
        "1: piecewise-linear:friction=.02",
    ]
    force = kept.contact.force
    assert force is not None
    used = abs(force[10:-1, :, 0]) / force[10:-1, :, 2]
    assert (used[:, [0, 2]] < 0.021).all()  # the left wheels, FL and BL, spin on ice
    assert (used[:, [1, 3]] > 0.1).all()
    assert kept.yaw[-1] > 0.05  # the right wheels push


def test_kinematic_runs_and_rollouts_have_their_slip(raster: str, capsys: pytest.CaptureFixture[str]) -> None:
    slip = ("--soils", raster, "--soil", "0=own", "--soil", "1=slip:0,-.5,0,0,0,0")
    one = answer(capsys, "simulate", "husky", "--duration", "0.2", *slip)
    assert one["final_position"][0] == pytest.approx(0.15, abs=1e-3)  # type: ignore[index]
    plain = answer(capsys, "rollout", "husky", "--rollouts", "20", "--duration", "2")
    many = answer(capsys, "rollout", "husky", "--rollouts", "20", "--duration", "2", *slip)
    assert many["final_position_mean"][0] < 0.9 * plain["final_position_mean"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--soils", "{}"], "--soils: what its classes are is missing; add --soil CLASS=MODEL"),
        (["--soil", "0=own"], "--soil: which class lies where is in a raster; add --soils FILE"),
        (["--soils", "{}", "--soil", "ice"], "--soil: 'ice' is not CLASS=MODEL, such as 0=pacejka:friction=.8"),
        (["--soils", "{}", "--soil", "0=pacejka"], "--soil: 'pacejka' is for the dynamic model"),
        (["--soils", "{}", "--soil", "0=own"], "laws: class 1 of the raster has none"),
        (["--soils", "{}", "--soil", "0=own", "--soil", "0=own"], "--soil: class 0 is given twice; give it once"),
        (["--soils", "{}", "--soil", "0=slip:1,2"], "--soil slip: '1,2' is not 6 numbers"),
        (["--model", "dynamic", "--soils", "{}", "--soil", "0=slip:1,2"], "--soil: 'slip' is for the kinematic model"),
        (["--model", "dynamic", "--soils", "{}", "--soil", "0=ice"], "contact: 'ice' is not one of piecewise-linear"),
        (["--model", "dynamic", "--soils", "{}", "--soil", "0=pacejka:grip=1"], "Pacejka: has no 'grip'; it has"),
        (["--model", "dynamic", "--soils", "{}", "--soil", "0=pacejka:friction"], "'friction' is not a parameter and"),
        (["--soils", "none.npz", "--soil", "0=own"], "none.npz: "),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    options: list[str], message: str, raster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "husky", *(one.format(raster) for one in options)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
