"""Slip laws in any axes: turned inputs and turned directions give the turned slip."""

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.law import call_law

MODELS = {
    "body": (gr.slip.BodySlip, [-0.11, -0.07, -0.19, -0.13, 0.05, -0.31]),
    "drive frame": (gr.slip.DriveFrameSlip, [-0.11, -0.07, -0.19, -0.13, 0.05, -0.31, -0.02]),
}


@entry
def call(address, par, x, out, jac):
    call_law(address, par, x, out, jac)


def slip(model, omega, v, force):
    out = np.zeros(6)
    call(*model.bound.pair, np.concatenate([omega, v, force]), out, np.zeros(1))
    return out


@pytest.mark.parametrize("kind", MODELS)
def test_turned_axes_and_inputs_give_the_turned_slip(kind):
    make, parameters = MODELS[kind]
    plain = make(parameters)
    rng = np.random.default_rng(3)
    for _ in range(20):
        R = gr.rotation.from_rpy(*rng.uniform(-3.0, 3.0, 3))
        turned = make(parameters, lon=R[:, 0], lat=R[:, 1], ang=R[:, 2], up=R[:, 2])
        omega, v = rng.normal(size=3), rng.normal(size=3)
        force = np.array([*rng.normal(size=2), -9.0])
        here = slip(plain, omega, v, force)
        there = slip(turned, R @ omega, R @ v, R @ force)
        np.testing.assert_allclose(there[:3], R @ here[:3], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(there[3:], R @ here[3:], rtol=0.0, atol=1e-12)


def test_each_coefficient_acts_on_its_own_velocity():
    omega, v, force = np.array([0.3, -0.2, 0.7]), np.array([0.8, -0.4, 0.1]), np.array([1.1, -0.6, -9.0])
    f_lon, f_lat = force[0] / force[2], force[1] / force[2]
    expected = {  # T (2.49), (2.50)
        0: (3, f_lon * abs(v[0])), 1: (3, v[0]), 2: (4, f_lat * abs(v[0])),
        3: (2, f_lat * v[0]), 4: (2, v[0]), 5: (2, omega[2]),
    }  # fmt: skip
    for k, (entry_of, value) in expected.items():
        out = slip(gr.slip.BodySlip(np.eye(6)[k]), omega, v, force)
        wanted = np.zeros(6)
        wanted[entry_of] = value
        np.testing.assert_allclose(out, wanted, rtol=0.0, atol=1e-14)
