"""Wheels stay on the ground and coupled joints stay coupled, for as long as it drives."""

import dataclasses
import math

import numpy as np
import pytest

import grouser as gr
from grouser.kinematics import Weights
from grouser.simulation.settle import settle_state

MINUTE = 60.0
SPEED = {"zoe": 0.4, "rocky7": 0.2}


@pytest.fixture(scope="module")
def ground():
    """Rough but twice differentiable, 30 m wide: an integrator of any order can follow it."""
    rough = gr.terrain.rough(0.1, 1.5, 11, size=30.0, spacing=0.3)
    x = np.linspace(-15, 15, 101)
    X, Y = np.meshgrid(x, x, indexing="ij")
    return gr.terrain.spline(rough.height(X, Y), x, x)


def drive(name, ground, *, dt, **options):
    """A minute of a wide left-hand arc."""
    vehicle = gr.vehicle(name)
    run = gr.simulate(
        gr.Kinematics(vehicle, **options),
        ground,
        gr.drive.arc(SPEED[name], 0.15),
        duration=MINUTE,
        dt=dt,
        start=(-2.0, -4.0, 0.3),
    )
    assert run.status == "ok"
    assert run.distance > 0.9 * MINUTE * SPEED[name]
    settled = run.time > 1.0  # ten time constants after the start
    coupling = run.joints @ vehicle.arrays.coupling.T - vehicle.arrays.coupling_value
    return np.abs(run.contact.height_error[settled]).max(), np.abs(coupling).max(initial=0.0)


@pytest.mark.parametrize("name", ["zoe", "rocky7"])
def test_a_minute_of_rough_ground_leaves_no_drift(name, ground):
    """Under a micrometre (tests.md 6) with constraint rows that outweigh slip, and RK4.

    Weights of 100 make the least squares prefer 1 mm/s of slip to 1e-7 m/s (the ratio squared) off the ground; what is
    left of the drift is then RK4's, and falls sixteenfold with half the step until it meets the weights' floor.
    """
    weights = Weights(normal=100.0, coupling=100.0)
    coarse, coupling = drive(name, ground, dt=0.04, integrator="rk4", weights=weights)
    fine, _ = drive(name, ground, dt=0.02, integrator="rk4", weights=weights)
    print(f"\n{name}: {coarse:.1e} m at 0.04 s, {fine:.1e} m at 0.02 s, coupling {coupling:.1e} rad")
    assert coarse < 1e-6
    assert fine < 0.7 * coarse
    assert coupling < 1e-12


@pytest.mark.parametrize("name", ["zoe", "rocky7"])
def test_with_unit_weights_the_wheels_leave_the_ground_by_slip_times_the_time_constant(name, ground):
    """The thesis's solution trades height against slip, one for one: errors of a fraction of a millimetre remain,
    whatever the step, because σ Δz balances slip of some mm/s. Euler adds a like amount at 0.04 s."""
    euler, _ = drive(name, ground, dt=0.04)
    rk4, _ = drive(name, ground, dt=0.04, integrator="rk4")
    print(f"\n{name}: Euler {euler:.1e} m, RK4 {rk4:.1e} m")
    assert 1e-5 < rk4 < 5e-4
    assert 1e-5 < euler < 5e-4


def test_a_coupling_that_the_ground_works_against_holds_as_well_as_its_weight(ground):
    """LRU-1 with its bogies held level instead of sprung: its four wheels cannot all touch, and weights decide."""
    vehicle = gr.vehicle("lru1")
    level = (dataclasses.replace(c, stiffness=None, damping=None) for c in vehicle.couplings)
    vehicle = vehicle.replace(couplings=tuple(level))
    worst = []
    for weight in (1.0, 10.0, 100.0):
        model = gr.Kinematics(vehicle, weights=Weights(coupling=weight))
        run = gr.simulate(model, ground, gr.drive.arc(0.3), duration=20.0, start=(-2.0, -4.0, 0.3))
        worst.append(np.abs(run.joints[25:] @ vehicle.arrays.coupling.T).max())
    print("\nLRU-1 bogies:", worst)
    assert worst[0] > 10 * worst[1] > 100 * worst[2]  # as the weight squared, or nearly
    assert worst[2] < 1e-4


