"""Planes, ramps, grids, splines and meshes: one surface made in six ways, and what each way promises."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

import grouser.terrain as terrain
from grouser.errors import TerrainError

X = np.linspace(-3.0, 5.0, 17)
Y = np.linspace(-2.0, 2.0, 11)


def triangulated(heights, x, y):
    """Vertices and faces of a grid, every cell cut along its diagonal."""
    xx, yy = np.meshgrid(x, y, indexing="ij")
    vertices = np.column_stack((xx.ravel(), yy.ravel(), heights.ravel()))
    i = np.arange(heights.size).reshape(heights.shape)
    a, b, c, d = (q.ravel() for q in (i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]))
    return vertices, np.concatenate((np.column_stack((a, b, c)), np.column_stack((a, c, d))))


def points_everywhere():
    """Random points, the nodes, the middles of edges and diagonals, and the corners."""
    random = np.random.default_rng(3).uniform((X[0], Y[0]), (X[-1], Y[-1]), (2000, 2))
    nodes = np.stack(np.meshgrid(X, Y, indexing="ij"), -1)
    edges = [
        0.5 * (nodes[1:] + nodes[:-1]),
        0.5 * (nodes[:, 1:] + nodes[:, :-1]),
        0.3 * nodes[1:, 1:] + 0.7 * nodes[:-1, :-1],
    ]
    return np.concatenate([p.reshape(-1, 2) for p in (random, nodes, *edges)]).T


@pytest.fixture(scope="module")
def bumpy():
    rng = np.random.default_rng(5)
    return rng.normal(scale=0.2, size=(X.size, Y.size))


def test_one_inclined_surface_made_in_every_way_is_the_same():
    reference = terrain.slope(17.0, heading_deg=35.0, height=0.4)
    px, py = points_everywhere()
    wanted = reference.sample(px, py)
    h = reference.height(X[:, None], Y[None, :])
    a, b = math.tan(math.radians(17.0)) * np.array([math.cos(math.radians(35.0)), math.sin(math.radians(35.0))])
    ways = {
        "bilinear": terrain.grid(h, X, Y),
        "bicubic": terrain.grid(h, X, Y, interpolation="bicubic"),
        "spline": terrain.spline(h, X, Y),
        "mesh": terrain.mesh(*triangulated(h, X, Y)),
        "function": terrain.law(lambda x, y: (0.4 + a * x + b * y, a, b)),
        "moved": terrain.moved(terrain.slope(17.0), yaw=math.radians(35.0), z=0.4),
    }
    for way, ground in ways.items():
        found = ground.sample(px, py)
        assert found.inside.all(), way
        for part in ("height", "gradient", "normal"):
            np.testing.assert_allclose(
                getattr(found, part), getattr(wanted, part), atol=1e-9, rtol=0, err_msg=f"{way} {part}"
            )


def test_slope_rises_towards_its_heading_and_its_normal_leans_back():
    ground = terrain.slope(30.0, heading_deg=90.0)
    np.testing.assert_allclose(ground.gradient(1.0, 2.0), [0.0, math.tan(math.pi / 6)], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(ground.normal(1.0, 2.0), [0.0, -0.5, math.sqrt(0.75)], rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("make", ["bilinear", "bicubic", "spline", "mesh"])
def test_every_interpolation_passes_through_its_nodes(make, bumpy):
    if make == "mesh":
        ground = terrain.mesh(*triangulated(bumpy, X, Y))
    elif make == "spline":
        ground = terrain.spline(bumpy, X, Y)
    else:
        ground = terrain.grid(bumpy, X, Y, interpolation=make)
    np.testing.assert_allclose(ground.height(X[:, None], Y[None, :]), bumpy, atol=1e-13, rtol=0)


@pytest.mark.parametrize("make", ["bicubic", "spline"])
def test_the_slope_of_a_smooth_map_is_the_derivative_of_its_height(make, bumpy):
    ground = terrain.spline(bumpy, X, Y) if make == "spline" else terrain.grid(bumpy, X, Y, interpolation=make)
    e = 1e-5
    px, py = np.random.default_rng(0).uniform((X[0] + e, Y[0] + e), (X[-1] - e, Y[-1] - e), (3000, 2)).T
    by_x = (ground.height(px + e, py) - ground.height(px - e, py)) / (2 * e)
    by_y = (ground.height(px, py + e) - ground.height(px, py - e)) / (2 * e)
    # Rounding eps·h/e ≈ 1e-11, truncation e²h‴ ≈ 1e-9; near lines of nodes, where h″ jumps, e·h″ ≈ 1e-5.
    np.testing.assert_allclose(ground.gradient(px, py), np.stack((by_x, by_y), -1), atol=1e-4, rtol=0)
    clear = (np.abs((px - X[0]) / 0.5 % 1 - 0.5) < 0.49) & (np.abs((py - Y[0]) / 0.4 % 1 - 0.5) < 0.49)
    np.testing.assert_allclose(ground.gradient(px, py)[clear], np.stack((by_x, by_y), -1)[clear], atol=1e-7, rtol=0)


def test_the_slope_of_a_spline_has_continuous_derivatives_and_that_of_bicubic_has_not(bumpy):
    def jump_of_curvature(ground):
        """Largest change of ∂²h/∂x² across an inner line of nodes."""
        e = 1e-6
        xs, ys = X[1:-1, None], np.linspace(Y[0], Y[-1], 37)[None, :]
        slope = [ground.gradient(xs + k * e, ys)[..., 0] for k in (-1, 0, 1)]
        return np.abs((slope[2] - slope[1]) - (slope[1] - slope[0])).max() / e

    # Rounding in a slope of order 1 differenced over 1e-6 is 1e-9; the change of h‴ over it is 1e-5.
    assert jump_of_curvature(terrain.spline(bumpy, X, Y)) < 1e-3
    assert jump_of_curvature(terrain.grid(bumpy, X, Y, interpolation="bicubic")) > 0.1


def test_a_spline_reproduces_a_cubic():
    def cubic(x, y):
        return 0.1 * x**3 - 0.2 * x**2 * y + 0.05 * y**3 + x * y

    ground = terrain.spline(cubic(X[:, None], Y[None, :]), X, Y)
    px, py = points_everywhere()
    np.testing.assert_allclose(ground.height(px, py), cubic(px, py), rtol=0.0, atol=1e-11)


def test_bilinear_slopes_are_continuous(bumpy):
    ground = terrain.grid(bumpy, X, Y)
    y = np.linspace(Y[0], Y[-1], 50)[None, :]
    before, after = ground.gradient(X[1:-1, None] - 1e-9, y), ground.gradient(X[1:-1, None] + 1e-9, y)
    np.testing.assert_allclose(before, after, rtol=0.0, atol=1e-7)


def test_the_reference_grid_has_the_reference_heights_and_normals(golden):
    raw = np.array((golden / "gridsurfdata1.txt").read_text().replace("\n", ",").strip(", ").split(","), dtype=float)
    xmin, xmax, nx, ymin, ymax, ny = raw[:6]
    x, y = np.linspace(xmin, xmax, int(nx)), np.linspace(ymin, ymax, int(ny))
    heights = raw[6:].reshape(int(ny), int(nx)).T
    ground = terrain.grid(heights, x, y)
    np.testing.assert_allclose(ground.height(x[:, None], y[None, :]), heights, atol=1e-14, rtol=0)
    files = [golden / f"{name}_probes.json" for name in ("zoe", "rocky")]
    probes = [p for file in files for p in json.loads(file.read_text())["probes"]]
    contacts = [c for p in probes for state in ("raw", "settled") for c in p[state]["contacts"]]
    pose = np.array([c["HT_world"] for c in contacts])
    dz = np.array([c["dz"] for c in contacts])
    sample = ground.sample(pose[:, 0, 3], pose[:, 1, 3])
    assert sample.inside.sum() > 100
    np.testing.assert_allclose(sample.normal[sample.inside], pose[sample.inside, :3, 2], rtol=0.0, atol=1e-9)
    height_error = (pose[:, 2, 3] - sample.height) * sample.normal[:, 2]
    np.testing.assert_allclose(height_error[sample.inside], dz[sample.inside], rtol=0.0, atol=1e-9)


def test_ramp_goes_up_along_its_top_and_down():
    ground = terrain.ramp(0.41, length=1.79, top=0.61, width=0.61)
    u = np.array([-1.0, 0.0, 0.295, 0.59, 0.9, 1.2, 1.495, 1.79, 3.0])
    np.testing.assert_allclose(
        ground.height(u, 0.0), [0, 0, 0.205, 0.41, 0.41, 0.41, 0.205, 0, 0], rtol=0.0, atol=1e-12
    )
    np.testing.assert_allclose(
        ground.height(0.9, [0.304, 0.306, -0.304, -0.306]), [0.41, 0, 0.41, 0], rtol=0.0, atol=1e-12
    )
    np.testing.assert_allclose(
        ground.gradient([0.3, 0.9, 1.5], 0.0)[:, 0], [0.41 / 0.59, 0, -0.41 / 0.59], rtol=0.0, atol=1e-12
    )


def test_ramp_to_a_plateau_and_ramp_that_drops():
    plateau = terrain.ramp(1.5, 20.0, top=math.inf, down=False, x=2.0)
    assert float(plateau.height(1e6, 50.0)) == 1.5
    np.testing.assert_allclose(plateau.gradient(3.0, 0.0), [math.tan(math.radians(20)), 0.0], rtol=0.0, atol=1e-12)
    drop = terrain.ramp(1.0, 45.0, top=1.0, down=False)
    np.testing.assert_allclose(drop.height([1.5, 1.99, 2.01], 0.0), [1.0, 1.0, 0.0], rtol=0.0, atol=1e-12)


def test_a_turned_ramp_is_the_ramp_turned():
    turned = terrain.ramp(0.4, 15.0, top=0.5, width=1.0, x=1.0, y=2.0, heading_deg=50.0, base=False)
    moved = terrain.moved(terrain.ramp(0.4, 15.0, top=0.5, width=1.0, base=False), x=1.0, y=2.0, yaw=math.radians(50.0))
    px, py = np.random.default_rng(1).uniform(-3, 6, (2, 5000))
    a, b = turned.sample(px, py), moved.sample(px, py)
    np.testing.assert_array_equal(a.inside, b.inside)
    assert 100 < a.inside.sum() < 4900
    np.testing.assert_allclose(a.height, b.height, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(turned.bounds, moved.bounds, rtol=0.0, atol=1e-12)


def test_the_highest_triangle_wins_and_walls_are_no_ground():
    box = [[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
    quads = [(0, 2, 6, 4), (1, 3, 7, 5), (0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    ground = terrain.mesh(box, faces)
    px, py = np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 11))
    np.testing.assert_array_equal(ground.height(px, py), 1.0)
    np.testing.assert_array_equal(ground.gradient(px, py), 0.0)
    assert not ground.contains(1.001, 0.5)


def test_points_on_the_edges_of_an_awkward_mesh_belong_to_some_triangle():
    """A fan of slivers far from the origin, where coordinates are coarse."""
    rng = np.random.default_rng(2)
    angle = np.sort(np.concatenate((np.linspace(0, 2 * np.pi, 5)[:-1], rng.uniform(0, 2 * np.pi, 400))))
    centre = np.array([431234.567, 5012345.678, 10.0])
    rim = np.column_stack((np.cos(angle), np.sin(angle), 0.1 * np.sin(5 * angle))) * 30.0
    vertices = np.vstack((centre, centre + rim))
    faces = [(0, a, b) for a, b in pairwise([*range(1, 405), 1])]
    ground = terrain.mesh(vertices, faces)
    t = rng.uniform(0.0, 0.999, (404, 50, 1))
    on_spokes = vertices[0] + t * (vertices[1:, None] - vertices[0])
    sample = ground.sample(on_spokes[..., 0], on_spokes[..., 1])
    assert sample.inside.all()
    np.testing.assert_allclose(sample.height, on_spokes[..., 2], rtol=0.0, atol=1e-5)


def test_a_mesh_of_long_triangles_across_small_ones_stays_small(bumpy):
    vertices, faces = triangulated(bumpy, X, Y)
    long = np.array([[-3, -2, -5], [5, 2, -5], [5, 1.99, -5]])
    vertices = np.vstack((vertices, long))
    faces = np.vstack((faces, np.tile(np.arange(3) + len(vertices) - 3, (3000, 1))))
    ground = terrain.mesh(vertices, faces)
    assert ground.par.size < 40 * len(faces)
    np.testing.assert_allclose(ground.height(X[:, None], Y[None, :]), bumpy, rtol=0.0, atol=1e-12)


def test_missing_nodes_make_their_cells_the_end_of_the_map(bumpy):
    heights = bumpy.copy()
    heights[4, 5] = np.nan
    for interpolation in ("bilinear", "bicubic"):
        ground = terrain.grid(heights, X, Y, interpolation=interpolation)
        px, py = np.random.default_rng(0).uniform((X[0], Y[0]), (X[-1], Y[-1]), (5000, 2)).T
        missing = (np.abs(px - X[4]) < 0.5) & (np.abs(py - Y[5]) < 0.4)
        sample = ground.sample(px, py)
        np.testing.assert_array_equal(sample.inside, ~missing)
        assert np.isfinite(sample.gradient).all()
    assert missing.any()


BAD = {
    "plane(nan)": lambda: terrain.plane(math.nan),
    "plane(text)": lambda: terrain.plane("high"),
    "slope(90)": lambda: terrain.slope(90.0),
    "ramp(neither)": lambda: terrain.ramp(1.0),
    "ramp(both)": lambda: terrain.ramp(1.0, 20.0, length=3.0),
    "ramp(short)": lambda: terrain.ramp(1.0, length=1.0, top=1.0),
    "ramp(negative)": lambda: terrain.ramp(-1.0, 20.0),
    "ramp(endless top, down)": lambda: terrain.ramp(1.0, 20.0, top=math.inf),
    "grid(1 × 2)": lambda: terrain.grid([[1.0, 2.0]], [0.0], [0.0, 1.0]),
    "grid(ragged)": lambda: terrain.grid([[1.0, 2.0], [1.0]], [0.0, 1.0], [0.0, 1.0]),
    "grid(inf)": lambda: terrain.grid([[1.0, 2.0], [1.0, math.inf]], [0.0, 1.0], [0.0, 1.0]),
    "grid(all NaN)": lambda: terrain.grid(np.full((3, 3), np.nan), range(3), range(3)),
    "grid(falling x)": lambda: terrain.grid(np.zeros((3, 3)), [2, 1, 0], range(3)),
    "grid(uneven x)": lambda: terrain.grid(np.zeros((3, 3)), [0, 1, 3], range(3)),
    "grid(x of other length)": lambda: terrain.grid(np.zeros((3, 3)), range(4), range(3)),
    "grid(unknown interpolation)": lambda: terrain.grid(np.zeros((3, 3)), range(3), range(3), interpolation="cubic"),
    "grid(complex)": lambda: terrain.grid(np.zeros((3, 3), complex), range(3), range(3)),
    "grid(too large)": lambda: terrain.grid(np.broadcast_to(0.0, (100_000, 100_000)), range(3), range(3)),
    "spline(NaN)": lambda: terrain.spline([[1.0, 2.0], [1.0, math.nan]], [0.0, 1.0], [0.0, 1.0]),
    "spline(too large)": lambda: terrain.spline(np.broadcast_to(0.0, (100_000, 100_000)), range(3), range(3)),
    "mesh(no face)": lambda: terrain.mesh(np.zeros((3, 3)), np.zeros((0, 3), int)),
    "mesh(index)": lambda: terrain.mesh(np.eye(3), [[0, 1, 3]]),
    "mesh(negative index)": lambda: terrain.mesh(np.eye(3), [[0, 1, -1]]),
    "mesh(vertical)": lambda: terrain.mesh([[0, 0, 0], [1, 0, 0], [1, 0, 1]], [[0, 1, 2]]),
    "mesh(NaN)": lambda: terrain.mesh([[0, 0, 0], [1, 0, 0], [1, math.nan, 1]], [[0, 1, 2]]),
    "mesh(float faces)": lambda: terrain.mesh(np.eye(3), [[0.0, 1.0, 2.0]]),
    "mesh(ragged faces)": lambda: terrain.mesh(np.eye(3), [[0, 1, 2], [0, 1]]),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_numbers_are_refused_in_one_sentence(case):
    with pytest.raises(TerrainError) as caught:
        BAD[case]()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_smallest_maps_work(n):
    axis = np.arange(float(n))
    heights = axis[:, None] + 2.0 * axis[None, :]
    for ground in (
        terrain.grid(heights, axis, axis),
        terrain.grid(heights, axis, axis, interpolation="bicubic"),
        terrain.spline(heights, axis, axis),
    ):
        np.testing.assert_allclose(
            ground.height([0.5, n - 1.0], [0.25, n - 1.0]), [1.0, 3.0 * (n - 1)], rtol=0.0, atol=1e-12
        )
        np.testing.assert_allclose(ground.gradient(0.5, 0.25), [1.0, 2.0], rtol=0.0, atol=1e-12)


def test_a_formula_whose_slope_is_a_sum_that_is_not_a_number_ends_the_map():
    """The compiler may fold x − x of a sum to zero, and with it math.isfinite."""
    ground = terrain.law(lambda x, y: (0.0, 1.0 + math.sqrt(x), 0.0))
    assert not ground.contains(-1.0, 0.0)
    assert ground.contains(1.0, 0.0)
