"""One step from Python is the step of a run, whoever used the work space before."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr

ROCKY = gr.vehicle("rocky7")
GROUNDS = [gr.terrain.rough(rms=0.03, length=0.3, seed=seed) for seed in (1, 2)]
COMMANDS = np.random.default_rng(1).uniform(-1.0, 2.0, (12, len(ROCKY.actuated)))


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_step_is_that_of_a_run_on_each_ground_and_for_each_dt(integrator):
    model = gr.Kinematics(ROCKY, integrator=integrator)
    cases = [(ground, dt) for ground in GROUNDS for dt in (0.02, 0.04, 0.05)]
    runs = [gr.simulate(model, ground, COMMANDS, duration=12 * dt, dt=dt) for ground, dt in cases]
    for k in range(12):  # one after the other, so that each call finds the work space of another
        for (ground, dt), run in zip(cases, runs, strict=True):
            step = model.step(run.state[k], COMMANDS[k], ground, dt=dt)
            np.testing.assert_allclose(step.state, run.state[k + 1], rtol=0.0, atol=1e-14)
            np.testing.assert_allclose(step.velocity, run.velocity[k], rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(step.contact_velocity, run.contact.velocity[k], rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(step.height_error, run.contact.height_error[k], rtol=0.0, atol=1e-13)
            assert not step.deficient


def test_its_velocity_is_that_of_the_velocity_solution():
    model = gr.Kinematics(ROCKY)
    state = gr.settle(ROCKY, GROUNDS[0]).state
    step = model.step(state, COMMANDS[0], GROUNDS[0], dt=0.1)  # as long as the time constant without a step
    velocity = model.velocity(state, COMMANDS[0], GROUNDS[0])
    np.testing.assert_allclose(step.velocity, velocity.value, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(step.contact_velocity, velocity.contact_velocity, rtol=0.0, atol=1e-12)


def test_what_it_cannot_do_is_an_error_and_the_next_step_is_right():
    model, x = gr.Kinematics(ROCKY, tip_angle=1.0), np.linspace(-1.0, 1.0, 5)
    ground = gr.terrain.grid(np.zeros((5, 5)), x, x)
    state = gr.settle(ROCKY, ground).state
    wanted = model.step(state, COMMANDS[0], ground, dt=0.04).state
    beyond, lying = state.copy(), state.copy()
    beyond[4] = 5.0
    lying[:4] = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    with pytest.raises(gr.GrouserError, match="the ground ends under a wheel of 'rocky7' at x = 5"):
        model.step(beyond, COMMANDS[0], ground, dt=0.04)
    with pytest.raises(gr.GrouserError, match="tilted beyond tip_angle, 1 rad"):
        model.step(lying, COMMANDS[0], ground, dt=0.04)
    for bad in (np.zeros_like(state), np.full_like(state, np.nan), state[:-1], "state", None):
        with pytest.raises(gr.GrouserError, match="state"):
            model.step(bad, COMMANDS[0], ground, dt=0.04)
    with pytest.raises(gr.GrouserError, match="command: has shape"):
        model.step(state, COMMANDS[0][:-1], ground, dt=0.04)
    with pytest.raises(gr.GrouserError, match="command: entry"):
        model.step(state, np.full(len(ROCKY.actuated), np.inf), ground, dt=0.04)
    with pytest.raises(gr.GrouserError, match="dt: -1 is not positive"):
        model.step(state, COMMANDS[0], ground, dt=-1)
    with pytest.raises(gr.GrouserError, match="is not a Terrain"):
        model.step(state, COMMANDS[0], None, dt=0.04)
    np.testing.assert_array_equal(model.step(state, COMMANDS[0], ground, dt=0.04).state, wanted)


def test_many_steps_and_grounds_do_not_make_it_keep_more_and_more():
    model = gr.Kinematics(ROCKY)
    state = gr.settle(ROCKY, gr.terrain.plane()).state
    for dt in np.linspace(0.01, 0.1, 50):
        model.step(state, COMMANDS[0], gr.terrain.plane(), dt=dt)
    assert len(model._kept) <= 16


def test_a_dynamic_step_ends_where_its_velocity_leads():
    model = gr.Dynamics(ROCKY)
    state = gr.settle(ROCKY, GROUNDS[0], penetration=model.penetration).state
    run = gr.simulate(model, GROUNDS[0], COMMANDS, duration=0.04, dt=0.04)
    step = model.step(state, run.velocity[0], COMMANDS[0], GROUNDS[0], dt=0.04)
    # A step by itself takes c at its start, a run at the mean velocity: they differ by the order of the step.
    np.testing.assert_allclose(step.state, run.state[1], rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(step.velocity, run.velocity[1], rtol=0.0, atol=3e-4)
    np.testing.assert_allclose(step.acceleration, (step.velocity - run.velocity[0]) / 0.04, rtol=0.0, atol=1e-12)
