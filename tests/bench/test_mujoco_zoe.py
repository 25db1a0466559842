"""The MuJoCo side of `make bench`: the same vehicle on the same ground, and the step of equal error."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from experiments import zoe_benchmark

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (pip install mujoco)")

FILE = Path(__file__).parents[2] / "bench" / "mujoco_zoe.py"
GRAVITY = 9.81


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("mujoco_zoe", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ground():
    return gr.terrain.rough(rms=zoe_benchmark.RMS, length=zoe_benchmark.LENGTH, seed=1)


def test_height_field_is_our_ground(bench, ground):
    model = bench.compiled(gr.vehicle("zoe"), ground, timestep=0.002)
    at_nodes, anywhere = bench.ground_errors(model, ground, points=200)
    assert at_nodes < 1e-6
    assert anywhere < 0.005  # two triangles in a cell of 0.1 m, ours is bilinear


def test_vehicle_has_our_mass_and_joints(bench, ground):
    zoe = gr.vehicle("zoe")
    model = bench.compiled(zoe, ground, timestep=0.002)
    massless = sum(f.mass == 0.0 for f in zoe.frames)
    assert model.body_mass.sum() == pytest.approx(zoe.mass + massless * bench.LINK_MASS, rel=1e-12)
    assert model.nv == 6 + zoe.n_joints
    assert [model.joint(1 + i).name for i in range(zoe.n_joints)] == list(zoe.joints)


def test_parked_on_a_plane_the_contacts_carry_the_weight(bench):
    zoe = gr.vehicle("zoe")
    model = bench.compiled(zoe, gr.terrain.plane(), timestep=0.002)
    data = mujoco.MjData(model)
    data.qpos[:], _ = bench.start(zoe, gr.terrain.plane())
    mujoco.mj_step(model, data, nstep=2000)
    weight = model.body_mass.sum() * GRAVITY
    assert data.qfrc_constraint[2] == pytest.approx(weight, rel=1e-3)


def test_drive_steers_the_axle_back_and_is_taken_off(bench):
    zoe, flat = gr.vehicle("zoe"), gr.terrain.plane()
    model = bench.compiled(zoe, flat, timestep=0.002)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = bench.start(zoe, flat)
    data.joint("s1").qpos[0] = 0.2
    with bench.driven(zoe, model, data):
        mujoco.mj_forward(model, data)
        radius = 0.325
        assert data.ctrl == pytest.approx(np.array([1.2, 0.8, 1.0, 1.0]) / radius)
        mujoco.mj_step(model, data, nstep=2000)
    assert abs(data.joint("s1").qpos[0]) < 0.02
    assert mujoco.get_mjcb_control() is None


def test_both_integrators_drive_alike_and_about_as_far_as_ours(bench, ground):
    zoe = gr.vehicle("zoe")
    ends = [bench.run(zoe, ground, timestep=0.005, integrator=i, duration=2.0)[0] for i in ("implicitfast", "Euler")]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    ours = zoe_benchmark.trial(zoe_benchmark.PIECEWISE, 1, 0.04).run().position[50]
    assert np.linalg.norm(ends[0] - ours) < 0.2


@pytest.mark.parametrize(
    ("wanted", "step", "found"),
    [(0.04, 0.004, "equal"), (0.001, 0.001, "at most"), (0.5, 0.01, "at least")],
)
def test_step_of_equal_error(bench, wanted, step, found):
    got = bench.step_of_equal_error([0.001, 0.002, 0.01], [0.01, 0.02, 0.1], wanted)
    assert got[0] == pytest.approx(step)
    assert got[1] == found


def test_a_step_that_broke_down_is_left_out(bench):
    assert bench.step_of_equal_error([0.001, 0.01], [0.01, math.nan], 0.02) == (0.001, "at least")
