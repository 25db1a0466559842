"""Walls, steps, drops and ditches at up to 10 m/s: no run ends ok with energy that nobody gave it."""

import math

import numpy as np
import pytest

import grouser as gr
from experiments.catalog import EXPERIMENTS
from experiments.crash_scenes import GROUNDS, energy, gain, sank, scene

HUSKY = gr.vehicle("husky")
WEIGHT = HUSKY.mass * 9.81
RADIUS = 0.165


@pytest.fixture(scope="module")
def crashes():
    """Nine crashes on each kind of ground, with what they gained."""
    found = {ground: [] for ground in GROUNDS}
    for seed in range(9 * len(GROUNDS)):
        crash = scene(seed)
        run = crash.run()
        found[crash.ground].append((seed, run, gain(crash.model, run), sank(crash.model, run)))
    return found


@pytest.mark.parametrize("ground", GROUNDS)
def test_no_crash_ends_ok_with_energy_it_was_not_given(crashes, ground):
    wrong = [(seed, g.excess) for seed, run, g, _ in crashes[ground] if run.status == "ok" and g.excess > 1.0]
    assert wrong == []


def test_most_crashes_end_ok_and_few_sink(crashes):
    ends = [(run.status, sunk) for rows in crashes.values() for _, run, _, sunk in rows]
    assert sum(status == "ok" for status, _ in ends) >= 0.8 * len(ends)
    assert sum(sunk for _, sunk in ends) <= 0.05 * len(ends)


@pytest.mark.parametrize("dt", [0.002, 0.01, 0.04, 0.1])
def test_a_ramp_of_80_degrees_stops_a_vehicle_at_any_step(dt):
    """At 4 m/s its energy lifts it by v²/2g = 0.82 m; it was 480 m at dt 0.1 s, from a penetration of 1.46 m."""
    ground = gr.terrain.ramp(height=1.5, deg=80.0, x=2.0, top=3.0)
    model = gr.Dynamics(
        HUSKY,
        contact=gr.contact.PiecewiseLinear(friction=0.8),
        actuator=gr.actuation.PI(gain=200.0, limit=60.0),
        tip_angle=math.pi,  # it falls over backwards from the ramp
    )
    run = gr.simulate(model, ground, gr.drive.arc(4.0), duration=4.0, dt=dt)
    assert run.status == "ok"
    assert run.position[:, 2].max() < run.position[0, 2] + 4.0**2 / (2.0 * 9.81)
    assert np.linalg.norm(run.velocity[:, 3:6], axis=1).max() < 4.5  # nose down it falls a little
    assert gain(model, run).excess < 1.0


@pytest.mark.parametrize("dt", [0.002, 0.02, 0.08])
def test_a_vertical_wall_throws_a_wheel_back_the_way_it_came(dt):
    # the vertical end of a ramp that rises from the far side, four radii high
    wall = gr.terrain.ramp(4.0 * RADIUS, 30.0, x=6.0, top=2.0, heading_deg=180.0, down=False)
    edge = 6.0 - 2.0 - 4.0 * RADIUS / math.tan(math.radians(30.0))
    model = gr.Dynamics(HUSKY, contact=gr.contact.PiecewiseLinear(friction=0.5))
    velocity = np.zeros(10)
    velocity[3] = 2.0
    run = gr.simulate(model, wall, gr.drive.arc(0.0), duration=2.0, dt=dt, velocity=velocity)
    assert run.status == "ok"
    front = run.position[:, 0] + 0.256 + RADIUS
    # 50 kg at 2 m/s into two springs of a quarter of the weight per 20 mm: 0.13 m without damping
    assert front.max() < edge + RADIUS
    assert run.position[-1, 0] < edge
    assert abs(run.position[-1, 2] - run.position[0, 2]) < 0.5 * RADIUS


def lively(damping):
    """A contact whose damper has the wrong sign: it pushes harder on the way out."""

    @gr.contact.law
    def contact(v, r_omega, dz, *, damping=gr.param(damping, "N s/m")):
        return 0.0, 0.0, max(0.0, -WEIGHT / 0.08 * dz - damping * v[2])

    return contact


def bounced(model, **options):
    state = gr.settle(HUSKY, gr.terrain.plane()).state
    state[6] += 0.2
    zero = np.zeros(10)
    return gr.simulate(model, gr.terrain.plane(), np.zeros((1, 4)), duration=4.0, start=state, velocity=zero, **options)


