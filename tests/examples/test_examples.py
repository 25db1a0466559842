"""Every example runs as printed, in an empty folder, and writes what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {"tour", "own_vehicle", "own_terrain", "closed_loop", "fan_of_rollouts"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_writes_into_its_out_folder(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    assert all(path.stat().st_size > 0 for path in files)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_fits_on_one_screen(example: Path) -> None:
    assert len(example.read_text().splitlines()) < 42
