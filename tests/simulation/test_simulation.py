"""A simulation moves to the bit as `simulate` does, stops where that ends, and says so."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import threading

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError

ZOE = gr.vehicle("zoe")
GROUND = gr.terrain.rough(rms=0.1, length=0.8, seed=2)
DT, STEPS = 0.04, 40
COMMANDS = 3.0 + np.random.default_rng(0).normal(size=(STEPS, 4))
SLIP = gr.slip.BodySlip([-0.2, -0.03, -0.3, 0.01, 0.0, -0.4])
KINEMATIC = {
    "euler": gr.Kinematics(ZOE),
    "rk4": gr.Kinematics(ZOE, integrator="rk4", slip=SLIP),
}
DYNAMIC = {
    "ideal": gr.Dynamics(ZOE),
    "midpoint": gr.Dynamics(ZOE, integrator="midpoint"),
    "PI": gr.Dynamics(ZOE, actuator=gr.actuation.PI(gain=300.0, integral=20.0)),
    "fixed inertia": gr.Dynamics(ZOE, contact=gr.contact.Pacejka(), fixed_inertia=True, newton="single"),
}


def flat_map(half):
    x = np.linspace(-half, half, 11)
    return gr.terrain.grid(np.zeros((11, 11)), x, x)


@pytest.mark.parametrize("name", KINEMATIC)
def test_a_kinematic_stepper_moves_as_simulate_does(name):
    model = KINEMATIC[name]
    run = gr.simulate(model, GROUND, COMMANDS, duration=STEPS * DT, dt=DT)
    rover = gr.Simulation(model, GROUND, dt=DT)
    for i, command in enumerate(COMMANDS):
        np.testing.assert_array_equal(rover.state, run.state[i])
        assert rover.time == run.time[i]
        assert rover.step(command).status is gr.Status.OK
        np.testing.assert_array_equal(rover.velocity, run.velocity[i])
        np.testing.assert_array_equal(rover.contact_velocity, run.contact.velocity[i])
    np.testing.assert_array_equal(rover.state, run.state[-1])
    assert (rover.steps, rover.force, rover.torque) == (STEPS, None, None)


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_dynamic_stepper_moves_as_simulate_does(name):
    """Actuators remember, Newton's method starts from the step before, a fixed inertia stays that of the start."""
    model = DYNAMIC[name]
    run = gr.simulate(model, GROUND, COMMANDS, duration=STEPS * DT, dt=DT)
    rover = gr.Simulation(model, GROUND, dt=DT, velocity=run.velocity[0])
    for i, command in enumerate(COMMANDS):
        np.testing.assert_array_equal(rover.state, run.state[i])
        np.testing.assert_array_equal(rover.velocity, run.velocity[i])
        rover.step(command)
        np.testing.assert_array_equal(rover.force, run.contact.force[i])
        np.testing.assert_array_equal(rover.torque, run.torque[i])
    np.testing.assert_array_equal(rover.state, run.state[-1])


@pytest.mark.parametrize("model", [KINEMATIC["rk4"], DYNAMIC["PI"]], ids=["kinematic", "dynamic"])
def test_a_copied_stepper_goes_on_alike_after_its_original_is_gone(model):
    rover = gr.Simulation(model, GROUND, dt=DT)
    for command in COMMANDS[:10]:
        rover.step(command)
    copies = [copy.deepcopy(rover), pickle.loads(pickle.dumps(rover))]
    states = []
    for command in COMMANDS[10:]:
        rover.step(command)
        states.append(rover.state)
    del rover
    gc.collect()
    np.full(100_000, np.nan)  # what was freed is likely overwritten
    for other in copies:
        assert other.steps == 10
        for command, state in zip(COMMANDS[10:], states, strict=True):
            other.step(command)
            np.testing.assert_array_equal(other.state, state)


def test_a_reset_begins_anew_with_nothing_remembered():
    rover = gr.Simulation(DYNAMIC["PI"], GROUND, dt=DT, start=(0.5, 0.2, 1.0))
    first = rover.state
    ends = []
    for _ in range(2):
        np.testing.assert_array_equal(rover.state, first)
        assert (rover.steps, rover.time) == (0, 0.0)
        assert not rover.velocity.any()
        assert not rover.force.any()
        for command in COMMANDS[:15]:
            rover.step(command)
        ends.append(rover.state)
        rover.reset()
    np.testing.assert_array_equal(*ends)
    speed = np.full(6 + ZOE.n_joints, 0.1)
    rover.reset(start=(1.0, 0.0, 0.0), velocity=speed)
    np.testing.assert_array_equal(rover.velocity, speed)
    np.testing.assert_array_equal(rover.state, gr.Simulation(DYNAMIC["PI"], GROUND, dt=DT, start=(1.0, 0.0, 0.0)).state)
    rover.reset()
    np.testing.assert_array_equal(rover.state, first)


