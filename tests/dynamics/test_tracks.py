"""Tracks: road wheels that one motor turns alike, in kinematics and dynamics."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.contact import PiecewiseLinear
from grouser.vehicles import Frame, Track, Vehicle

PLANE = gr.terrain.plane()
TRACKED = gr.vehicle("tracked")
HARD = PiecewiseLinear(static_penetration=2e-3)
MOTORS = gr.actuation.PI(gain=50.0)
ROUGH = gr.terrain.rough(rms=0.03, length=0.5, seed=2, size=10.0)


def angles(run, side):
    """Angles of the wheels of a side along a run, (n, 5) [rad]."""
    return np.column_stack([run.joint(name) for name in TRACKED.wheels if name.startswith(side)])


def models():
    return {
        "kinematic": gr.Kinematics(TRACKED),
        "rk4": gr.Kinematics(TRACKED, integrator="rk4"),
        "ideal": gr.Dynamics(TRACKED, contact=HARD),
        "motors": gr.Dynamics(TRACKED, contact=HARD, actuator=MOTORS),
        "midpoint": gr.Dynamics(TRACKED, contact=HARD, actuator=MOTORS, integrator="midpoint"),
    }


@pytest.mark.parametrize("name", models())
def test_all_road_wheels_turn_alike(name):
    run = gr.simulate(models()[name], ROUGH, gr.drive.twist(0.3, 0.0, 0.3), duration=2.0, dt=0.01)
    assert run.status == "ok"
    for side in ("left", "right"):
        turned = angles(run, side)
        assert np.abs(turned[-1]).max() > 1.0
        np.testing.assert_allclose(turned - turned[:, :1], 0.0, rtol=0.0, atol=1e-12)
    assert run.command.shape[1] == 2


@pytest.mark.parametrize("name", models())
def test_it_drives_straight_ahead(name):
    run = gr.simulate(models()[name], PLANE, gr.drive.twist(0.5, 0.0, 0.0), duration=2.0, dt=0.01)
    x, y = run.position[-1, :2] - run.position[0, :2]
    assert x == pytest.approx(1.0, rel=0.01)
    assert abs(y) < 1e-9
    assert abs(run.yaw[-1]) < 1e-9


def turned_by_hand(rate, xs, half):
    """Turn rate [rad/s] of least squares with rows along (R ω = ±half·turn) and across (x·turn) of every wheel."""
    along = 2 * len(xs) * half**2
    across = 2 * float(np.sum(np.square(xs)))
    return rate * along / (along + across)


def test_on_the_spot_it_turns_about_its_centre_and_less_than_without_slip():
    """Two wheels a side at one place would turn it as commanded; a row of them holds against the turn."""
    run = gr.simulate(gr.Kinematics(TRACKED), PLANE, gr.drive.twist(0.0, 0.0, 0.5), duration=2.0, dt=0.02)
    np.testing.assert_allclose(run.position[:, :2], 0.0, rtol=0.0, atol=1e-12)
    expected = turned_by_hand(0.5, [0.3, 0.15, 0.0, -0.15, -0.3], 0.25)
    np.testing.assert_allclose(run.velocity[1:, 2], expected, rtol=1e-9)
    assert 0.3 * 0.5 < expected < 0.8 * 0.5
    # dynamics: the same symmetry, and no more than the sides say
    run = gr.simulate(gr.Dynamics(TRACKED, contact=HARD, actuator=MOTORS), PLANE, gr.drive.twist(0.0, 0.0, 0.5),
                      duration=2.0, dt=0.01)  # fmt: skip
    assert np.abs(run.position[:, :2]).max() < 2e-3
    assert 0.1 < run.yaw[-1] < 1.0


def test_a_shorter_track_turns_more():
    turns = []
    for length in (0.1, 0.6, 1.2):
        rows = [Track(side, "body", (0.0, y, 0.0), length, 0.1, 6.0) for side, y in (("left", 0.25), ("right", -0.25))]
        vehicle = Vehicle("t", (TRACKED.frames[0], *(frame for row in rows for frame in row.frames)))
        run = gr.simulate(gr.Kinematics(vehicle), PLANE, gr.drive.twist(0.0, 0.0, 0.5), duration=1.0)
        turns.append(run.yaw[-1])
    assert turns[0] > turns[1] > turns[2] > 0.0
    assert turns[0] == pytest.approx(0.5, rel=0.05)


def test_the_mirrored_robot_takes_the_mirrored_path():
    runs = [
        gr.simulate(gr.Dynamics(one, contact=HARD, actuator=MOTORS), PLANE, gr.drive.twist(0.3, 0.0, sign * 0.4),
                    duration=1.5, dt=0.01)
        for one, sign in ((TRACKED, 1.0), (TRACKED.mirrored(), -1.0))
    ]  # fmt: skip
    # frames keep their names: the mirrored "left" stands on the right
    np.testing.assert_allclose(runs[1].position * [1.0, -1.0, 1.0], runs[0].position, rtol=0.0, atol=1e-6)


def test_one_motor_speeds_up_all_its_wheels():
    """Belts in the air: τ = (Σ I_yy) ω̇ of a track whose vehicle does not move, as its other belt turns against it."""
    model = gr.Dynamics(TRACKED, contact=HARD, gravity=0.0, external=())
    torque = 0.2
    motors = gr.actuation.PI(gain=1e-6)
    state = np.zeros(7 + TRACKED.n_joints)
    state[0], state[6] = 1.0, 5.0
    M, _ = model.inertia_and_bias(state, np.zeros(6 + TRACKED.n_joints))
    j = 6 + TRACKED.joint_index("left")
    inertia = sum(f.inertia_matrix[1, 1] for f in TRACKED.frames if f.name.startswith("left"))
    assert M[j, j] == pytest.approx(inertia, rel=1e-12)
    assert M[1, j] == pytest.approx(inertia, rel=1e-12)  # all of it turns with the body too
    followers = [6 + TRACKED.joint_index(f"left_{k}") for k in range(2, 6)]
    assert not M[followers].any()
    step = gr.Dynamics(TRACKED, contact=HARD, gravity=0.0, actuator=motors).step(
        state, np.zeros(len(state) - 1), [torque / 1e-6, -torque / 1e-6], PLANE, dt=1e-3
    )
    np.testing.assert_allclose(step.torque, [torque, -torque], rtol=1e-3)
    np.testing.assert_allclose(step.acceleration[[j, j + 1]], [torque / inertia, -torque / inertia], rtol=1e-3)
    np.testing.assert_allclose(step.velocity[followers], step.velocity[j], rtol=1e-15)


def test_energy_grows_by_the_work_of_motors_and_contacts():
    missing = []
    for dt in (0.01, 0.005, 0.0025):
        model = gr.Dynamics(TRACKED, contact=HARD, actuator=MOTORS, tolerance=1e-10 * TRACKED.mass * 9.81)
        run = gr.simulate(model, PLANE, gr.drive.twist(0.3, 0.0, 0.3), duration=1.0, dt=dt)
        motors = (run.torque[:-1] * run.velocity[1:, 6 + TRACKED.arrays.actuated]).sum() * dt
        wheels = run.contact.power[:-1].sum() * dt
        energy = run.solver.kinetic + run.solver.potential
        missing.append(abs(motors + wheels - (energy[-1] - energy[0])))
        assert wheels < 0.0
    assert missing[2] < 0.4 * missing[0]
    assert missing[2] < 0.02 * motors


def test_parked_on_a_slope_the_tracks_hold_by_one_torque_each():
    """Σ τ = −R m g sin α, the weight's pull along the slope, shared by the two motors; the robot stands."""
    slope = gr.terrain.slope(deg=15.0)
    model = gr.Dynamics(TRACKED, contact=HARD)
    run = gr.simulate(model, slope, gr.drive.constant(0.0), duration=2.0, dt=0.01)
    assert np.linalg.norm(run.position[-1] - run.position[50]) < 2e-3
    pull = 60.0 * 9.81 * math.sin(math.radians(15.0))
    assert abs(run.torque[-1].sum()) == pytest.approx(0.1 * pull, rel=0.02)


