"""`python -m experiments`: lists them, runs one, refuses mistakes in one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments import data
from experiments.__main__ import run
from experiments.catalog import EXPERIMENTS
from experiments.experiment import Experiment, Result

TESTS = Path(__file__).resolve().parents[1]
ROW_KEYS = {"name", "rows", "paper", "notes", "settings"}


def test_the_list_says_what_each_one_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert list(listed) == list(EXPERIMENTS)
    assert {"table-2.4", "table-3.8", "rollover", "fusion", "drive-windows", "pvc-random"} <= set(listed)
    assert all(listed.values())
    assert run([]) == 0
    assert "table-2.4" in capsys.readouterr().out


def test_one_prints_json_and_draws_its_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "surface.png"
    assert run(["slip-surface", "--quick", "--json", "--plot", str(picture)]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= ROW_KEYS
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_name_runs_quickly_or_in_full_with_the_data_that_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command for every name, with its experiment replaced; the tests beside this one run the experiments."""
    asked: list[tuple[str, bool, str | None]] = []

    def body(self: Experiment, quick: bool = False, progress: Any = None) -> Result:
        asked.append((self.name, quick, data.os.environ.get(data.VARIABLE)))
        return Result(self.name, [{"dt": 0.1}], [], [], {}, ("dt",), lambda result, path: Path(path).touch())

    monkeypatch.setattr(Experiment, "run", body)
    monkeypatch.setattr("experiments.__main__._compile", lambda: None)
    monkeypatch.setenv(data.VARIABLE, "elsewhere")
    assert run([name, "--quick", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= ROW_KEYS
    assert run([name, "--data", str(tmp_path), "--plot", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").exists()
    assert asked == [(name, True, "elsewhere"), (name, False, str(tmp_path))]


def test_every_experiment_is_run_by_a_test() -> None:
    """By its name, or by the constant that the catalogue lists."""
    text = "".join(path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    seen = {experiment.body for name, experiment in EXPERIMENTS.items() if _named(name, text)}
    assert [name for name, experiment in EXPERIMENTS.items() if experiment.body not in seen] == []


def _named(name: str, text: str) -> bool:
    constant = name.upper().replace("-", "_").replace(".", "_")
    return f'"{name}"' in text or re.search(rf"\b{constant}\b", text) is not None


def test_an_unknown_name_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table-9.9"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no experiment 'table-9.9'; there are table-2.4" in said.err


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("table.gif", "ends in one of .png, .svg, .pdf"),
        ("folder.png", "is a folder"),
        ("file/table.png", "cannot be made"),
    ],
)
def test_a_plot_that_could_not_be_written_is_refused_before_the_experiment(
    target: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the experiment was run")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("experiments.experiment.Experiment.run", never)
    monkeypatch.setattr("experiments.__main__._compile", lambda: None)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file").write_text("in the way")
    assert run(["table-2.4", "--plot", target]) == 2
    assert said in capsys.readouterr().err
    with pytest.raises(AssertionError, match="was run"):
        run(["table-2.4", "--plot", "new/table.png"])
    assert [path.name for path in (tmp_path / "new").iterdir()] == []  # the trial leaves nothing behind


def test_data_are_unpacked_once_and_keep_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "UNPACKED", tmp_path)
    folder = data.unpacked("single-wheel-sand")
    stored = data.STORED / "single-wheel-sand"
    assert (folder / "single_wheel.csv").read_bytes() == (stored / "single_wheel.csv").read_bytes()
    golden = data.unpacked("golden")
    grid = golden / "gridsurfdata1.txt"
    assert len(grid.read_bytes()) == 253_726
    before = grid.stat().st_mtime_ns
    data.unpacked("golden")
    assert grid.stat().st_mtime_ns == before
    assert [path.name for path in golden.iterdir() if path.suffix in (".xz", ".part")] == []


def test_recorded_data_are_small_and_say_where_they_are_from() -> None:
    readme = (data.STORED / "README.md").read_text(encoding="utf-8")
    for folder in (path for path in data.STORED.iterdir() if path.is_dir()):
        assert f"| `{folder.name}/` |" in readme
        assert list(folder.glob("README*"))
        assert (folder / "LICENSE").is_file() or folder.name == "golden"  # numbers that this project computed
    assert sum(path.stat().st_size for path in data.STORED.rglob("*") if path.is_file()) < 12e6
