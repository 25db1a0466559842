"""MPPI as a machine: the same bytes for a seed, braking with a reason, and no silent NaN."""

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan import MPPI, Bounds, Cost, Goal, KeepOut, Path, TipMargin

ZOE = gr.Kinematics(gr.vehicle("zoe"))
ROUGH = gr.terrain.rough(rms=0.1, length=0.8, seed=2)


def drive(controller, steps=3):
    """Bytes of a few commands, each from where the last plan leads."""
    state, found = np.zeros(3), b""
    for _ in range(steps):
        command = controller.command(state)
        found += command.twist.tobytes() + command.path.tobytes() + np.float64(command.cost).tobytes()
        state = np.array([*command.path[1, :2], command.path[1, 3]])
    return found


def controller(**options):
    return MPPI(ZOE, ROUGH, Cost(Goal(4.0, 1.0), TipMargin()), samples=90, horizon=1.2, **options)


def test_a_seed_gives_the_same_bytes_on_any_number_of_threads():
    once = drive(controller(seed=3, threads=1))
    assert once == drive(controller(seed=3, threads=2))
    assert once == drive(controller(seed=3))
    assert once != drive(controller(seed=4))


def test_it_drives_towards_its_goal_and_predicts_where_it_goes():
    planner = controller(seed=1)
    command = planner.command((0, 0, 0))
    assert command.feasible
    assert command.reason == ""
    assert command.twist[0] > 0.0
    assert np.hypot(*(command.path[-1, :2] - [4.0, 1.0])) < np.hypot(4.0, 1.0) - 0.2
    trials = gr.plan.roll_out(
        ZOE, ROUGH, command.plan[None], start=(0, 0, 0), dt=planner.dt, limits=planner.limits, record=True
    )
    np.testing.assert_allclose(trials.state[0, :, 4:7], command.path[:, :3], rtol=0.0, atol=1e-9)


def test_without_a_feasible_sample_it_brakes_and_says_why():
    everywhere = KeepOut.circles([(0.0, 0.0, 3.0)], (-8, 8, -8, 8), cell=0.1)
    closed = MPPI(ZOE, ROUGH, Cost(Goal(6.0, 0.0)), samples=40, horizon=1.0, keep_out=everywhere)
    command = closed.command((0.5, 0.0, 0.0))
    assert not command.feasible
    assert "no sample is feasible" in command.reason
    assert "keep-out" in command.reason
    np.testing.assert_array_equal(command.twist, 0.0)

    careful = MPPI(ZOE, ROUGH, Cost(Goal(6.0, 0.0)), samples=40, horizon=1.0, bounds=Bounds(tip_margin=1.5))
    command = careful.command((0.0, 0.0, 0.0))
    assert not command.feasible
    assert "tip margin" in command.reason


def test_it_brakes_no_faster_than_it_can():
    closed = KeepOut.circles([(5.0, 5.0, 2.0)], (-8, 8, -8, 8), cell=0.1)
    moving = MPPI(ZOE, ROUGH, Cost(Goal(6.0, 0.0)), samples=60, horizon=1.0, keep_out=closed)
    for _ in range(4):
        before = moving.command((0.0, 0.0, 0.0)).twist
    assert before[0] > 0.1
    command = moving.command((5.0, 5.0, 0.0))
    assert not command.feasible
    assert command.twist[0] == pytest.approx(max(before[0] - moving.limits.acceleration * moving.dt, 0.0))


def test_a_path_that_crosses_itself_is_driven_to_its_end():
    """Where the last leg crosses the first, the way back over the first leg is not begun again."""
    corners = [(0.0, 0.0), (8.0, 0.0), (8.0, 4.0), (4.0, 4.0), (4.0, -4.0)]
    flat = gr.terrain.plane()
    planner = MPPI(ZOE, flat, Cost(Path(corners)), samples=120, horizon=1.6, dt=0.16)
    places = [(x, 0.0, 0.0) for x in range(8)] + [(8.0, y, np.pi / 2) for y in range(4)]
    places += [(x, 4.0, np.pi) for x in (8.0, 7.0, 6.0, 5.0)] + [(4.0, y, -np.pi / 2) for y in (4.0, 3.0, 2.0, 1.0)]
    for place in places:
        planner.command(place)
    ahead = planner.command((4.0, 0.0, -np.pi / 2)).path
    assert ahead[-1, 1] < -0.5
    planner.reset()
    assert planner.command((4.0, 0.0, 0.0)).path[-1, 0] > 4.5


def test_a_cost_in_ten_lines_of_python():
    @gr.plan.cost
    def slow_uphill(motion, *, weight=gr.param(4.0)):
        """Speed squared where the nose is up."""
        pitch, speed = motion[5], motion[10]
        return weight * speed * speed if pitch < -0.02 else 0.0

    slope = gr.terrain.slope(6.0)
    plain, gentle = (
        MPPI(ZOE, slope, cost, samples=120).command((0, 0, 0)).path[-1, 0]
        for cost in (Cost(Goal(6, 0)), Cost(Goal(6, 0), slow_uphill))
    )
    assert gentle < plain - 0.1


def test_a_cost_that_is_not_a_number_is_one_sentence():
    @gr.plan.cost
    def root(motion):
        """The root of something below zero."""
        return (-1.0 - motion[0]) ** 0.5

    with pytest.raises(PlanError, match="cost: is NaN for every rollout; a term of your own") as error:
        MPPI(ZOE, ROUGH, Cost(Goal(3, 0), root), samples=20, horizon=0.8).command((0, 0, 0))
    assert "\n" not in str(error.value)
