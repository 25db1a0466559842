"""The help of every command fits on one screen and shows an example; importing Grouser is light."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.main import get_command

from grouser.cli import run
from grouser.cli.app import app

COLUMNS, LINES = 120, 46
"""A window of half a laptop's screen. `calibrate`, with 26 options, takes most of it; all others fit into 40 lines."""
COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_on_one_screen_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("TERMINAL_WIDTH", str(COLUMNS))
    assert run([command, "--help"] if command else ["--help"]) == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    lines = text.strip().splitlines()
    assert max(map(len, lines)) <= COLUMNS
    assert len(lines) <= (LINES if command == "calibrate" else 40)
    assert (f"Example: grouser {command}" if command else "Start with: grouser demo") in text


def test_importing_grouser_loads_neither_matplotlib_nor_an_optimiser() -> None:
    code = (
        "import sys, grouser; "
        "heavy = [m for m in sys.modules if m.partition('.')[0] in ('matplotlib', 'scipy', 'numba', 'pandas')]; "
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_simulating_loads_neither_matplotlib_nor_an_optimiser() -> None:
    code = (
        "import sys, grouser as gr; "
        "gr.simulate(gr.Kinematics(gr.vehicle('zoe')), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.2); "
        "heavy = [m for m in sys.modules if m.startswith(('matplotlib', 'scipy.optimize', 'pandas'))]; "
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
