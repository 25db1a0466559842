"""Packages load their names when they are first used, and give what they name, whatever was imported before."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import pytest

import grouser as gr

PACKAGES = (
    "actuation", "bench", "calibration", "collision", "contact", "dynamics", "fusion", "joints", "kinematics", "logs",
    "motion", "odometry", "rolling", "simulation", "slip", "terrain", "traction", "vehicles", "view",
)  # fmt: skip


@pytest.mark.parametrize("name", ["grouser", *(f"grouser.{one}" for one in PACKAGES)])
def test_every_public_name_is_there_and_listed(name: str) -> None:
    package = importlib.import_module(name)
    for public in package.__all__:
        assert getattr(package, public) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'flying'"):
        package.flying  # noqa: B018


def test_a_function_is_not_hidden_by_the_module_of_its_name() -> None:
    code = (
        "import grouser.simulation.simulate, grouser.terrain.grid, grouser.calibration.evaluate; import grouser as gr; "
        "assert callable(gr.simulation.simulate) and callable(gr.terrain.grid) and callable(gr.calibration.evaluate); "
        "from grouser.terrain import grid; assert callable(grid); "
        "from grouser.simulation import drive, files; assert drive.arc and files.save_run"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_they_give_can_be_pickled() -> None:
    model = gr.contact.Pacejka(friction=0.5)
    assert pickle.loads(pickle.dumps(model)) == model
    assert pickle.loads(pickle.dumps(gr.simulate)) is gr.simulate


def test_a_kinematic_run_loads_no_forces_no_calibration_and_no_odometry() -> None:
    code = (
        "import sys, grouser as gr; "
        "gr.simulate(gr.Kinematics(gr.vehicle('zoe')), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.2); "
        "print(*(m for m in sys.modules if m.startswith('grouser')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    unused = (
        "dynamics",
        "contact",
        "actuation",
        "joints",
        "motion",
        "calibration",
        "odometry",
        "rolling",
        "logs",
        "view",
    )
    assert not [m for m in out if m.split(".")[1:2] and m.split(".")[1] in unused]
