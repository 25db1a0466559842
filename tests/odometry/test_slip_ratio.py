"""Slip ratios and body forces: L (5.1), (5.2), (6.4), (5.11), (5.12)."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.odometry.slip_ratio import body_slip, imu_force, quasi_static_force, travel_slip, wheel_slip


@pytest.mark.parametrize(("rim", "v", "slip"), [(0.5, 0.4, 0.2), (-0.5, -0.4, 0.2), (0.5, 0.0, 1.0), (0.4, 0.5, -0.25)])
def test_slip_of_a_wheel_has_the_same_sign_both_ways(rim, v, slip):
    assert wheel_slip(rim, v) == pytest.approx(slip)


def test_slow_wheels_and_slow_bodies_have_no_slip_ratio():
    assert wheel_slip(0.02, 0.0) == 0.0
    assert wheel_slip([0.0, 0.021], 0.01) == pytest.approx([0.0, 11.0 / 21.0])
    assert body_slip([0.01, 0.0, 0.0], [0.02, 0.0, 0.0]) == 0.0
    assert body_slip([0.01, 0.0, 0.0], [0.0, 0.021, 0.0]) == pytest.approx(10.0 / 21.0)


def test_slip_of_the_body_is_true_less_odometry_over_its_speed():
    odometry, true = np.array([0, 0, 0.5, 1.0, 0, 0]), np.array([0, 0, 0.4, 0.8, -0.1, 0])
    slip = true - odometry
    assert body_slip(slip[3:], odometry[3:]) == pytest.approx(math.hypot(0.2, 0.1))


@pytest.mark.parametrize("way", [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
def test_slip_along_the_way_tells_slipping_from_skidding(way):
    v = 0.5 * np.array(way)
    assert travel_slip(-0.2 * v, v) == pytest.approx(0.2)  # slower than the wheels say
    assert travel_slip(0.2 * v, v) == pytest.approx(-0.2)  # faster: it skids
    across = np.array([-v[1], v[0], 0.0])
    assert travel_slip(across, v) == pytest.approx(0.0, abs=1e-15)
    assert body_slip(-0.2 * v, v) == body_slip(0.2 * v, v)


def test_force_signs_are_those_of_the_slip_model():
    """recipes.md §4: uphill f_x/f_z > 0; left side up, or turning left: f_y/f_z > 0."""
    uphill = quasi_static_force((0.0, math.radians(-10.0)))  # nose up
    assert uphill[0] == pytest.approx(-9.81 * math.sin(math.radians(10.0)))
    assert uphill[0] / uphill[2] == pytest.approx(math.tan(math.radians(10.0)))
    left_up = quasi_static_force((math.radians(10.0), 0.0))
    assert left_up[1] / left_up[2] == pytest.approx(math.tan(math.radians(10.0)))
    turning = quasi_static_force((0.0, 0.0), velocity=(2.0, 0, 0), omega=(0, 0, 0.5))
    assert turning[1] / turning[2] == pytest.approx(2.0 * 0.5 / 9.81)


def test_the_accelerometer_says_the_same_in_steady_motion():
    attitude, v, w = (0.2, -0.3), np.array([0.8, 0.1, 0.0]), np.array([0.05, -0.1, 0.4])
    gravity = rotation.from_rpy(*attitude, 0.7).T @ [0.0, 0.0, -9.81]
    reading = np.cross(w, v) - gravity  # acceleration less gravity
    force = quasi_static_force(attitude, v, w, bogies=(0.1, 0.2))
    np.testing.assert_allclose(imu_force(reading, bogies=(0.1, 0.2)), force, rtol=0.0, atol=1e-12)


def test_the_force_of_the_kinematic_model_is_the_same():
    """Against the engine's own T (2.44), at the centre of mass."""
    from grouser._kernels.kinematics import probe
    from grouser._kernels.scratch import make_scratch

    vehicle = gr.vehicle("husky")
    state = np.zeros((1, 7 + vehicle.n_joints))
    R = rotation.from_rpy(0.2, -0.1, 0.0)
    state[0, :4] = rotation.to_quaternion(R)
    velocity = np.zeros((1, 6 + vehicle.n_joints))
    velocity[0, :6] = [0.1, -0.2, 0.4, 0.9, 0.05, 0.0]
    p, f = np.zeros((1, 3)), np.zeros((1, 3))
    probe.centre_forces(vehicle.arrays, 9.81, state, velocity, p, f, make_scratch(vehicle.arrays))
    omega = velocity[0, :3]
    ours = quasi_static_force((0.2, -0.1), velocity[0, 3:6] + np.cross(omega, R.T @ p[0]), omega)
    np.testing.assert_allclose(ours, R.T @ f[0], rtol=0.0, atol=1e-12)


def test_bogies_turn_the_force_without_shortening_it():
    """With the printed mean of two rotations, bogies of ±0.5 rad would take an eighth of the weight away."""
    roll = 0.3
    plain = quasi_static_force((roll, 0.1))
    for bogies in ((0.5, -0.5), (0.4, 0.2)):
        turned = quasi_static_force((roll, 0.1), bogies=bogies)
        assert np.linalg.norm(turned) == pytest.approx(9.81, abs=1e-12)
        mean = 0.5 * sum(bogies)
        np.testing.assert_allclose(rotation.from_rpy(mean, 0.0, 0.0) @ turned, plain, rtol=0.0, atol=1e-12)
    # Bogies that stay level under a rolled body feel no side force.
    assert quasi_static_force((roll, 0.0), bogies=(-roll, -roll))[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: quasi_static_force((0.0, math.nan)),
        lambda: quasi_static_force((0.0,)),
        lambda: imu_force([0.0, 9.81]),
        lambda: body_slip([0.1, 0.2], [0.1, 0.2, 0.3]),
        lambda: wheel_slip(0.5, 0.4, threshold=-1.0),
    ],
)
def test_bad_values_are_refused(wrong):
    with pytest.raises(gr.GrouserError):
        wrong()
