"""Outcomes of many rollouts are those of the same runs one by one."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.simulation.outcome import happened

ZOE = gr.vehicle("zoe")
ROUGH = gr.terrain.rough(rms=0.1, length=0.8, seed=3)
COMMANDS = 3.0 + np.random.default_rng(1).normal(size=(3, 30, 4))
DT = 0.04


@pytest.mark.parametrize(
    "model",
    [gr.Kinematics(ZOE, slip=gr.slip.BodySlip([-0.2, 0.0, -0.3, 0.0, 0.0, -0.2])), gr.Dynamics(ZOE)],
    ids=["kinematic", "dynamic"],
)
def test_they_are_those_of_single_runs(model):
    many = gr.rollout(model, ROUGH, COMMANDS, dt=DT, every=10)
    plain = gr.rollout(model, ROUGH, COMMANDS, dt=DT, every=10, outcome=False)
    np.testing.assert_array_equal(many.state, plain.state)
    np.testing.assert_array_equal(many.final_state, plain.final_state)
    np.testing.assert_array_equal(many.time, plain.time)
    assert plain.outcome is None
    for i, commands in enumerate(COMMANDS):
        run = gr.simulate(model, ROUGH, commands, duration=30 * DT, dt=DT)
        said = happened(run)
        assert many.outcome.distance[i] == pytest.approx(run.distance, rel=1e-12)
        assert np.degrees(many.outcome.least_tip_margin[i]) == pytest.approx(said["least_tip_margin_deg"], rel=1e-12)
        assert np.degrees(many.outcome.largest_tilt[i]) == pytest.approx(said["largest_tilt_deg"], rel=1e-12)
        assert many.outcome.slid[i] == pytest.approx(said["slid"], rel=1e-12)
        assert many.outcome.sliding_time[i] == pytest.approx(said["sliding_time"], rel=1e-12)
        assert many.outcome.largest_slip[i] == pytest.approx(said["largest_slip"], rel=1e-12)
        if said["energy"] is None:
            assert many.outcome.energy is None
        else:
            assert many.outcome.energy[i] == pytest.approx(said["energy"], rel=1e-12)


def test_one_that_leaves_the_map_counts_up_to_there():
    x = np.linspace(-2.0, 2.0, 5)
    ground, commands = gr.terrain.grid(np.zeros((5, 5)), x, x), np.full((2, 200, 4), 3.0)
    commands[1] = 0.1
    many = gr.rollout(gr.Kinematics(ZOE), ground, commands, dt=DT, outcome=True)
    assert many.status.tolist() == ["off_terrain", "ok"]
    ends = many.final_position - gr.settle(ZOE, ground).state[4:7]
    np.testing.assert_allclose(many.outcome.distance, np.linalg.norm(ends, axis=1), rtol=1e-9)
