"""Ctrl-C ends a run with what it has done so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

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


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_keeps_what_was_rolled_out(threads):
    model, commands = gr.Kinematics(HUSKY), np.full((20_000, 250, 4), 3.0)
    gr.rollout(model, gr.terrain.plane(), commands[:2])
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def progress(done, total):  # after the first block of many
        if not timer.ident:
            timer.start()

    many = gr.rollout(model, gr.terrain.plane(), commands, threads=threads, progress=progress)
    timer.join()
    counts = many.counts()
    assert counts["ok"] > 0
    assert counts["interrupted"] > 0
    assert counts["ok"] + counts["interrupted"] == 20_000
    assert (many.steps[many.status == "interrupted"] < 250).all()  # those that were on their way keep their steps
    assert (many.steps[many.status == "interrupted"] == 0).sum() >= counts["interrupted"] - threads
    assert (many.steps[many.ok] == 250).all()
    assert np.isnan(many.outcome.largest_tilt[many.steps == 0]).all()


def test_a_fit_driven_by_a_function_is_interrupted_too():
    motion = gr.MotionModel(model=gr.Kinematics(HUSKY), powertrain=gr.motion.Powertrain(delay=0.1))

    def drive(t, state):
        if t > 0.5:
            raise KeyboardInterrupt
        return np.full(4, 3.0)

    run = gr.simulate(motion, gr.terrain.plane(), drive, duration=4.0, dt=DT, samples=3)
    assert (run.status, run.steps) == ("interrupted", 13)


def test_the_command_line_says_so_with_130():
    command = [sys.executable, "-m", "grouser", "rollout", "husky", "--rollouts", "2000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("2000000 rollouts: " in line for line in process.stderr)  # the first report of progress
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert "interrupted, by Ctrl-C" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("kind", ["kinematic", "dynamic"])
def test_a_drive_may_ask_for_the_contacts_of_its_state(kind):
    ground = gr.terrain.rough(rms=0.03, length=0.8, seed=2)
    model = gr.Kinematics(HUSKY) if kind == "kinematic" else gr.Dynamics(HUSKY)
    seen = []

    def drive(t, state, velocity, contact):
        seen.append(contact)
        return np.full(4, 3.0) + t

    run = gr.simulate(model, ground, drive, duration=10 * DT, dt=DT)
    seen = seen[-11:]  # dynamics asks once before, for the velocity it starts with
    for k in range(1, 11):
        np.testing.assert_allclose(seen[k].point, run.contact.point[k], rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(seen[k].normal, run.contact.normal[k], rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(seen[k].height_error, run.contact.height_error[k], rtol=0.0, atol=1e-9)
        if kind == "dynamic":  # a kinematic run records the velocity that the command gives
            np.testing.assert_allclose(seen[k].velocity, run.contact.velocity[k], rtol=0.0, atol=1e-8)
            np.testing.assert_allclose(seen[k].force, run.contact.force[k - 1], rtol=1e-9, atol=1e-9)
        else:
            assert seen[k].force is None
