"""One motion computed in several ways: on one surface described differently, on threads, and by a stiff solver."""

import os
import subprocess
import sys

import numpy as np
import pytest

import grouser as gr
from experiments.stiff_ode import simulate_ode

MODELS = {
    "kinematic": lambda v: gr.Kinematics(v, slip=gr.slip.BodySlip([-0.2, -0.03, -0.3, 0.01, 0.0, -0.4])),
    "dynamic": lambda v: gr.Dynamics(v, contact=gr.contact.Pacejka(), tolerance=1e-9 * v.mass * 9.81),
}


def triangles(heights, x, y):
    """A mesh through the nodes of a grid."""
    X, Y = np.meshgrid(x, y, indexing="ij")
    vertices = np.stack([X, Y, heights], axis=-1).reshape(-1, 3)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(len(x) - 1), np.arange(len(y) - 1), indexing="ij"))
    corner = i * len(y) + j
    lower = np.stack([corner, corner + len(y), corner + len(y) + 1], axis=1)
    upper = np.stack([corner, corner + len(y) + 1, corner + 1], axis=1)
    return gr.terrain.mesh(vertices, np.concatenate([lower, upper]))


@pytest.mark.parametrize("model", MODELS)
def test_a_drive_on_a_plane_a_grid_a_spline_and_a_mesh_of_it_is_one_drive(model):
    vehicle = gr.vehicle("zoe")
    slope = gr.terrain.slope(7.0, heading_deg=130.0)
    x, y = np.linspace(-4.0, 6.0, 21), np.linspace(-4.0, 4.0, 17)
    heights = slope.height(*np.meshgrid(x, y, indexing="ij"))
    same = [gr.terrain.grid(heights, x, y), gr.terrain.spline(heights, x, y), triangles(heights, x, y)]
    same.append(gr.terrain.grid(heights, x, y, interpolation="bicubic"))

    def drive(ground):
        run = gr.simulate(MODELS[model](vehicle), ground, gr.drive.arc(0.8, 0.2), duration=2.0, start=(0.1, 0.2, 0.3))
        assert run.status == "ok"
        return run

    wanted = drive(slope)
    for ground in same:
        np.testing.assert_allclose(drive(ground).state, wanted.state, rtol=0.0, atol=1e-9)


SCRIPT = """
import hashlib, numpy as np, grouser as gr
vehicle = gr.vehicle("zoe")
ground = gr.terrain.rough(0.05, 0.8, 4, size=10.0)
commands = np.random.default_rng(0).uniform(1.0, 3.0, (24, 20, 4))
commands[5] = 60.0
for contact in (gr.contact.Pacejka(), gr.contact.Ishigami()):
    for threads in (1, 2, 8):
        many = gr.rollout(gr.Dynamics(vehicle, contact=contact), ground, commands, every=5, threads=threads)
        print(hashlib.sha256(many.state.tobytes() + many.final_velocity.tobytes()).hexdigest())
"""


def test_one_two_and_eight_threads_give_the_same_bytes_of_dynamics():
    environment = {**os.environ, "NUMBA_NUM_THREADS": "8"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split()
    assert len(set(lines[:3])) == len(set(lines[3:])) == 1
    assert lines[0] != lines[3]


@pytest.mark.parametrize("name", ["husky"])
def test_ten_seconds_of_rough_ground_end_within_a_percent_of_the_stiff_solution(name):
    """Steps of 0.04 s against SciPy's stiff solver on the same forces; T §2.5.2 compares at steps of 0.01 to 0.1 s."""
    vehicle = gr.vehicle(name)
    weight = vehicle.mass * 9.81
    pi = gr.actuation.PI(gain=0.02 * weight, integral=0.02 * weight)
    model = gr.Dynamics(vehicle, contact=gr.contact.Pacejka(), actuator=pi)
    ground, drive = gr.terrain.rough(rms=0.05, length=1.5, seed=2), gr.drive.arc(0.5, 0.1)
    exact = simulate_ode(model, ground, drive, duration=10.0, rtol=1e-4, atol=1e-6)
    assert exact.status == "ok"
    run = gr.simulate(model, ground, drive, duration=10.0, dt=0.04, start=exact.state[0], velocity=exact.velocity[0])
    way = np.linalg.norm(np.diff(exact.state[:, 4:7], axis=0), axis=1).sum()
    assert way > 4.5
    assert np.linalg.norm(run.position[-1] - exact.state[-1, 4:7]) < 0.01 * way
    assert np.linalg.norm(run.position - exact.state[:, 4:7], axis=1).max() < 0.01 * way
