"""Frames and forms of surfaces, held to closed forms and to numeric derivatives of the point and the frame."""

import math

import numpy as np
import pytest

from grouser import terrain
from grouser.errors import SimulationError
from grouser.rolling.closure import ground_frame, on_ground, on_tyre
from tests.oracles.rolling_surfaces import Ellipsoid, GroundSurface, Sphere, Torus


def bumps(x, y):
    s, c = math.sin(1.3 * x + 0.4 * y), math.cos(1.3 * x + 0.4 * y)
    return (
        0.4 * s + 0.1 * y * y,
        0.52 * c,
        0.16 * c + 0.2 * y,
        -0.676 * s,
        -0.208 * s,
        -0.064 * s + 0.2,
    )


SURFACES = {
    "torus": Torus(0.5, 0.15),
    "sphere": Sphere(0.7),
    "ellipsoid": Ellipsoid(0.6, 0.3, 0.9),
    "ground": GroundSurface(terrain.law(bumps)),
}
PLACES = [(0.3, 0.2), (2.9, -0.7), (-1.1, 0.9), (math.pi, 0.0)]


def derivative(function, place, i, h=1e-3):
    """Sixth-order central difference along coordinate i of the chart."""
    step = np.zeros(2)
    step[i] = h

    def at(k):
        return function(*(np.asarray(place) + k * step))

    return (45.0 * (at(1) - at(-1)) - 9.0 * (at(2) - at(-2)) + (at(3) - at(-3))) / (60.0 * h)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("place", PLACES)
