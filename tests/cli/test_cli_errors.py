"""A user's mistake ends with exit code 2 and one sentence on stderr, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from grouser.cli import run

MISTAKES = {
    "unknown command": ["fly"],
    "unknown option": ["simulate", "zoe", "--sped", "1"],
    "missing argument": ["simulate"],
    "not a number": ["simulate", "zoe", "--speed", "fast"],
    "unknown vehicle": ["simulate", "zoee"],
    "vehicle file that is not there": ["simulate", "missing.toml"],
    "unknown terrain": ["simulate", "zoe", "--terrain", "swamp"],
    "terrain without its keys": ["simulate", "zoe", "--terrain", "rough:rms=1"],
    "negative duration": ["simulate", "zoe", "--duration", "-1"],
    "duration not a multiple of dt": ["simulate", "zoe", "--duration", "1", "--dt", "0.3"],
    "NaN speed": ["simulate", "zoe", "--speed", "nan"],
    "start of one number": ["simulate", "zoe", "--start", "1"],
    "start in words": ["simulate", "zoe", "--start", "a,b,c"],
    "start off the map": ["simulate", "zoe", "--terrain", "rough:rms=.1,length=1,seed=1", "--start", "500,0,0"],
    "five slip parameters": ["simulate", "zoe", "--slip", "1,2,3,4,5"],
    "unknown integrator": ["simulate", "zoe", "--integrator", "magic"],
    "unknown suffix": ["simulate", "zoe", "--out", "run.xyz"],
    "no rollouts": ["rollout", "zoe", "--rollouts", "0"],
    "negative seed": ["rollout", "zoe", "--seed", "-1"],
    "too many threads": ["rollout", "zoe", "--rollouts", "2", "--threads", "4096"],
    "every without a file": ["rollout", "zoe", "--every", "2"],
    "every beyond the steps": ["rollout", "zoe", "--every", "9999", "--out", "r.npz"],
    "rollouts into a table": ["rollout", "zoe", "--out", "r.csv"],
    "negative speed limit": ["rollout", "zoe", "--max-speed", "-1"],
    "an experiment": ["reproduce", "table-2.4"],
    "a file that is not there": ["check", "missing.npz"],
    "a file of no known kind": ["check", "notes.txt"],
    "a folder": ["check", "."],
    "unknown vehicle to show": ["vehicles", "tank"],
}


@pytest.mark.parametrize("arguments", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_ends_with_one_sentence_and_code_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [line for line in printed.err.splitlines() if "compiling" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("grouser: ")
    assert "Traceback" not in printed.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["notes.txt"]


def test_mistake_with_json_leaves_stdout_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "zoee", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_unwritable_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run(["simulate", "zoe", "--out", str(tmp_path / "file" / "deeper")]) == 2
    assert "cannot be made" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.toml", "schema = 'grouser/vehicle@1'\nname = 3"),
        ("broken.urdf", "<robot"),
        ("broken.npz", "not a zip"),
        ("broken.asc", "ncols x"),
    ],
)
def test_check_names_what_is_wrong_with_a_damaged_file(
    name: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_text(content)
    assert run(["check", str(file)]) == 2
    error = capsys.readouterr().err
    assert name in error
    assert len(error.splitlines()) == 1


def test_an_interrupt_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grouser.vehicles.names", interrupted)
    assert run(["vehicles"]) == 130
    assert capsys.readouterr().err == "grouser: interrupted, by Ctrl-C\n"