@pytest.mark.parametrize("kind", [gr.Kinematics, gr.Dynamics])
def test_beyond_the_map_it_stops_with_the_last_good_state(kind):
    husky = gr.vehicle("husky")
    ground, command = flat_map(2.0), np.full(4, 6.0)
    run = gr.simulate(kind(husky), ground, np.tile(command, (100, 1)), duration=4.0, dt=DT)
    assert run.status == "off_terrain"
    velocity = {} if kind is gr.Kinematics else {"velocity": run.velocity[0]}
    rover = gr.Simulation(kind(husky), ground, dt=DT, **velocity)
    while rover.step(command).status is gr.Status.OK:
        before = rover.state
    assert rover.status is gr.Status.OFF_TERRAIN
    assert rover.steps == run.steps
    np.testing.assert_array_equal(rover.state, before)
    with pytest.raises(gr.GrouserError, match=r"stopped after .* s, the ground ended under a wheel; call reset or set"):
        rover.step(command)
    rover.state = gr.settle(husky, ground).state
    assert rover.status is gr.Status.OK
    assert rover.step(command).status is gr.Status.OK
    assert rover.steps == run.steps + 1


def test_tilted_beyond_the_tip_angle_is_said():
    lying = gr.settle(ZOE, gr.terrain.plane()).state
    lying[:4] = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    lying[6] += 1.0
    for model in (gr.Kinematics(ZOE, tip_angle=1.0), gr.Dynamics(ZOE, tip_angle=1.0)):
        rover = gr.Simulation(model, gr.terrain.plane(), start=lying)
        assert rover.step(COMMANDS[0]).status is gr.Status.ROLLED_OVER
        np.testing.assert_allclose(rover.state, lying, rtol=0.0, atol=1e-15)


def test_where_the_forces_are_no_numbers_the_last_good_state_stays():
    @gr.contact.law
    def brittle(v, r_omega, dz, *, k=2.0e4, c=1.0e3):
        f_z = -k * dz - c * v[2]
        return -c * v[0], -c * v[1], (f_z if r_omega < 2.0 else math.nan)

    model = gr.Dynamics(ZOE, contact=brittle)
    rover = gr.Simulation(model, gr.terrain.plane())
    for _ in range(5):
        assert rover.step(np.ones(4)).status is gr.Status.OK
    before = rover.state
    assert rover.step(np.full(4, 9.0)).status in (gr.Status.DIVERGED, gr.Status.UNSOLVED)
    np.testing.assert_array_equal(rover.state, before)
    assert rover.steps == 5


def test_what_is_no_command_is_refused_and_changes_nothing():
    rover = gr.Simulation(KINEMATIC["euler"], GROUND, dt=DT)
    before = rover.state
    for bad, words in (
        ([1.0, 2.0, np.nan, 1.0], "entry .* is nan"),
        (np.array([1.0, 2.0, np.nan, 1.0]), "command: entry .2. is nan, not a finite number"),
        (np.array([1.0, 2.0, np.inf, 1.0]), "is inf"),
        (np.array([1.0, 2.0, 3e9, 1.0]), "magnitudes up to"),
        (np.ones(3), r"command: has shape \(3,\), needs \(4,\)"),
        (1.0, "shape"),
        (np.ones((1, 4)), "shape"),
        (["a", 1, 1, 1], "command: is not an array of numbers"),
        (np.ones(4) + 1j, "complex"),
        (np.ma.masked_array(np.ones(4), [1, 0, 0, 0]), "masked"),
    ):
        with pytest.raises(gr.GrouserError, match=words):
            rover.step(bad)
    np.testing.assert_array_equal(rover.state, before)
    assert rover.steps == 0
    ends = []
    for good in (COMMANDS[0], COMMANDS[0].tolist(), tuple(COMMANDS[0]), np.repeat(COMMANDS[0], 2)[::2]):
        rover.reset()
        rover.step(good)
        ends.append(rover.state)
    for end in ends[1:]:
        np.testing.assert_array_equal(end, ends[0])


def test_what_is_no_start_is_refused():
    with pytest.raises(gr.GrouserError, match="is not a model"):
        gr.Simulation(ZOE, GROUND)
    with pytest.raises(gr.GrouserError, match="is not a Terrain"):
        gr.Simulation(KINEMATIC["euler"], 3)
    with pytest.raises(gr.GrouserError, match="dt: 0 is not positive"):
        gr.Simulation(KINEMATIC["euler"], GROUND, dt=0.0)
    with pytest.raises(gr.GrouserError, match="time_constant"):
        gr.Simulation(gr.Kinematics(ZOE, time_constant=0.05), GROUND, dt=0.1)
    with pytest.raises(gr.GrouserError, match="a kinematic model has none of its own"):
        gr.Simulation(KINEMATIC["euler"], GROUND, velocity=np.zeros(6 + ZOE.n_joints))
    rover = gr.Simulation(KINEMATIC["euler"], GROUND)
    with pytest.raises(gr.GrouserError, match="a kinematic model has none of its own"):
        rover.velocity = np.zeros(6 + ZOE.n_joints)
    with pytest.raises(gr.GrouserError, match="quaternion"):
        rover.state = np.zeros(7 + ZOE.n_joints)


