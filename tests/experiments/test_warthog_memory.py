"""Starts of the Warthog's drives, with a memory of grounds and without."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import warthog_memory
from experiments.experiment import Result
from experiments.warthog_memory import WARTHOG_MEMORY


@pytest.fixture(scope="module")
def result() -> Result:
    return WARTHOG_MEMORY.run(quick=True)


def test_an_empty_memory_changes_nothing(result: Result) -> None:
    first = result.rows[0]
    for unit in ("position", "yaw_deg", "anywhere_position", "anywhere_yaw_deg"):
        assert first[unit] == first[f"{unit}_memory"]


def test_a_memory_is_used_afterwards_and_does_no_proven_harm(result: Result) -> None:
    assert all(row["anywhere_position"] != row["anywhere_position_memory"] for row in result.rows[1:])
    assert result.settings["bands"]["anywhere"]["high"] > 0.0
    assert all(row["anywhere_position_memory"] < 0.2 for row in result.rows)
    assert result.settings["memory"]["grounds"][0]["visits"] >= 2


def test_the_notes_say_whether_it_helps(result: Result) -> None:
    band = result.settings["bands"]["anywhere"]
    said = "helps" if band["low"] > 0.0 else "makes no proven difference"
    assert f"the memory {said}" in result.notes[1].split("anywhere")[1]
    json.dumps(result.to_json(), allow_nan=False)


def test_the_picture_is_drawn(result: Result, tmp_path: Path) -> None:
    result.plot(tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 10_000


def test_starts_are_stretches_of_ten_seconds_one_after_another() -> None:
    slices = warthog_memory.beginnings(range(23))  # type: ignore[arg-type]
    assert [(s.start, s.stop) for s in slices] == [(0, 5), (5, 10), (10, 15), (15, 20)]


def test_the_margin_is_positive_where_memory_is_better() -> None:
    random = np.random.default_rng(0)
    good = random.normal(0.0, 0.05, (300, 3))
    errors = [{warthog_memory.WITHOUT: 1.5 * good, warthog_memory.WITH: good}]
    assert warthog_memory._band(errors)["low"] > 0.0
