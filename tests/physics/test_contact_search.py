"""Where a wheel meets the ground, against closed forms and against brute force over 20 001 points of the rim."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.vehicles import Frame, Vehicle

R = 0.3
RIM = np.linspace(-np.pi / 2, np.pi / 2, 20001)


@pytest.fixture(scope="module")
def wheel():
    return Vehicle("wheel", (Frame("body", mass=1.0), Frame("w", "body", "RY", radius=R, mass=1.0)))


def state(position, roll=0.0, pitch=0.0, yaw=0.0):
    return np.concatenate([gr.rotation.to_quaternion(gr.rotation.from_rpy(roll, pitch, yaw)), position, [0.0]])


def brute_force(ground, q, rim=RIM):
    """Smallest Δz of T (2.8) over the rim's lower half."""
    Rw = gr.rotation.from_quaternion(q[:4])
    x, z = Rw[:, 0], Rw[:, 2]
    a = math.atan2(x[2], z[2]) + rim
    points = q[4:7] - R * (np.sin(a)[:, None] * x + np.cos(a)[:, None] * z)
    sample = ground.sample(points[:, 0], points[:, 1])
    return ((points[:, 2] - sample.height) * sample.normal[:, 2]).min()


def triangulated(ground, n=61, half=3.0):
    x = np.linspace(-half, half, n)
    X, Y = np.meshgrid(x, x, indexing="ij")
    i = np.arange(n * n).reshape(n, n)
    a, b, c, d = i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]
    faces = np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    return gr.terrain.mesh(np.column_stack([X.ravel(), Y.ravel(), ground.height(X, Y).ravel()]), faces)


def excess(ground, wheel, count, seed):
    """Our Δz above the brute-force minimum, in radii, for random wheels that touch or sink in by up to 20 mm."""
    rng = np.random.default_rng(seed)
    out = np.empty(count)
    for k in range(count):
        place = [*rng.uniform(-2, 2, 2), 0.0]
        q = state(place, rng.uniform(-0.35, 0.35), rng.uniform(-3, 3), rng.uniform(-3, 3))
        for _ in range(4):
            q[6] -= brute_force(ground, q, RIM[::50])
        q[6] -= rng.uniform(0.0, 0.02)
        out[k] = (contacts(wheel, q, ground).height_error[0] - brute_force(ground, q)) / R
    return out


# 0.15 m over 0.8 m is the roughest ground of the thesis; nodes are 0.1 m apart, a third of the wheel's radius.
ROUGH = {"rms": 0.15, "length": 0.8, "size": 8.0}


def test_on_smooth_rough_ground_the_lowest_point_is_never_missed(wheel):
    # Bicubic: its slope is the height's derivative, so the tangent point is the lowest but for the change of N_z along
    # the rim, Δz·∂N_z ≈ 0.02 m · slope · curvature: 1e-4 R. Below the minimum only by the raster, R (1.6e-4)²/2.
    e = np.concatenate(
        [excess(gr.terrain.rough(seed=s, interpolation="bicubic", **ROUGH), wheel, 150, s) for s in (1, 2)]
    )
    print(f"\nbicubic: median {np.median(e):.1e}, worst {e.max():.1e} R")
    assert e.min() > -1e-7
    assert e.max() < 1e-3
    assert np.median(e) < 1e-5


def test_on_a_bilinear_map_the_tangent_point_is_the_lowest_but_for_the_maps_own_inconsistency(wheel):
    # A bilinear map's slope is interpolated too: inside a cell it differs from the height's derivative by up to
    # h″·dx/2. The tangent point then stands beside the lowest, and above it by R (Δslope)²/2: with a Δslope of
    # 0.08 at worst, 3e-3 R.
    e = np.concatenate([excess(gr.terrain.rough(seed=s, **ROUGH), wheel, 150, s) for s in (1, 2)])
    missed = np.mean(e > 1e-3)
    print(f"\nbilinear: median {np.median(e):.1e}, worst {e.max():.1e} R, above 1e-3 R in {100 * missed:.1f} %")
    assert e.min() > -1e-5
    assert e.max() < 6e-3
    assert missed < 0.12  # measured 7 %
    assert np.median(e) < 3e-4


def test_on_a_mesh_with_edges_a_second_minimum_is_missed_rarely_and_by_little(wheel):
    # Facets 0.1 m wide under a wheel of 0.3 m: face and edge next to it can both be local minima, less than the
    # sample spacing (20°) apart, and the search refines only one of them. Δz also jumps at an edge where the wheel has
    # sunk in, with N_z. Measured: 5 % of the contacts are more than 1e-3 R above the lowest point, 6e-3 R at worst.
    e = np.concatenate([excess(triangulated(gr.terrain.rough(seed=s, **ROUGH)), wheel, 150, s) for s in (1, 2)])
    missed = np.mean(e > 1e-3)
    print(f"\nmesh: median {np.median(e):.1e}, worst {e.max():.1e} R, above 1e-3 R in {100 * missed:.1f} %")
    assert missed < 0.08
    assert e.max() < 0.015
    assert np.median(e) < 1e-6


