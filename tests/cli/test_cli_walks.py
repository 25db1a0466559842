"""A command loads few modules of Grouser: those it uses. Whoever reads what a command does walks through these."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import drive_files

LOADED = """
import sys
from grouser.cli import run
code = run(sys.argv[1:])
print("\\n", *(name for name in sys.modules if name.partition(".")[0] == "grouser"))
sys.exit(code)
"""
SPARE = 4
"""Modules that a bound leaves for what may come."""


def loaded(*arguments: str | Path) -> set[str]:
    """Modules that a command has loaded when it ends."""
    command = [sys.executable, "-c", LOADED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def below(modules: set[str], *packages: str) -> list[str]:
    """Those of some packages; a package itself is light."""
    return sorted(m for m in modules if any(m.startswith(f"grouser.{one}.") for one in packages))


def test_simulating_and_viewing_loads_neither_forces_nor_logs_nor_other_grounds(tmp_path: Path) -> None:
    modules = loaded("simulate", "zoe", "--view", tmp_path / "run.html")
    assert not below(
        modules, "_kernels.dynamics", "dynamics", "contact", "actuation", "joints", "slip", "logs", "motion"
    )
    assert not modules & {"grouser.terrain.mesh", "grouser.terrain.grid", "grouser.vehicles.urdf", "grouser.threads"}
    assert len(modules) <= 96 + SPARE  # with samples of a fit; margin, slip and energy of every run; kinds of wheels


def test_calibrating_and_odometry_load_no_forces_and_no_rollouts(tmp_path: Path) -> None:
    log, manifest = drive_files.write(tmp_path)
    fit = tmp_path / "fit.toml"
    absent = ("_kernels.dynamics", "_kernels.simulation", "dynamics", "contact", "actuation", "joints", "simulation")
    modules = loaded("calibrate", log, "--manifest", manifest, "--out", fit)
    assert not below(modules, *absent, "odometry", "terrain")
    assert len(modules) <= 123 + SPARE  # with log checks, choice of the model, corrections, decoys
    modules = loaded("odometry", log, "--manifest", manifest, "--fit", fit)
    assert not below(modules, *absent, "calibration")
    assert (
        len(modules) <= 144 + SPARE
    )  # with log checks, a learned correction, a schedule of models and wheels under suspicion
