"""Planned rollouts are those of the plain engine, and what they add up is what a plain recomputation gives."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.kinematics import rollover_margin
from grouser.motion.powertrain import Powertrain
from grouser.plan import Bounds, Cost, Effort, Goal, Limits, Path, TipMargin, roll_out
from grouser.plan.room import Room
from grouser.plan.trials import Roller

ROUGH = gr.terrain.rough(rms=0.12, length=0.8, seed=3)
DT, STEPS = 0.08, 30
NEAR = 5e-6
"""What lanes may differ from the plain engine in 30 steps [m, rad]: their search for contacts ends at 1e-5 rad."""


def twists(vehicle, n, seed=0):
    """Steady commands within limits, (n, 3)."""
    limits = Limits.of(vehicle)
    drawn = np.random.default_rng(seed).uniform(limits.least, limits.most, (n, 3))
    drawn[:, 0] = np.abs(drawn[:, 0]) + 0.2
    if np.isfinite(limits.curvature):
        drawn[:, 2] = np.clip(drawn[:, 2], -0.5 * limits.curvature * drawn[:, 0], 0.5 * limits.curvature * drawn[:, 0])
    return drawn


def steady(commands, steps=STEPS):
    return np.repeat(commands[:, None, :], steps, axis=1)


def fits_lanes(model, ground=ROUGH):
    return Room(Roller(model, ground, dt=DT, threads=1), 8, 2, 1).kernel.py_func.__name__ == "planned_lanes"


@pytest.mark.parametrize(
    ("name", "rms", "together"),
    [
        ("zoe", 0.12, True), ("husky", 0.05, True), ("rocky7", 0.03, True), ("mecanum", 0.0, True),
        ("lru1", 0.03, False), ("recbot", 0.1, False), ("pvc_locked", 0.03, False),
    ],
)  # fmt: skip
def test_planned_kinematic_rollouts_are_those_of_simulate_state_by_state(name, rms, together):
    model = gr.Kinematics(gr.vehicle(name))
    ground = gr.terrain.rough(rms=rms, length=0.8, seed=3) if rms else gr.terrain.plane()
    assert fits_lanes(model, ground) is together
    commands = twists(model.vehicle, 11)
    trials = roll_out(model, ground, steady(commands), start=(0.3, -0.2, 0.4), dt=DT, record=True)
    for command, states, status in zip(commands, trials.state, trials.status, strict=True):
        run = gr.simulate(model, ground, gr.drive.twist(*command), start=(0.3, -0.2, 0.4), duration=STEPS * DT, dt=DT)
        assert status == str(run.status)
        np.testing.assert_allclose(states[: len(run.state)], run.state, rtol=0.0, atol=NEAR if together else 1e-9)


def test_slip_of_body_and_wheels_is_that_of_simulate():
    for at in ("body", "wheels"):
        slip = gr.slip.BodySlip([-0.3, -0.05, -0.2, -0.02, 0.03, 0.0], apply=at)
        model = gr.Kinematics(gr.vehicle("zoe"), slip=slip)
        commands = twists(model.vehicle, 3)
        trials = roll_out(model, ROUGH, steady(commands), start=(0, 0, 0), dt=DT, record=True)
        for command, states in zip(commands, trials.state, strict=True):
            run = gr.simulate(model, ROUGH, gr.drive.twist(*command), duration=STEPS * DT, dt=DT)
            np.testing.assert_allclose(states, run.state, rtol=0.0, atol=NEAR)
            assert np.abs(run.state[-1, 4:6]).max() > 0.1


def test_planned_dynamic_rollouts_are_those_of_simulate():
    model = gr.Dynamics(gr.vehicle("zoe"))
    commands = twists(model.vehicle, 3)
    trials = roll_out(model, ROUGH, steady(commands, 12), start=(0, 0, 0), dt=DT, record=True)
    for command, states, velocity in zip(commands, trials.state, trials.final_velocity, strict=True):
        run = gr.simulate(
            model, ROUGH, gr.drive.twist(*command), duration=12 * DT, dt=DT, velocity=np.zeros(6 + len(states[0]) - 7)
        )
        np.testing.assert_allclose(states, run.state, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(velocity, run.velocity[-1], rtol=0.0, atol=1e-9)


def test_ends_are_those_of_rollouts_alone(monkeypatch):
    """Off the map, tipped, or at the end of the horizon: the same status, step and sums."""
    zoe = gr.Kinematics(gr.vehicle("zoe"))
    small = gr.terrain.rough(rms=0.35, length=0.7, size=(8.0, 8.0), seed=5)
    wanted = steady(twists(zoe.vehicle, 40, seed=2), 60)
    bounds = Bounds(tip_margin=0.62, reach=-2.0)
    cost = Cost(Goal(3.0, 1.0), TipMargin())
    found = [roll_out(zoe, small, wanted, start=(0, 0, 0), dt=DT, cost=cost, bounds=bounds)]
    monkeypatch.setattr(Room, "_fits_lanes", lambda self, roller: False)
    found.append(roll_out(zoe, small, wanted, start=(0, 0, 0), dt=DT, cost=cost, bounds=bounds))
    lanes, alone = found
    assert set(alone.status) >= {"ok", "off_terrain", "tipped"}
    np.testing.assert_array_equal(lanes.status, alone.status)
    np.testing.assert_array_equal(lanes.steps, alone.steps)
    for name in ("cost", "least_tip_margin", "largest_slip", "energy", "distance", "final_state"):
        np.testing.assert_allclose(getattr(lanes, name), getattr(alone, name), rtol=1e-4, atol=1e-4, err_msg=name)


def test_the_same_bytes_for_any_number_of_threads_and_any_batch():
    model = gr.Kinematics(gr.vehicle("zoe"))
    wanted = steady(twists(model.vehicle, 37))
    cost = Cost(Goal(5.0, 1.0), TipMargin())
    one = roll_out(model, ROUGH, wanted, start=(0, 0, 0), dt=DT, cost=cost, threads=1)
    two = roll_out(model, ROUGH, wanted, start=(0, 0, 0), dt=DT, cost=cost, threads=2)
    assert one.cost.tobytes() == two.cost.tobytes()
    assert one.final_state.tobytes() == two.final_state.tobytes()
    for k in (0, 13, 36):
        alone = roll_out(model, ROUGH, wanted[k : k + 1], start=(0, 0, 0), dt=DT, cost=cost)
        assert alone.final_state.tobytes() == one.final_state[k : k + 1].tobytes()
        assert alone.cost[0] == one.cost[k]


def test_a_rollout_that_is_steered_back_is_the_same_alone_and_among_others():
    """Alone, seven lanes are left over: what they do must not reach the feedback, or the cost of a path."""
    model = gr.Kinematics(gr.vehicle("zoe"))
    steps = 200
    reference = np.zeros((1, steps, 3))
    reference[0, :, 0] = 0.05 * np.arange(steps) - 5.0
    wanted = np.zeros((1, steps, 3))
    wanted[..., 0] = 0.05 / DT
    cost = Cost(Path([(-5.0, 0.0), (0.0, 0.0), (5.0, 2.0)]))
    q = gr.settle(model.vehicle, ROUGH, x=-5.0, y=0.8, yaw=0.3).state
    found = []
    for count in (1, 3, 8):
        roller = Roller(model, ROUGH, cost, dt=DT, threads=1)
        assert fits_lanes(model)
        found.append(roller.run(np.repeat(wanted, count, axis=0), q, reference=reference))
    alone, three, eight = found
    np.testing.assert_allclose(alone.final_state[0, 5], 0.0, rtol=0.0, atol=0.05)  # on the reference again
    for many in (three, eight):
        for k in range(len(many.cost)):
            assert many.final_state[k].tobytes() == alone.final_state[0].tobytes()
            assert many.cost[k] == alone.cost[0]


def test_mirrored_ground_and_goal_give_mirrored_rollouts_and_the_same_cost():
    model = gr.Kinematics(gr.vehicle("zoe"))
    heights = np.random.default_rng(4).normal(0.0, 0.05, (41, 41))
    at = np.linspace(-6.0, 6.0, 41)
    ground, mirrored = (gr.terrain.grid(h, x=at, y=at) for h in (heights, heights[:, ::-1]))
    commands = steady(twists(model.vehicle, 9))
    wanted = [commands, commands * np.array([1.0, -1.0, -1.0])]
    cost = [Cost(Goal(4.0, side, weight=2.0), TipMargin(margin=1.0)) for side in (1.5, -1.5)]
    a, b = (
        roll_out(model, g, w, start=(0, 0, 0), dt=DT, cost=c)
        for g, w, c in zip((ground, mirrored), wanted, cost, strict=True)
    )
    np.testing.assert_allclose(a.cost, b.cost, rtol=1e-5)
    np.testing.assert_allclose(a.end_place, b.end_place * [1.0, -1.0], rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(a.energy, b.energy, rtol=1e-4)


@pytest.mark.parametrize("name", ["zoe", "husky"])
def test_the_tip_margin_is_that_of_kinematics(name):
    model = gr.Kinematics(gr.vehicle(name))
    ground = gr.terrain.slope(18.0)
    commands = twists(model.vehicle, 9)
    trials = roll_out(model, ground, steady(commands), start=(0, 0, 1.0), dt=DT)
    for command, least in zip(commands, trials.least_tip_margin, strict=True):
        run = gr.simulate(model, ground, gr.drive.twist(*command), start=(0, 0, 1.0), duration=STEPS * DT, dt=DT)
        margin = rollover_margin(model.vehicle, run.state[:-1], run.velocity[:-1], run.contact.point[:-1])
        assert least == pytest.approx(margin.angle.min(), abs=1e-6)
        assert least < math.radians(60.0)


@pytest.mark.parametrize("degrees", [0.0, 9.0, -9.0])
def test_the_energy_of_a_climb_is_that_of_weight_and_resistance(degrees):
    model = gr.Kinematics(gr.vehicle("husky"))
    slope = math.radians(degrees)
    ground = gr.terrain.slope(degrees)
    effort = Effort(rolling=0.04, scrub=0.5, idle=7.0)
    trials = roll_out(
        model, ground, steady(np.array([[0.6, 0.0, 0.0]])), start=(0, 0, 0), dt=DT, effort=effort, record=True
    )
    weight, way = model.vehicle.mass * model.gravity, 0.6 * STEPS * DT
    height = trials.state[0, -1, 6] - trials.state[0, 0, 6]
    assert height == pytest.approx(way * math.sin(slope), abs=1e-6)
    # No recuperation: downhill steeper than the resistance costs nothing but what the vehicle uses at rest.
    work = max(weight * height + 0.04 * weight * math.cos(slope) * way, 0.0)
    assert trials.energy[0] == pytest.approx(work + 7.0 * STEPS * DT, rel=1e-6)
    assert trials.distance[0] == pytest.approx(way, rel=1e-9)


def test_the_powertrain_delays_and_lags_as_the_closed_form_says():
    model = gr.Kinematics(gr.vehicle("husky"))
    train = Powertrain(gain=0.9, delay=0.3, time_constant=0.4)
    wanted = steady(np.array([[0.8, 0.0, 0.0]]), 40)
    trials = roll_out(model, gr.terrain.plane(), wanted, start=(0, 0, 0), dt=0.1, powertrain=train, record=True)
    t = 0.1 * np.arange(41)
    # x of x″ = (0.9 u(t − 0.3) − x′)/0.4 from rest, with the delay a whole number of steps
    late = np.maximum(t - 0.3, 0.0)
    expected = 0.9 * 0.8 * (late - 0.4 * (1.0 - np.exp(-late / 0.4)))
    np.testing.assert_allclose(trials.state[0, :, 4] - trials.state[0, 0, 4], expected, rtol=0.0, atol=1e-9)


def test_a_delay_of_a_part_of_a_step_lies_between_its_neighbours():
    model = gr.Kinematics(gr.vehicle("husky"))
    wanted = steady(np.array([[0.8, 0.0, 0.0]]), 20)
    ends = [
        roll_out(
            model, gr.terrain.plane(), wanted, start=(0, 0, 0), dt=0.1,
            powertrain=Powertrain(delay=delay, time_constant=0.0),
        ).end_place[0, 0]
        for delay in (0.2, 0.23, 0.3)
    ]  # fmt: skip
    # of the second and third step, each held for the share of the step in which it acts
    assert ends[1] == pytest.approx(0.7 * ends[0] + 0.3 * ends[2], abs=1e-9)
    assert ends[0] - ends[2] == pytest.approx(0.08, abs=1e-9)


@pytest.mark.parametrize("name", ["husky", "recbot", "zoe", "lru1"])
def test_issued_commands_keep_limits_accelerations_and_curvature(name):
    model = gr.Kinematics(gr.vehicle(name))
    limits = Limits.of(model.vehicle)
    controller = gr.plan.MPPI(model, gr.terrain.plane(), Cost(Goal(-2.0, 3.0)), samples=64, horizon=1.6, limits=limits)
    state, before = np.array([0.0, 0.0, 0.0]), np.zeros(3)
    for _ in range(8):
        command = controller.command(state)
        twist = command.twist
        assert (twist >= limits.least - 1e-12).all()
        assert (twist <= limits.most + 1e-12).all()
        change = np.abs(twist - before)
        assert (change[:2] <= limits.change[:2] * DT + 1e-12).all()
        # A turn that the curvature forbids at a lower speed is given up at once.
        turn = limits.curvature * np.hypot(*twist[:2]) if np.isfinite(limits.curvature) else math.inf
        assert abs(twist[2]) <= turn + 1e-12
        assert change[2] <= limits.change[2] * DT + 1e-12 or abs(twist[2]) == pytest.approx(turn)
        before = twist
        state = np.array([*command.path[1, :2], command.path[1, 3]])


def test_commands_out_of_bounds_return_towards_them():
    """Limits that shrink while driving: the engine slows down as fast as it may, in lanes and alone."""
    limits = Limits(speed=0.5, acceleration=1.0)
    for name in ("husky", "recbot"):
        model = gr.Kinematics(gr.vehicle(name))
        roller = Roller(model, gr.terrain.plane(), dt=0.1, limits=limits)
        start = gr.simulation.settle(model.vehicle, gr.terrain.plane()).state
        past = np.array([[0.9, 0.0, 0.0]])
        trials = roller.run(np.full((1, 8, 3), [0.5, 0.0, 0.0]), start, past=past, record=True)
        speeds = np.diff(trials.state[0, :, 4]) / 0.1
        np.testing.assert_allclose(speeds, [0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5], rtol=0.0, atol=1e-3)