def test_what_it_gives_is_the_callers():
    rover = gr.Simulation(DYNAMIC["ideal"], GROUND, dt=DT)
    rover.step(COMMANDS[0])
    for name in ("state", "velocity", "force", "torque", "contact_velocity"):
        kept = getattr(rover, name)
        wanted = kept.copy()
        kept[:] = np.nan
        np.testing.assert_array_equal(getattr(rover, name), wanted)


def test_threads_that_step_one_model_do_not_meet():
    models = (KINEMATIC["euler"], DYNAMIC["PI"])
    starts = [gr.settle(ZOE, GROUND, x=x, penetration=0.01).state for x in np.linspace(-2.0, 2.0, 8)]
    rest = np.zeros(6 + ZOE.n_joints)

    def drive(start):
        made = []
        for model in models:
            rover = gr.Simulation(model, GROUND, dt=DT, start=start)
            for command in COMMANDS:
                rover.step(command)
                made.append(rover.state)
        q = start
        for command in COMMANDS:
            made.append(models[1].step(q, rest, command, GROUND, dt=DT).velocity)
            q = models[0].step(q, command, GROUND, dt=DT).state
            made.append(gr.settle(ZOE, GROUND, x=q[4], y=q[5]).state)
            made.append(gr.kinematics.frame_poses(ZOE, q)[0].ravel())
        return np.concatenate(made)

    wanted = [drive(start) for start in starts]
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: drive(starts[i])})) for i in range(len(starts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, one in enumerate(wanted):
        np.testing.assert_array_equal(found[i], one)


@pytest.mark.parametrize("model", [KINEMATIC["euler"], DYNAMIC["PI"]], ids=["kinematic", "dynamic"])
def test_a_step_gives_state_velocity_and_contacts_as_copies(model):
    run = gr.simulate(model, GROUND, COMMANDS, duration=STEPS * DT, dt=DT)
    sim = gr.Simulation(model, GROUND, dt=DT, **({} if model is KINEMATIC["euler"] else {"velocity": run.velocity[0]}))
    steps = [sim.step(command) for command in COMMANDS[:5]]
    for i, step in enumerate(steps):
        np.testing.assert_array_equal(step.state, run.state[i + 1])
        np.testing.assert_array_equal(step.contact.point, run.contact.point[i])
        np.testing.assert_array_equal(step.contact.velocity, run.contact.velocity[i])
        if run.contact.force is not None:
            np.testing.assert_array_equal(step.velocity, run.velocity[i + 1])
            np.testing.assert_array_equal(step.contact.force, run.contact.force[i])


@pytest.mark.parametrize("model", [KINEMATIC["rk4"], DYNAMIC["PI"]], ids=["kinematic", "dynamic"])
def test_copies_and_files_continue_to_the_bit(model, tmp_path):
    sim = gr.Simulation(model, GROUND, dt=DT)
    for command in COMMANDS[:10]:
        sim.step(command)
    sim.save(tmp_path / "sim.npz")
    other, third = sim.copy(), gr.Simulation(model, GROUND, dt=DT)
    third.restore(tmp_path / "sim.npz")
    for command in COMMANDS[10:20]:
        states = [one.step(command).state for one in (sim, other, third)]
        np.testing.assert_array_equal(states[0], states[1])
        np.testing.assert_array_equal(states[0], states[2])
    assert third.steps == sim.steps == 20


def test_a_file_of_another_model_or_step_is_refused(tmp_path):
    gr.Simulation(KINEMATIC["euler"], GROUND, dt=DT).save(tmp_path / "sim.npz")
    for other in (gr.Simulation(KINEMATIC["rk4"], GROUND, dt=DT), gr.Simulation(KINEMATIC["euler"], GROUND, dt=0.02)):
        with pytest.raises(SimulationError, match="is of another vehicle, model or step"):
            other.restore(tmp_path / "sim.npz")
    np.savez(tmp_path / "empty.npz", a=1)
    with pytest.raises(SimulationError, match="schema"):
        other.restore(tmp_path / "empty.npz")
    with pytest.raises(SimulationError, match=r"\.npz"):
        other.save(tmp_path / "sim.txt")


def test_a_stop_condition_ends_it_with_its_reason():
    sim = gr.Simulation(
        gr.Kinematics(ZOE),
        gr.terrain.plane(),
        dt=DT,
        stop=lambda sim: "came to x = 0.2 m" if sim.state[4] > 0.2 else None,
    )
    while (step := sim.step(np.full(4, 3.0))).status is gr.Status.OK:
        assert step.state[4] <= 0.2
    assert (step.status, sim.reason) == (gr.Status.STOPPED, "came to x = 0.2 m")
    with pytest.raises(SimulationError, match=r"came to x = 0\.2 m; call reset"):
        sim.step(np.full(4, 3.0))
    sim.reset()
    assert sim.reason == ""
