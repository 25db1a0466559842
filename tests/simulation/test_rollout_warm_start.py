"""Rollouts as a planner uses them: going on from where others ended, tipping over, arrays of any kind."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError

HUSKY = gr.vehicle("husky")
GROUND = gr.terrain.rough(rms=0.05, length=0.8, seed=3)
DT = 0.04


def commands(n, steps):
    rng = np.random.default_rng(5)
    return 3.0 + np.cumsum(rng.normal(0.0, 0.3, (n, steps, 4)), axis=1)


@pytest.mark.parametrize("model", [gr.Kinematics(HUSKY), gr.Dynamics(HUSKY, contact=gr.contact.Pacejka())])
def test_a_batch_goes_on_from_where_another_ended(model):
    given = commands(6, 30)
    whole = gr.rollout(model, GROUND, given, dt=DT)
    first = gr.rollout(model, GROUND, given[:, :12], dt=DT)
    dynamic = isinstance(model, gr.Dynamics)
    assert (first.final_velocity is not None) == dynamic
    more = {"velocity": first.final_velocity} if dynamic else {}
    second = gr.rollout(model, GROUND, given[:, 12:], start=first.final_state, dt=DT, **more)
    # Newton starts from another guess, and its balance is met to a ten-thousandth of the weight.
    np.testing.assert_allclose(second.final_state, whole.final_state, atol=1e-5 if dynamic else 1e-12, rtol=0.0)


def test_each_rollout_has_a_start_velocity_of_its_own():
    model = gr.Dynamics(HUSKY, contact=gr.contact.Pacejka())
    given = np.full((3, 5, 4), 3.0)
    velocity = np.zeros((3, 10))
    velocity[:, 3] = 0.0, 0.3, 0.6  # m/s ahead
    many = gr.rollout(model, gr.terrain.plane(), given, velocity=velocity, dt=DT)
    assert (np.diff(many.final_position[:, 0]) > 1e-3).all()
    for i in range(3):
        alone = gr.rollout(model, gr.terrain.plane(), given[i : i + 1], velocity=velocity[i], dt=DT)
        assert alone.final_state.tobytes() == many.final_state[i : i + 1].tobytes()
        assert alone.final_velocity.tobytes() == many.final_velocity[i : i + 1].tobytes()
    with pytest.raises(SimulationError, match=r"velocity: has shape \(2, 10\), needs \(3, 10\)"):
        gr.rollout(model, gr.terrain.plane(), given, velocity=velocity[:2])
    with pytest.raises(SimulationError, match="velocity: entry"):
        gr.rollout(model, gr.terrain.plane(), given, velocity=np.full((3, 10), np.nan))


def test_a_dynamic_rollout_that_rolls_over_is_told():
    model = gr.Dynamics(HUSKY, contact=gr.contact.Pacejka(friction=1.5))
    roll = np.array([0.0, 1.3])  # rad: on its wheels; past its tipping point on one side
    start = np.zeros((2, 11))
    start[:, 0], start[:, 1] = np.cos(0.5 * roll), np.sin(0.5 * roll)
    start[:, 6] = 0.165, 0.45
    given, velocity = np.zeros((2, 75, 4)), np.zeros(10)
    lenient = model.replace(tip_angle=math.pi)
    many = gr.rollout(lenient, gr.terrain.plane(), given, start=start, velocity=velocity, dt=0.02)
    assert many.rolled_over.tolist() == [False, True]
    assert many.status.tolist() == ["ok", "ok"]  # it goes on, as a tip angle of π says
    strict = gr.rollout(model, gr.terrain.plane(), given, start=start, dt=0.02)
    assert strict.status.tolist() == ["ok", "rolled_over"]
    assert strict.rolled_over.tolist() == [False, True]


def test_what_lies_under_a_mask_or_is_imaginary_is_no_command():
    model = gr.Kinematics(HUSKY)
    given = np.full((1, 3, 4), 2.0)
    with pytest.raises(SimulationError, match="commands: has masked entries"):
        gr.rollout(model, gr.terrain.plane(), np.ma.masked_greater(given, 1.0))
    with pytest.raises(SimulationError, match="commands: has complex numbers"):
        gr.rollout(model, gr.terrain.plane(), given + 0j)
    with pytest.raises(SimulationError, match="start"):
        gr.rollout(model, gr.terrain.plane(), given, start=[[1.0], [1.0, 2.0]])
    plain = gr.rollout(model, gr.terrain.plane(), given)
    for same in (given.tolist(), given.astype(int), np.asfortranarray(given), given.astype(np.float32), given[:, ::-1]):
        assert gr.rollout(model, gr.terrain.plane(), same).final_state.tobytes() == plain.final_state.tobytes()


def test_threads_may_be_any_whole_number():
    given = np.full((4, 3, 4), 2.0)
    gr.rollout(gr.Kinematics(HUSKY), gr.terrain.plane(), given, threads=np.int64(1))
    for wrong in (True, 0, 1.0, "2", 10**6):
        with pytest.raises(SimulationError, match="threads"):
            gr.rollout(gr.Kinematics(HUSKY), gr.terrain.plane(), given, threads=wrong)


def test_records_that_do_not_fit_in_memory_are_refused_before_the_work():
    # A view of one row a million times: the commands themselves cost nothing.
    given = np.broadcast_to(np.full((1, 100, 4), 2.0), (10**6, 100, 4))
    with pytest.raises(SimulationError, match="1000000 rollouts of 100 steps do not fit in memory with every=1"):
        gr.rollout(gr.Kinematics(HUSKY), gr.terrain.plane(), given, every=1)
