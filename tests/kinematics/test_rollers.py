"""Wheels with rollers: known matrices of omni and mecanum robots, and what their contacts hold on rough ground."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.kinematics import frame_poses
from grouser.traction import InverseKinematics
from grouser.vehicles import Frame, Vehicle

EXACT = 1e-9
PLANE = gr.terrain.plane()
TWISTS = [(0.2, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.7), (0.13, -0.21, 0.4)]


def three_wheels(v_x, v_y, turn):
    """Rates [rad/s] of a three-wheeled omni robot: wheel k rolls along (−sin b, cos b), b = 60, 180, 300°."""
    b = np.radians([60.0, 180.0, 300.0])
    return (-np.sin(b) * v_x + np.cos(b) * v_y + 0.125 * turn) / 0.04


def four_mecanum_wheels(v_x, v_y, turn):
    """Rates of FL, FR, BL, BR [rad/s]: the matrix of every textbook, arms of half the wheelbase and half the track."""
    arm = 0.23 + 0.18
    rows = np.array([[1, -1, -arm], [1, 1, arm], [1, 1, -arm], [1, -1, arm]])
    return rows @ [v_x, v_y, turn] / 0.05


KNOWN = {"robotino": three_wheels, "mecanum": four_mecanum_wheels}


@pytest.mark.parametrize("twist", TWISTS)
@pytest.mark.parametrize("name", KNOWN)
def test_rates_of_a_body_velocity_and_back_are_the_known_matrix(name, twist):
    vehicle, rates = gr.vehicle(name), KNOWN[name](*twist)
    solved = InverseKinematics(vehicle).solve(*twist)
    np.testing.assert_allclose(solved.wheel_rates, rates, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(solved.velocity, twist, rtol=0.0, atol=EXACT)
    assert solved.within_reach
    model = gr.Kinematics(vehicle)
    state = gr.settle(vehicle, PLANE).state
    for found in (model.velocity(state, rates, PLANE), model.estimate(state, rates, PLANE)):
        np.testing.assert_allclose(found.value[[3, 4, 2]], twist, rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(found.value[[0, 1, 5]], 0.0, rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(found.contact_velocity, 0.0, rtol=0.0, atol=EXACT)
        assert not found.deficient


@pytest.mark.parametrize("name", KNOWN)
def test_a_drive_moves_it_sideways_while_it_turns(name):
    forward, left, turn = 0.2, -0.1, 0.5
    run = gr.simulate(gr.Kinematics(gr.vehicle(name), integrator="rk4"), PLANE,
                      gr.drive.twist(forward, left, turn), duration=3.0, dt=0.02)  # fmt: skip
    yaw = turn * 3.0
    s, c = math.sin(yaw) / turn, (1.0 - math.cos(yaw)) / turn
    assert run.yaw[-1] == pytest.approx(yaw, abs=1e-8)
    moved = [s * forward - c * left, c * forward + s * left]  # a twist held over a turn: ∫ R(ωt) v dt
    np.testing.assert_allclose(run.position[-1, :2] - run.position[0, :2], moved, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("name", KNOWN)
def test_the_odometry_of_measured_rates_is_the_body_velocity(name):
    odometry = gr.Odometry(gr.vehicle(name))
    rates = KNOWN[name](0.1, 0.2, 0.0)
    for k in range(101):
        estimate = odometry.update(0.02 * k, rates)
    np.testing.assert_allclose(estimate.position[:2], [0.2, 0.4], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(estimate.twist[[3, 4, 2]], [0.1, 0.2, 0.0], rtol=0.0, atol=1e-9)
    assert estimate.observed[2:5].all()
    assert estimate.faults == 0


def test_the_noise_of_three_rates_spreads_as_the_known_inverse_says():
    noise = gr.odometry.EncoderNoise(rate=0.05)
    odometry = gr.Odometry(gr.vehicle("robotino"), noise=noise, planar=True, slip_scale=0.0)
    for k in range(3):
        estimate = odometry.update(0.02 * k, three_wheels(0.1, 0.2, 0.0))
    columns = np.linalg.inv(np.stack([three_wheels(*unit) for unit in np.eye(3)], axis=1))
    known = 0.05**2 * columns @ columns.T
    pick = np.ix_([3, 4, 2], [3, 4, 2])
    found = np.asarray(estimate.twist_covariance)[pick]
    np.testing.assert_allclose(found / found[0, 0], known / known[0, 0], rtol=1e-6, atol=1e-9)


def carried_by(rollers):
    """Two driven wheels and a passive one in front."""
    body = Frame("body", mass=10.0, inertia=(0.2, 0.2, 0.3))
    wheel = {"parent": "body", "joint": "RY", "radius": 0.1, "mass": 0.5, "inertia": (0.002, 0.004, 0.002)}
    left = Frame("L", actuated=True, xyz=(0.0, 0.3, 0.0), **wheel)
    right = Frame("R", actuated=True, xyz=(0.0, -0.3, 0.0), **wheel)
    front = Frame("front", xyz=(0.4, 0.05, 0.0), rollers=rollers, **wheel)
    return Vehicle("tricycle", (body, left, right, front))


@pytest.mark.parametrize("angle", [90.0, -90.0, 45.0, -45.0, 135.0, 60.0])
def test_a_passive_wheel_with_rollers_follows_a_turn_without_slip(angle):
    """A pivot at the driven axle: the front wheel's hub moves at (−y, x) ω; only the held part turns the wheel."""
    vehicle, turn = carried_by(angle), 0.5
    model = gr.Kinematics(vehicle)
    rim = turn * 0.3 / 0.1
    found = model.velocity(gr.settle(vehicle, PLANE).state, [-rim, rim], PLANE)
    ahead, left = -0.05 * turn, 0.4 * turn
    free = np.radians(angle)
    # R ω ahead less what the rollers take: (ahead − R ω, left) is along the free direction
    expected = ahead - left / math.tan(free) if abs(angle) != 90.0 else ahead
    assert found.value[2] == pytest.approx(turn, abs=EXACT)
    assert found.value[6 + vehicle.joint_index("front")] * 0.1 == pytest.approx(expected, abs=EXACT)
    np.testing.assert_allclose(found.contact_velocity, 0.0, rtol=0.0, atol=EXACT)
    plain = gr.Kinematics(carried_by(None)).velocity(gr.settle(vehicle, PLANE).state, [-rim, rim], PLANE)
    assert np.abs(plain.contact_velocity).max() > 0.01  # a plain wheel there would slide


