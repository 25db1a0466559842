"""Soils by place: each wheel has the law of the soil under it, and a ground of one soil is a ground without."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import grouser as gr
from grouser import threads
from grouser.errors import SimulationError

HUSKY = gr.vehicle("husky")
PLANE = gr.terrain.plane()
ROUGH = gr.terrain.rough(rms=0.05, length=0.8, seed=3)
G = 9.81
GRAVEL, ICE = 0.8, 0.1
AHEAD, ASIDE = 0.256, 0.275
"""Half the wheelbase and half the track of the husky [m]."""


def cone(friction):
    """Coulomb friction: all of it against the slip."""
    return gr.contact.PiecewiseLinear(friction=friction, cone=True)


BRAKING = cone(GRAVEL), cone(ICE)


def ahead_of(x, ground=PLANE, laws=BRAKING):
    """A ground with the second soil at all larger x [m]; outside its two cells the nearest counts."""
    return gr.terrain.soils(ground, gr.terrain.SoilRaster(classes=[[0], [1]], origin=(x - 1.0, 0.0), cell=1.0), laws)


def left_of(laws):
    """A plane with the second soil at y ≥ 0."""
    return gr.terrain.soils(PLANE, gr.terrain.SoilRaster(classes=[[0, 1]], origin=(0.0, -1.0), cell=1.0), laws)


def locked(ground, speed, duration, dt):
    """A slide with locked wheels, from a speed ahead [m/s]; the model's own contact is never used."""
    velocity = np.zeros(10)
    velocity[3] = speed
    model = gr.Dynamics(HUSKY, contact=cone(5.0))
    return gr.simulate(model, ground, np.zeros((1, 4)), duration=duration, dt=dt, velocity=velocity)


def test_locked_wheels_slide_from_gravel_onto_ice_as_far_as_friction_lets_them():
    # Hard wheels: the body pitches to its new load transfer within 0.02 s, a tenth of the time of crossing.
    laws = [cone(friction).replace(static_penetration=1e-3, damping=1500.0) for friction in (GRAVEL, ICE)]
    border = 3.0
    run = locked(ahead_of(border, laws=laws), 7.2, 6.0, 0.001)
    x, speed = run.position[:, 0], run.velocity[:, 3]
    # Front wheels on ice, rear wheels on gravel: with load transfer m a h/(2 ℓ) the rear ones carry less.
    height = 0.145 + 45.0 * 0.07 / 50.0  # of the centre of mass above the ground
    between = 0.5 * G * (GRAVEL + ICE) / (1.0 + (GRAVEL - ICE) * height / (2.0 * AHEAD))
    reached = [border - AHEAD, border + AHEAD]
    squared = [7.2**2 - 2.0 * GRAVEL * G * reached[0]]
    squared.append(squared[0] - 2.0 * between * (reached[1] - reached[0]))
    found = np.interp(reached, x, speed**2)
    # What is lost on each part: to 2 %, as contacts move a little while the body pitches, and by a dt/2 in speed.
    assert 7.2**2 - found[0] == pytest.approx(7.2**2 - squared[0], rel=0.02)
    assert found[0] - found[1] == pytest.approx(squared[0] - squared[1], rel=0.05)
    assert x[-1] - reached[1] == pytest.approx(found[1] / (2.0 * ICE * G), rel=0.01)
    assert abs(speed[-1]) < 1e-4


def test_on_each_part_every_wheel_pays_its_own_friction():
    run = locked(ahead_of(1.0), 5.0, 0.4, 0.004)
    share = np.hypot(run.contact.force[:-1, :, 0], run.contact.force[:-1, :, 1]) / run.contact.force[:-1, :, 2]
    on_ice = run.ground.soil(run.contact.point[:-1, :, 0], run.contact.point[:-1, :, 1]) == 1
    assert set(np.count_nonzero(on_ice, axis=1)) == {0, 2, 4}
    np.testing.assert_allclose(share, np.where(on_ice, ICE, GRAVEL), rtol=1e-9)


@pytest.mark.parametrize("mirrored", [False, True])
def test_braking_with_the_left_wheels_on_ice_turns_the_vehicle_to_the_right(mirrored):
    laws = [cone(ICE), cone(GRAVEL)] if mirrored else [cone(GRAVEL), cone(ICE)]
    run = locked(left_of(laws), 8.0, 0.1, 0.002)
    # Equal loads left and right; gravel pulls the right side back: M = −(μ_r − μ_l) (m g/2) track/2.
    moment = -(GRAVEL - ICE) * 0.5 * HUSKY.mass * G * ASIDE * (-1.0 if mirrored else 1.0)
    M, _ = gr.Dynamics(HUSKY).inertia_and_bias(run.state[0], run.velocity[0])
    force = run.contact.force[0]
    assert -np.sum(np.array([ASIDE, -ASIDE, ASIDE, -ASIDE]) * force[:, 0]) == pytest.approx(moment, rel=1e-3)
    # Wheels that slide aside as it turns resist by μ f_z ω ℓ/v: 1 % at the end.
    assert run.velocity[-1, 2] == pytest.approx(moment / M[2, 2] * 0.1, rel=0.03)