@pytest.mark.parametrize("tau", [0.1, 0.5])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_planted_height_error_decays_with_the_time_constant(tau, integrator):
    vehicle, ground, dt = gr.vehicle("zoe"), gr.terrain.plane(), 0.02
    start = gr.settle(vehicle, ground).state
    start[6] += 0.01
    run = gr.simulate(
        gr.Kinematics(vehicle, time_constant=tau, integrator=integrator),
        ground,
        gr.drive.constant(1.0),
        duration=1.0,
        dt=dt,
        start=start,
    )
    h = dt / tau
    # One step multiplies the error by the integrator's polynomial of e^-h; RK4's is e^-h to h⁵/120.
    factor = 1 - h if integrator == "euler" else 1 - h + h**2 / 2 - h**3 / 6 + h**4 / 24
    wanted = 0.01 * factor ** np.arange(len(run.time))
    np.testing.assert_allclose(run.contact.height_error, np.repeat(wanted[:, None], 4, axis=1), rtol=0.0, atol=1e-9)
    if integrator == "rk4":
        np.testing.assert_allclose(wanted, 0.01 * np.exp(-run.time / tau), rtol=1e-3)


def test_a_planted_coupling_error_decays_with_the_time_constant():
    vehicle, ground = gr.vehicle("rocky7"), gr.terrain.plane()
    start = gr.settle(vehicle, ground).state
    start[7 + vehicle.joint_index("D1")] += 0.02
    start[7 + vehicle.joint_index("D2")] += 0.02
    model = gr.Kinematics(vehicle, time_constant=0.2, integrator="rk4")
    run = gr.simulate(model, ground, gr.drive.arc(0.2), duration=1.0, dt=0.02, start=start)
    error = run.joint("D1") + run.joint("D2")
    np.testing.assert_allclose(error, 0.04 * np.exp(-run.time / 0.2), rtol=1e-4)


def test_the_target_is_the_wanted_penetration():
    vehicle, ground = gr.vehicle("zoe"), gr.terrain.plane()
    start = gr.settle(vehicle, ground).state
    model = gr.Kinematics(vehicle, penetration=0.02, time_constant=0.1)
    run = gr.simulate(model, ground, gr.drive.arc(0.5), duration=3.0, start=start)
    np.testing.assert_allclose(run.contact.height_error[-1], -0.02, rtol=0.0, atol=1e-9)  # negative is into the ground
    assert run.position[-1, 2] == pytest.approx(start[6] - 0.02, abs=1e-9)


def test_a_time_constant_shorter_than_the_step_is_refused():
    """σ > 1/dt overshoots, T (2.35)."""
    vehicle, ground = gr.vehicle("zoe"), gr.terrain.plane()
    model = gr.Kinematics(vehicle, time_constant=0.03)
    with pytest.raises(gr.GrouserError, match=r"time_constant.*0\.04"):
        gr.simulate(model, ground, gr.drive.arc(0.5), duration=0.4, dt=0.04)
    with pytest.raises(gr.GrouserError, match="time_constant"):
        gr.rollout(model, ground, np.ones((1, 5, 4)), dt=0.04)
    assert gr.simulate(model, ground, gr.drive.arc(0.5), duration=0.3, dt=0.03).status == "ok"  # equal is allowed


def test_without_a_time_constant_it_is_a_tenth_of_a_second_or_the_step():
    model = gr.Kinematics(gr.vehicle("zoe"))
    assert model.gain(0.04) == pytest.approx(10.0)
    assert model.gain(0.2) == pytest.approx(5.0)


@pytest.mark.parametrize("name", gr.vehicles.names())
def test_settling_leaves_each_wheel_on_its_mark_or_names_it(name, ground):
    vehicle = gr.vehicle(name)
    for x, y, yaw in ((0.0, 0.0, 0.0), (2.0, -3.0, 1.1), (-4.0, 1.0, -2.5)):
        settled = gr.settle(vehicle, ground, x=x, y=y, yaw=yaw, penetration=0.01)
        assert settled.converged
        error = settled.height_error + 0.01
        assert settled.off_ground == tuple(w for w, e in zip(vehicle.wheels, error, strict=True) if e > 1e-3)
        if name in ("zoe", "rocky7"):  # joints enough for every wheel
            assert np.abs(error).max() < 1e-9
        assert settled.state[4:6] == pytest.approx([x, y], abs=0)
        yaw_now = gr.rotation.to_rpy(gr.rotation.from_quaternion(settled.state[:4]))[2]
        assert math.remainder(yaw_now - yaw, 2 * math.pi) == pytest.approx(0.0, abs=1e-12)
        again = settle_state(vehicle, ground, settled.state, penetration=0.01)
        np.testing.assert_allclose(again.state, settled.state, rtol=0.0, atol=1e-7)
