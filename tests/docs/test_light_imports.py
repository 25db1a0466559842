"""Importing Grouser is light, and so is simulating."""

from __future__ import annotations

import subprocess
import sys


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
