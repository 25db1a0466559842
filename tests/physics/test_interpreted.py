"""The compiled engine against the same functions run by plain Python, and with every index checked."""

import os
import subprocess
import sys

import numpy as np
import pytest

ROUNDING = 1e-11
"""Only the order of sums differs. A start that is shifted by δ changes the numbers below by up to 120 δ, where a wheel
passes from one cell of the ground to the next, and a contact is found within 1e-13."""
SCRIPT = """
import sys
import numpy as np
import grouser as gr
rough = gr.terrain.rough(rms=0.05, length=0.2, seed=2, size=6.0)
ground = gr.terrain.stack(rough, gr.terrain.moved(gr.terrain.plane(-0.1), x=0.3, yaw=0.2))
slip = gr.slip.BodySlip([-0.1, -0.02, -0.1, -0.1, 0.0, -0.05])
arrays = []
for name, integrator in (("rocky7", "euler"), ("zoe", "rk4")):
    model = gr.Kinematics(gr.vehicle(name), slip=slip, integrator=integrator)
    run = gr.simulate(model, ground, gr.drive.arc(0.5, 0.2), duration=0.4, dt=0.04)
    assert run.status == "ok", run.status
    arrays += [run.state, run.velocity, run.contact.point, run.contact.velocity]
np.save(sys.argv[1], np.concatenate([a.ravel() for a in arrays]))
"""


def numbers(tmp_path, **environment):
    """What the script computes in a process of its own."""
    file = tmp_path / "numbers.npy"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(file)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return numbers(tmp_path_factory.mktemp("compiled"))


def test_compiled_and_interpreted_runs_agree(tmp_path, compiled):
    interpreted = numbers(tmp_path, NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(compiled, interpreted, atol=ROUNDING, rtol=ROUNDING)


def test_no_kernel_reads_or_writes_past_an_array(tmp_path, compiled):
    """Numba raises IndexError on the first index out of bounds; compiles the engine once more, about a minute."""
    checked = numbers(tmp_path, NUMBA_BOUNDSCHECK="1", GROUSER_CACHE_DIR=str(tmp_path / "cache"))
    np.testing.assert_allclose(compiled, checked, atol=ROUNDING, rtol=ROUNDING)
