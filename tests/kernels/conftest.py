"""The tiny package, with and without compiled code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_package import KEPT, VALUE, Tiny


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """The package, with nothing compiled yet."""
    return Tiny(tmp_path / "here", tmp_path / "cache")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds all of the package."""
    folder = tmp_path_factory.mktemp("filled")
    first = Tiny(folder / "here", folder / "cache")
    said = first.use(PYTHONHASHSEED="1")
    assert (said["value"], said["compiled"], said["loaded"]) == (VALUE, KEPT, 0)
    assert (said["refused"], said["not_kept"]) == ("", "")
    assert sorted(first.files) == ["square", "total"]
    return first.cache


@pytest.fixture
def warm(tiny: Tiny, filled: Path) -> Tiny:
    """The package, in another folder than where it was compiled, with a copy of that cache."""
    shutil.copytree(filled, tiny.cache)
    return tiny
