"""A URDF on the command line: check drafts its side file, writes it, and simulate drives what it makes."""

import json
import sys
from pathlib import Path

import pytest

from grouser.cli.app import run

sys.path.insert(0, str(Path(__file__).parents[1] / "vehicles"))

import urdf_families


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "file", "change", "wheels"),
    [
        ("husky", "husky.urdf", None, 4),
        ("osr", "osr.urdf.xacro", ("# free = ", "free = "), 6),
    ],
)
@pytest.mark.filterwarnings("ignore:.*a draft of it is used")
def test_check_then_write_then_simulate(name, file, change, wheels, here, capsys):
    if name == "osr":
        pytest.importorskip("xacro")
    Path(file).write_text(urdf_families.FAMILIES[name]())
    side = f"{name}.grouser.toml"
    assert run(["check", file]) == 0
    said = capsys.readouterr().out
    assert f"there is no {side}; a draft of it (write it with --write {side}" in said
    assert 'schema = "grouser/urdf@1"' in said
    assert not Path(side).exists()

    assert run(["check", file, "--write", side]) == 0
    assert f"wrote {side}" in capsys.readouterr().out
    text = Path(side).read_text()
    assert run(["check", file, "--write", side]) == 2
    error = capsys.readouterr().err
    assert f"{side} exists and is not overwritten" in error
    assert Path(side).read_text() == text

    if change:
        text = text.replace(*change).replace("# couplings = ", "couplings = ")
        Path(side).write_text(text)
    assert run(["check", file]) == 0
    said = capsys.readouterr().out
    assert "a vehicle, no errors\n" in said
    assert "draft" not in said

    assert run(["simulate", file, "--speed", "0.5", "--duration", "20", "--json"]) == 0
    result = capsys.readouterr()
    assert result.err == ""
    found = json.loads(result.out)
    assert found["distance"] == pytest.approx(10.0, abs=1e-3)
    assert found["final_position"][:2] == pytest.approx([10.0, 0.0], abs=1e-3)

    assert run(["check", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["wheels"]) == wheels
    assert found["problems"] == []


def test_a_draft_with_gaps_is_an_error_that_says_which(here, capsys):
    box = urdf_families.box(0.3, 0.1, 0.3)
    urdf = urdf_families.husky().replace(urdf_families.cylinder(0.17, 0.11), box)
    Path("husky.urdf").write_text(urdf)
    assert run(["check", "husky.urdf"]) == 2
    said = capsys.readouterr().out
    assert said.startswith("husky.urdf: a vehicle, 4 errors")
    assert "error: the radius of wheel 'front_left_wheel' is not known" in said
    assert run(["simulate", "husky.urdf"]) == 2
    error = capsys.readouterr().err
    assert "grouser check husky.urdf --write husky.grouser.toml" in error
    assert len(error.splitlines()) == 1
    assert run(["check", "husky.urdf", "--write", "husky.grouser.toml"]) == 2
    filled = Path("husky.grouser.toml").read_text().replace("# {", "{").replace("radius = …", "radius = 0.17")
    Path("husky.grouser.toml").write_text(filled)
    capsys.readouterr()
    assert run(["simulate", "husky.urdf", "--duration", "1"]) == 0


def test_zero_motors_are_warned_of_and_not_driven(here, capsys):
    Path("husky.urdf").write_text(urdf_families.husky())
    names = ("front_left", "front_right", "rear_left", "rear_right")
    wheels = ", ".join(f'{{ joint = "{name}_wheel", radius = 0.17 }}' for name in names)
    Path("husky.grouser.toml").write_text(f'schema = "grouser/urdf@1"\nwheels = [{wheels}]\n')
    assert run(["check", "husky.urdf"]) == 0
    said = capsys.readouterr().out
    assert "a vehicle, no errors, 1 warning" in said
    assert "warning: no joint has a motor" in said
    assert run(["simulate", "husky.urdf"]) == 2
    error = capsys.readouterr().err
    assert "no joint has a motor, so no speed can be commanded" in error
    assert len(error.splitlines()) == 1
    assert run(["simulate", "husky.urdf", "--speed", "0", "--duration", "1"]) == 0


def test_an_implausible_vehicle_is_warned_of_when_it_drives(here, capsys):
    Path("husky.urdf").write_text(urdf_families.husky())
    assert run(["check", "husky.urdf", "--write", "husky.grouser.toml"]) == 0
    text = Path("husky.grouser.toml").read_text()
    Path("husky.grouser.toml").write_text(text.replace("radius = 0.17", "radius = 170.0"))
    capsys.readouterr()
    assert run(["check", "husky.urdf"]) == 0
    assert "these look like millimetres" in capsys.readouterr().out
    run(["simulate", "husky.urdf", "--duration", "1"])
    assert "grouser: warning: husky.urdf: wheel 'front_left_wheel' has a radius of 170 m" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "cart.toml", "--write", "x.toml"], "cart.toml: no such file"),
        (["check", "husky.urdf", "--write", "side.txt"], "--write: side.txt must end in .toml"),
        (["check", "--installation", "--write", "x.toml"], "leave FILE, --manifest and --write out"),
        (["check", "none.urdf", "--write", "x.toml"], "none.urdf: no such file"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments, words, here, capsys):
    Path("husky.urdf").write_text(urdf_families.husky())
    assert run(arguments) == 2
    assert words in capsys.readouterr().err
