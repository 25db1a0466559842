"""A calibrated motion model on any ground: the engine's velocity, draws of parameters, process noise, powertrain."""

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.errors import CalibrationError
from grouser.motion import (
    Bicycle,
    Corrected,
    DifferentialDrive,
    FourNumbers,
    MotionModel,
    Noise,
    Perturbative,
    Powertrain,
)
from grouser.motion.on_ground import draws, driven_rates, engine_model, left_out, scaled_noise
from grouser.motion.velocity import Inputs, twists
from tests.motion.uncertain_fit import dynamic_fit, fit_of

ALPHA = np.array([-0.03, 0.02, -0.05, 0.04, 0.02, -0.03, 0.06, 0.05, 0.01, -0.4, 0.03, 0.02, -0.03])
SLOPES = [(0.0, 0.0), (15.0, 0.3), (12.0, 2.0), (20.0, -1.2)]


def both_velocities(model, degrees, yaw, left, right):
    """Body velocity by the engine on a plane, and by the velocity model at that attitude."""
    vehicle = model.vehicle
    ground = gr.terrain.slope(deg=degrees) if degrees else gr.terrain.plane()
    state = gr.settle(vehicle, ground, x=1.0, y=0.5, yaw=yaw).state
    command = np.where(vehicle.wheel_positions[:, 1] > 0.0, left, right)
    attitude = rotation.to_rpy(rotation.from_quaternion(state[:4]))[None, :2]
    inputs = Inputs(time=np.zeros(1), attitude=attitude, rates=command[None], angles=np.full((1, 4), np.nan))
    engine = engine_model(MotionModel(model=model))
    return engine.velocity(state, command, ground).value[:6], twists(model, inputs)[0]


def shifted(vehicle):
    """The same vehicle with its centre of mass aside: the slip is the origin's all the same."""
    return gr.motion.parameters.with_values(
        MotionModel(model=Perturbative(vehicle=vehicle)), {"vehicle.cg.x": 0.2, "vehicle.cg.y": -0.1}
    ).vehicle


@pytest.mark.parametrize("grows", ["time", "distance"])
@pytest.mark.parametrize("name", ["warthog", "husky"])
def test_on_planes_the_engine_has_the_velocity_of_the_slip_surface(name, grows):
    for vehicle in (gr.vehicle(name), shifted(gr.vehicle(name))):
        model = Perturbative(vehicle=vehicle, slip=ALPHA, gravity_grows=grows)
        for degrees, yaw in SLOPES:
            for left, right in ((2.0, 3.0), (-2.0, 1.5), (3.0, -1.0)):
                engine, wanted = both_velocities(model, degrees, yaw, left, right)
                np.testing.assert_allclose(engine, wanted, rtol=0.0, atol=1e-9)


def test_a_vehicle_across_a_slope_slips_down_it():
    model = Perturbative(vehicle=gr.vehicle("husky"), slip=np.eye(13)[7] * 0.05)
    # slope() rises along x; facing +y, the right side is uphill and downhill is to the left.
    engine, _ = both_velocities(model, 15.0, np.pi / 2, 2.0, 2.0)
    assert engine[4] == pytest.approx(0.05 * 9.80665 * np.sin(np.radians(15.0)), rel=1e-3)


def test_planar_baselines_are_slip_of_the_body():
    husky = gr.vehicle("husky")
    numbers = FourNumbers(vehicle=husky, speed_gain=0.95, yaw_gain=0.6, lateral=0.05, yaw_per_speed=0.01)
    for model in (numbers, DifferentialDrive(vehicle=husky, yaw_gain=0.5)):
        engine, wanted = both_velocities(model, 0.0, 0.4, 2.0, 3.0)
        np.testing.assert_allclose(engine, wanted, rtol=0.0, atol=1e-9)
    with pytest.raises(CalibrationError, match="chosen wheels"):
        engine_model(MotionModel(model=DifferentialDrive(vehicle=husky, left=("FL",), right=("FR",))))


@pytest.mark.parametrize("angle", [0.0, 0.3, -0.4])
def test_a_bicycle_is_driven_with_its_steering_offset_and_wheelbase(angle):
    tricycle = gr.vehicle("examples/optiodom/tricycle-vehicle.toml")
    model = Bicycle(vehicle=tricycle, speed_gain=0.9, steering_offset=0.05, wheelbase=0.17)
    state = gr.settle(tricycle, gr.terrain.plane()).state
    state[7] = angle
    rates, angles = np.array([[0.0, 4.0, np.nan, np.nan]]), np.array([[angle, np.nan, np.nan, np.nan]])
    wanted = twists(model, Inputs(time=np.zeros(1), attitude=np.zeros((1, 2)), rates=rates, angles=angles))[0]
    engine = engine_model(MotionModel(model=model))
    found = engine.velocity(state, np.array([0.0, 4.0]), gr.terrain.plane()).value[:6]
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9)


