"""planning-soil-change by drives that are made up, planning-fidelity by a few motions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import experiments.planning_fidelity as fidelity
import experiments.planning_soil_change as soil


def made_up(after: float, end: float = 25.0) -> soil.Driven:
    """0.01 m off the path before the change, and then so much, until a time after it [s]."""
    time = np.arange(-25.0, end, 0.1)
    return soil.Driven(time, np.where(time < 0.0, 0.01, np.where(time < 6.0, 0.1, after)), 1.0, 3.0, "ok")


def test_soil_change_separates_drives_that_come_back_from_others(tmp_path: Path) -> None:
    drives = {True: [made_up(0.012)] * 2, False: [made_up(0.05)] * 2}
    assert soil.PLANNING_SOIL_CHANGE.name == "planning-soil-change"
    result = soil.judged([1, 2], drives, True)
    assert result.summary["ratio_from_10_s"] == pytest.approx(1.2)
    assert result.summary["ratio_from_10_s_without"] == pytest.approx(5.0)
    assert 6.0 <= result.summary["time_back"] <= 8.5
    assert result.summary["time_back_without"] is None
    assert (result.summary["drives_back"], result.summary["drives_back_without"]) == (2, 0)
    result.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


@pytest.mark.parametrize("end", [8.0, 18.0])
def test_soil_change_of_drives_that_end_early_is_json_with_null_where_nothing_was_measured(end: float) -> None:
    result = soil.judged([1], {True: [made_up(0.012, end)], False: [made_up(0.05, end)]}, True)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["rows"][-2]["with [m]"] is None
    assert data["rows"][1]["with [m]"] == pytest.approx(0.1)
    assert "-" in result.table()


def test_fidelity_quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fidelity, "ROUGHNESS", (0.2,))
    monkeypatch.setattr(fidelity, "QUICK_EACH", 8)
    result = fidelity.PLANNING_FIDELITY.run(quick=True)
    assert [row["speed"] for row in result.rows] == [*fidelity.SPEEDS, "all"]
    assert result.rows[0]["by dynamics"] <= result.rows[2]["by dynamics"]
    assert all(row["missed"] <= row["missed by kinematics"] + 1e-9 for row in result.rows)
    result.plot(tmp_path / "b.png")
