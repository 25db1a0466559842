"""Fixtures for all test folders."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.data import unpacked
from tests.chromium import start_browser


@pytest.fixture(scope="session")
def data() -> Path:
    """`tests/data`, decompressed: recorded runs of another engine and logs of real robots; see its README."""
    return unpacked()


@pytest.fixture(scope="session")
def golden(data: Path) -> Path:
    """Trajectories and matrices of the thesis author's engine."""
    return data / "golden"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; without one the test is skipped."""
    yield from start_browser()