def test_on_any_plane_the_closed_form_holds_for_any_lean(wheel):
    """A circle with axis a above a plane of normal n: Δz = n·c − R √(1 − (n·a)²), at c − R (n − (n·a) a)/|…|."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        deg, heading = rng.uniform(0, 30), rng.uniform(-180, 180)
        ground = gr.terrain.slope(deg, heading_deg=heading)
        n = ground.normal(0.0, 0.0)
        q = state(rng.uniform(-1, 1, 3), rng.uniform(-0.6, 0.6), rng.uniform(-3, 3), rng.uniform(-3, 3))
        axle = gr.rotation.from_quaternion(q[:4])[:, 1]
        down = -(n - (n @ axle) * axle)
        size = np.linalg.norm(down)
        found = contacts(wheel, q, ground)
        # On a plane the tangent offset is exact and the search ends below 1e-10 rad: 3e-11 m along the rim.
        np.testing.assert_allclose(found.point[0], q[4:7] + R * down / size, rtol=0.0, atol=1e-9)
        assert found.height_error[0] == pytest.approx(n @ q[4:7] - R * size, abs=1e-12)
        np.testing.assert_allclose(found.rotation[0][:, 2], n, rtol=0.0, atol=1e-12)
        x = np.cross(axle, n)
        np.testing.assert_allclose(found.rotation[0][:, 0], x / np.linalg.norm(x), rtol=0.0, atol=1e-12)
        assert np.linalg.det(found.rotation[0]) == pytest.approx(1.0)


def test_a_contact_ahead_has_a_negative_angle_and_uphill_is_ahead(wheel):
    found = contacts(wheel, state([0, 0, R]), gr.terrain.slope(10.0))
    assert found.angle[0] == pytest.approx(-math.radians(10.0), abs=1e-9)
    assert found.point[0, 0] > 0  # the ground rises towards +x, so it is met there first
    # Nose down, the carrier's −z points backwards: straight down is ahead of it.
    assert contacts(wheel, state([0, 0, R], pitch=0.3), gr.terrain.plane()).angle[0] == pytest.approx(-0.3, abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 0.01, -0.04, 0.07])
@pytest.mark.parametrize("yaw", [0.0, 0.6])
def test_a_wheel_across_a_ridge_stands_on_its_crest(wheel, offset, yaw):
    """Roof z = −|x| tan 25°: the crest is the lowest rim point's partner while the wheel's slope there is below 25°."""
    t = math.tan(math.radians(25.0))
    corners = np.array([[x, y, -abs(x) * t] for x in (-3.0, 0.0, 3.0) for y in (-3.0, 3.0)])
    roof = gr.terrain.mesh(corners, [[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]])
    height = 0.29
    found = contacts(wheel, state([offset, 0, height], yaw=yaw), roof)
    along = offset / math.cos(yaw)  # in the wheel's plane
    drop = math.sqrt(R * R - along * along)
    # By golden section, 30 times: 0.7 rad · 0.618³⁰ = 4e-7 rad beside the crest, 1e-7 m of the rim.
    np.testing.assert_allclose(found.point[0], [0.0, -along * math.sin(yaw), height - drop], rtol=0.0, atol=1e-7)
    assert found.height_error[0] == pytest.approx((height - drop) * math.cos(math.radians(25.0)), abs=1e-7)


@pytest.mark.parametrize("offset", [0.0, 0.05, -0.13])
def test_a_wheel_over_a_trench_bridges_it(wheel, offset):
    """Two plates at z = 0 with a trench 0.3 m wide and 1 m deep between them; the nearer edge carries the wheel."""

    def plate(x0, x1, z):
        return np.array([[x0, -3, z], [x1, -3, z], [x1, 3, z], [x0, 3, z]], dtype=float)

    corners = np.concatenate([plate(-3, -0.15, 0), plate(0.15, 3, 0), plate(-3, 3, -1)])
    faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * k for k in range(3)])
    trench = gr.terrain.mesh(corners, faces)
    lever = 0.15 - abs(offset)  # of the nearer edge; the wheel's lowest point hangs in the trench
    centre = math.sqrt(R * R - lever * lever) - 0.005
    found = contacts(wheel, state([offset, 0, centre]), trench)
    assert found.height_error[0] == pytest.approx(-0.005, abs=1e-6)
    assert abs(found.point[0, 0]) == pytest.approx(0.15, abs=1e-6)


@pytest.mark.parametrize("distance", [0.05, 0.12, 0.2])
def test_a_wheel_before_a_step_touches_its_edge(wheel, distance):
    """A plateau 0.1 m high begins at x = 0; the wheel stands on the low ground, its axle `distance` before the edge."""
    low = gr.terrain.plane()
    corners = np.array([[0, -3, 0.1], [3, -3, 0.1], [3, 3, 0.1], [0, 3, 0.1]], dtype=float)
    step = gr.terrain.stack(low, gr.terrain.mesh(corners, [[0, 1, 2], [0, 2, 3]]))
    rim_at_edge = R - math.sqrt(R * R - distance * distance)
    found = contacts(wheel, state([-distance, 0, R]), step)
    if rim_at_edge < 0.1:
        assert found.height_error[0] == pytest.approx(rim_at_edge - 0.1, abs=1e-6)
        assert found.point[0, 0] == pytest.approx(0.0, abs=1e-6)
    else:
        assert found.height_error[0] == pytest.approx(0.0, abs=1e-9)


def test_plane_grid_and_mesh_of_one_surface_have_one_contact(wheel):
    slope = gr.terrain.slope(12.0, heading_deg=30.0)
    x = np.linspace(-3, 3, 61)
    X, Y = np.meshgrid(x, x, indexing="ij")
    same = [gr.terrain.grid(slope.height(X, Y), x, x), gr.terrain.spline(slope.height(X, Y), x, x), triangulated(slope)]
    q = state([0.31, 0.12, 0.35], 0.2, 0.5, 1.1)
    reference = contacts(wheel, q, slope)
    for ground in same:
        found = contacts(wheel, q, ground)
        np.testing.assert_allclose(found.point, reference.point, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(found.height_error, reference.height_error, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(found.rotation, reference.rotation, rtol=0.0, atol=1e-9)