def test_a_run_that_gains_energy_says_so_with_the_time():
    model = gr.Dynamics(HUSKY, contact=lively(-60.0))
    run = bounced(model, dt=0.002)
    assert run.status == "gained_energy"
    assert "energy" in run.status.meaning
    free = bounced(model.replace(energy_check=False), dt=0.002)
    assert free.status == "ok"
    assert free.state[: run.steps].tobytes() == run.state[: run.steps].tobytes()
    held = np.array([energy(model, q, v) for q, v in zip(free.state, free.velocity, strict=True)])
    stored = (free.contact.force[..., 2] * np.maximum(-free.contact.height_error, 0.0)).sum(axis=1)
    rise = held - np.minimum.accumulate(held + stored)
    margin = 0.05 * np.maximum.accumulate(free.solver.kinetic) + 0.25 * RADIUS * WEIGHT
    # It is looked at every fourth step, and at what springs held a step earlier.
    assert 0 <= run.steps - int(np.argmax(rise > margin)) <= 5


def test_rollouts_without_records_say_so_too():
    model = gr.Dynamics(HUSKY, contact=lively(-60.0))
    run = bounced(model, dt=0.002)
    many = gr.rollout(
        model, gr.terrain.plane(), np.zeros((2, 2000, 4)), start=run.state[0], velocity=np.zeros(10), dt=0.002
    )
    assert list(many.status) == ["gained_energy"] * 2
    assert list(many.steps) == [run.steps] * 2
    assert many.counts()["gained_energy"] == 2


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_ball_that_bounces_without_loss_is_ok(integrator):
    run = bounced(gr.Dynamics(HUSKY, contact=lively(0.0), integrator=integrator), dt=0.002)
    assert run.status == "ok"


def test_work_of_outer_forces_is_work():
    """Pushed by half its weight without friction: 4 s later its kinetic energy is 9600 J."""
    push = gr.dynamics.ExternalForce(frame=HUSKY.frames[0].name, force=(0.5 * WEIGHT, 0.0, 0.0))
    model = gr.Dynamics(HUSKY, contact=gr.contact.PiecewiseLinear(friction=0.0), external=(push,))
    run = gr.simulate(model, gr.terrain.plane(), np.zeros((1, 4)), duration=4.0, dt=0.04, velocity=np.zeros(10))
    assert run.status == "ok"
    assert run.solver.kinetic[-1] == pytest.approx(0.5 * HUSKY.mass * (0.5 * 9.81 * 4.0) ** 2, rel=0.02)


def test_a_simulation_that_is_moved_by_hand_starts_a_new_account():
    rover = gr.Simulation(gr.Dynamics(HUSKY), gr.terrain.plane(), dt=0.02)
    for _ in range(5):
        assert rover.step(np.zeros(4)).status is gr.Status.OK
    state = rover.state
    state[6] += 3.0
    rover.state = state
    for _ in range(100):
        assert rover.step(np.zeros(4)).status is gr.Status.OK


def test_torque_of_a_step_in_parts_is_the_mean_of_its_parts():
    """Without friction a wheel's angular momentum about its axle changes by torque × time, also in halved steps."""
    frictionless = gr.contact.PiecewiseLinear(friction=0.0)
    model = gr.Dynamics(HUSKY, contact=frictionless, actuator=gr.actuation.PI(gain=0.2))
    ground = gr.terrain.ramp(height=1.5, deg=80.0, x=1.0, top=3.0)
    velocity = np.zeros(10)
    velocity[3] = 6.0
    run = gr.simulate(model, ground, gr.drive.arc(2.0), duration=1.0, dt=0.1, velocity=velocity)
    assert run.halved_steps > 0
    momentum = np.array([model.inertia_and_bias(q, v)[0][6:] @ v for q, v in zip(run.state, run.velocity, strict=True)])
    # A step is solved to a ten-thousandth of the weight, 0.05 N m, in each of its parts.
    assert np.abs(np.diff(momentum, axis=0) - run.torque[:-1] * run.dt).max() < 0.05 * run.dt


def test_the_experiment_counts_ends_and_energy(monkeypatch):
    monkeypatch.setattr("experiments.crashes.QUICK", 14)
    result = EXPERIMENTS["crashes"].run(quick=True).to_json()
    assert sum(row["scenes"] for row in result["rows"]) == 14
    assert result["ok_with_energy"] == 0
    assert 0.5 < result["share_ok"] <= 1.0
