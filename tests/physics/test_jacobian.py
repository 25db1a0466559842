"""Wheel Jacobians against central differences of where the wheel's own points go, for every shipped vehicle."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels import group
from grouser.collision import contacts
from grouser.kinematics import frame_poses

move = entry(group.move.py_func)

STEP = 1e-5


def hills(x, y):
    h = 0.12 * math.sin(0.8 * x + 0.2) * math.cos(0.6 * y)
    gx = 0.096 * math.cos(0.8 * x + 0.2) * math.cos(0.6 * y)
    gy = -0.072 * math.sin(0.8 * x + 0.2) * math.sin(0.6 * y)
    return h, gx, gy


@pytest.fixture(scope="module")
def ground():
    return gr.terrain.law(hills)


def moved(q, k, step):
    """The state after moving entry k of the velocity by a step: the body along its own axes, by the exponential."""
    v = np.zeros(len(q) - 1)
    v[k] = step
    out = np.zeros(len(q))
    move(q, v, 1.0, out)
    return out


def standing(name, ground, seed):
    """A vehicle on the ground, then turned and bent a little, so that no entry is zero by symmetry."""
    vehicle, rng = gr.vehicle(name), np.random.default_rng(seed)
    joints = vehicle.rest + rng.uniform(-0.2, 0.2, vehicle.n_joints)
    q = gr.settle(vehicle, ground, x=0.3, y=-0.4, yaw=0.9, joints=joints).state
    q[7:] += rng.uniform(-0.02, 0.02, vehicle.n_joints)
    q[4:7] += rng.uniform(-0.01, 0.01, 3)
    q[:4] += rng.uniform(-0.01, 0.01, 4)
    q[:4] /= np.linalg.norm(q[:4])
    return vehicle, q


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", gr.vehicles.names())
def test_a_wheel_jacobian_is_the_velocity_of_the_material_point_in_contact(name, seed, ground):
    vehicle, q = standing(name, ground, seed)
    found = contacts(vehicle, q, ground)
    R, p = frame_poses(vehicle, q)
    wheels = vehicle.arrays.wheel
    # The point of the (spinning) wheel that touches now, carried along by the wheel.
    fixed = [R[f].T @ (found.point[w] - p[f]) for w, f in enumerate(wheels)]

    own, leader = 6 + wheels, 6 + vehicle.arrays.leader
    follows = own != leader

    def world(state):
        state[own] = np.where(follows, q[own] + state[leader] - q[leader], state[own])  # they turn alike
        R, p = frame_poses(vehicle, state)
        return np.array([p[f] + R[f] @ fixed[w] for w, f in enumerate(wheels)])

    for k in range(6 + vehicle.n_joints):
        rate = (world(moved(q, k, STEP)) - world(moved(q, k, -STEP))) / (2 * STEP)
        assert k + 1 not in own[follows] or not rate.any()
        expected = np.einsum("wji,wj->wi", found.rotation, rate)  # into the contact's own axes
        expected[vehicle.arrays.rollers == 1, 1] = 0.0  # rollers turn with what they free
        # Truncation STEP²/6 · |third derivative| ≈ 2e-11 m, rounding 1e-16/STEP = 1e-11; entries are up to metres.
        np.testing.assert_allclose(found.jacobian[:, :, k], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", gr.vehicles.names())
def test_the_normal_row_is_the_derivative_of_the_height_error(name, seed, ground):
    """Moving the contact along the rim and the ground does not change Δz where wheel and ground are tangent.

    Exact where Δz = 0: off the ground, T (2.8) measures along the vertical times N_z, and N changes along it, so
    d(Δz) differs from the normal velocity by Δz times the ground's curvature. So each wheel is brought to Δz = 0 by
    moving the whole ground under it, one wheel at a time.
    """
    vehicle, q = standing(name, ground, seed)
    for w in range(vehicle.n_wheels):
        height = 0.0
        for _ in range(4):  # Δz is measured along the normal: a few corrections of the height make it zero
            under = gr.terrain.moved(ground, z=height)
            found = contacts(vehicle, q, under)
            height += found.height_error[w] / found.rotation[w, 2, 2]
        under = gr.terrain.moved(ground, z=height)
        row = contacts(vehicle, q, under).jacobian[w, 2]
        rate = np.array(
            [
                (
                    contacts(vehicle, moved(q, k, STEP), under).height_error[w]
                    - contacts(vehicle, moved(q, k, -STEP), under).height_error[w]
                )
                / (2 * STEP)
                for k in range(6 + vehicle.n_joints)
            ]
        )
        assert abs(contacts(vehicle, q, under).height_error[w]) < 1e-12
        np.testing.assert_allclose(row, rate, rtol=1e-6, atol=1e-8)
        assert abs(row[6 + vehicle.arrays.wheel[w] - 1]) < 1e-9  # spinning a wheel does not lift it


def test_signs_of_a_level_wheel():
    """Written out once by hand: Husky level on level ground, contact frame = body axes, contact at (x, y, −R)."""
    vehicle = gr.vehicle("husky")
    q = gr.settle(vehicle, gr.terrain.plane()).state
    J = contacts(vehicle, q, gr.terrain.plane()).jacobian[vehicle.wheels.index("FL")]
    x, y, z, R = 0.256, 0.275, -0.165, 0.165
    # v + ω × r; a wheel that turns forwards moves its lowest point backwards.
    wanted = np.array([[0, z, -y, 1, 0, 0, -R], [-z, 0, x, 0, 1, 0, 0], [y, -x, 0, 0, 0, 1, 0]])
    np.testing.assert_allclose(J[:, :7], wanted, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(J[:, 7:], 0.0, rtol=0.0, atol=1e-15)
