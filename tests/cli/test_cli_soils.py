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
        (["--soils", "{}"], "--soils: the soil of its classes is missing; add --soil CLASS=MODEL"),
        (["--soil", "0=own"], "--soil: the places of the classes are missing; add --soils FILE"),
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


def test_soils_and_tyres_are_listed_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["soils"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) <= 100
    for name in gr.contact.names():
        assert any(line.startswith(f"{name} ") for line in lines), name
    assert any(line.startswith("wong: J. Y. Wong, Theory of Ground Vehicles") for line in lines)
    found = answer(capsys, "soils")
    assert [one["name"] for one in found["soils"]] == list(gr.contact.names("soil"))  # type: ignore[union-attr,attr-defined]
    assert [one["name"] for one in found["tyres"]] == list(gr.contact.names("tyre"))  # type: ignore[union-attr,attr-defined]


@pytest.mark.parametrize("name", gr.contact.names())
def test_one_is_shown_with_all_numbers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["soils", name]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.split("\n"))) <= 100
    one = answer(capsys, "soils", name)
    for field, number in one["numbers"].items():  # type: ignore[attr-defined]
        assert field in text
        assert number["source"] == "assumed" or len(number["source"]) > 20
    if name == "dry_sand":
        k_phi = one["numbers"]["k_phi"]  # type: ignore[index]
        assert (k_phi["value"], k_phi["unit"]) == (1528430.0, "N/m^(n+2)")
        assert k_phi["source"] == "J. Y. Wong, Theory of Ground Vehicles, 4th ed., Wiley 2008, Table 2.3"


def test_a_wrong_name_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["soils", "dry_snad"]) == 2
    said = capsys.readouterr().err
    assert "did you mean 'dry_sand'?" in said
    assert said.count("\n") == 1


def test_a_soil_of_the_library_carries_a_run_everywhere_or_by_place(
    raster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("simulate", "husky", "--model", "dynamic", "--duration", "2", "--speed", "0.4", "--actuator-gain", "200")
    firm = answer(capsys, *common, "--contact", "lete_sand")
    loose = answer(capsys, *common, "--contact", "dry_sand")
    radius = gr.vehicle("husky").frames[1].radius or 0.0
    depth = [radius - one["final_position"][2] for one in (firm, loose)]  # type: ignore[index]
    assert 0.001 < depth[0] < 0.01 < depth[1] < 0.04
    assert loose["distance"] < firm["distance"]  # type: ignore[operator]
    assert loose["mean_power"] > 2.0 * firm["mean_power"]  # type: ignore[operator]
    # Loose sand on the left, asphalt on the right: it sinks in on the left and turns there.
    out = tmp_path / "both.npz"
    halves = ("--soils", raster, "--soil", "0=asphalt_dry", "--soil", "1=dry_sand")
    answer(capsys, *common, *halves, "--out", str(out))
    both = gr.Run.load(out)
    assert both.roll[-1] < -0.005
    assert both.yaw[-1] > 0.02


def test_a_study_takes_soils_by_name(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from grouser.study.laws import base_models
    from grouser.study.spec import Spec

    soils = {"sand": {"law": "dry_sand"}, "sticky": {"law": "dry_sand", "cohesion": 3000.0}, "road": {"law": "gravel"}}
    tables = {"vehicle": "husky", "model": "dynamic", "measures": ["distance"], "soils": soils}
    models = {name: made.model.contact for name, made in base_models(Spec.of(tables)).items()}
    assert models["sand"] == gr.contact.soil("dry_sand")
    assert models["sticky"] == gr.contact.soil("dry_sand").replace(cohesion=3000.0)
    assert models["road"] == gr.contact.tyre("gravel")