def test_forms_are_derivatives_of_point_normal_and_frame(name, place):
    surface = SURFACES[name]
    f = surface.forms(*place)
    np.testing.assert_allclose(f.frame.T @ f.frame, np.eye(3), rtol=0.0, atol=1e-14)
    assert np.linalg.det(f.frame) == pytest.approx(1.0)
    tangent = f.frame[:, :2]
    for i in range(2):
        moved = derivative(lambda a, b: surface.forms(a, b).point, place, i)
        turned = derivative(lambda a, b: surface.forms(a, b).frame, place, i)
        xi = f.metric[:, i]
        np.testing.assert_allclose(moved, tangent @ xi, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(tangent.T @ turned[:, 2], f.curvature @ xi, rtol=0.0, atol=1e-11)  # K = eᵀ∂n
        assert f.frame[:, 1] @ turned[:, 0] == pytest.approx(f.torsion @ xi, abs=1e-11)  # T = e₂ᵀ∂e₁
    np.testing.assert_allclose(f.curvature, f.curvature.T, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("place", PLACES)
def test_second_derivatives_are_derivatives_of_the_first(name, place):
    surface = SURFACES[name]
    rows = surface.derivatives(*place)
    by_a = derivative(surface.derivatives, place, 0)
    by_b = derivative(surface.derivatives, place, 1)
    np.testing.assert_allclose(rows[1:3], [by_a[0], by_b[0]], rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(rows[3:6], [by_a[1], by_a[2], by_b[2]], rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(by_b[1], by_a[2], rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("place", PLACES)
def test_the_package_has_the_same_points_frames_and_curvature(place):
    tyre, f = on_tyre(0.5, 0.15, *map(np.asarray, place)), SURFACES["torus"].forms(*place)
    np.testing.assert_allclose(tyre.point, f.point, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(tyre.frame, f.frame, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(tyre.around, f.metric[0, 0], rtol=0.0, atol=1e-15)
    ground, f = on_ground(SURFACES["ground"].terrain, *map(np.asarray, place)), SURFACES["ground"].forms(*place)
    np.testing.assert_allclose(ground.point, f.point, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(ground_frame(ground), f.frame, rtol=0.0, atol=1e-15)
    rows = SURFACES["ground"].derivatives(*place)
    np.testing.assert_array_equal([ground.c_x, ground.c_y], rows[1:3])
    np.testing.assert_array_equal(ground.hessian.ravel(), rows[[3, 4, 4, 5], 2])


@pytest.mark.parametrize("place", PLACES)
def test_torus_and_sphere_have_their_closed_forms(place):
    R, r = 0.5, 0.15
    u, v = place
    f = SURFACES["torus"].forms(u, v)
    reach = R + r * math.cos(v)
    np.testing.assert_allclose(f.metric, np.diag([reach, r]), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(f.curvature, np.diag([math.cos(v) / reach, 1.0 / r]), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(f.torsion @ f.metric, [math.sin(v), 0.0], rtol=0.0, atol=1e-14)
    outward = [math.cos(v) * math.sin(u), math.sin(v), math.cos(v) * math.cos(u)]
    np.testing.assert_allclose(f.frame[:, 2], outward, rtol=0.0, atol=1e-14)
    f = SURFACES["sphere"].forms(u, v)
    np.testing.assert_allclose(f.metric, 0.7 * np.diag([math.cos(v), 1.0]), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(f.curvature, np.eye(2) / 0.7, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(f.torsion @ f.metric, [math.sin(v), 0.0], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(f.frame[:, 2], f.point / 0.7, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("place", PLACES)
def test_ground_has_the_triangular_metric_and_the_forms_of_the_recipe(place):
    _, gx, gy, gxx, gxy, gyy = bumps(*place)
    E, W = 1 + gx * gx, math.sqrt(1 + gx * gx + gy * gy)
    f = SURFACES["ground"].forms(*place)
    M = np.array([[math.sqrt(E), gx * gy / math.sqrt(E)], [0.0, W / math.sqrt(E)]])
    np.testing.assert_allclose(f.metric, M, rtol=0.0, atol=1e-14)
    inverse = np.linalg.inv(M)
    hessian = np.array([[gxx, gxy], [gxy, gyy]])
    np.testing.assert_allclose(f.curvature, inverse.T @ (-hessian / W) @ inverse, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(f.torsion @ f.metric, [gy * gxx / (W * E), gy * gxy / (W * E)], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(f.frame[:, 2], np.array([-gx, -gy, 1.0]) / W, rtol=0.0, atol=1e-14)


def test_a_hilltop_is_convex_and_a_hollow_is_not():
    side = np.linspace(-1.0, 1.0, 6)
    hollow = 0.5 * (side[:, None] ** 2 + 3.0 * side[None, :] ** 2)
    for sign in (1.0, -1.0):
        ground = GroundSurface(terrain.spline(-sign * hollow, side, side))
        np.testing.assert_allclose(ground.forms(0.0, 0.0).curvature, sign * np.diag([1.0, 3.0]), rtol=0.0, atol=1e-12)


def test_an_ellipsoid_has_the_curvatures_of_its_ends():
    a, b, c = 0.6, 0.3, 0.9
    low = Ellipsoid(a, b, c).forms(math.pi, 0.0)
    np.testing.assert_allclose(low.point, [0.0, 0.0, -c], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(np.diag(low.curvature), [c / a**2, c / b**2], rtol=1e-12)
    side = Ellipsoid(a, b, c).forms(math.pi / 2, 0.0)
    np.testing.assert_allclose(np.diag(side.curvature), [a / c**2, a / b**2], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Torus(0.15, 0.5), "tyre_radius: 0.5 m is larger than the rim radius 0.15 m"),
        (lambda: Torus(0.5, 0.0), "not positive"),
        (lambda: Torus(math.nan, 0.1), "finite"),
        (lambda: Sphere(-1.0), "sphere radius: -1 is not positive"),
        (lambda: Ellipsoid(1.0, 0.0, 1.0), "ellipsoid b"),
        (lambda: Sphere(1.0).forms(0.0, math.pi / 2), "pole of the chart"),
    ],
)
def test_surfaces_that_cannot_be_are_refused_in_one_sentence(make, words):
    with pytest.raises(SimulationError, match=words) as e:
        make()
    assert "\n" not in str(e.value)
