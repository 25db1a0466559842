"""The kinematic simulator on round tyres, told rates that roll without slip, against the rolling solution."""

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.rolling import RollingModel, roll


@pytest.fixture(scope="module")
def rolled():
    """The three-wheeler over hills for 3 s, with recorded joint rates in steps of 5 ms."""
    pvc = gr.vehicle("pvc").replace(couplings=())  # rolling knows no springs, which make wheels slip a little
    ground = gr.terrain.rough(rms=0.15, length=4.0, seed=5, size=40.0, interpolation="spline")
    model = RollingModel(pvc, ground, sigma=5.0)
    start = model.start(x=0.0, y=0.0, yaw=0.3)
    rates = {"alpha1": 1.0, "alpha2": 1.0, "alpha3": 1.0, "phi1": 0.05}
    return pvc, ground, roll(model, rates=rates, duration=3.0, dt=0.005, start=start)


def driven(rolled, every):
    """The simulator's run from the same state with the rates in the middle of its steps."""
    pvc, ground, run = rolled
    middle = run.joint_rates[every // 2 :: every]
    commands = middle[:, [pvc.joint_index(name) for name in pvc.actuated]]
    model = gr.Kinematics(pvc, integrator="rk4")
    dt = 0.005 * every
    return gr.simulate(model, ground, commands, start=run.state[0], duration=dt * len(commands), dt=dt)


def test_the_simulator_rolls_as_the_rolling_solution_does(rolled):
    _, _, run = rolled
    assert run.distance > 1.8
    apart = []
    for every in (8, 4, 2):
        other = driven(rolled, every)
        there = other.state[-1]
        here = run.state[(len(other.time) - 1) * every]
        apart.append(np.abs(there[4:7] - here[4:7]).max())
        assert other.contact.slip_speed.max() < 1e-5 * every  # first order: the rates belong to the middle of a step
    assert apart[2] < 1e-6
    assert apart[0] > 2.5 * apart[1] > 2.5 * 2.5 * apart[2]  # constant rates over a step: second order


def test_contacts_are_those_of_the_rolling_solution(rolled):
    pvc, ground, run = rolled
    for k in range(0, len(run.time), 100):
        touch = contacts(pvc, run.state[k], ground)
        np.testing.assert_allclose(touch.point[:, :2], run.contact.point[k, :, :2], rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(touch.height_error, 0.0, rtol=0.0, atol=1e-6)
