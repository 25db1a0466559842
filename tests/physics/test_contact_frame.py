"""The contact frame of a wheel in general position, and where it has no unique one; the fallbacks of the search."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.contact.search import bracketed_tangent, section_search
from grouser._kernels.scratch import make_scratch
from grouser.collision import contacts
from grouser.vehicles import Frame, Vehicle

R = 0.3


def wheel(rpy=(0.0, 0.0, 0.0), tyre=0.0):
    """One wheel on a body, cambered and steered by rpy."""
    rim = Frame("w", "body", "RY", radius=R, mass=1.0, rpy=rpy, tyre_radius=tyre or None)
    return Vehicle("wheel", (Frame("body", mass=1.0), rim))


def state(position, roll=0.0, pitch=0.0, yaw=0.0):
    return np.concatenate([gr.rotation.to_quaternion(gr.rotation.from_rpy(roll, pitch, yaw)), position, [0.0]])


@pytest.mark.parametrize("attitude", [(0.2, -0.4, 1.1), (-0.6, 0.3, 2.5), (0.1, 1.2, -2.0)])
@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.2, -0.3)])
def test_the_contact_frame_is_right_handed_with_z_on_the_normal_and_y_on_the_wheels_side(attitude, slope):
    x = np.linspace(-5.0, 5.0, 11)
    ground = gr.terrain.grid(np.add.outer(slope[0] * x, slope[1] * x), x, x)
    lean = (0.1, 0.0, 0.3)
    one = wheel(lean)
    q = state([0.3, -0.2, 0.25], *attitude)
    frame = contacts(one, q, ground).rotation[0]
    normal = np.array([-slope[0], -slope[1], 1.0]) / math.sqrt(1.0 + slope[0] ** 2 + slope[1] ** 2)
    axle = gr.rotation.from_quaternion(q[:4]) @ gr.rotation.from_rpy(*lean)[:, 1]
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(frame[:, 2], normal, rtol=0.0, atol=1e-12)
    ahead = np.cross(axle, normal)
    np.testing.assert_allclose(frame[:, 0], ahead / np.linalg.norm(ahead), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("yaw", [0.0, 0.7, -2.2])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_wheel_flat_on_its_side_has_a_frame_in_the_plane(yaw, side):
    # Its axle is the normal: x = axle × normal vanishes, the wheel's own x is taken.
    q = state([0.0, 0.0, 0.0], side * 0.5 * np.pi, 0.0, yaw)
    found = contacts(wheel(), q, gr.terrain.plane())
    frame = found.rotation[0]
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(frame[:, 2], [0.0, 0.0, 1.0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(frame[:, 0], [math.cos(yaw), math.sin(yaw), 0.0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("attitude", [(0.3, -0.2, 0.9), (-0.5, 0.6, 2.1)])
def test_a_cambered_steered_tyre_touches_where_no_point_of_it_is_lower(attitude):
    tyre, lean = 0.08, (0.25, 0.0, -0.5)
    q = state([0.1, 0.2, 0.26], *attitude)
    found = contacts(wheel(lean, tyre), q, gr.terrain.plane())
    A = gr.rotation.from_quaternion(q[:4]) @ gr.rotation.from_rpy(*lean)
    u, v = np.meshgrid(np.linspace(-np.pi, np.pi, 2001), np.linspace(-np.pi, np.pi, 801), indexing="ij")
    around = R - tyre + tyre * np.cos(v)
    points = np.stack([around * np.sin(u), tyre * np.sin(v), around * np.cos(u)], axis=-1) @ A.T + q[4:7]
    lowest = points.reshape(-1, 3)[points[..., 2].argmin()]
    np.testing.assert_allclose(found.height_error[0], lowest[2], rtol=0.0, atol=1e-5)  # raster: r Δ²/2
    np.testing.assert_allclose(found.point[0], lowest, rtol=0.0, atol=3e-3)


def test_contacts_at_given_angles_put_the_point_at_the_angle_and_the_normal_to_the_centre():
    q = state([0.5, -1.0, 0.4], 0.2, -0.3, 0.8)
    lean = (0.1, 0.0, -0.4)
    angle = 0.35
    found = contacts(wheel(lean), q, angles=[angle])
    A = gr.rotation.from_quaternion(q[:4]) @ gr.rotation.from_rpy(*lean)
    down = A @ np.array([-math.sin(angle), 0.0, -math.cos(angle)])
    np.testing.assert_allclose(found.point[0], q[4:7] + R * down, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.rotation[0][:, 2], -down, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.angle[0], angle, rtol=0.0, atol=1e-12)


@entry
def by_sections(ground, rim, middle, s):
    return section_search(ground, s, rim, middle)


@entry
def by_brackets(ground, rim, a, b, s):
    return bracketed_tangent(ground, s, rim, a, b)


def hill():
    """A smooth ground with curvature under the wheel."""
    x = np.linspace(-2.0, 2.0, 81)
    return gr.terrain.spline(0.1 * np.sin(np.add.outer(2.0 * x, 1.3 * x)), x, x)


def test_sections_and_brackets_find_the_point_that_the_secants_find():
    """Secants find nearly every contact, so what comes after them is called here by itself."""
    one, ground = wheel(), hill()
    rng = np.random.default_rng(5)
    for _ in range(20):
        pitch, yaw = rng.uniform(-1, 1), rng.uniform(-3, 3)
        q = state([*rng.uniform(-0.5, 0.5, 2), 0.35], rng.uniform(-0.3, 0.3), pitch, yaw)
        found = contacts(one, q, ground)
        Rw = gr.rotation.from_quaternion(q[:4])
        # Rows as `set_rim` makes them: centre, radius down (lowest point), radius ahead.
        x, z = Rw[:, 0], Rw[:, 2]
        size = math.hypot(x[2], z[2])
        sine, cosine = x[2] / size, z[2] / size
        rim = np.array([q[4:7], -R * (sine * x + cosine * z), R * (cosine * x - sine * z)])
        arm = found.point[0] - rim[0]
        phi = math.atan2(arm @ rim[2], arm @ rim[1])
        s = make_scratch(one.arrays)
        between = by_brackets(ground.kernel, rim, phi - 0.03, phi + 0.05, s)
        np.testing.assert_allclose(between, phi, rtol=0.0, atol=1e-9)
        assert math.isnan(by_brackets(ground.kernel, rim, phi + 0.03, phi + 0.05, s))

        def height_error(angle, rim=rim):
            p = rim[0] + math.cos(angle) * rim[1] + math.sin(angle) * rim[2]
            below = ground.sample(p[0], p[1])
            return float((p[2] - below.height) * below.normal[2])

        lowest = minimize_scalar(
            height_error, bounds=(phi - 0.05, phi + 0.07), method="bounded", options={"xatol": 1e-9}
        )
        near = by_sections(ground.kernel, rim, phi + 0.02, s)
        assert abs(near - lowest.x) < 1e-6