@pytest.mark.parametrize("law", [gr.contact.Pacejka(friction=0.6), gr.contact.PiecewiseLinear(rolling_resistance=5.0)])
@pytest.mark.parametrize("actuator", [None, gr.actuation.PI(gain=500.0)])
def test_one_soil_everywhere_is_the_plain_law_to_the_bit(law, actuator):
    model = gr.Dynamics(HUSKY, contact=law, actuator=actuator)
    drive = gr.drive.arc(1.0, 0.3)
    plain = gr.simulate(model, ROUGH, drive, duration=4.0)
    everywhere = gr.terrain.SoilRaster(classes=[[7]], cell=1.0)
    for laws in ({7: law}, {7: None}):
        run = gr.simulate(model, gr.terrain.soils(ROUGH, everywhere, laws), drive, duration=4.0)
        assert run.state.tobytes() == plain.state.tobytes()
        assert run.contact.force.tobytes() == plain.contact.force.tobytes()


def test_soils_replace_the_contact_of_the_model_and_cells_without_a_class_keep_it():
    ice = gr.Dynamics(HUSKY, contact=cone(ICE))
    velocity = np.zeros(10)
    velocity[3] = 3.0
    nowhere = gr.terrain.polygons([(0, [(90, 90), (91, 90), (91, 91), (90, 90)])], cell=0.5)
    runs = [
        gr.simulate(model, ground, np.zeros((1, 4)), duration=1.0, velocity=velocity, start=(0.0, 0.0, 0.0))
        for model, ground in (
            (ice, PLANE),
            (gr.Dynamics(HUSKY, contact=cone(GRAVEL)), ahead_of(-9.0)),
            (ice, gr.terrain.soils(PLANE, nowhere, [cone(GRAVEL)])),
        )
    ]
    assert runs[0].position[-1, 0] > 2.0  # it slides
    np.testing.assert_array_equal(runs[1].state, runs[0].state)
    np.testing.assert_array_equal(runs[2].state, runs[0].state)


@pytest.mark.parametrize(
    "model",
    [gr.Kinematics(HUSKY), gr.Dynamics(HUSKY, contact=gr.contact.Pacejka(friction=0.7))],
    ids=["kinematic", "dynamic"],
)
def test_rollouts_on_soils_are_the_same_for_any_number_of_threads(model, monkeypatch):
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 8)
    monkeypatch.setattr("grouser.threads._pool", cache(threads._pool.__wrapped__))
    rng = np.random.default_rng(2)
    checkers = gr.terrain.SoilRaster(classes=rng.integers(0, 3, (40, 40)), origin=(-8.0, -8.0), cell=0.4, outside=2)
    laws = [(gr.contact.Pacejka(friction=f), gr.slip.BodySlip([0, -f, 0, 0, 0, 0])) for f in (0.1, 0.4)]
    ground = gr.terrain.soils(ROUGH, checkers, [*laws, None])
    commands = 3.0 + rng.normal(0.0, 1.0, (64, 40, 4))
    many = [gr.rollout(model, ground, commands, threads=n).final_state.tobytes() for n in (1, 2, 8)]
    assert many[0] == many[1] == many[2]
    alone = gr.rollout(model, ground, commands[7:8])
    assert alone.final_state.tobytes() == np.frombuffer(many[0]).reshape(64, -1)[7].tobytes()
    assert not np.array_equal(alone.final_state, gr.rollout(model, ROUGH, commands[7:8]).final_state)


@pytest.mark.parametrize("model", [gr.Kinematics(HUSKY), gr.Dynamics(HUSKY)], ids=["kinematic", "dynamic"])
def test_a_simulation_and_single_steps_have_the_soils_too(model):
    ground = ahead_of(0.0, laws=[(cone(1.0), None), (cone(0.02), gr.slip.BodySlip([0, -0.5, 0, 0, 0, 0]))])
    command = np.array([4.0, 4.0, 4.0, 4.0])
    run = gr.simulate(model, ground, command[None], duration=0.4, velocity=np.zeros(10) if model.dynamic else None)
    rover = gr.Simulation(model, ground, dt=0.04)
    for _ in range(10):
        rover.step(command)
    np.testing.assert_array_equal(rover.state, run.state[-1])
    where = run.state[0]
    args = (where, np.zeros(10), command) if model.dynamic else (where, command)
    # The same model on a ground without soils before and after: nothing is left of the other ground.
    plain = [model.step(*args, PLANE, dt=0.04).velocity for _ in range(2)]
    soiled = model.step(*args, ground, dt=0.04).velocity
    plain.append(model.step(*args, PLANE, dt=0.04).velocity)
    np.testing.assert_array_equal(plain[0], plain[2])
    assert np.abs(soiled - plain[0]).max() > 0.05
    if not model.dynamic:
        np.testing.assert_array_equal(model.velocity(where, command, ground).value, soiled)


