"""A recorded simulation is the run that `simulate` returns; another model continues where the last one was."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.simulation import Recorder

ROCKY = gr.vehicle("rocky7")
GROUND = gr.terrain.rough(rms=0.05, length=0.8, seed=4, size=12.0)
COMMANDS = 4.0 + np.random.default_rng(2).uniform(-1.0, 1.0, (25, len(ROCKY.actuated)))


def arrays_of(run: gr.Run) -> dict[str, Any]:
    parts = {"run": run, "contact": run.contact, "solver": run.solver}
    return {
        f"{name}.{field.name}": getattr(part, field.name)
        for name, part in parts.items() if part is not None
        for field in dataclasses.fields(part) if isinstance(getattr(part, field.name), np.ndarray)
    }  # fmt: skip


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("kind", [gr.Kinematics, gr.Dynamics])
def test_recorded_simulation_is_the_run_of_the_same_commands(kind: Any, every: int, tmp_path: Path) -> None:
    model = kind(ROCKY)
    rest = {} if kind is gr.Kinematics else {"velocity": np.zeros(6 + ROCKY.n_joints)}
    held = np.concatenate([COMMANDS, COMMANDS[-1:]])
    wanted = gr.simulate(model, GROUND, held, duration=1.0, dt=0.04, every=every, **rest)
    recorder = Recorder(gr.Simulation(model, GROUND, dt=0.04), every=every)
    for command in COMMANDS:
        assert recorder.step(command).status is gr.Status.OK
    now = recorder.sim.state
    found = recorder.run()
    np.testing.assert_array_equal(recorder.sim.state, now)  # looking at the last row moves nothing
    assert (found.steps, found.dt, found.status, found.halved_steps) == (25, 0.04, gr.Status.OK, wanted.halved_steps)
    assert found.deficient_steps == wanted.deficient_steps
    ours, theirs = arrays_of(found), arrays_of(wanted)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        np.testing.assert_array_equal(ours[name], value, err_msg=name)
    found.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(gr.Run.load(tmp_path / "run.npz").state, wanted.state)


def test_a_drive_off_the_map_is_recorded_to_its_last_good_state() -> None:
    sim = gr.Simulation(gr.Kinematics(ROCKY), GROUND, dt=0.04, start=(5.0, 0.0, 0.0))
    recorder = Recorder(sim)
    while sim.status is gr.Status.OK:
        recorder.step(COMMANDS[0])
    run = recorder.run()
    assert run.status is gr.Status.OFF_TERRAIN
    assert len(run.time) in (run.steps, run.steps + 1)
    assert run.position[-1, 0] > run.position[0, 0]


def test_nothing_recorded_is_an_empty_run() -> None:
    for kind in (gr.Kinematics, gr.Dynamics):
        run = Recorder(gr.Simulation(kind(ROCKY), GROUND)).run()
        assert (len(run.time), run.steps, run.state.shape) == (0, 0, (0, 7 + ROCKY.n_joints))


def test_another_friction_lets_a_parked_vehicle_slide_from_where_it_stands() -> None:
    """On 20° a wheel holds with friction above tan 20° = 0.36; with 0.2 it gains g (sin 20° − 0.2 cos 20°)."""
    model = gr.Dynamics(gr.vehicle("husky"), contact=gr.contact.PiecewiseLinear(friction=1.0))
    sim = gr.Simulation(model, gr.terrain.slope(deg=20.0), dt=0.02)
    stand = np.zeros(len(model.vehicle.actuated))
    for _ in range(50):
        sim.step(stand)
    parked = sim.state
    for _ in range(50):
        sim.step(stand)
    assert np.linalg.norm(sim.state[4:7] - parked[4:7]) < 1e-3
    before, time = sim.state, sim.time
    sim.replace_model(model.replace(contact=gr.contact.PiecewiseLinear(friction=0.2)))
    np.testing.assert_array_equal(sim.state, before)
    assert sim.time == time
    speeds = []
    for _ in range(100):
        sim.step(stand)
        speeds.append(np.linalg.norm(sim.velocity[3:6]))
    gained = (speeds[-1] - speeds[49]) / (50 * 0.02)
    assert gained == pytest.approx(9.81 * (np.sin(np.radians(20)) - 0.2 * np.cos(np.radians(20))), rel=0.05)


def test_the_same_model_again_changes_nothing() -> None:
    """Actuators keep their integral, contacts their memory: to the bit, but for checks that begin anew."""
    model = gr.Dynamics(ROCKY, actuator=gr.actuation.PI(gain=20.0, integral=5.0))
    one, other = (gr.Simulation(model, GROUND, dt=0.02) for _ in range(2))
    for k in range(60):
        if k == 30:
            other.replace_model(model.replace())
        one.step(COMMANDS[0])
        other.step(COMMANDS[0])
    np.testing.assert_allclose(other.state, one.state, rtol=0.0, atol=1e-12)


def test_only_a_model_with_the_same_joints_continues() -> None:
    sim = gr.Simulation(gr.Dynamics(ROCKY), GROUND)
    for other in (gr.Kinematics(ROCKY), gr.Dynamics(gr.vehicle("husky"))):
        with pytest.raises(gr.GrouserError, match="is not a Dynamics with the joints of 'rocky7'"):
            sim.replace_model(other)
