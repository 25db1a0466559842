"""`grouser check --installation`: what it says is so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import grouser
from grouser._compile import store
from grouser.cli import run


def test_it_says_versions_cache_and_shipped_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--installation", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["grouser"], facts["numba"]) == (grouser.__version__, numba.__version__)
    assert facts["cache"]["folder"] == str(store.folder())
    assert facts["cache"]["writable"] == os.access(store.folder(), os.W_OK)
    assert facts["shipped"]["why_not"] == (store.why_not_shipped() or None)


def test_in_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--installation"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"grouser {grouser.__version__} in ")
    assert f"Kernels compiled here are kept in {store.folder()}: " in out
    assert ("No compiled kernels that came with grouser are used: " in out) == bool(store.why_not_shipped())


def test_it_is_about_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--installation", str(tmp_path / "rover.toml")]) == 2
    assert "--installation: takes no file" in capsys.readouterr().err
    assert run(["check"]) == 2
    assert "FILE: is missing; name one, or give --installation" in capsys.readouterr().err


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    environment = {**os.environ, "HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "TMPDIR": str(tmp_path)}
    environment["GROUSER_CACHE_DIR"] = str(blocked)
    command = [sys.executable, "-c", "from grouser.cli import main; main()", "check", "--installation", "--json"]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    cache = json.loads(answer.stdout)["cache"]
    assert (cache["writable"], cache["files"]) == (False, 0)
    assert "is not writable; every process compiles again" in cache["not_kept"]
