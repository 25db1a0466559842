"""The stiff-solver baseline of T §2.5.2 against the engine's implicit steps: one vehicle, one set of models."""

import numpy as np
import pytest

import grouser as gr
from experiments.stiff_ode import METHODS, pieces, simulate_ode, state_rate
from grouser.actuation import PI
from grouser.errors import SimulationError
from grouser.simulation.drive import as_drive

TIGHT = {"rtol": 1e-6, "atol": 1e-8}
GROUNDS = {"flat": gr.terrain.plane(), "rough": gr.terrain.rough(rms=0.03, length=1.5, seed=2)}


def model_of(name, **changes):
    vehicle = gr.vehicle(name)
    weight = vehicle.mass * 9.81
    pi = PI(gain=0.02 * weight, integral=0.02 * weight)
    # the default tolerance of the force balance would show before the steps' own error does
    return gr.Dynamics(vehicle, actuator=pi, tolerance=1e-9 * weight, **changes)


@pytest.mark.parametrize("name", ["husky", "landtamer"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_implicit_steps_converge_to_the_stiff_solution_at_first_order(name, ground):
    """Symplectic Euler: halving dt halves the difference, which at 2 ms is a fraction of a millimetre after 2 s."""
    model, ground, drive = model_of(name), GROUNDS[ground], gr.drive.arc(0.5, 0.3)
    exact = simulate_ode(model, ground, drive, duration=2.0, **TIGHT)
    assert exact.status == "ok"
    difference = []
    for dt in (0.004, 0.002):
        run = gr.simulate(model, ground, drive, duration=2.0, dt=dt, start=exact.state[0], velocity=exact.velocity[0])
        stride = round(0.04 / dt)
        difference.append(np.abs(run.state[::stride] - exact.state))
    coarse, fine = (d.max() for d in difference)
    assert 0.4 < fine / coarse < 0.6
    assert difference[1][:, 4:7].max() < 1e-4


@pytest.fixture(scope="module")
def tight_run():
    return simulate_ode(model_of("husky"), GROUNDS["rough"], gr.drive.arc(0.5, 0.3), duration=2.0, **TIGHT)


@pytest.mark.parametrize("method", METHODS)
def test_every_solver_ends_at_the_same_place(method, tight_run):
    """At the paper's relative tolerance of 1e-2 two seconds of driving end within a millimetre of the tight run."""
    run = simulate_ode(model_of("husky"), GROUNDS["rough"], gr.drive.arc(0.5, 0.3), duration=2.0, method=method)
    assert np.abs(run.state[-1, 4:7] - tight_run.state[-1, 4:7]).max() < 1e-3
    assert 0 < run.evaluations < tight_run.evaluations
    assert run.seconds > 0.0


def test_a_parked_vehicle_stays_where_it_settled():
    """On level ground the static penetration carries the weight: nothing moves but by a thousandth of a millimetre."""
    model = model_of("husky")
    run = simulate_ode(model, GROUNDS["flat"], gr.drive.constant(0.0), duration=4.0, **TIGHT)
    moved = run.state[-1] - run.state[0]
    assert np.abs(moved[[4, 5]]).max() < 1e-6
    assert np.abs(run.velocity[-1]).max() < 1e-6
    again = simulate_ode(model, GROUNDS["flat"], gr.drive.constant(0.0), duration=0.4, start=run.state[-1], **TIGHT)
    assert np.abs(again.state - run.state[-1]).max() < 1e-7
    _, c = model.inertia_and_bias(run.state[-1], np.zeros(10))
    touch = gr.collision.contacts(model.vehicle, run.state[-1], GROUNDS["flat"])
    force = model.contact.force(np.zeros((4, 3)), np.zeros(4), touch.height_error, load=model.wheel_load)
    assert force[:, 2].sum() == pytest.approx(c[5], rel=1e-6)


def test_a_rigid_coupling_holds():
    """Rocky 7's differential: the rockers turn against each other within the solver's tolerance."""
    vehicle = gr.vehicle("rocky7")
    model = gr.Dynamics(vehicle, actuator=PI(gain=5.0, integral=5.0))
    ground = gr.terrain.rough(rms=0.02, length=1.0, seed=4)
    run = simulate_ode(model, ground, gr.drive.arc(0.2), duration=0.6, rtol=1e-4, atol=1e-6)
    assert run.status == "ok"
    left, right = (run.state[:, 7 + vehicle.joint_index(name)] for name in ("D1", "D2"))
    assert np.ptp(left) > 1e-3
    assert np.abs(left + right).max() < 1e-4


def test_the_rate_of_a_state_is_its_derivative():
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=9), rng.normal(size=8)
    q[:4] /= np.linalg.norm(q[:4])
    rate = state_rate(q, v)
    R = gr.rotation.from_quaternion(q[:4])
    np.testing.assert_allclose(rate[4:7], R @ v[3:6], rtol=0.0, atol=1e-14)
    h = 1e-6
    plus, minus = (gr.rotation.from_quaternion(q[:4] + s * h * rate[:4]) for s in (1, -1))
    spin = R.T @ (plus - minus) / (2 * h)
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], v[:3], rtol=0.0, atol=1e-8)
    np.testing.assert_array_equal(rate[7:], v[6:])


