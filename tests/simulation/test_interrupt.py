"""Ctrl-C ends a run with what it has done so far."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np

import grouser as gr

HUSKY, DT = gr.vehicle("husky"), 0.04


def test_in_a_drive_in_python_the_run_ends_there():
    def drive(t, state):
        if t > 0.5:
            raise KeyboardInterrupt
        return np.full(4, 3.0)

    run = gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), drive, duration=10.0, dt=DT)
    whole = gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), np.full((13, 4), 3.0), duration=13 * DT, dt=DT)
    assert (run.status, run.steps) == ("interrupted", 13)
    np.testing.assert_array_equal(run.state, whole.state[: len(run.state)])


def test_a_drive_may_ask_for_the_velocity_of_the_last_step():
    seen = []

    def drive(t, state, velocity):
        seen.append(velocity)
        return np.full(4, 3.0)

    run = gr.simulate(gr.Dynamics(HUSKY), gr.terrain.plane(), drive, duration=5 * DT, dt=DT)
    np.testing.assert_array_equal(seen[2], run.velocity[2])


LONG = """
import grouser as gr
drive = gr.Kinematics(gr.vehicle("husky")), gr.terrain.plane(), gr.drive.arc(1.0, 0.5)
gr.simulate(*drive, duration=0.1, dt=0.01)
print("ready", flush=True)
run = gr.simulate(*drive, duration=400_000.0, dt=0.01, every=100_000)
print(run.status, run.steps, len(run.state), flush=True)
"""


def test_inside_the_engine_the_run_ends_soon():
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1.0)  # the whole run would take a minute or more
        process.send_signal(signal.SIGINT)
        said = process.stdout.read().split()
    assert said[0] == "interrupted"
    assert 0 < int(said[1]) < 40_000_000
    assert 0 < int(said[2]) < 400
