"""Halving the step divides the error by 2 to the order of the integrator, on smooth ground."""

import math

import numpy as np
import pytest

import grouser as gr


def hills(x, y):
    h = 0.15 * math.sin(0.9 * x + 0.2) * math.cos(0.7 * y)
    gx = 0.135 * math.cos(0.9 * x + 0.2) * math.cos(0.7 * y)
    gy = -0.105 * math.sin(0.9 * x + 0.2) * math.sin(0.7 * y)
    return h, gx, gy


@pytest.fixture(scope="module")
def ground():
    return gr.terrain.law(hills)


def errors(name, ground, integrator, steps, rates):
    """Distance of the last state from the reference, RK4 with a step a fifth of the shortest (625 times closer)."""
    vehicle = gr.vehicle(name)
    # Fixed: by default the time constant follows the step. Long, so that its decay is resolved by every step.
    model = gr.Kinematics(vehicle, time_constant=0.5)
    start = gr.settle(vehicle, ground, x=0.1, y=0.2, yaw=0.4).state
    drive = gr.drive.constant(rates)

    def end(integrator, dt):
        run = gr.simulate(model.replace(integrator=integrator), ground, drive, duration=2.0, dt=dt, start=start)
        assert run.status == "ok"
        return run.state[-1]

    reference = end("rk4", 0.002)
    return np.array([np.linalg.norm(end(integrator, dt) - reference) for dt in steps])


CASES = [("zoe", [2.0, 2.4, 2.2, 2.5]), ("rocky7", [0.1, 4, 4, 4, 0.2, 5, 5, 5]), ("husky", [2.0, 3.0, 2.0, 3.0])]


@pytest.mark.parametrize(("name", "rates"), CASES, ids=[c[0] for c in CASES])
def test_euler_is_of_first_order(name, rates, ground):
    e = errors(name, ground, "euler", [0.04, 0.02, 0.01], rates)
    order = np.log2(e[:-1] / e[1:])
    print(name, e, order)
    np.testing.assert_allclose(order, 1.0, rtol=0.0, atol=0.2)


@pytest.mark.parametrize(("name", "rates"), CASES, ids=[c[0] for c in CASES])
def test_runge_kutta_is_of_fourth_order(name, rates, ground):
    e = errors(name, ground, "rk4", [0.08, 0.04, 0.02], rates)
    order = np.log2(e[:-1] / e[1:])
    print(name, e, order)
    assert e[-1] > 1e-11  # well above rounding, or the slope would mean nothing
    np.testing.assert_allclose(order, 4.0, rtol=0.0, atol=0.3)
