"""Costs: what their terms add up to, what is refused, and a user's own term."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan import CommandRate, Cost, Field, Goal, Heading, Path, Speed, Time

HUSKY = gr.Kinematics(gr.vehicle("husky"))
PLANE = gr.terrain.grid(np.zeros((2, 2)), x=[-20.0, 20.0], y=[-20.0, 20.0])
DT, STEPS = 0.1, 20


def cost_of(cost: Cost, twist=(0.5, 0.0, 0.0), **options) -> float:
    """Of 2 s of a steady command from the origin along x."""
    wanted = np.tile(np.array(twist), (1, STEPS, 1))
    return float(gr.plan.roll_out(HUSKY, PLANE, wanted, start=(0, 0, 0), dt=DT, cost=cost, **options).cost[0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Cost(Goal(1, 1), Goal(2, 2)), "two terms Goal"),
        (lambda: Goal(1, 1, weight=math.nan), "Goal weight: nan is not a finite number"),
        (lambda: Goal(1, 1, weight=-1.0), "Goal weight: -1 is negative"),
        (lambda: Goal("here", 1), "Goal x: 'here' is not a number"),
        (lambda: Path([[0, 0]]), "Path points: are 1; a path needs at least 2"),
        (lambda: Path([[0, 0, 0], [1, 1, 1]]), "Path points"),
        (lambda: Path([[0, 0], [math.nan, 1]]), "Path points"),
        (lambda: Field([[1.0]], 0, 0), "at least 2 × 2"),
        (lambda: Field(np.ones((3, 3)), 0, 0, cell=0.0), "Field cell: 0 is not positive"),
        (lambda: Field(np.full((3, 3), math.nan), 0, 0), "not a finite number"),
        (lambda: Cost("goal"), "is not a term"),
        (lambda: Cost(Time), "is not a term"),
        (lambda: Cost(failure=-1.0), "failure: -1 is negative"),
        (lambda: gr.plan.MPPI(HUSKY, PLANE, Cost()), "cost: has no term"),
        (lambda: gr.plan.MPPI(HUSKY, PLANE, Goal(1, 1)), "is not a Cost"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(make, says):
    with pytest.raises(PlanError) as error:
        make()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_goal_costs_half_the_distance_at_the_end_and_half_its_mean_along_the_way():
    x = 0.5 * DT * np.arange(STEPS)
    expected = 0.5 * (5.0 - 1.0) + 0.5 * (5.0 - x).mean()
    assert cost_of(Cost(Goal(5.0, 0.0))) == pytest.approx(expected, rel=1e-9)
    assert cost_of(Cost(Goal(5.0, 0.0, radius=1.0))) == pytest.approx(expected - 1.0, rel=1e-9)
    assert cost_of(Cost(Goal(5.0, 0.0, weight=3.0))) == pytest.approx(3.0 * expected, rel=1e-9)


def test_a_path_costs_what_is_left_of_it_and_the_distance_aside():
    path = Path([[-1, 1], [4, 1]], aside=2.0)
    left = 4.0 - 0.5 * DT * np.arange(STEPS)
    assert cost_of(Cost(path)) == pytest.approx(0.5 * (3.0 + left.mean()) + 2.0, rel=1e-9)


def test_running_terms_count_by_the_second():
    assert cost_of(Cost(Time(3.0))) == pytest.approx(6.0)
    assert cost_of(Cost(Speed(0.2, weight=2.0))) == pytest.approx(2.0 * 0.09 * 2.0, rel=1e-6)
    assert cost_of(Cost(Speed(-0.5, weight=1.0)), (-0.5, 0, 0)) == pytest.approx(0.0, abs=1e-9)
    # The one change is from rest to 0.5 m/s in the first step.
    assert cost_of(Cost(CommandRate(speed=0.1))) == pytest.approx(0.1 * (0.5 / DT) ** 2 * DT)


def test_the_heading_counts_at_the_end_the_shorter_way_round():
    at_rest = (0.0, 0.0, 0.0)
    assert cost_of(Cost(Heading(3.0, weight=2.0)), at_rest) == pytest.approx(6.0)
    assert cost_of(Cost(Heading(-6.0, weight=2.0)), at_rest) == pytest.approx(2.0 * (2 * math.pi - 6.0))


def test_the_heading_counts_little_far_from_the_goal():
    at_rest, goal = (0.0, 0.0, 0.0), Goal(3.0, -4.0)
    heading = cost_of(Cost(goal, Heading(3.0, weight=2.0)), at_rest) - cost_of(Cost(goal), at_rest)
    assert heading == pytest.approx(6.0 / (1.0 + 25.0), rel=1e-9)


def test_a_field_is_read_between_the_middles_of_its_cells():
    x, y = np.meshgrid(np.arange(-2.0, 4.0), np.arange(-2.0, 4.0), indexing="ij")
    field = Field(10.0 - 2.0 * x + y, -2.0, -2.0, cell=1.0)
    along = 10.0 - 2.0 * 0.5 * DT * np.arange(STEPS)
    assert cost_of(Cost(field)) == pytest.approx(0.5 * (8.0 + along.mean()), rel=1e-9)


def test_closeness_costs_while_the_vehicle_is_close_and_no_longer():
    ahead = gr.plan.KeepOut.circles([(-2.0, 0.0, 1.0)], (-20, 20, -20, 20), cell=0.05)
    bounds = gr.plan.Bounds(reach=0.3)
    near = Cost(gr.plan.Clearance(distance=1.0, weight=5.0))
    free = 1.0 - 0.3 + 0.5 * DT * np.arange(STEPS)
    expected = 5.0 * np.maximum(1.0 - free, 0.0).sum() * DT
    assert cost_of(near, keep_out=ahead, bounds=bounds) == pytest.approx(expected, rel=0.15)  # cells of 5 cm
    assert cost_of(near, (-0.3, 0, 0), keep_out=ahead, bounds=bounds) > 2.0 * expected


def test_replace_keeps_the_other_terms_and_the_failure():
    cost = Cost(Goal(1, 1), Speed(0.5), failure=7.0)
    changed = cost.replace(Goal(2, 2), Time())
    assert changed.goal == Goal(2, 2)
    assert {type(term) for term in changed.terms} == {Goal, Speed, Time}
    assert changed.failure == 7.0
    assert cost.goal == Goal(1, 1)


def test_a_term_of_ones_own_is_added_up_by_the_second():
    @gr.plan.cost
    def steps(motion, *, weight=gr.param(1.0)):
        """Time, x and the commanded speed."""
        return weight * (motion[0] + motion[1] + motion[16])

    time = DT * np.arange(STEPS)
    expected = float((time + 0.5 * time + 0.5).sum() * DT)
    assert cost_of(Cost(steps)) == pytest.approx(expected, rel=1e-9)
    assert cost_of(Cost(steps.replace(weight=-2.0))) == pytest.approx(-2.0 * expected, rel=1e-9)


def test_a_term_of_ones_own_changes_the_plan():
    @gr.plan.cost
    def keep_left(motion, *, weight=gr.param(3.0)):
        """Every metre right of y = 1 m."""
        return weight * max(1.0 - motion[2], 0.0)

    goal = Goal(8.0, 0.0)
    ends = [
        gr.plan.MPPI(HUSKY, PLANE, cost, samples=200).command((0, 0, 0)).path[-1, 1]
        for cost in (Cost(goal), Cost(goal, keep_left), Cost(goal, keep_left.replace(weight=0.0)))
    ]
    assert ends[1] > ends[0] + 0.2
    assert ends[2] == ends[0]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_term_that_is_no_number_is_refused(value):
    @gr.plan.cost
    def broken(motion, *, factor=gr.param(0.0)):
        """0/0 or 1/0."""
        return factor / (0.0 * motion[1])

    term = broken.replace(factor=0.0 if math.isnan(value) else 1.0)
    controller = gr.plan.MPPI(HUSKY, PLANE, Cost(Goal(3, 0), term), samples=50)
    with pytest.raises(PlanError, match="for every rollout; a term of your own divides by zero"):
        controller.command((0, 0, 0))


def test_every_running_term_is_what_plain_numpy_makes_of_the_recorded_motion():
    """On rough ground, in lanes (Zoë) and alone (RecBot has springs), from a run of the plain engine."""
    ground = gr.terrain.rough(rms=0.1, length=0.8, seed=7)
    command = (0.7, 0.0, 0.15)
    for name in ("zoe", "recbot"):
        model = gr.Kinematics(gr.vehicle(name))
        run = gr.simulate(model, ground, gr.drive.twist(*command), duration=STEPS * DT, dt=DT)
        state, v = run.state[:-1], run.velocity[:-1]
        radius = np.array([frame.radius for frame in model.vehicle.frames if frame.is_wheel])
        spin = v[:, [6 + model.vehicle.joint_index(wheel) for wheel in model.vehicle.wheels]]
        rim = np.abs(radius * spin).mean(axis=1)
        sliding = np.abs(run.contact.velocity[:-1]).mean(axis=1)
        speed = np.linalg.norm(v[:, 3:6], axis=1)
        w, i, j, k = state[:, :4].T
        up = np.stack([2.0 * (i * k - w * j), 2.0 * (j * k + w * i), 1.0 - 2.0 * (i * i + j * j)], axis=1)
        climb = (up * v[:, 3:6]).sum(axis=1) / np.maximum(speed, 0.05)
        weight = model.vehicle.mass * model.gravity
        power = np.maximum(weight * (0.05 * up[:, 2] + climb) * rim, 0.0) + 0.5 * weight * sliding[:, 1]
        slip = sliding[:, 0] / np.maximum(rim, 0.05)
        margin = run.rollover_margin().angle[:-1]
        xmin, xmax, ymin, ymax = ground.bounds
        x, y = state[:, 4], state[:, 5]
        free = np.min([x - xmin, xmax - x, y - ymin, ymax - y], axis=0) - 0.6
        expected = {
            gr.plan.Energy(0.01): 0.01 * power,
            gr.plan.TipMargin(margin=1.2, weight=3.0): 3.0 * np.maximum(1.2 - margin, 0.0) ** 2,
            gr.plan.Slip(limit=0.01, weight=2.0): 2.0 * np.maximum(slip - 0.01, 0.0),
            gr.plan.Roughness(0.7): 0.7 * (v[:, 0] ** 2 + v[:, 1] ** 2),
            gr.plan.Speed(0.5, weight=2.0): 2.0 * (np.copysign(speed, v[:, 3]) - 0.5) ** 2,
            gr.plan.Clearance(distance=100.0, weight=0.3): 0.3 * np.maximum(100.0 - free, 0.0),
        }
        wanted = np.tile(np.array(command), (1, STEPS, 1))
        for term, rate in expected.items():
            trials = gr.plan.roll_out(
                model, ground, wanted, start=(0, 0, 0), dt=DT, cost=Cost(term), bounds=gr.plan.Bounds(reach=0.6)
            )
            assert rate.sum() > 0.0
            assert trials.cost[0] == pytest.approx(DT * rate.sum(), rel=1e-4), (name, term)
            assert trials.energy[0] == pytest.approx(DT * power.sum(), rel=1e-4)
            assert trials.largest_slip[0] == pytest.approx(slip.max(), rel=1e-4)
            assert trials.distance[0] == pytest.approx(DT * speed.sum(), rel=1e-6)


def test_one_sees_the_motion_that_simulate_gives():
    """All inputs of a term of one's own, against a run of the plain engine."""
    ground = gr.terrain.rough(rms=0.1, length=0.8, seed=7)
    model = gr.Kinematics(gr.vehicle("zoe"))
    run = gr.simulate(model, ground, gr.drive.twist(0.6, 0.0, 0.2), duration=STEPS * DT, dt=DT)

    @gr.plan.cost
    def look(motion, *, which=gr.param(0.0)):
        """One of the inputs."""
        return motion[int(which)]

    wanted = np.tile(np.array((0.6, 0.0, 0.2)), (1, STEPS, 1))
    roll, pitch, yaw = run.rpy[:-1].T
    place, velocity, margin = run.position[:-1], run.velocity[:-1, :6], run.rollover_margin().angle[:-1]
    inputs = [run.time[:-1], *place.T, roll, pitch, yaw, *velocity.T, margin]
    for i, values in enumerate(inputs):
        trials = gr.plan.roll_out(model, ground, wanted, start=(0, 0, 0), dt=DT, cost=Cost(look.replace(which=i)))
        assert trials.cost[0] == pytest.approx(DT * values.sum(), abs=1e-5), i