def test_commands_that_switch_cut_the_integration():
    vehicle = gr.vehicle("husky")
    schedule = gr.drive.schedule([(0.0, gr.drive.arc(0.5)), (0.35, gr.drive.arc(0.2)), (9.0, gr.drive.arc(0.0))])
    edges, held = pieces(schedule.bind(vehicle, 0.04), 1.0)
    assert held
    np.testing.assert_allclose(edges, [0.0, 0.35, 1.0])
    rows = np.repeat([[1.0] * 4, [2.0] * 4], 3, axis=0)
    edges, held = pieces(as_drive(rows).bind(vehicle, 0.04), 1.0)
    assert held
    np.testing.assert_allclose(edges, [0.0, 0.12, 1.0])
    edges, held = pieces(as_drive(lambda t, q: [t] * 4).bind(vehicle, 0.04), 1.0)
    assert not held
    np.testing.assert_allclose(edges, [0.0, 1.0])


def test_a_drive_that_switches_is_followed():
    model = model_of("husky")
    there_and_back = gr.drive.schedule([(0.0, gr.drive.arc(0.5)), (0.5, gr.drive.arc(-0.5))])
    rest = np.zeros(10)
    run = simulate_ode(model, GROUNDS["flat"], there_and_back, duration=1.0, velocity=rest)
    assert len(run.time) == len(run.state) == len(run.velocity) == 26
    assert run.velocity[12, 6:].min() > 2.0
    assert run.velocity[-1, 6:].max() < -2.0
    steps = gr.simulate(model, GROUNDS["flat"], there_and_back, duration=1.0, dt=0.002, velocity=rest)
    np.testing.assert_allclose(run.state[:, 4], steps.position[::20, 0], rtol=0.0, atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_the_end_of_the_map_is_a_status(method):
    ground = gr.terrain.grid(np.zeros((31, 31)), np.linspace(-1.5, 1.5, 31), np.linspace(-1.5, 1.5, 31))
    run = simulate_ode(model_of("husky"), ground, gr.drive.arc(1.0), duration=4.0, method=method)
    assert run.status == "off_terrain"
    assert 0.5 < run.time[-1] < 2.0
    assert len(run.time) == len(run.state)
    front = run.state[-1, 4] + 0.256 + 0.165  # half the wheelbase and a wheel's radius ahead of the body
    assert front == pytest.approx(1.5, abs=0.06)


def test_a_trial_far_off_the_map_only_shortens_the_step():
    """Radau's first guesses may fly off; that is no reason to end a run whose wheels are all on the ground."""
    vehicle = gr.vehicle("landtamer")
    weight = vehicle.mass * 9.81
    model = gr.Dynamics(vehicle, actuator=PI(gain=0.02 * weight, integral=0.02 * weight))
    ground = gr.terrain.rough(rms=0.05, length=1.5, seed=2)
    assert simulate_ode(model, ground, gr.drive.arc(0.5, 0.1), duration=4.0).status == "ok"


def test_mistakes_get_one_sentence():
    ground, drive = GROUNDS["flat"], gr.drive.arc(0.5)
    with pytest.raises(SimulationError, match="ideal actuators have no torque law"):
        simulate_ode(gr.Dynamics(gr.vehicle("husky")), ground, drive, duration=1.0)
    with pytest.raises(SimulationError, match="'Euler' is not one of Radau, BDF, LSODA"):
        simulate_ode(model_of("husky"), ground, drive, duration=1.0, method="Euler")
    with pytest.raises(SimulationError, match="rtol: -1 is not positive"):
        simulate_ode(model_of("husky"), ground, drive, duration=1.0, rtol=-1.0)
    with pytest.raises(SimulationError, match="is not a Dynamics"):
        simulate_ode(gr.Kinematics(gr.vehicle("husky")), ground, drive, duration=1.0)
    with pytest.raises(SimulationError, match="raised ValueError: no"):
        simulate_ode(model_of("husky"), ground, _broken, duration=1.0, velocity=np.zeros(10))


def _broken(t, state):
    raise ValueError("no")
