"""Help is quick, complete, and every command shows an example."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from grouser import __version__
from grouser.cli import run

COMMANDS = (
    "demo", "vehicles", "simulate", "view", "rollout", "calibrate", "evaluate", "rolling", "odometry", "report",
    "reproduce", "gallery", "check", "bench", "warmup",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example_and_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert f"Example: grouser {command}" in text
    assert "--json" in text


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.split() == ["grouser", __version__]


def test_help_imports_neither_numba_nor_matplotlib_nor_scipy() -> None:
    code = (
        "import sys; from grouser.cli import run; run(['--help']); run(['simulate', '--help']); "
        "sys.exit(bool({'numba', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_public_names_are_all_there_and_listed() -> None:
    import grouser

    for name in grouser.__all__:
        assert getattr(grouser, name) is not None
    assert set(grouser.__all__) <= set(dir(grouser))
    with pytest.raises(AttributeError, match="no attribute 'flying'"):
        grouser.flying  # noqa: B018
