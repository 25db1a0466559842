"""The same bytes, whatever the number of threads, the batch it stands in, or its neighbours."""

import os
import subprocess
import sys

import numpy as np
import pytest

import grouser as gr

DT, STEPS, N = 0.04, 60, 37


@pytest.fixture(scope="module")
def scene():
    vehicle = gr.vehicle("zoe")
    ground = gr.terrain.rough(0.12, 0.8, 4, size=20.0)
    rng = np.random.default_rng(0)
    commands = rng.uniform(0.5, 3.0, (N, 1, 4)) + 0.3 * rng.standard_normal((N, STEPS, 4))
    start = gr.settle(vehicle, ground, yaw=0.4).state
    return gr.Kinematics(vehicle), ground, commands, start


def test_a_repeat_is_the_same(scene):
    model, ground, commands, start = scene
    a, b = (gr.rollout(model, ground, commands, start=start, dt=DT, every=5) for _ in range(2))
    assert a.state.tobytes() == b.state.tobytes()


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_batch_of_one_is_the_batch_of_many(scene, integrator):
    model, ground, commands, start = scene
    model = model.replace(integrator=integrator)
    many = gr.rollout(model, ground, commands, start=start, dt=DT, every=7)
    for i in (0, 5, N - 1):
        one = gr.rollout(model, ground, commands[i : i + 1], start=start, dt=DT, every=7)
        assert one.state[0].tobytes() == many.state[i].tobytes()
        assert one.final_state[0].tobytes() == many.final_state[i].tobytes()


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_one_recorded_run_is_the_rollout_of_its_commands(scene, integrator):
    model, ground, commands, start = scene
    model = model.replace(integrator=integrator, slip=gr.slip.BodySlip([-0.3, -0.1, -0.4, 0, 0.01, -0.1]))
    many = gr.rollout(model, ground, commands, start=start, dt=DT, every=1)
    run = gr.simulate(model, ground, commands[3], duration=STEPS * DT, dt=DT, start=start)
    assert run.state.tobytes() == many.state[3].tobytes()
    assert run.state[-1].tobytes() == many.final_state[3].tobytes()


def test_recording_less_changes_nothing(scene):
    model, ground, commands, start = scene
    full = gr.rollout(model, ground, commands, start=start, dt=DT, every=1)
    some = gr.rollout(model, ground, commands, start=start, dt=DT, every=6)
    last = gr.rollout(model, ground, commands, start=start, dt=DT)
    assert some.state.tobytes() == np.ascontiguousarray(full.state[:, ::6]).tobytes()
    assert last.final_state.tobytes() == full.final_state.tobytes()
    assert last.state.shape[1] == 0
    np.testing.assert_allclose(some.time, DT * 6 * np.arange(STEPS // 6 + 1))


def test_one_rollout_off_the_map_disturbs_no_other(scene):
    model, _, commands, _ = scene
    small = gr.terrain.rough(0.05, 0.8, 4, size=10.0)
    start = gr.settle(model.vehicle, small).state
    good = gr.rollout(model, small, commands[:8], start=start, dt=DT, every=4)
    assert good.ok.all()
    bad = commands[:8].copy()
    bad[3] = 60.0  # 20 m/s: over the edge within the first second
    mixed = gr.rollout(model, small, bad, start=start, dt=DT, every=4)
    assert mixed.status[3] == "off_terrain"
    others = [i for i in range(8) if i != 3]
    assert mixed.state[others].tobytes() == good.state[others].tobytes()
    assert (mixed.status[others] == "ok").all()
    assert np.isfinite(mixed.state).all()
    assert np.isfinite(mixed.final_state).all()
    others = dict.fromkeys(("rolled_over", "diverged", "unsolved", "gained_energy", "buried"), 0)
    assert mixed.counts() == {"ok": 7, "off_terrain": 1, **others}
    # Rows after the end repeat the last good state.
    ended = mixed.steps[3] // 4 + 1
    assert (mixed.state[3, ended:] == mixed.final_state[3]).all()


SCRIPT = """
import hashlib, numpy as np, grouser as gr
vehicle = gr.vehicle("rocky7")
ground = gr.terrain.rough(0.03, 0.5, 4, size=10.0)
commands = np.random.default_rng(0).uniform(-0.2, 0.2, (64, 40, 8)) + [0, 4, 4, 4, 0, 4, 4, 4]
for slip in (None, gr.slip.BodySlip([-0.3, -0.1, -0.4, 0, 0.01, -0.1])):
    model = gr.Kinematics(vehicle, slip=slip)
    for threads in (1, 2, 8):
        many = gr.rollout(model, ground, commands, every=8, threads=threads)
        print(hashlib.sha256(many.state.tobytes() + many.final_state.tobytes()).hexdigest())
"""


def test_one_two_and_eight_threads_give_the_same_bytes():
    environment = {**os.environ, "NUMBA_NUM_THREADS": "8"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split()
    assert len(lines) == 6
    assert len(set(lines[:3])) == 1
    assert len(set(lines[3:])) == 1
    assert lines[0] != lines[3]
