"""The soil's work in a run: by hand at one state, both ways, on a slope, and for which models."""

import math

import numpy as np
import pytest

import grouser as gr
from experiments.wedged_soil import WedgedSoil
from grouser.errors import SimulationError

ROVER = gr.vehicle("lru2")
WHEEL = next(frame for frame in ROVER.frames if frame.is_wheel)
SOIL = gr.contact.Ishigami()
SOFT = gr.Dynamics(ROVER, contact=SOIL)


def drive(model=SOFT, ground=None, speed=0.4, seconds=4.0):
    ground = ground or gr.terrain.plane()
    return gr.simulate(model, ground, gr.drive.arc(speed=speed, curvature=0.0), duration=seconds, dt=0.01)


def per_metre(run, power):
    """Over the second half, when it drives steadily [J/m]."""
    half = len(run.time) // 2
    way = np.linalg.norm(np.diff(run.position[half:], axis=0), axis=1).sum()
    return power[half:-1].sum() * run.dt / way


@pytest.fixture(scope="module")
def flat():
    return drive()


def by_hand(V, W, h, n=20_000):
    """R² b ∫ τ dθ of the soil of T Table C.2 by the midpoint rule, driving ahead; λ = 1, ε = .05 m/s."""
    R, b, eps = WHEEL.radius, WHEEL.width, 0.05
    f = np.arccos(1 - h / R)
    m = (0.40 + 0.15 * (W - V) / (max(W, V) + eps)) * f
    edges = np.linspace(-f, f, n + 1)
    theta = 0.5 * (edges[1:] + edges[:-1])
    front = np.where(theta >= m, theta, f - (theta + f) / (m + f) * (f - m))
    sigma = R * (1.37e3 / b + 8.14e5) * (np.cos(front) - np.cos(f))
    j = R * (W * (f - theta) - V * (np.sin(f) - np.sin(theta))) / np.hypot(W, eps)
    tau = (800.0 + sigma * np.tan(np.radians(37.2))) * np.sign(j) * -np.expm1(-abs(j) / 0.036)
    return R**2 * b * tau.sum() * 2 * f / n


def test_torque_of_every_wheel_is_that_of_its_state(flat):
    work = gr.traction.soil_work(flat, SOFT)
    assert work.torque.shape == work.power.shape == work.missing_torque.shape == (401, 4)
    for w, name in enumerate(ROVER.wheels):
        rate = flat.velocity[-1, 6 + ROVER.joint_index(name)]
        W = WHEEL.radius * rate
        torque = by_hand(flat.contact.velocity[-1, w, 0] + W, W, -flat.contact.height_error[-1, w])
        assert work.torque[-1, w] == pytest.approx(torque, rel=1e-3)
        assert work.power[-1, w] == pytest.approx(torque * rate, rel=1e-3)


def test_on_level_ground_all_power_goes_into_the_soil(flat):
    work = gr.traction.soil_work(flat, SOFT)
    felt, needed = per_metre(flat, flat.power.sum(axis=1)), per_metre(flat, work.motor_power.sum(axis=1))
    assert felt < 0.01
    # Steady motion pulls nothing, so that nothing else is left to pay for.
    assert needed == pytest.approx(per_metre(flat, work.power.sum(axis=1)), abs=0.01)
    # Soil that springs back behind the wheel (λ = 1) takes less than Bekker's rut, which stays.
    k = SOIL.k_c / WHEEL.width + SOIL.k_phi
    bekker = (WHEEL.width * k * flat.contact.height_error[-1] ** 2 / 2).sum()
    assert 1.0 < needed < bekker


def test_a_rut_that_stays_costs_bekkers_compaction_and_the_slip_of_its_rim():
    """Stress as of a plate, none behind the wheel: R_c and the slip of the rim, 1 − (1 − s) cos θ with θ < θ_f."""
    soil = gr.contact.Ishigami(sinkage_ratio=0.0, a_0=1e-4, a_1=0.0)
    model = SOFT.replace(contact=soil)
    run = drive(model)
    needed = per_metre(run, gr.traction.soil_work(run, model).motor_power.sum(axis=1))
    sinkage = -run.contact.height_error[-1]
    bekker = (WHEEL.width * (soil.k_c / WHEEL.width + soil.k_phi) * sinkage**2 / 2).sum()
    W = WHEEL.radius * run.velocity[-1, 6 + ROVER.joint_index("FL")]
    least = bekker * W / (W + run.contact.velocity[-1, 0, 0])
    assert least < needed < least / (1 - sinkage.max() / WHEEL.radius)


def test_uphill_motors_also_lift_the_rover(flat):
    run = drive(ground=gr.terrain.slope(8.0), seconds=6.0)
    work = gr.traction.soil_work(run, SOFT)
    lifting = ROVER.mass * 9.81 * math.sin(math.radians(8.0))
    wheels = per_metre(run, work.power.sum(axis=1))
    level = per_metre(flat, gr.traction.soil_work(flat, SOFT).power.sum(axis=1))
    assert per_metre(run, run.power.sum(axis=1)) > lifting
    assert wheels > lifting + 0.8 * level  # less weight on the wheels, more slip
    assert per_metre(run, work.motor_power.sum(axis=1)) == pytest.approx(wheels, rel=2e-3)


