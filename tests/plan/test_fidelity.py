"""Kinematics for all, dynamics where it is asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan.fidelity import AutoRoller
from grouser.plan.trials import Roller, start_states
from grouser.plan.uncertain import Uncertain

ROVER = gr.vehicle("zoe")
FULL = gr.Dynamics(ROVER, contact=gr.contact.Pacejka())
CHEAP = gr.Kinematics(ROVER)
GROUND = gr.terrain.rough(0.3, 1.0, 4, size=(20.0, 20.0))
N, STEPS, DT = 40, 20, 0.08


def batch() -> tuple[np.ndarray, np.ndarray]:
    """Random motions from random places."""
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(-5.0, 5.0, (N, 2)), rng.uniform(-3.0, 3.0, N)])
    wanted = np.zeros((N, STEPS, 3))
    wanted[..., 0], wanted[..., 2] = rng.uniform(0.4, 1.0, (N, 1)), rng.uniform(-0.5, 0.5, (N, 1))
    return wanted, start_states(CHEAP, GROUND, places, N)


def rolled(auto: gr.plan.Auto) -> tuple[Any, AutoRoller]:
    wanted, starts = batch()
    roller = AutoRoller(auto, GROUND, dt=DT, threads=1)
    return roller.run(wanted, starts), roller


def test_each_motion_is_that_of_the_model_that_was_asked() -> None:
    """Bytes of the cheap model where nothing asks, of dynamics, alone in a batch of its own, where something does."""
    wanted, starts = batch()
    margin = float(np.median(Roller(CHEAP, GROUND, dt=DT, threads=1).run(wanted, starts).least_tip_margin))
    auto = gr.plan.Auto(CHEAP, FULL, tip_margin=margin, slip=9.0, speed=9.0)
    found, roller = rolled(auto)
    cheap = Roller(CHEAP, GROUND, dt=DT, threads=1).run(wanted, starts)
    asked = cheap.least_tip_margin < margin
    assert roller.share == pytest.approx(0.5, abs=0.05)
    assert asked.sum() == round(roller.share * N)
    assert np.array_equal(found.final_state[~asked], cheap.final_state[~asked])
    for i in np.flatnonzero(asked)[:3]:
        begin = starts[i : i + 1].copy()
        begin[:, 6] -= FULL.penetration
        alone = Roller(FULL, GROUND, dt=DT, threads=1).run(
            np.ascontiguousarray(wanted[i : i + 1]), begin, velocities=np.zeros((1, 6 + ROVER.n_joints))
        )
        assert np.array_equal(found.final_state[i], alone.final_state[0])
        assert found.status[i] == alone.status[0]
        assert not np.array_equal(found.final_state[i], cheap.final_state[i])


def test_each_condition_asks_on_its_own() -> None:
    nothing = gr.plan.Auto(CHEAP, FULL, tip_margin=0.0, slip=9.0, speed=9.0)
    assert rolled(nothing)[1].share == 0.0
    for options in ({"tip_margin": math.pi}, {"speed": 0.0}):
        given: dict[str, float] = {"tip_margin": 0.0, "slip": 9.0, "speed": 9.0, **options}
        assert rolled(gr.plan.Auto(CHEAP, FULL, **given))[1].share == 1.0
    slipping = gr.Kinematics(ROVER, slip=gr.slip.BodySlip([0.0, -0.5, 0.0, 0.0, 0.0, 0.0]))
    given = {"tip_margin": 0.0, "slip": 0.3, "speed": 9.0}
    assert rolled(gr.plan.Auto(slipping, FULL, **given))[1].share == 1.0
    assert rolled(gr.plan.Auto(CHEAP, FULL, **given))[1].share < 0.2


def test_all_by_dynamics_is_dynamics_and_differences_are_counted() -> None:
    wanted, starts = batch()
    found, roller = rolled(gr.plan.Auto(CHEAP, FULL, speed=0.0))
    cheap = Roller(CHEAP, GROUND, dt=DT, threads=1).run(wanted, starts)
    assert roller.differ == np.count_nonzero(found.status != cheap.status)
    sunk = starts.copy()
    sunk[:, 6] -= FULL.penetration
    full = Roller(FULL, GROUND, dt=DT, threads=1).run(wanted, sunk, velocities=np.zeros((N, 6 + ROVER.n_joints)))
    assert np.array_equal(found.final_state, full.final_state)
    assert np.array_equal(found.energy, full.energy)


def test_it_is_taken_where_a_model_is() -> None:
    flat = gr.terrain.plane()
    auto = gr.plan.Auto.of(FULL, speed=0.5)
    assert auto.full is FULL
    assert isinstance(auto.model, gr.Kinematics)
    assert auto.speed == 0.5
    assert Uncertain.of(auto).driven is FULL
    assert Uncertain.of(auto).model.vehicle is ROVER
    controller = gr.plan.MPPI(auto, flat, gr.plan.Cost(gr.plan.Goal(5, 0)), samples=32, horizon=1.0, threads=1)
    order = controller.command((0, 0, 0))
    assert order.feasible
    assert order.twist[0] > 0.0
    assert isinstance(controller._nominal, AutoRoller)
    assert controller._nominal.share > 0.0
    controller.replace_cost(gr.plan.Cost(gr.plan.Goal(-5, 0)))
    assert controller.command((0, 0, 0)).feasible
    trials = gr.plan.roll_out(auto, flat, np.tile([0.8, 0.0, 0.0], (3, 10, 1)))
    assert trials.ok.all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gr.plan.Auto.of("zoe"), "auto: 'zoe'"),
        (lambda: gr.plan.Auto(CHEAP, gr.Dynamics(gr.vehicle("husky"))), "not one vehicle"),
        (lambda: gr.plan.Auto(CHEAP, CHEAP), "auto full"),  # type: ignore[arg-type]
        (lambda: gr.plan.Auto(FULL, FULL), "auto cheap"),  # type: ignore[arg-type]
        (lambda: gr.plan.Auto.of(CHEAP, slip=-1.0), "auto slip"),
    ],
)
def test_bad_input_is_one_sentence(make: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words) as found:
        make()
    assert "\n" not in str(found.value)
