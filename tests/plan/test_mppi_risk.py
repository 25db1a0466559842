"""Risk of MPPI: what it estimates, how it spends it, and what it does when none is left."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.plan import MPPI, Cost, Goal, KeepOut, Limits, Path, Uncertain

VEHICLE = gr.vehicle("husky")
HALF = 0.2775
"""Half its width [m]."""
LIMITS = Limits(speed=1.0, turn=1.0, acceleration=2.0, turn_acceleration=4.0)
DT = 0.2


def flat(ymax=2.0):
    x, y = np.linspace(-1.0, 7.0, 9), np.linspace(-2.0, ymax, 9)
    return gr.terrain.grid(np.zeros((9, 9)), x=x, y=y)


def model(drift=0.0):
    """It turns by `drift` [rad/m] to the left."""
    return gr.Kinematics(VEHICLE, slip=gr.slip.BodySlip([0.0, 0.0, 0.0, 0.0, drift, 0.0]))


def unsure(sigma):
    return Uncertain(model=model(), draw=lambda rng: model(sigma * rng.standard_normal()))


def walls(inside):
    """Keep-out where inside(x, y)."""
    x, y = np.arange(-1.0, 7.0, 0.02), np.arange(-2.0, 2.0, 0.02)
    return KeepOut(inside(x[:, None], y[None, :]) & np.ones((len(x), len(y)), dtype=bool), -1.0, -2.0, 0.02)


def controller(belief, cost, **options):
    settings = {"horizon": 2.0, "dt": DT, "samples": 96, "limits": LIMITS, "threads": 1, "seed": 3}
    return MPPI(belief, flat(), cost, **(settings | options))


def test_a_certain_model_fails_or_does_not():
    wall = walls(lambda x, y: y > 0.6)
    free = controller(model(), Cost(Goal(4.0, 0.0)), keep_out=wall)
    order = free.command((0.0, 0.0, 0.0))
    assert (order.risk, order.feasible, order.reason) == (0.0, True, "")
    inside = controller(model(), Cost(Goal(4.0, 0.0)), keep_out=wall)
    order = inside.command((0.0, 0.8, 0.0))
    assert (order.risk, order.feasible) == (1.0, False)
    assert "keep-out" in order.reason
    assert free.spent == inside.spent == 0.0


def test_the_estimated_chance_is_that_of_independent_drives_of_the_same_plan():
    """Drives of other draws, stepped one by one by gr.rollout, with the feedback written out here."""
    sigma, border = 0.25, 0.6
    planner = controller(unsure(sigma), Cost(Goal(5.0, 0.45)), keep_out=walls(lambda x, y: y > border), risk=0.6,
                         draws=400)  # fmt: skip
    order = planner.command((0.0, 0.1, 0.1))
    assert 0.08 < order.risk < 0.6
    rng, n = np.random.default_rng(77), 250
    failed = sum(_fails(planner, order, model(sigma * rng.standard_normal()), border) for _ in range(n))
    p = failed / n
    band = 3.0 * math.sqrt(order.risk * (1.0 - order.risk) * (1.0 / n + 1.0 / planner.draws))
    assert abs(p - order.risk) < band
    assert planner.spent <= order.risk


def _fails(planner, order, drawn, border):
    """Whether a model, steered back to the path of the plan, comes nearer to the border than half its width."""
    q = gr.settle(VEHICLE, planner.ground, x=0.0, y=0.1, yaw=0.1).state
    before = np.zeros(3)
    for wanted, (x, y, _, yaw) in zip(order.plan, order.path, strict=False):
        own = math.atan2(2.0 * (q[1] * q[2] + q[0] * q[3]), 1.0 - 2.0 * (q[2] ** 2 + q[3] ** 2))
        dx, dy = x - q[4], y - q[5]
        ahead, aside = math.cos(own) * dx + math.sin(own) * dy, math.cos(own) * dy - math.sin(own) * dx
        aim = wanted.copy()
        aim[2] += 1.0 * aim[0] * aside + 1.5 * math.sin(yaw - own)
        aim[0] += 0.8 * ahead
        step = LIMITS.change * DT
        before = np.clip(np.clip(aim, LIMITS.least, LIMITS.most), before - step, before + step)
        rates = planner.rates(before, q)
        q = gr.rollout(drawn, planner.ground, rates[None, None], start=q, dt=DT).final_state[0]
        if border - q[5] < HALF:
            return True
    return False


def test_what_is_spent_never_exceeds_the_risk_while_plans_pass():
    wall = walls(lambda x, y: y > 0.5)
    planner = controller(unsure(0.4), Cost(Path([(0.0, 0.2), (6.0, 0.2)])), keep_out=wall, risk=0.1)
    q, passed, spent = np.array([0.0, 0.1, 0.0]), True, [0.0]
    for k in range(20):
        order = planner.command(q)
        passed &= order.feasible
        if passed:
            assert order.risk <= 0.1 - spent[-1] + 1e-12
            assert planner.spent <= 0.1 + 1e-12
        spent.append(planner.spent)
        q = order.path[1, [0, 1, 3]] + np.array([0.0, 0.01 * (-1) ** k, 0.0])
    assert (np.diff(spent) >= 0.0).all()
    planner.reset()
    assert planner.spent == 0.0


def _past_a_post(risk, seed):
    """Least distance from a post that stands on the way [m], driven by the best model."""
    post = walls(lambda x, y: (x - 2.0) ** 2 + (y + 0.15) ** 2 < 0.3**2)
    planner = controller(unsure(0.15), Cost(Goal(4.5, 0.0)), keep_out=post, risk=risk, seed=seed)
    q, least = np.array([0.0, 0.2, 0.0]), math.inf
    for _ in range(26):
        order = planner.command(q)
        q = order.path[1, [0, 1, 3]]
        least = min(least, math.hypot(q[0] - 2.0, q[1] + 0.15) - 0.3)
    assert q[0] > 2.5, "it did not pass the post"
    return least


def test_a_smaller_risk_keeps_a_larger_distance():
    near, far = (np.mean([_past_a_post(risk, seed) for seed in range(3)]) for risk in (0.45, 0.03))
    assert far > near + 0.03
    assert near >= HALF - 0.02


def test_a_gate_too_narrow_for_the_spread_stops_it_and_it_says_why():
    gate = walls(lambda x, y: (x > 2.0) & (x < 4.0) & (abs(y) > HALF + 0.03))
    planner = controller(unsure(0.6), Cost(Path([(0.0, 0.0), (6.0, 0.0)])), keep_out=gate, risk=0.01)
    q, said = np.array([0.0, 0.0, 0.0]), []
    for _ in range(30):
        order = planner.command(q)
        q = order.path[1, [0, 1, 3]]
        said.append(order.reason)
    assert 1.0 < q[0] < 2.5, "it stops before the gate, or hardly in it"
    assert abs(order.twist[0]) < 0.1
    assert any("has a chance of failure of at most 0.01" in one and "keep-out" in one for one in said[-10:])


def test_a_plan_too_risky_is_not_driven():
    """In a lane that only a known vehicle keeps to, and too fast to stop: it brakes as hard as it can."""
    gate = walls(lambda x, y: abs(y) > HALF + 0.02)
    planner = controller(unsure(2.0), Cost(Path([(0.0, 0.0), (6.0, 0.0)])), keep_out=gate, risk=0.01)
    planner._past[:], planner._moving = (1.0, 0.0, 0.0), np.array([1.0, 0.0, 0.0])
    order = planner.command((0.0, 0.0, 0.0))
    assert not order.feasible
    assert order.reason.startswith("no plan has a chance of failure of at most 0.01, what is left of 0.01; the least")
    assert order.twist == pytest.approx([1.0 - LIMITS.acceleration * DT, 0.0, 0.0])
    assert order.risk > 0.01
    assert planner.spent > 0.0