LAG = gr.slip.BodySlip([0.0, -0.5, 0.0, 0.0, 0.0, 0.0])


def test_slip_at_the_wheels_is_that_of_the_soil_under_each():
    model = gr.Kinematics(HUSKY)
    run = gr.simulate(model, left_of([None, LAG]), gr.drive.arc(1.0), duration=0.04)
    # Left wheels want half the speed, right ones all of it, and no wheel wants to slide aside: least squares.
    turn = 0.5 * ASIDE / (2.0 * (ASIDE**2 + AHEAD**2))
    assert run.velocity[0, 3] == pytest.approx(0.75, abs=1e-9)
    assert run.velocity[0, 2] == pytest.approx(turn, abs=1e-9)


def test_slip_on_the_body_is_the_mean_over_the_wheels():
    slip = gr.slip.BodySlip(LAG.coefficients, apply="body")
    run = gr.simulate(gr.Kinematics(HUSKY), left_of([None, slip]), gr.drive.arc(1.0), duration=0.04)
    assert run.velocity[0, 3] == pytest.approx(0.75, abs=1e-9)
    assert abs(run.velocity[0, 2]) < 1e-9


@pytest.mark.parametrize("vehicle", ["husky", "rocky7"])
@pytest.mark.parametrize("apply", ["wheels", "body"])
def test_one_slip_everywhere_is_the_plain_slip_to_the_bit(vehicle, apply):
    slip = gr.slip.BodySlip([-0.1, -0.2, -0.3, -0.05, 0.02, -0.1], apply=apply)
    everywhere = gr.terrain.SoilRaster(classes=[[0]], cell=1.0)
    rover, drive = gr.vehicle(vehicle), gr.drive.arc(0.3, 0.3)
    plain = gr.simulate(gr.Kinematics(rover, slip=slip), ROUGH, drive, duration=4.0)
    for own, law in ((None, slip), (slip, None)):
        ground = gr.terrain.soils(ROUGH, everywhere, [law])
        run = gr.simulate(gr.Kinematics(rover, slip=own), ground, drive, duration=4.0)
        assert run.state.tobytes() == plain.state.tobytes()


def test_slip_of_the_model_and_of_soils_must_be_applied_alike():
    ground = left_of([None, LAG])
    model = gr.Kinematics(HUSKY, slip=gr.slip.BodySlip(np.zeros(6), apply="body"))
    with pytest.raises(SimulationError, match="some is applied to the body and some at the wheels"):
        gr.simulate(model, ground, gr.drive.arc(1.0), duration=0.2)


def test_a_contact_by_wheel_name_needs_every_wheel():
    laws = [None, {"FL": cone(ICE), "FR": cone(ICE)}]
    with pytest.raises(SimulationError, match="gives no contact model for wheel 'BL', only for FL, FR"):
        gr.simulate(gr.Dynamics(HUSKY), left_of(laws), gr.drive.arc(1.0), duration=0.2)


def test_a_moved_ground_takes_its_soils_with_it():
    model = gr.Dynamics(HUSKY)
    start = np.array([-1.5, 0.3, 0.2])
    here = gr.simulate(model, ahead_of(0.0), gr.drive.arc(2.0, 0.1), duration=2.0, start=start)
    yaw, x, y = 2.0, 5.0, -3.0
    c, s = math.cos(yaw), math.sin(yaw)
    there = gr.terrain.moved(ahead_of(0.0), x=x, y=y, yaw=yaw)
    placed = (x + c * start[0] - s * start[1], y + s * start[0] + c * start[1], start[2] + yaw)
    run = gr.simulate(model, there, gr.drive.arc(2.0, 0.1), duration=2.0, start=placed)
    assert set(here.ground.soil(here.position[:, 0], here.position[:, 1])) == {0, 1}
    turned = here.position @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + [x, y, 0.0]
    # Each step is balanced to a ten-thousandth of the weight, from another rounding.
    np.testing.assert_allclose(run.position, turned, rtol=0.0, atol=1e-4)