def test_it_climbs_over_a_step_longer_than_a_wheel():
    """A block of 8 cm with steep sides, 0.4 m long; wheels have a radius of 10 cm and stand 15 cm apart."""
    block = gr.terrain.ramp(height=0.08, deg=60.0, top=0.4, x=0.6)
    model = gr.Dynamics(TRACKED, contact=HARD, actuator=gr.actuation.PI(gain=200.0))
    run = gr.simulate(model, block, gr.drive.twist(0.3, 0.0, 0.0), duration=8.0, dt=0.005)
    assert run.status == "ok"
    points = run.contact.point
    assert (points[:, :, 2].max(axis=0) > 0.07).all()  # every wheel was on top
    assert points[-1, :, 0].min() > 1.2  # and is beyond
    assert np.abs(points[-1, :, 2]).max() < 3e-3
    assert np.abs(run.position[:, 1]).max() < 0.02


def test_a_chain_drives_the_rear_wheel_with_the_front_one():
    """Two wheels a side, one motor: kinematics is that of four driven wheels."""
    husky = gr.vehicle("husky")
    chained = husky.replace(
        frames=tuple(
            Frame(**{**f.__dict__, "actuated": False, "turns_with": f"F{f.name[1]}"}) if f.name in ("BL", "BR") else f
            for f in husky.frames
        )
    )
    assert chained.actuated == ("FL", "FR")
    drive = gr.drive.twist(0.5, 0.0, 0.4)
    for make in (gr.Kinematics, lambda v: gr.Dynamics(v, contact=HARD)):
        four, two = (gr.simulate(make(v), ROUGH, drive, duration=2.0, dt=0.01) for v in (husky, chained))
        np.testing.assert_allclose(two.position, four.position, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(two.joint("BL"), four.joint("BL"), rtol=0.0, atol=1e-9)
