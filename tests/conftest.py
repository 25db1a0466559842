"""What several test folders share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; a clone without it skips what needs it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"reference data are not here: {folder} does not exist")
    return folder
