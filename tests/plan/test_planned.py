"""A whole plan: its numbers and units, its ellipses, its risk, and the same bytes for the same seed."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.motion import Noise, Powertrain
from grouser.plan import KeepOut, Uncertain, plan
from grouser.spacing import evenly

START, GOAL = (-5.0, -2.0), (3.0, 2.0)
BEST, SIGMA = np.array([-0.05, 0.0, -0.05, 0.0, 0.0, -0.05]), 0.02


@pytest.fixture(scope="module")
def ground():
    return gr.terrain.rough(rms=0.05, length=1.5, seed=2, size=16.0)


@pytest.fixture(scope="module")
def sure(ground):
    """A plan with a model that is taken as exact, round a keep-out."""
    keep_out = KeepOut.circles([(-1.0, 0.0, 1.0)], ground.bounds)
    return plan(gr.Kinematics(gr.vehicle("husky")), ground, START, GOAL, samples=32, keep_out=keep_out)


def unsure():
    husky = gr.Kinematics(gr.vehicle("husky"), slip=gr.slip.BodySlip(BEST))
    return Uncertain(
        model=husky,
        draw=lambda rng: husky.replace(slip=gr.slip.BodySlip(rng.normal(BEST, SIGMA))),
        noise=Noise(density=1e-4 * np.eye(3)),
    )


@pytest.fixture(scope="module")
def drawn(ground):
    """A plan with an uncertain model."""
    return plan(unsure(), ground, START, GOAL, samples=32, draws=40, seed=4)


def test_the_summary_has_the_numbers_of_the_drive_in_si_units(sure):
    found = json.loads(json.dumps(sure.summary(), allow_nan=False))
    assert found.keys() >= {
        "reached", "distance", "duration", "energy", "risk", "least_tip_margin_deg", "refused", "path",
    }  # fmt: skip
    path = np.array(found["path"])
    straight = math.dist(START, GOAL)
    assert straight - 0.3 <= found["distance"] < 1.5 * straight
    # The path has a place each half metre: as long as the drive, up to its chords.
    assert np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1).sum() == pytest.approx(found["distance"], rel=0.02)
    assert np.abs(path[:, 2]).max() < math.pi + 1e-9  # radians
    assert found["duration"] == pytest.approx(0.1 * len(sure.drive.twist))
    assert found["distance"] / found["duration"] < 1.0  # m/s, the largest speed
    assert found["least_tip_margin_deg"] == pytest.approx(math.degrees(sure.drive.tip_margin.min()))
    assert 20.0 < found["least_tip_margin_deg"] < 90.0


def test_energy_is_at_least_what_rolling_costs(sure):
    husky = sure.run.vehicle
    level = 0.05 * husky.mass * 9.80665 * sure.distance  # `Effort`: rolling resistance per load
    assert 0.9 * level < sure.summary()["energy"] < 10.0 * level


def test_the_refused_straight_way_ends_at_the_keep_out(sure):
    (straight, *_) = sure.refused
    assert straight.what == "straight way"
    assert "keep-out" in straight.reason
    x, y = straight.place
    room = float(np.abs(sure.run.vehicle.wheel_positions[:, 1]).max())
    assert 0.9 < math.hypot(x + 1.0, y) < 1.0 + room + 0.2
    clearance = [sure.keep_out.clearance(*xy) for xy in sure.drive.state[:, 4:6]]
    assert min(clearance) > room - 0.1  # the drive itself keeps out


def test_an_exact_model_reaches_for_certain_or_fails_for_certain(sure, ground):
    assert sure.reached
    assert sure.risk == 0.0
    assert sure.spread is None
    assert "ellipses" not in sure.summary()
    x = np.linspace(-8.0, 8.0, 65)
    wall = gr.terrain.grid(np.where(np.abs(x) < 1.0, 5.0, 0.0)[:, None] * np.ones(65), x=x, y=x)
    lost = plan(gr.Kinematics(gr.vehicle("husky")), wall, (-5.0, 0.0), (5.0, 0.0), samples=32)
    assert not lost.reached
    assert lost.risk == 1.0
    assert lost.reason
    assert lost.summary()["reason"] == lost.reason
    assert lost.summary()["least_tip_margin_deg"] is None  # it does not begin
    assert lost.summary()["route_cost"] is None


def test_ellipses_grow_without_feedback_and_stay_small_with_it(drawn):
    def sigma(spread):
        return np.sqrt(np.linalg.eigvalsh(spread.covariance[:, :2, :2])[:, -1])

    blind, steered = sigma(drawn.blind), sigma(drawn.spread)
    assert blind[0] < 1e-9  # all start at one place
    thirds = blind[[len(blind) // 3, 2 * len(blind) // 3, -1]]
    assert (np.diff(thirds) > 0.0).all()
    assert steered[-1] < 0.5 * blind[-1]
    # Along the way slip of 0.02 of it gives an error of 0.02 of it; noise of √(1e-4 · 9 m) adds 0.03 m.
    assert blind[-1] > 0.5 * SIGMA * drawn.distance


def test_ellipses_are_in_the_summary_as_covariances(drawn):
    found = drawn.summary()
    for name, spread in (("ellipses", drawn.spread), ("ellipses_without_feedback", drawn.blind)):
        last = found[name][-1]
        assert last["covariance"] == spread.covariance[-1, :2, :2].tolist()
        assert last["time"] == found["duration"]
    assert found["drawn_models"] == 60  # 3/risk, more than asked for
    assert found["risk"] == sum(found["failures"].values()) / 60


def test_the_risk_has_a_bound_of_its_counting(drawn):
    """Nobody of n fails with a chance of 5 % if each does with 1 − 0.05^(1/n)."""
    none = replace(drawn.spread, status=("ok",) * 40)
    assert none.risk_most == pytest.approx(1.0 - 0.05 ** (1.0 / 40))
    some = replace(drawn.spread, status=("ok",) * 38 + ("tipped",) * 2)
    below = sum(math.comb(40, k) * some.risk_most**k * (1.0 - some.risk_most) ** (40 - k) for k in range(3))
    assert below == pytest.approx(0.05)
    assert drawn.summary()["risk_most"] == drawn.spread.risk_most


def test_a_drive_that_does_not_arrive_fails_whatever_its_samples_do(drawn):
    short = replace(drawn, drive=replace(drawn.drive, reached=False, reason="it waits"), spread=drawn.blind)
    assert short.risk == 1.0


def test_the_run_of_a_plan_drives_as_predicted_behind_a_powertrain(ground):
    train = Powertrain(gain=0.95, delay=0.13, time_constant=0.3)
    slow = Uncertain(model=gr.Kinematics(gr.vehicle("husky")), powertrain=train)
    way = plan(slow, ground, START, (-2.0, -1.0), samples=16)
    assert way.reached
    # Mean rates of each step: those at its end would be some centimetres off.
    np.testing.assert_allclose(way.run.state[:, 4:7], way.drive.state[:, 4:7], rtol=0.0, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes(drawn, ground):
    again = plan(unsure(), ground, START, GOAL, samples=32, draws=40, seed=4)
    assert json.dumps(again.summary()) == json.dumps(drawn.summary())
    assert again.drive.state.tobytes() == drawn.drive.state.tobytes()
    other = plan(unsure(), ground, START, GOAL, samples=32, draws=40, seed=5)
    assert other.drive.state.tobytes() != drawn.drive.state.tobytes()


def test_progress_rises_from_the_search_to_the_end(ground):
    seen = []
    plan(
        gr.Kinematics(gr.vehicle("husky")), ground, START, (-2.0, 0.0), samples=16,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    done = [one for one, _ in seen]
    assert {total for _, total in seen} == {100}
    assert done == sorted(done)
    assert done[0] <= 10
    assert 90 <= done[-1] <= 100
    assert len(set(done)) > 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"risk": 1.0}, "risk: 1 is not a chance from 0 to below 1"),
        ({"risk": math.nan}, "risk"),
        ({"samples": 2}, "samples: 2"),
        ({"draws": 1}, "draws: 1"),
        ({"reached": 0.0}, "reached: 0"),
        ({"minimise": "fun"}, "minimise: 'fun'"),
        ({"start": (1.0,)}, "start: \\[1.0\\] is not \\(x, y\\) or \\(x, y, yaw\\)"),
        ({"goal": (math.nan, 0.0)}, "goal"),
        ({"ground": "flat"}, "ground: 'flat'"),
        ({"model": "husky"}, "model: 'husky' is not a model"),
    ],
)
def test_mistakes_are_named(change, words, ground):
    given = {"model": unsure(), "ground": ground, "start": START, "goal": GOAL} | change
    with pytest.raises(PlanError, match=words):
        plan(**given)


def test_a_cost_of_nan_is_refused(ground):
    @gr.plan.cost
    def broken(motion):
        return (motion[1] - 1e9) ** 0.5

    controller = gr.plan.MPPI(unsure().model, ground, gr.plan.Cost(broken), samples=16)
    with pytest.raises(PlanError, match="cost: is NaN for every rollout"):
        controller.command((0.0, 0.0, 0.0))


def test_evenly_has_the_ends():
    assert evenly(3, 24).tolist() == [0, 1, 2]
    assert evenly(1000, 24)[[0, -1]].tolist() == [0, 999]