def test_a_learned_correction_keeps_its_steady_terms_and_says_what_is_left_out():
    husky = gr.vehicle("husky")
    correction = np.concatenate([np.linspace(-0.9, 1.0, 8), [0.4, -0.3, 0.2]])
    steady = {"widths": (0.1,) * 8, "reach": (0.3, 0.5, 1.0, 1.0), "correction": correction}
    model = Corrected(vehicle=husky, slip=ALPHA, terms=tuple(range(6, 14)), **steady)
    for left, right in ((2.0, 3.0), (-2.0, 1.5), (0.2, -1.0)):  # inside and outside of the reach
        engine, wanted = both_velocities(model, 15.0, 0.3, left, right)
        np.testing.assert_allclose(engine, wanted, rtol=0.0, atol=1e-9)
    assert left_out(MotionModel(model=model)) is None
    assert "transient" in left_out(MotionModel(model=Corrected(vehicle=husky)))


def test_kinematics_and_dynamics_are_taken_as_they_are():
    husky = gr.vehicle("husky")
    for model in (gr.Kinematics(husky), gr.Dynamics(husky)):
        assert engine_model(MotionModel(model=model, ground=gr.terrain.plane())) is model


def test_draws_have_the_covariance_of_the_fit_and_stay_within_bounds():
    fit = fit_of(sigma=0.02)
    found = np.array([one.model.slip[[0, 9]] for one in draws(fit, 4000, seed=3)])
    np.testing.assert_allclose(found.mean(axis=0), fit.vector[:2], rtol=0.0, atol=4 * 0.02 / np.sqrt(4000))
    # The sample covariance of 4000 draws scatters by 1/√2000 of a variance; four of these.
    np.testing.assert_allclose(np.cov(found.T), fit.covariance, rtol=0.0, atol=4 * 0.02**2 / np.sqrt(2000))
    wide = np.array([one.model.slip[9] for one in draws(fit_of(sigma=3.0), 200)])
    assert wide.min() == -1.0
    assert wide.max() == 1.0


def test_a_stiffness_differs_between_grounds_by_a_share_of_what_was_fitted():
    """Not of its prior, which is six times as large here: half of the draws would lie at a bound."""
    found = np.array([one.model.contact.slip_stiffness_x for one in draws(dynamic_fit(), 400, seed=1)])
    # 20 % of 500 besides the 20 of the fit; sigma of 400 is known to 3.5 %, four of these.
    assert found.std() == pytest.approx(np.hypot(100.0, 20.0), rel=0.14)
    assert found.min() > 60.0


def test_the_first_draws_of_many_are_those_of_few():
    fit = fit_of()
    few, many = draws(fit, 3, seed=5), draws(fit, 8, seed=5)
    for a, b in zip(few, many, strict=False):
        np.testing.assert_array_equal(a.model.slip, b.model.slip)
    assert not np.array_equal(draws(fit, 1, seed=6)[0].model.slip, few[0].model.slip)
    assert draws(fit.model, 2) == [fit.model, fit.model]


@pytest.mark.parametrize("grows", ["time", "distance"])
def test_noise_moves_the_vehicle_as_its_density_and_its_wander_say(grows):
    density = np.array([[4e-4, 1e-4, 0.0], [1e-4, 2e-4, -5e-5], [0.0, -5e-5, 1e-4]])
    wander = np.array([1e-3, 0.0, 4e-4])
    noise = Noise(density=density, form="full", grows=grows, wander=wander, length=2.0)
    dt, steps, speed, n = 0.05, 100, 1.5, 3000
    way = (speed if grows == "distance" else 1.0) * dt * steps
    unit = np.random.default_rng(1).standard_normal((n, steps, 2, 3))
    moved = scaled_noise(noise, np.full((n, steps), speed), dt, unit).sum(axis=1) * dt
    # ∫∫ e^(−|s − s'|/L) ds ds' = 2 L² (s/L − 1 + e^(−s/L)).
    held = 2 * 2.0**2 * (way / 2.0 - 1.0 + np.exp(-way / 2.0))
    wanted = density * way + np.diag(wander) * held
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    np.testing.assert_allclose(np.cov(moved[:, [3, 4, 2]].T) / scale, wanted / scale, rtol=0.0, atol=4 * np.sqrt(2 / n))
    assert not moved[:, [0, 1, 5]].any()


def test_noise_by_distance_does_not_move_a_vehicle_at_rest():
    noise = Noise(wander=np.full(3, 1e-3))
    unit = np.random.default_rng(0).standard_normal((10, 2, 3))
    assert not scaled_noise(noise, np.zeros(10), 0.1, unit).any()


def test_rates_behind_a_powertrain_travel_as_the_closed_form_says():
    train = Powertrain(gain=0.9, delay=0.13, time_constant=0.3)
    dt, steps = 0.05, 40
    commands = np.zeros((2, steps, 1))
    commands[0, 4:] = 2.0  # from 0.2 s on
    rates = driven_rates(train, commands, dt)
    t = np.maximum(dt * np.arange(1, steps + 1) - 0.2 - 0.13, 0.0)
    travel = 0.9 * 2.0 * (t - 0.3 * (1.0 - np.exp(-t / 0.3)))
    np.testing.assert_allclose(np.cumsum(rates[0, :, 0]) * dt, travel, rtol=0.0, atol=1e-12)
    assert not rates[1].any()
    np.testing.assert_array_equal(driven_rates(None, commands, dt), commands)
    sudden = driven_rates(Powertrain(delay=0.1, time_constant=0.0), commands, dt)
    np.testing.assert_allclose(sudden[0, :, 0], np.where(np.arange(steps) >= 6, 2.0, 0.0), rtol=0.0, atol=1e-12)
