"""A castor ball in kinematics: it follows the ground and asks nothing else of the motion."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.kinematics import frame_poses
from grouser.traction import InverseKinematics
from tests.vehicles.castor import turtle

PLANE = gr.terrain.plane()
ROUGH = gr.terrain.rough(rms=0.005, length=0.3, seed=1, size=8.0)
EXACT = 1e-12


def tilt(run):
    """Largest angle of the body's z axis from the vertical [deg]."""
    _, x, y, _ = run.state[:, :4].T
    return np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))).max()


@pytest.mark.parametrize("where", [{}, {"y": 0.05}, {"ahead": True}])
@pytest.mark.parametrize("rates", [(3.0, 3.0), (-2.0, 2.0), (1.0, 5.0)])
def test_a_differential_drive_moves_as_its_two_wheels_say(rates, where):
    vehicle = turtle(**where)
    state = gr.settle(vehicle, PLANE).state
    left, right = 0.033 * np.array(rates)
    model = gr.Kinematics(vehicle)
    for found in (model.velocity(state, rates, PLANE), model.estimate(state, [*rates, math.nan], PLANE)):
        np.testing.assert_allclose(found.value[3:6], [0.5 * (left + right), 0.0, 0.0], rtol=0.0, atol=EXACT)
        np.testing.assert_allclose(found.value[:3], [0.0, 0.0, (right - left) / 0.16], rtol=0.0, atol=EXACT)
        assert found.value[6 + vehicle.joint_index("ball")] == 0.0
        np.testing.assert_allclose(found.contact_velocity, 0.0, rtol=0.0, atol=EXACT)
        assert not found.deficient


def test_it_turns_on_the_spot_about_the_middle_of_its_axle():
    run = gr.simulate(gr.Kinematics(turtle()), PLANE, gr.drive.twist(0.0, 0.0, 1.0), duration=3.0, dt=0.05)
    np.testing.assert_allclose(run.position[:, :2], 0.0, rtol=0.0, atol=1e-12)
    assert run.yaw[-1] == pytest.approx(3.0, abs=1e-12)
    solved = InverseKinematics(turtle()).solve(0.1, 0.05, 0.5)
    np.testing.assert_allclose(
        solved.velocity, [0.1, 0.0, 0.5], rtol=0.0, atol=1e-15
    )  # it does not move sideways for its ball
    np.testing.assert_allclose(solved.wheel_rates, [(0.1 - 0.04) / 0.033, (0.1 + 0.04) / 0.033], rtol=1e-12)


def test_on_a_slope_the_ball_touches_where_it_faces_the_ground():
    """Whatever the attitude of its frame: a ball is as far from a plane as its radius, its contact along the normal."""
    slope = gr.terrain.slope(deg=15.0)
    vehicle = turtle(y=0.03)
    for yaw in (0.0, 0.7, 1.6, -2.5):
        state = gr.settle(vehicle, slope, yaw=yaw).state
        at = contacts(vehicle, state, slope)
        normal = at.rotation[2][:, 2]
        centre = frame_poses(vehicle, state)[1][vehicle.frame_index("ball")]
        np.testing.assert_allclose(at.point[2], centre - 0.01 * normal, rtol=0.0, atol=1e-12)
        foot = np.append(centre[:2], slope.height(*centre[:2]))
        assert (centre - foot) @ normal == pytest.approx(0.01, abs=1e-10)
        assert abs(normal[2]) == pytest.approx(math.cos(math.radians(15.0)))


def test_its_rows_hold_the_normal_direction_alone():
    vehicle = turtle()
    state = gr.settle(vehicle, ROUGH, x=0.4, yaw=0.3).state
    jacobian = contacts(vehicle, state, ROUGH).jacobian[2]
    assert (jacobian[:2] == 0.0).all()
    # rising with the body, and with it as it pitches, nose up being negative about y: the ball is behind
    assert jacobian[2, 5] == pytest.approx(1.0, abs=0.01)
    assert jacobian[2, 1] == pytest.approx(0.08, abs=0.01)


def test_the_mirrored_vehicle_takes_the_mirrored_path():
    vehicle = turtle(y=0.03)
    hill = gr.terrain.slope(deg=8.0)
    runs = [
        gr.simulate(gr.Kinematics(one), hill, gr.drive.twist(0.1, 0.0, sign * 0.6), duration=4.0)
        for one, sign in ((vehicle, 1.0), (vehicle.mirrored(), -1.0))
    ]
    np.testing.assert_allclose(runs[1].position * [1.0, -1.0, 1.0], runs[0].position, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(runs[1].yaw, -runs[0].yaw, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("ground", [PLANE, ROUGH], ids=["flat", "rough"])
def test_a_robot_on_two_wheels_and_a_ball_stays_upright(ground):
    vehicle = turtle()
    rest = gr.settle(vehicle, ground)
    assert not rest.off_ground
    run = gr.simulate(gr.Kinematics(vehicle), ground, gr.drive.twist(0.15, 0.0, 0.3), duration=10.0)
    assert run.status == "ok"
    assert run.summary()["deficient_steps"] == 0
    assert tilt(run) < (1e-6 if ground is PLANE else 3.0)
    assert np.abs(run.contact.height_error).max() < 1e-3


def test_three_wheels_with_rollers_and_a_ball_still_move_sideways():
    robot = gr.vehicle("robotino")
    ball = gr.vehicles.Frame("ball", "body", xyz=(0.0, 0.0, -0.02), radius=0.02, slides=0.1)
    vehicle = robot.replace(frames=(*robot.frames, ball))
    run = gr.simulate(gr.Kinematics(vehicle), PLANE, gr.drive.twist(0.1, 0.2, 0.0), duration=1.0)
    np.testing.assert_allclose(run.position[-1, :2], [0.1, 0.2], rtol=0.0, atol=1e-9)