@pytest.mark.parametrize("name", KNOWN)
def test_on_rough_ground_the_contact_is_free_along_the_rollers_and_held_across(name):
    """The velocity of the wheel's own contact point lies along the free direction in the ground's plane."""
    ground = gr.terrain.rough(rms=0.02, length=0.5, seed=3, size=6.0)
    vehicle = gr.vehicle(name)
    state = gr.settle(vehicle, ground, x=0.3, y=-0.2, yaw=0.5).state
    rates = KNOWN[name](0.1, -0.2, 0.3)
    # more rows than unknowns on four wheels: the best fit slips a little, so only three wheels meet it exactly
    found = gr.Kinematics(vehicle).velocity(state, rates, ground)
    at = contacts(vehicle, state, ground)
    R, p = frame_poses(vehicle, state)
    for w, f in enumerate(vehicle.arrays.wheel):
        axle, normal = R[f][:, 1], at.rotation[w][:, 2]
        ahead = np.cross(axle, normal)
        ahead /= np.linalg.norm(ahead)
        left = np.cross(normal, ahead)
        angle = math.radians(vehicle.frames[f].rollers)
        free = math.cos(angle) * ahead + math.sin(angle) * left
        body = R[0]
        omega, v = body @ found.value[:3], body @ found.value[3:6]
        point = v + np.cross(omega, at.point[w] - p[0])
        point += np.cross(axle * found.value[5 + f], at.point[w] - p[f])
        held = np.cross(free, normal)
        assert abs(held @ at.rotation[w][:, 0]) == pytest.approx(1.0, abs=1e-12)
        assert abs(free @ at.rotation[w][:, 1]) == pytest.approx(1.0, abs=1e-12)
        assert abs(point @ held) == pytest.approx(abs(found.contact_velocity[w, 0]), abs=1e-12)
        assert found.contact_velocity[w, 1] == 0.0
        if name == "robotino":
            assert abs(point @ held) < 1e-9
            assert abs(point @ free) > 0.005


def test_a_vehicle_seen_in_a_mirror_moves_as_its_mirror_image():
    vehicle = gr.vehicle("mecanum")
    runs = [
        gr.simulate(gr.Kinematics(one), PLANE, gr.drive.twist(0.2, sign * 0.1, sign * 0.4), duration=2.0)
        for one, sign in ((vehicle, 1.0), (vehicle.mirrored(), -1.0))
    ]
    np.testing.assert_allclose(runs[1].position * [1.0, -1.0, 1.0], runs[0].position, rtol=0.0, atol=1e-9)
    rates = [run.command[0] for run in runs]
    np.testing.assert_allclose(rates[1], rates[0], rtol=0.0, atol=1e-9)


def test_without_rollers_wheels_hold_both_directions_as_before():
    vehicle = gr.vehicle("mecanum")
    plain = vehicle.replace(frames=tuple(f if f.rollers is None else _without(f) for f in vehicle.frames))
    state = gr.settle(plain, PLANE).state
    found = gr.Kinematics(plain).velocity(state, four_mecanum_wheels(0.0, 0.2, 0.0), PLANE)
    assert abs(found.value[4]) < EXACT
    assert np.abs(found.contact_velocity).max() > 0.1


def _without(frame):
    import dataclasses

    return dataclasses.replace(frame, rollers=None)
