"""planning-reach with a few poses: what it says is reached ends there in a simulation of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import experiments.planning_reach as reach


def test_poses_are_reached_within_the_tolerance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = [reach.Case("zoe", "kinematic", rms, 3) for rms in (0.05, 0.2)] + [reach.Case("rocky7", "powertrain", 0.1, 2)]
    monkeypatch.setattr(reach, "cases", lambda quick: few)
    result = reach.PLANNING_REACH.run(quick=True)
    assert [(row["vehicle"], row["poses"]) for row in result.rows] == [("zoe", 3), ("zoe", 3), ("rocky7", 2)]
    for row in result.rows:
        assert row["reached"] == row["poses"]
        assert row["error_mm"] <= 1.0
        assert row["yaw_error"] <= 0.01
    result.plot(tmp_path / "reach.png")
    assert (tmp_path / "reach.png").stat().st_size > 5_000