def test_backwards_costs_the_same(flat):
    back = drive(speed=-0.4)
    ahead, behind = (gr.traction.soil_work(run, SOFT) for run in (flat, back))
    assert (behind.torque[-1] < 0.0).all()
    assert per_metre(back, behind.motor_power.sum(axis=1)) == pytest.approx(
        per_metre(flat, ahead.motor_power.sum(axis=1)), rel=1e-3
    )


def test_the_missing_power_is_added_at_the_motor_of_its_wheel():
    model = SOFT.replace(actuator=gr.actuation.PI(gain=20.0, integral=100.0))
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(speed=0.3, curvature=0.8), duration=2.0, dt=0.01)
    work = gr.traction.soil_work(run, model)
    added = work.motor_power - run.power
    for a, name in enumerate(ROVER.actuated):
        if name in ROVER.wheels:
            w = ROVER.wheels.index(name)
            rate = run.velocity[:, 6 + ROVER.joint_index(name)]
            np.testing.assert_allclose(added[:, a], work.missing_torque[:, w] * rate, atol=1e-12)
            assert added[-1, a] > 0.1
        else:
            assert not added[:, a].any()


def test_in_a_run_with_a_table_the_table_gives_the_torque():
    table = gr.contact.Table(SOIL, radius=WHEEL.radius, width=WHEEL.width)
    model = SOFT.replace(contact=table)
    run = drive(model)
    work = gr.traction.soil_work(run, model)
    touch = run.contact
    W = WHEEL.radius * run.velocity[:, [6 + ROVER.joint_index(name) for name in ROVER.wheels]]
    exact = SOIL.axle_torque(touch.velocity, W, touch.height_error, radius=WHEEL.radius, width=WHEEL.width)
    # The table was made at 1 m/s, the rover drives at 0.4, where ε = 0.05 m/s weighs more.
    np.testing.assert_allclose(work.torque, exact, atol=0.05 * np.abs(exact).max())
    # its own force at the rim was felt already, whatever it is off by
    assert per_metre(run, work.motor_power.sum(axis=1)) == pytest.approx(
        per_metre(run, work.power.sum(axis=1)), abs=0.01
    )


def test_a_law_of_one_point_misses_nothing():
    tyre = gr.contact.Pacejka()
    model = gr.Dynamics(ROVER, contact={"FL": tyre, "FR": SOIL, "BL": tyre, "BR": SOIL})
    work = gr.traction.soil_work(drive(model, seconds=1.0), model)
    assert not work.missing_torque[:, [0, 2]].any()
    assert (work.missing_torque[-1, [1, 3]] > 0.1).all()


def test_soil_that_lets_go_turns_the_wheel_back_as_the_weak_soil_does():
    wheel = {"radius": WHEEL.radius, "width": WHEEL.width}
    soil = WedgedSoil(residual=0.75, speed=0.1)
    weak = gr.contact.Ishigami(cohesion=600.0, friction_angle=math.atan(0.75 * math.tan(math.radians(37.2))))
    fast, slow = ([-3.0, 1.0, 0.0], 4.0, -0.02), ([-1e-6, 0.0, 0.0], 0.5, -0.02)
    assert soil.axle_torque(*fast, **wheel) == pytest.approx(weak.axle_torque(*fast, **wheel), rel=1e-9)
    assert soil.axle_torque(*slow, **wheel) == pytest.approx(SOIL.axle_torque(*slow, **wheel), rel=1e-4)
    # halfway, as the law mobilises it: the part of f_z that shear carries scales by the same share
    half = ([-0.1, 0.05, 0.0], 0.5, -0.02)
    none = gr.contact.Ishigami(cohesion=0.0, friction_angle=1e-12)
    lift, full, bare = (one.force(*half, **wheel)[2] for one in (soil, SOIL, none))
    share = soil.axle_torque(*half, **wheel) / SOIL.axle_torque(*half, **wheel)
    assert share == pytest.approx((lift - bare) / (full - bare), rel=1e-6)


def test_a_saved_run_tells_the_same(flat, tmp_path):
    flat.save(tmp_path / "run.npz")
    again = gr.traction.soil_work(gr.simulation.Run.load(tmp_path / "run.npz"), SOFT)
    np.testing.assert_array_equal(again.torque, gr.traction.soil_work(flat, SOFT).torque)


def test_what_does_not_belong_together_is_refused(flat):
    kinematic = gr.simulate(gr.Kinematics(ROVER), gr.terrain.plane(), gr.drive.arc(0.4, 0.0), duration=0.1, dt=0.05)
    with pytest.raises(SimulationError, match="kinematic model has no torque"):
        gr.traction.soil_work(kinematic, SOFT)
    with pytest.raises(SimulationError, match="'zoe'"):
        gr.traction.soil_work(flat, gr.Dynamics(gr.vehicle("zoe"), contact=gr.contact.Pacejka()))
    with pytest.raises(SimulationError, match="is not the contact"):
        gr.traction.soil_work(flat, gr.Dynamics(ROVER, contact=gr.contact.Ishigami(cohesion=100.0)))
    with pytest.raises(SimulationError, match="run"):
        gr.traction.soil_work(flat.power, SOFT)
