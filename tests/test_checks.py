"""Values that are refused are named as a person would say it; targets are refused before the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import run
from grouser import checks
from grouser.contact import Ishigami
from grouser.errors import GrouserError, SimulationError
from grouser.files import check_target
from grouser.odometry import EncoderNoise
from grouser.vehicles import Vehicle


@pytest.mark.parametrize(("kind", "said"), [(EncoderNoise, "an EncoderNoise"), (Ishigami, "an Ishigami")])
def test_a_class_that_begins_with_a_vowel_has_its_article(kind: Any, said: str) -> None:
    with pytest.raises(SimulationError, match=f"noise: 3 is not {said}; use it"):
        checks.instance(3, kind, "noise", "use it")
    with pytest.raises(SimulationError, match="is not a Vehicle"):
        checks.instance(3, Vehicle, "vehicle", "use it")


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


def test_a_folder_that_is_not_there_or_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    for target, said in ((tmp_path / "none" / "a.png", "No such file"), (tmp_path / ("a" * 300), "too long")):
        with pytest.raises(GrouserError, match=said):
            check_target(target, GrouserError)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.png").write_text("kept")
    check_target(tmp_path / "old.png", GrouserError)
    assert (tmp_path / "old.png").read_text() == "kept"
