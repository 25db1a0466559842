"""Fixtures for all test folders."""

from pathlib import Path

import pytest

from experiments.data import unpacked


@pytest.fixture(scope="session")
def data() -> Path:
    """`tests/data`, decompressed: recorded runs of another engine and logs of real robots; see its README."""
    return unpacked()


@pytest.fixture(scope="session")
def golden(data: Path) -> Path:
    """Trajectories and matrices of the thesis author's engine."""
    return data / "golden"
