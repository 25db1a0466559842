"""Values that are refused are named as a person would say it; targets are refused before the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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


def test_a_folder_that_is_not_there_or_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    for target, said in ((tmp_path / "none" / "a.png", "No such file"), (tmp_path / ("a" * 300), "too long")):
        with pytest.raises(GrouserError, match=said):
            check_target(target, GrouserError)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.png").write_text("kept")
    check_target(tmp_path / "old.png", GrouserError)
    assert (tmp_path / "old.png").read_text() == "kept"
