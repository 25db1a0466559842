"""The dynamic model from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grouser import Run
from grouser.cli import run

ROUGH = "rough:rms=.05,length=.5,seed=1"
DYNAMIC = ["simulate", "zoe", "--terrain", ROUGH, "--duration", "1", "--model", "dynamic"]


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("contact", [[], ["--contact", "pacejka"], ["--contact", "terramechanics"]])
def test_wheels_carry_the_weight_whatever_the_contact(contact: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*DYNAMIC, *contact, "--json"]) == 0
    result = printed(capsys)
    assert result["model"] == "dynamic"
    assert result["distance"] == pytest.approx(1.0, abs=0.2)
    # 198 kg; on rough ground the mean over a second is not quite the weight
    assert sum(result["mean_wheel_load"]) == pytest.approx(198.0 * 9.81, rel=0.15)
    assert result["mean_power"] is not None


def test_it_starts_at_rest_on_its_contacts_in_soil_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.npz"
    arguments = ["simulate", "zoe", "--model", "dynamic", "--contact", "terramechanics", "--duration", "1"]
    assert run([*arguments, "--out", str(file)]) == 0
    text = capsys.readouterr().out
    assert "mean wheel load" in text
    assert "mean power" in text
    recorded = Run.load(file)
    assert recorded.position[:, 2] == pytest.approx(recorded.position[0, 2], abs=0.005)


def test_slippery_ground_costs_way(capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    for friction in ("1", "0.2"):
        arguments = ["simulate", "landtamer", "--terrain", "slope:deg=15", "--duration", "2", "--model", "dynamic"]
        assert run([*arguments, "--contact", "pacejka", "--friction", friction, "--json"]) == 0
        ends.append(printed(capsys)["final_position"][0])
    # 0.2 is less than tan 15° = 0.27: it slides back
    assert ends[1] < 0.0 < ends[0]


def test_weak_actuators_do_not_climb(capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    for more in ([], ["--actuator-gain", "2000"], ["--actuator-gain", "2000", "--torque-limit", "10"]):
        arguments = ["simulate", "landtamer", "--terrain", "slope:deg=15", "--duration", "2", "--model", "dynamic"]
        assert run([*arguments, *more, "--json"]) == 0
        ends.append(printed(capsys)["final_position"][0])
    assert ends[0] > ends[1] > 0.0 > ends[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--friction", "0.5"], "--friction: is for the dynamic model"),
        (["--model", "dynamic", "--slip=0,0,0,0,0,0"], "--slip: is for the kinematic model"),
        (["--model", "dynamic", "--integrator", "rk4"], "integrator: 'rk4' is not one of euler, midpoint"),
        (["--model", "magic"], "--model: 'magic' is not one of kinematic, dynamic"),
        (["--model", "dynamic", "--contact", "mud"], "'mud' is not one of piecewise-linear, pacejka, terramechanics"),
        (["--model", "dynamic", "--contact", "terramechanics", "--friction", "1"], "terramechanics has none"),
        (["--model", "dynamic", "--friction=-1"], "friction: -1 is negative"),
        (["--model", "dynamic", "--torque-limit", "5"], "add --actuator-gain"),
        (["--model", "dynamic", "--actuator-gain=-5"], "--actuator-gain: -5"),
    ],
)
def test_mistakes_are_said_in_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "zoe", "--duration", "1", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    from experiments.__main__ import run as run_experiments

    assert run_experiments(["--json"]) == 0
    names = set(printed(capsys)["experiments"])
    assert {"table-2.5", "table-2.6", "table-2.7", "traction-loss", "rollover", "figure-8"} <= names
